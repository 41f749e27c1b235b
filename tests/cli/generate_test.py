#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `ulpscope generate`: its files are read back by other commands, described by case.json, the same bytes on every SIMD path,
and bad words are answered in one line. usage: generate_test.py PROGRAM"""
import csv
import hashlib
import io
import json
import os
import pathlib
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest

from simd_paths import last_path
from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop(1))
KINDS = ["ties", "cancellation", "outliers", "thresholds", "zero_blocks", "tiny_amax", "subnormals", "overflow_partial", "one_nan",
         "large_k_bias", "alignment", "order", "permutation", "signed_zero"]


def run(*words, cwd=None, env=None):
    done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=cwd, env={**os.environ, **(env or {})}, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


def bytes_of(folder):
    return {p.name: p.read_bytes() for p in sorted(pathlib.Path(folder).iterdir())}


def npy(path):
    data = path.read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + size])  # a dictionary of literals
    kind, width = {"<f4": ("f", 4), "<u2": ("H", 2), "|u1": ("B", 1)}[header["descr"]]
    body = data[10 + size:]
    return header["shape"], list(struct.unpack(f"<{len(body) // width}{kind}", body))


class Generate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def generate(self, *words, env=None):
        code, out, err = run("generate", *words, cwd=self.path, env=env)
        self.assertEqual((code, err), (0, ""), err)
        return out

    def compared(self, command):
        """The row of the `ulpscope matmul` line that generate printed, with its last two engines."""
        code, out, err = run(*shlex.split(command)[1:], "--csv", cwd=self.path)
        self.assertEqual(code, 0, err)
        return next(csv.DictReader(io.StringIO(out)))

    def test_every_kind_is_used_as_printed_in_every_storage(self):
        for kind in KINDS:
            for storage in ((), ("--codes",), ("--safetensors",)):
                folder = f"{kind}{''.join(storage)}"
                out = self.generate("matmul", kind, "--m", "6", "--n", "5", "--k", "37", "--in", "bf16", "--engine", "fma", "-o", folder,
                                    *storage)
                case = json.loads((self.path / folder / "case.json").read_text())
                for name, digest in case["files"].items():
                    self.assertEqual(hashlib.sha256((self.path / folder / name).read_bytes()).hexdigest(), digest, kind)
                line = next(x for x in out.splitlines() if x.startswith("ulpscope matmul "))
                row = self.compared(line)
                self.assertEqual((row["m"], row["n"], row["k"], row["changed_a"], row["changed_b"]), ("6", "5", "37", "0", "0"), kind)
                self.assertEqual(int(row["differing_codes"]), case["engines"][0]["differing"], kind)
                if case["any_order_is_exact"]:
                    self.assertEqual(row["differing_codes"], "0", kind)
            values = npy(self.path / kind / "expected.npy")
            self.assertEqual(values[0], (6, 5))

    def test_kinds_that_a_bound_says_nothing_about_are_judged_as_printed(self):
        for kind, words in (("cancellation", ()), ("order", ()), ("overflow_partial", ("--acc", "float16")), ("signed_zero", ())):
            out = self.generate("matmul", kind, "--m", "8", "--n", "5", "--k", "64", "--engine", "fma", *words, "-o", kind)
            line = next(x for x in out.splitlines() if x.startswith("ulpscope verify "))
            self.assertIn(f"verify generated {kind} ", line)
            header, values = (self.path / kind / "expected.npy").read_bytes()[:-160], bytes(160)  # 8x5 float32 zeros
            (self.path / "zeros.npy").write_bytes(header + values)
            for output, expected in ((f"{kind}/expected.npy", 0), (f"{kind}/engine-fma.npy", 0), ("zeros.npy", 1)):
                code, shown, err = run(*shlex.split(line.replace("YOURS.npy", output))[1:], "--text", cwd=self.path)
                self.assertEqual(code, expected, (kind, output, shown, err))

    def test_cancellation_as_it_is_by_default_is_judged(self):
        for words in ((), ("--in", "bf16"), ("--out", "fp32")):
            line = next(x for x in self.generate("matmul", "cancellation", *words, "--engine", "fma", "-o", "c").splitlines() if "verify generated" in x)
            data = (self.path / "c" / "expected.npy").read_bytes()
            (self.path / "zeros.npy").write_bytes(data[:128] + bytes(len(data) - 128))
            for output, expected in (("c/expected.npy", 0), ("c/engine-fma.npy", 0), ("zeros.npy", 1)):
                self.assertEqual(run(*shlex.split(line.replace("YOURS.npy", output))[1:], cwd=self.path)[0], expected, (words, output))
            for file in (self.path / "c").iterdir():
                file.unlink()
        line = next(x for x in self.generate("matmul", "cancellation", "--condition", "1e6", "-o", "c").splitlines() if "verify generated" in x)
        code, out, err = run(*shlex.split(line.replace("YOURS.npy", "c/expected.npy"))[1:], cwd=self.path)
        self.assertEqual(code, 3, out + err)
        self.assertIn("give --condition 16384 to both commands", out + err)

    def test_where_any_order_is_exact_one_rounding_is_right(self):
        exact = []
        for kind in KINDS:
            out = self.generate("matmul", kind, "--m", "8", "--n", "9", "--k", "32", "--in", "bf16", "--out", "bf16", "-o", kind)
            if not json.loads((self.path / kind / "case.json").read_text())["any_order_is_exact"] or kind == "signed_zero":
                continue
            exact.append(kind)
            lines = [x for x in out.splitlines() if x.startswith("ulpscope ")]
            self.assertEqual(run(*shlex.split(lines[0].replace("--out bfloat16", "--out float32").split(" --against")[0])[1:], "-o", "sums.npy",
                                 cwd=self.path)[0], 0)
            for rounding, expected in (("nearest_even", 0), ("toward_zero", 1), ("nearest_away", 1)):
                self.assertEqual(run("cast", "sums.npy", "--to", "bf16", "--rounding", rounding, "-o", "d.npy", cwd=self.path)[0], 0)
                is_other = (self.path / "d.npy").read_bytes() != (self.path / kind / "expected.npy").read_bytes()
                judged = shlex.split(lines[1].replace("YOURS.npy", "d.npy"))[1:]
                self.assertEqual(run(*judged, cwd=self.path)[0], expected if kind == "ties" else int(is_other), (kind, rounding))
                if rounding == "toward_zero":
                    self.assertEqual(run(*judged, "--out-rounding", rounding, cwd=self.path)[0], 0, kind)
        self.assertTrue({"ties", "permutation"} <= set(exact), exact)

    def test_an_engine_of_fewer_bits_is_judged_by_its_bits(self):
        out = self.generate("matmul", "alignment", "--m", "8", "--n", "8", "--k", "64", "--in", "e4m3", "--engine", "sm_90", "-o", "case")
        line = next(x for x in out.splitlines() if x.startswith("ulpscope verify "))
        for output, expected in (("engine-sm_90", 0), ("expected", 1)):
            self.assertEqual(run(*shlex.split(line.replace("YOURS.npy", f"case/{output}.npy"))[1:], cwd=self.path)[0], expected, (output, line))

    def test_expected_is_what_the_exact_product_is(self):
        for kind in KINDS:
            words = ["--m", "5", "--n", "4", "--k", "50", "--in", "float32", "--out", "bf16"]
            out = self.generate("matmul", kind, *words, "-o", kind)
            line = next(x for x in out.splitlines() if x.startswith("ulpscope matmul "))
            code, _, err = run(*shlex.split(line.replace("--engine fma --against exact", "--engine exact -o d.npy"))[1:], cwd=self.path)
            self.assertEqual(code, 0, err)
            self.assertEqual((self.path / "d.npy").read_bytes(), (self.path / kind / "expected.npy").read_bytes(), kind)

    def test_wrong_kernels_are_told_from_right_ones(self):
        """The engines play kernels: what random data lets pass, these data do not."""
        def differing(kind, engine, *words):
            self.generate("matmul", kind, "--engine", engine, *words, "-o", f"{kind}-{engine.replace('/', '_')}")
            case = json.loads((self.path / f"{kind}-{engine.replace('/', '_')}" / "case.json").read_text())
            return case["engines"][0]["differing"]

        self.assertEqual(differing("alignment", "fma"), 0)
        self.assertGreater(differing("alignment", "sm_90"), 1000)
        self.assertEqual(differing("subnormals", "cdna1"), 0)
        self.assertGreater(differing("subnormals", "cdna2"), 4000)  # flushes subnormal operands
        self.assertEqual(differing("ties", "sm_90"), 0)
        self.assertEqual(differing("large_k_bias", "sm_100", "--in", "e4m3", "--out", "float32"), 0)
        self.assertEqual(differing("large_k_bias", "sm_90", "--in", "e4m3", "--out", "float32"), 4096)

    def test_the_same_bytes_on_every_simd_path_and_again(self):
        for kind in KINDS:
            words = ("matmul", kind, "--m", "17", "--n", "9", "--k", "70", "--in", "bf16", "--seed", "3", "--engine", "sm_90", "-o")
            self.generate(*words, "one")
            first = bytes_of(self.path / "one")
            self.generate(*words, "two", env={"ULPSCOPE_SIMD": last_path(PROGRAM)})
            self.assertEqual(bytes_of(self.path / "two"), first, kind)
            for folder in ("one", "two"):
                for file in (self.path / folder).iterdir():
                    file.unlink()

    def test_cast_codes_are_those_of_cast(self):
        for to in ("e4m3", "e5m2", "bf16", "e2m1", "e8m0"):
            self.generate("cast", "--to", to, "--policy", "saturating", "-o", to)
            code, _, err = run("cast", f"{to}/input.npy", "--to", to, "--policy", "saturating", "--codes", "-o", "codes.npy", cwd=self.path)
            self.assertEqual(code, 0, err)
            self.assertEqual(npy(self.path / "codes.npy"), npy(self.path / to / "expected.npy"), to)

    def test_list_tells_every_kind(self):
        rows = list(csv.DictReader(io.StringIO(self.generate("list", "--csv"))))
        self.assertEqual([r["kind"] for r in rows], KINDS)
        self.assertTrue(all(r["provokes"] and r["returns"] and r["catches"] for r in rows))
        self.assertIn("ties\n  data ", self.generate("list", "--text"))

    def test_bad_words_are_answered_in_one_line(self):
        (self.path / "full").mkdir()
        (self.path / "full" / "weights.bin").write_text("")
        for words, answer in {
            ("matmul", "tise", "-o", "x"): "unknown kind 'tise'; nearest: ties",
            ("matmul", "ties", "-o", "full"): "holds weights.bin",
            ("matmul", "ties", "--in", "e4m3", "--k", "1", "-o", "x"): "--k 1 is too small",
            ("matmul", "ties", "--in", "e8m0", "-o", "x"): "float8_e8m0fnu does not have 0",
            ("matmul", "ties", "--engine", "sm_9", "-o", "x"): "unknown engine 'sm_9'",
            ("matmul", "ties", "--acc", "bf16", "-o", "x"): "give float32 or float16",
            ("matmul", "ties", "--condition", "9", "-o", "x"): "--condition: is for the kind cancellation",
            ("matmul", "cancellation", "--condition", "nan", "-o", "x"): "give a finite number",
            ("matmul", "cancellation", "--condition", "7", "-o", "x"): "from 8 to",
            ("matmul", "one_nan", "--in", "e2m1", "-o", "x"): "has no NaN",
            ("matmul", "overflow_partial", "-o", "x"): "--acc float16",
            ("matmul", "ties", "--codes", "--safetensors", "-o", "x"): "give one of them",
            ("matmul", "ties", "--in", "tf32", "--safetensors", "-o", "x"): "safetensors has no dtype",
            ("cast", "--to", "fp32", "-o", "x"): "19 bits or fewer",
            ("cast", "--to", "e4m3", "--rounding", "stochastic", "-o", "x"): "no expected code",
        }.items():
            code, out, err = run("generate", *words, cwd=self.path)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn(answer, err)
            self.assertEqual(err.count("\n"), 1, err)


unittest.main()
