#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `ulpscope explain` on outputs that `ulpscope matmul` writes with another arithmetic than is claimed: verdicts, exit codes,
commands that reproduce, error lines. usage: explain_test.py PROGRAM"""
import csv
import io
import math
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop(1))
INPUTS = ("normal:0,1:16x128", "normal:0,1:128x12", "--seed", "1,2")


def run(*words, cwd=None):
    done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=cwd, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


class Explain(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def compute(self, *words, inputs=INPUTS):
        code, _, err = run("matmul", *inputs, *words, "-o", "d.npy", cwd=self.path)
        self.assertEqual(code, 0, err)

    def explain(self, *words, inputs=INPUTS):
        code, out, err = run("explain", "matmul", *inputs, "--output", "d.npy", "--csv", "--seconds", "0", *words, cwd=self.path)
        return code, list(csv.DictReader(io.StringIO(out))), err

    def test_a_claim_that_is_kept(self):
        self.compute("--engine", "sm_90", "--in", "bf16")
        code, rows, err = self.explain("--engine", "sm_90", "--in", "bf16")
        self.assertEqual((code, [r["hypothesis"] for r in rows]), (0, ["claim"]), err)
        self.assertEqual((rows[0]["matched"], rows[0]["explains"]), ("192", "yes"))

    def test_a_tf32_kernel_that_claims_float32(self):
        self.compute("--engine", "fma", "--in", "tf32")
        code, rows, err = self.explain("--in", "float32")
        self.assertEqual((code, rows[1]["hypothesis"], rows[1]["lift"]), (1, "in=tf32", "1"))
        self.assertIn("behaves as inputs cut to tf32", err)

    def test_an_accumulator_of_any_width(self):
        inputs = ("normal:0,1:16x256", "normal:0,1:256x12", "--seed", "1,2")
        for engine in ("block:n=32,f=13,out=rz", "block:n=8,f=10,out=rz", "block:n=64,f=20,out=rz"):
            self.compute("--in", "bf16", "--engine", engine, inputs=inputs)
            for claimed in ("fma", "sm_90"):
                code, rows, err = self.explain("--in", "bf16", "--engine", claimed, inputs=inputs)
                self.assertEqual((code, rows[1]["hypothesis"], rows[1]["explains"], rows[1]["lift"]), (1, "engine=" + engine, "yes", "1"), err)
                self.assertEqual(len({row["hypothesis"] for row in rows}), len(rows))
        self.assertIn("behaves as an accumulator that 64 products at a time are aligned to, with 20 fraction bits, the rest cut off", err)

    def test_the_command_of_a_finding_reproduces_the_output(self):
        for computed in (("--engine", "sm_90", "--split-k", "4"), ("--engine", "sm_80"), ("--engine", "sm_90", "--promote", "32"),
                         ("--engine", "sm_80", "--split-k", "2"), ("--engine", "bf16x1:k=32,join=1.0"),
                         ("--engine", "block:n=8,f=25"), ("--engine", "tf32x1:k=16,join=2.0.1")):
            form = "float32" if computed[1].startswith("tf32") else "bf16"
            self.compute("--in", form, *computed)
            code, rows, err = self.explain("--engine", "fma" if form == "float32" else "sm_90", "--in", form)
            self.assertEqual((code, rows[1]["matched"]), (1, "192"), err)
            words = shlex.split(rows[1]["command"])
            again = subprocess.run([PROGRAM, *words[1:]], cwd=self.path, stderr=subprocess.PIPE, timeout=LIMIT)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual((self.path / "replayed.npy").read_bytes(), (self.path / "d.npy").read_bytes())

    def test_noise_is_none_of_these(self):
        self.compute("--engine", "fma", "--in", "bf16")
        data = bytearray((self.path / "d.npy").read_bytes())
        start = 10 + struct.unpack("<H", data[8:10])[0]
        for i in range(0, 192, 7):
            data[start + 4 * i] ^= 1
        (self.path / "d.npy").write_bytes(bytes(data))
        code, rows, err = self.explain("--in", "bf16")
        self.assertEqual(code, 1)
        self.assertIn("none of the", err)
        self.assertEqual({r["explains"] for r in rows}, {"no"})

    def test_limited_time_is_the_default_and_says_what_was_left(self):
        self.compute("--engine", "fma", "--in", "bf16", "--out", "e4m3")
        code, _, err = run("explain", "matmul", *INPUTS, "--output", "d.npy", "--in", "bf16", "--out", "fp32", "--seconds", "1e-9", cwd=self.path)
        self.assertEqual(code, 1, err)
        self.assertIn("no hypothesis was tried in time", err)
        left, hypotheses = (int(n) for n in re.search(r"stopped after 1e-09 seconds: (\d+) of (\d+) hypotheses .*--seconds 0 tries all", err).groups())
        self.assertEqual(left, hypotheses)
        self.compute("--engine", "fma", "--in", "bf16")
        code, _, err = run("explain", "matmul", *INPUTS, "--output", "d.npy", "--in", "bf16", "--seconds", "1e-9", cwd=self.path)
        self.assertEqual((code, "--seconds 0" in err), (0, True), err)
        seen, sums = re.search(r"(\d+) of (\d+) other ways to sum that were tried would have been seen", err).groups()
        self.assertEqual(seen, sums)
        code, out, _ = run("explain", "matmul", "--help")
        self.assertIn("that hypotheses have, beside the replay of the claim; 0: no limit [10]", " ".join(out.split()))

    def test_data_that_tells_nothing_apart(self):
        zeros = ("uniform:0,0:4x8", "uniform:0,1:8x4")
        self.compute("--engine", "fma", "--in", "bf16", inputs=zeros)
        code, _, err = self.explain("--in", "bf16", inputs=zeros)
        self.assertEqual(code, 3, err)
        self.assertIn("tells nothing apart", err)

    def test_no_elements_explain_nothing(self):
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4)}\n"
        (self.path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        code, out, err = run("explain", "expr", "2 * x", "--input", "x=x.npy", "--output", "x.npy", "--in", "bf16", "--out", "bf16", cwd=self.path)
        self.assertEqual((code, out.splitlines()[1:]), (3, ["2 * x,0,0,0,0,0"]), err)
        self.assertIn("nothing to explain: it has no elements", err)
        code, _, err = run("explain", "expr", "2 * x", "--input", "x=x.npy", "--output", "x.npy", "--points", "fp64", cwd=self.path)
        self.assertEqual((code, "--points fp64: give formats of at most float32" in err), (2, True), err)

    def test_nothing_but_nan_explains_nothing(self):
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n"
        for name, values in (("nan", (math.nan, math.nan)), ("some", (math.nan, 3.0)), ("x", (-1.0, -9.0)), ("y", (-1.0, 9.0))):
            (self.path / f"{name}.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<2f", *values))
        for x, output, code, said in (("x", "nan", 3, "nothing to explain: every element is NaN, which shows no rounding"),
                                      ("y", "some", 0, "it rounds where the formula does"),
                                      ("y", "nan", 1, "no roundings of intermediate results explain it")):
            done, _, err = run("explain", "expr", "sqrt(x)", "--input", f"x={x}.npy", "--output", f"{output}.npy", cwd=self.path)
            self.assertEqual((done, said in err), (code, True), err)

    def test_the_same_bytes_for_any_thread_count(self):
        self.compute("--engine", "sm_80", "--in", "bf16", "--split-k", "4")
        first = self.explain("--engine", "sm_90", "--in", "bf16", "--threads", "1")
        self.assertEqual(first, self.explain("--engine", "sm_90", "--in", "bf16", "--threads", "3"))

    def test_bad_input_gets_one_line(self):
        self.compute("--engine", "fma", "--in", "bf16")
        for words, said in ((("--in", "bf16", "--engine", "sm_91"), "sm_91"), (("--in", "bf16", "--at-least", "2"), "--at-least"),
                            (("--in", "bf16", "--rounding", "stochastic"), "stochastic"),
                            (("--in", "bf16", "--engine", "fma", "--engine", "exact"), "--engine")):
            code, _, err = self.explain(*words)
            self.assertEqual((code, err.count("\n")), (2, 1), err)
            self.assertIn(said, err)
        code, _, err = self.explain("--in", "bf16", inputs=("normal:0,1:15x128", "normal:0,1:128x12"))
        self.assertEqual(code, 2)
        self.assertIn("the product of these operands is", err)
        self.assertEqual(run("explain", "matmul", *INPUTS, "--output", "missing.npy", cwd=self.path)[0], 2)
        self.assertEqual(run("explain", "matmul", *INPUTS)[0], 2)


if __name__ == "__main__":
    unittest.main()
