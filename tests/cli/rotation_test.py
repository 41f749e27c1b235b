#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rotations by a Hadamard transform: `census`, `sweep`, `cast` and `choose` with --hadamard beside tensors that are rotated here, by the
matrix; and the largest magnitudes of several checkpoints, `census --history`. usage: rotation_test.py PROGRAM"""
import csv
import json
import math
import pathlib
import random
import struct
import tempfile
import unittest

from files_test import parse, run, safetensors

# Of transformer_engine/pytorch/tensor/nvfp4_tensor.py, get_wgrad_sign_vector().
SIGNS = [1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1]


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def rotated(values, signs=SIGNS):
    """Rows of 16 numbers times the signs, times Sylvester's matrix over its root."""
    n = len(signs)
    entry = lambda i, j: (-1) ** bin(i & j).count("1")  # noqa: E731
    return [float32(math.fsum(values[first + i] * signs[i] * entry(i, j) for i in range(n)) / math.sqrt(n))
            for first in range(0, len(values), n) for j in range(n)]


class Rotation(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        drawn = random.Random(7)
        # Integers over 2^12: all sums are exact. One number of each row is an outlier.
        self.rows = {"a.q_proj.w": 6, "a.k_proj.w": 4}
        self.values = {name: [drawn.randint(-2000, 2000) / 4096 * (40 if i % 64 == 5 else 1) for i in range(64 * rows)]
                       for name, rows in self.rows.items()}
        self.bias = [1.5, -2.25, 3.0]
        self.write("m.safetensors", self.values)
        self.write("r.safetensors", {name: rotated(values) for name, values in self.values.items()})

    def write(self, name, values):
        entries = {key: ("F32", [self.rows[key], 64], struct.pack(f"<{len(v)}f", *v)) for key, v in values.items()}
        entries["bias"] = ("F32", [3], struct.pack("<3f", *self.bias))
        (self.path / name).write_bytes(safetensors(entries))

    def run_in(self, *words):
        return run(*words, cwd=self.path)

    def table(self, *words):
        code, out, err = self.run_in(*words, "--csv")
        self.assertEqual(code, 0, err)
        return list(csv.DictReader(out.splitlines())), err

    def test_a_census_is_that_of_the_rotated_tensor(self):
        for words in (("census", "--to", "e2m1", "--scale", "nvfp4"), ("census", "--to", "e4m3,fp16", "--scale", "amax", "--all-tensors"),
                      ("census", "--to", "e2m1", "--scale", "mx:floor", "--blocks"), ("sweep", "--to", "e4m3", "--log2-scale", "-4:4")):
            with self.subTest(words):
                got, said = self.table(words[0], "m.safetensors", *words[1:], "--hadamard", "16:te")
                want, _ = self.table(words[0], "r.safetensors", *words[1:])
                for row in got + want:
                    row["tensor"] = row["tensor"].partition(":")[2]
                self.assertEqual(got, want)
                self.assertIn("not rotated: 1 tensor (m.safetensors:bias)", said)

    def test_parts_of_a_rotated_census_are_that_census(self):
        words = ("census", "m.safetensors", "--to", "e2m1", "--scale", "nvfp4", "--hadamard", "16:te")
        for i in range(2):
            code, _, err = self.run_in(*words, "--shard", f"{i}/2", "-o", f"parts/{i}")
            self.assertEqual(code, 0, err)
        code, _, err = self.run_in("merge", "parts", "-o", "merged")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.run_in(*words, "-o", "whole")[0], 0)
        for name in ("census.csv", "findings.csv"):
            self.assertEqual((self.path / "merged" / name).read_bytes(), (self.path / "whole" / name).read_bytes())

    def test_casts_hold_the_codes_of_the_rotated_tensor(self):
        for layout, scale, to in (("ulpscope", "nvfp4", "e2m1"), ("torchao", "row", "e4m3"), ("ulpscope", "amax", "int8")):
            with self.subTest(layout):
                for fused in ((), ("--fused", "q_proj,k_proj")) if scale != "row" else ((),):
                    out = [self.run_in("cast", f"{name}.safetensors", "-o", f"{name}-q.safetensors", "--to", to, "--scale", scale, "--layout",
                                       layout, "--copy", "bias", *fused, *more)
                           for name, more in (("m", ("--hadamard", "16:te")), ("r", ()))]
                    self.assertEqual([code for code, _, _ in out], [0, 0], out)
                    (_, of_m), (metadata, of_r) = (parse(self.path / f"{name}-q.safetensors") for name in "mr")
                    self.assertEqual(of_m, of_r)
                    header = self.header("m-q.safetensors")
                    self.assertEqual(header.pop("ulpscope_hadamard"), "16:te")
                    self.assertEqual(header, self.header("r-q.safetensors"))
                    self.assertIn(", rotated", out[0][2])

    def header(self, name):
        data = (self.path / name).read_bytes()
        return json.loads(data[8:8 + int.from_bytes(data[:8], "little")]).get("__metadata__", {})

    def test_a_diff_rotates_back_what_was_rotated(self):
        (self.path / "in").mkdir()
        (self.path / "m.safetensors").rename(self.path / "in/m.safetensors")
        for layout in ("ulpscope", "torchao"):
            with self.subTest(layout):
                code, _, err = self.run_in("cast", "in", "-o", f"out-{layout}", "--to", "e4m3", "--scale", "row", "--layout", layout, "--hadamard",
                                           "16:te", "--copy", "bias")
                self.assertEqual(code, 0, err)
                code, out, err = self.run_in("diff", "in", f"out-{layout}", "--csv")
                self.assertEqual(code, 1, err)
                rows = {row["ref"].partition(":")[2]: row for row in csv.DictReader(out.splitlines())}
                self.assertEqual(float(rows["bias"]["rel_frobenius_error"]), 0)
                for name in self.rows:
                    self.assertGreater(float(rows[name]["sqnr_db"]), 28)  # 3 fraction bits; without the way back it is some 0 dB

    def test_a_plan_that_choose_writes_has_the_rotation(self):
        code, _, err = self.run_in("choose", "m.safetensors", "--to", "e2m1", "--scale", "nvfp4", "--sqnr", "15", "--hadamard", "16:te", "-o", "plan.toml")
        self.assertEqual(code, 0, err)
        plan = (self.path / "plan.toml").read_text()
        self.assertIn("hadamard = '16:te'\n", plan)
        self.assertIn("reason = 'none of these formats keeps it: codes would end within a byte'", plan)
        chosen, _ = self.table("choose", "m.safetensors", "--to", "e2m1", "--scale", "nvfp4", "--sqnr", "15", "--hadamard", "16:te")
        census, _ = self.table("census", "r.safetensors", "--to", "e2m1", "--scale", "nvfp4")
        self.assertEqual([row["sqnr_db"] for row in chosen[:2]], [row["sqnr_db"] for row in census[:2]])
        code, _, err = self.run_in("cast", "m.safetensors", "--plan", "plan.toml", "-o", "q.safetensors")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.header("q.safetensors")["ulpscope_hadamard"], "16:te")

    def test_what_has_no_scales_is_measured_as_it_is_cast(self):
        chosen, _ = self.table("choose", "m.safetensors:a*", "--to", "e4m3", "--scale", "none", "--sqnr", "20", "--hadamard", "16:te")
        census, _ = self.table("census", "m.safetensors:a*", "--to", "e4m3")
        self.assertEqual([row["sqnr_db"] for row in chosen], [row["sqnr_db"] for row in census])
        self.assertEqual(self.run_in("choose", "m.safetensors", "--to", "e4m3", "--sqnr", "20", "--scale", "none", "--hadamard", "16:te", "-o", "p.toml")[0], 0)
        self.assertNotIn("\nhadamard", (self.path / "p.toml").read_text())
        self.assertEqual(self.run_in("cast", "m.safetensors", "--plan", "p.toml", "-o", "o.safetensors")[0], 0)
        self.assertEqual(self.header("o.safetensors"), {})

    def test_a_file_has_one_rotation(self):
        self.assertEqual(self.run_in("cast", "m.safetensors", "--to", "e4m3", "--scale", "row", "--hadamard", "16:te", "--copy", "*k_proj*", "--copy",
                                     "bias", "-o", "s1.safetensors")[0], 0)
        again = ("cast", "s1.safetensors", "--to", "e4m3", "--scale", "row", "--copy", "*q_proj*", "--copy", "bias", "-o", "s2.safetensors")
        for more in ((), ("--hadamard", "64:1")):
            code, _, err = self.run_in(*again, *more)
            self.assertEqual((code, err.count("\n")), (2, 1))
            self.assertIn("cast with --hadamard 16:te", err)
        self.assertEqual(self.run_in(*again, "--hadamard", "16:te")[0], 0)
        rows, _ = self.diff("m.safetensors", "s2.safetensors")
        self.assertTrue(all(float(row["sqnr_db"]) > 28 for row in rows), rows)
        self.assertEqual(self.run_in("cast", "s1.safetensors", "--to", "bf16", "--copy", "*q_proj*", "-o", "s3.safetensors")[0], 0)
        self.assertEqual(self.header("s3.safetensors"), {"ulpscope_hadamard": "16:te"})
        self.assertEqual(self.run_in("cast", "m.safetensors", "--to", "e4m3", "--scale", "row", "--copy", "*k_proj*", "--copy", "bias", "-o", "s4.safetensors")[0], 0)
        code, _, err = self.run_in("cast", "s4.safetensors", "--to", "e4m3", "--scale", "row", "--copy", "*q_proj*", "--hadamard", "16", "-o", "s5.safetensors")
        self.assertEqual(code, 2)
        self.assertIn("that were not rotated", err)

    def diff(self, *words):
        code, out, err = self.run_in("diff", *words, "--csv")
        self.assertIn(code, (0, 1), err)
        return list(csv.DictReader(out.splitlines())), err

    def test_metadata_that_name_no_rotation_are_told_with_their_file(self):
        self.assertEqual(self.run_in("cast", "m.safetensors", "--to", "e4m3", "--scale", "row", "--copy", "bias", "-o", "q.safetensors")[0], 0)
        header, data = parse(self.path / "q.safetensors")
        entries = {name: (header[name]["dtype"], header[name]["shape"], data[name]) for name in data}
        for word in ("garbage", "16:te\0x", "99999999999999999999", "16:"):
            (self.path / "g.safetensors").write_bytes(safetensors(entries, {"ulpscope_hadamard": word}))
            code, out, err = self.run_in("diff", "m.safetensors", "g.safetensors")
            self.assertEqual((code, out, err.count("\n")), (2, "", 1))
            self.assertIn("g.safetensors: its __metadata__ has ulpscope_hadamard", err)

    def test_an_outlier_costs_less_when_it_is_spread(self):
        for name in ("m", "r"):
            self.assertEqual(self.run_in("cast", f"{name}.safetensors:a.q_proj.w", "-o", f"{name}.npy", "--to", "fp32")[0], 0)
        plain, _ = self.table("census", "m.npy", "--to", "e2m1", "--scale", "amax")
        spread, _ = self.table("census", "m.npy", "--to", "e2m1", "--scale", "amax", "--hadamard", "64:3")
        self.assertGreater(float(spread[0]["sqnr_db"]), float(plain[0]["sqnr_db"]) + 2)

    def test_misuse_is_told_in_a_line(self):
        for words, said in ((("census", "m.safetensors", "--to", "e4m3", "--hadamard", "24"), "--hadamard"),
                            (("census", "m.safetensors", "--to", "e4m3", "--hadamard", "32:te"), "or 16:te"),
                            (("census", "m.safetensors:bias", "--to", "e4m3", "--hadamard", "16"), "no tensor has rows"),
                            (("cast", "m.safetensors", "-o", "x.safetensors", "--to", "bf16", "--hadamard", "16"), "none of these tensors has scales"),
                            (("cast", "m.safetensors:a.q_proj.w", "-o", "x.npy", "--to", "bf16", "--hadamard", "16"), ".npy holds one tensor")):
            with self.subTest(words):
                code, out, err = self.run_in(*words)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
                self.assertIn(said, err)
        self.assertFalse((self.path / "x.safetensors").exists())


