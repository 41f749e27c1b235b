#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors counted as one: `census` and `sweep` with --group and --all-tensors, beside one tensor that holds all elements.
usage: groups_test.py PROGRAM"""
import csv
import math
import pathlib
import random
import struct
import tempfile
import unittest

from files_test import run, safetensors

COUNTS = "count nan infinite zero exact rounded subnormal to_zero overflow".split()
LARGEST = "max_abs_error max_rel_error max_ulp_error max_abs_input min_abs_input".split()
SUMS = "mean_abs_error rms_error mean_signed_error mean_rel_error sqnr_db sqnr_saturating_db".split()


class Groups(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        drawn = random.Random(4)
        draw = lambda n, scale: [drawn.gauss(0, 1) * 2.0 ** drawn.randint(-6, 6) * scale for _ in range(n)]  # noqa: E731
        self.values = {"layers.0.w": draw(1000, 1e-3), "layers.0.b": [0.0] * 3 + [float("nan"), float("inf"), 300.0],
                       "layers.1.w": draw(500, 1e-6), "layers.1.b": draw(8, 1), "head": draw(70, 100)}
        self.write("m.safetensors", self.values)

    def write(self, name, values):
        (self.path / name).write_bytes(safetensors({key: ("F32", [len(v)], struct.pack(f"<{len(v)}f", *v)) for key, v in values.items()}))

    def rows(self, *words):
        code, out, err = run(*words, "--csv", cwd=self.path)
        self.assertEqual(code, 0, err)
        return list(csv.DictReader(out.splitlines()))

    def whole(self, members):
        self.write("whole.safetensors", {"whole": [x for name in members for x in self.values[name]]})

    def assert_same(self, group, whole):
        for column in (*COUNTS, *LARGEST):
            self.assertEqual(group[column], whole[column], column)
        for column in SUMS:
            a, b = float(group[column]), float(whole[column])
            self.assertTrue(a == b or math.isclose(a, b, rel_tol=1e-12), (column, a, b))

    def test_a_group_is_one_tensor_of_all_elements(self):
        for scale in ("none", "0.3"):
            got = self.rows("census", "m.safetensors", "--to", "e4m3,fp16,int8", "--scale", scale, "--group", r"layers\.(\d)", "--all-tensors")
            self.assertEqual([row["tensor"] for row in got[15:]], [label for label in ("group:0", "group:1", "all") for _ in range(3)])
            plain = self.rows("census", "m.safetensors", "--to", "e4m3,fp16,int8", "--scale", scale)
            self.assertEqual(got[:15], plain)
            for i, members in enumerate((("layers.0.w", "layers.0.b"), ("layers.1.w", "layers.1.b"), tuple(self.values))):
                self.whole(members)
                for group, whole in zip(got[15 + 3 * i:], self.rows("census", "whole.safetensors", "--to", "e4m3,fp16,int8", "--scale", scale)):
                    self.assert_same(group, whole)

    def test_of_a_sweep_as_well(self):
        words = ("--to", "e4m3,e5m2", "--log2-scale", "-4:20:4")
        got = self.rows("sweep", "m.safetensors", *words, "--all-tensors")
        self.whole(self.values)
        whole = self.rows("sweep", "whole.safetensors", *words)
        self.assertEqual([row["tensor"] for row in got[-len(whole):]], ["all"] * len(whole))
        for group, one in zip(got[-len(whole):], whole):
            self.assertEqual((group["format"], group["log2_scale"]), (one["format"], one["log2_scale"]))
            self.assert_same(group, one)

    def test_the_sentence_names_the_tensors_that_limit_the_scale(self):
        self.write("g.safetensors", {"small": [1e-6, 1e-5], "both": [1e-3], "large": [10.0, 1.0]})
        code, out, err = run("sweep", "g.safetensors", "--to", "fp16", "--log2-scale", "0:20", "--all-tensors", "--text", cwd=self.path)
        self.assertEqual(code, 0, err)
        sentence = next(line for line in out.splitlines() if line.startswith("all in float16"))
        self.assertTrue(sentence.endswith("; g.safetensors:large limits it from above, g.safetensors:small from below."), sentence)
        self.write("g.safetensors", {f"t{i}": [2.0**i] for i in range(6)})
        code, out, err = run("sweep", "g.safetensors", "--to", "fp16", "--log2-scale", "0:20", "--all-tensors", "--text", cwd=self.path)
        self.assertIn("6 tensors: 6 good", out)
        self.assertIn("all in float16: ", out)
        self.assertIn("g.safetensors:t5 limits it from above, g.safetensors:t0 from below.", out)

    def test_of_a_report_and_a_study_file(self):
        code, _, err = run("sweep", "m.safetensors", "--to", "e4m3", "--log2-scale", "0:2", "--all-tensors", "-o", "out", cwd=self.path)
        self.assertEqual(code, 0, err)
        self.assertEqual((self.path / "out/sweep.csv").read_text().count("\nall,"), 3)
        self.assertEqual((self.path / "out/census.csv").read_text().count("\nall,"), 1)
        self.assertIn("limits it from above", (self.path / "out/findings.csv").read_text())
        with open(self.path / "out/exponents.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        counts = {}
        for row in rows:
            if row["tensor"] != "all":
                counts[row["exponent"]] = counts.get(row["exponent"], 0) + int(row["count"])
        self.assertEqual({row["exponent"]: int(row["count"]) for row in rows if row["tensor"] == "all"}, counts)
        self.assertTrue((self.path / "out/group-1_exponents.svg").exists())
        (self.path / "s.toml").write_text('[[study]]\nkind = "census"\nname = "c"\ninputs = ["m.safetensors"]\nto = ["e4m3"]\nall_tensors = true\n'
                                          'group = "layers"\n')
        code, _, err = run("run", "s.toml", "-o", "report", cwd=self.path)
        self.assertEqual(code, 0, err)
        tables = "\n".join(path.read_text() for path in (self.path / "report").rglob("*.csv"))
        self.assertIn("group:layers,float8_e4m3fn,", tables)
        self.assertIn("all,float8_e4m3fn,", tables)

    def test_what_is_wrong_is_told_in_one_line(self):
        for words, wanted in ((("--group", "(x"), "--group '(x': is no regular expression"), (("--group", "nothing"), "--group 'nothing': matches the name of no tensor"),
                              (("--group", "(.*)*(.*)*(.*)*(.*)*x$"), "is too much work on 'layers.0.w'")):
            for command in "census", "sweep":
                code, out, err = run(command, "m.safetensors", *words, cwd=self.path)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
                self.assertIn(wanted, err)


unittest.main()