class History(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        for i, tensors in enumerate(({"w": [1, -2], "b": [0.5]}, {"w": [8, 1]}, {"w": [-4, 1], "b": [1], "new": [3]})):
            (self.path / f"{i}.safetensors").write_bytes(safetensors(
                {name: ("F32", [len(v)], struct.pack(f"<{len(v)}f", *v)) for name, v in tensors.items()}))

    def test_rows_follow_a_tensor_through_the_checkpoints(self):
        code, out, err = run("census", *(f"{i}.safetensors" for i in range(3)), "--history", "--all-tensors", "--csv", cwd=self.path)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines(), [
            "tensor,checkpoint,input,count,amax,amax_before,growth_binades",
            "w,0,0.safetensors,2,2,nan,nan", "w,1,1.safetensors,2,8,2,2", "w,2,2.safetensors,2,4,8,-1",
            "b,0,0.safetensors,1,0.5,nan,nan", "b,2,2.safetensors,1,1,0.5,1", "new,2,2.safetensors,1,3,nan,nan",
            "all,0,0.safetensors,3,2,nan,nan", "all,1,1.safetensors,2,8,2,2", "all,2,2.safetensors,4,4,8,-1"])

    def test_from_nothing_it_grows_without_end(self):
        for i, values in enumerate(([0, 0], [0, 0], [5, 1], [0, 0])):
            (self.path / f"z{i}.safetensors").write_bytes(safetensors({"w": ("F32", [2], struct.pack("<2f", *values))}))
        _, out, _ = run("census", *(f"z{i}.safetensors" for i in range(4)), "--history", "--csv", cwd=self.path)
        self.assertEqual([line.rpartition(",")[2] for line in out.splitlines()[1:]], ["nan", "0", "inf", "-inf"])

    def test_a_report(self):
        inputs = [f"{i}.safetensors" for i in range(3)]
        _, out, _ = run("census", *inputs, "--history", "--csv", cwd=self.path)
        self.assertEqual(run("census", *inputs, "--history", "-o", "report", cwd=self.path)[0], 0)
        self.assertEqual((self.path / "report/history.csv").read_text(), out)
        said = (self.path / "report/findings.csv").read_text()
        self.assertIn("w grows by 2 binades beyond its history in 1.safetensors: up to 8 after 2.", said)
        self.assertIn("b grows by 1 binades beyond its history in 2.safetensors: up to 1 after 0.5.", said)
        self.assertEqual(said.count("\n"), 3)
        self.assertTrue((self.path / "report/history_amax.svg").exists())
        for i, values in enumerate(([0, 1], [5, float("inf")])):
            (self.path / f"z{i}.safetensors").write_bytes(safetensors({"zero": ("F32", [1], struct.pack("<f", values[0])),
                                                                       "one": ("F32", [1], struct.pack("<f", values[1]))}))
        self.assertEqual(run("census", "z0.safetensors", "z1.safetensors", "--history", "-o", "z", cwd=self.path)[0], 0)
        said = (self.path / "z/findings.csv").read_text()
        self.assertIn("zero is 0 before z1.safetensors, and up to 5 there.", said)
        self.assertIn("one holds an infinity in z1.safetensors, after up to 1.", said)
        self.assertEqual(run("report", "check", "report", cwd=self.path)[0], 0)

    def test_misuse(self):
        for words, said in ((("0.safetensors",), "two checkpoints or more"), (("0.safetensors", "1.safetensors", "--resume"), "-o DIR is missing"),
                            (("0.safetensors", "1.safetensors", "--blocks"), "give one of them"),
                            (("0.safetensors", "1.safetensors", "--to", "e4m3"), "leave out formats"),
                            (("0.safetensors", "1.safetensors", "--rounding", "toward_zero"), "leave out formats"),
                            (("0.safetensors:w", "2.safetensors:b"), "no tensor is in two of the checkpoints by its name; the first is w"),
                            (("0.safetensors", "1.safetensors", "--shard", "0/2", "-o", "p"), "leave out")):
            code, out, err = run("census", *words, "--history", cwd=self.path)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertIn(said, err)


if __name__ == "__main__":
    unittest.main()
