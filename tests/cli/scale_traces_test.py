#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces and scalers of `ulpscope scale` by their words: what a table or a parameter says, or how it is refused.

usage: scale_traces_test.py PROGRAM"""
import csv
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
LARGEST = 65504  # of float16
UNUSED = "t.csv: has amax, which decides at every scale; found_inf, of the scale at that time, is not used"

# A trace, words, and what is said.
REFUSED = [("amax\n1\n", ("--scaler", words), what) for words, what in (
    ("static:2^", "scaler static: scale: '2^': give a finite number"), ("static:2^x", "scaler static: scale: '2^x': give a finite number"),
    ("static:2^1024", "scaler static: scale: '2^1024': give a finite number"),
    ("static:none", "scaler static: scale: 'none': give a finite number"),
    ("static:scale=2,scale=3", "scaler static: scale is given twice"),
    ("keras:floor=1", "scaler keras: unknown parameter 'floor'; known: initial_scale, dynamic_growth_steps"),
    ("te_delayed:amax_history_len=2^2", "scaler te_delayed: amax_history_len: '2^2': give a whole number from 1 to 1048576"),
    ("te_delayed:amax_compute_algo=min", "scaler te_delayed: amax_compute_algo: 'min': give max or most_recent"))] + [
    (f"amax\n{word}\n", (), f"t.csv: row 2: amax '{word}': give a number of at least 0, inf or nan") for word in ("-1", "-inf", "x")] + [
    ("found_inf\n1\n2\n", (), "t.csv: row 3: found_inf '2': give 0 or 1"),
    ("amax,amax\n1,1\n", (), "t.csv: has several columns amax; leave one"), ("found_inf\n", (), "t.csv: holds no step")]

# A scaler, a trace, and the scale behind each of its steps.
SCALES = (
    ("static:2^3", "amax\n1\n", [8]), ("static:2^-3", "amax\n1\n", [0.125]), ("apex:min_loss_scale=none", "found_inf\n1\n", [32768]),
    ("paddle:init_loss_scaling=2^127,incr_every_n_steps=1", "found_inf\n0\n", [float("inf")]),
    ("paddle:init_loss_scaling=2^127,incr_every_n_steps=1,static_graph=true", "found_inf\n0\n", [2.0**127]),
    ("paddle:init_loss_scaling=2^126,incr_every_n_steps=1,static_graph=true", "found_inf\n0\n", [2.0**127]),
    ("te_delayed:amax_history_len=2", "amax\n1\n2\n1\n", [LARGEST, LARGEST / 2, LARGEST / 2]),
    ("te_delayed:amax_history_len=2,amax_compute_algo=max", "amax\n1\n2\n1\n", [LARGEST, LARGEST / 2, LARGEST / 2]),
    ("te_delayed:amax_history_len=2,amax_compute_algo=most_recent", "amax\n1\n2\n1\n", [LARGEST, LARGEST / 2, LARGEST]))


def safetensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        codes = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [len(data), len(data) + len(codes)]}
        data += codes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Traces(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def scale(self, trace, *words):
        return subprocess.run([PROGRAM, "scale", trace, "--csv", *words], capture_output=True, text=True, cwd=self.path, timeout=LIMIT)

    def of_table(self, text, *words):
        (self.path / "t.csv").write_text(text)
        return self.scale("t.csv", *words)

    def rows(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def test_what_is_refused(self):
        for text, words, what in REFUSED:
            with self.subTest((text, words)):
                done = self.of_table(text, *words)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"ulpscope: {what}\n"))

    def test_scales_that_follow(self):
        for scaler, text, scales in SCALES:
            rows = self.rows(self.of_table(text, "--scaler", scaler))
            self.assertEqual([float(row["next_scale"]) for row in rows], scales, scaler)

    def test_an_amax_that_is_none_overflows(self):
        for word, overflows in (("nan", 1), ("NaN", 1), ("inf", 1), ("Infinity", 1), ("65504", 0), ("65520", 1)):
            row, = self.rows(self.of_table(f"amax\n{word}\n", "--scaler", "static:1"))
            self.assertEqual(row["found_inf"], str(overflows), word)

    def test_found_inf_beside_amax_is_not_used(self):
        for text, more in (("1,1\n2,1\n", "; it is 1 in 2 rows where amax is finite"), ("1,1\n2,0\n", "; it is 1 in 1 row where amax is finite"),
                           ("1,0\ninf,1\n", "")):
            done = self.of_table("amax,found_inf\n" + text)
            self.assertEqual((done.returncode, done.stderr), (0, f"{UNUSED}{more}\n"))

    def test_names_of_gradients(self):
        for name in ("w", "12/", "x/w", "/w", "-1/w"):
            safetensors(self.path / "g.safetensors", {name: [1.0]})
            done = self.scale("g.safetensors")
            self.assertEqual((done.returncode, done.stderr),
                             (2, f"ulpscope: g.safetensors:{name}: gradients of a step are named STEP/NAME, such as 12/layer1.weight\n"))

    def test_gradients(self):
        near = 1 + 325 / 4096  # twice of it, sums of squares are less than their product with the rounded ones
        safetensors(self.path / "g.safetensors", {"0/a": [1.0, 2.0**-26], "0/b": [2.0**-20] * 3, "1/a": [], "2/a": [0.0], "3/a": [near, near]})
        rows = self.rows(self.scale("g.safetensors", "--scaler", "static:1"))
        self.assertEqual([(row["step"], row["found_inf"], row["to_zero"], row["subnormal"], row["cosine"]) for row in rows],
                         [("0", "0", "1", "3", "1"), ("1", "0", "0", "0", "nan"), ("2", "0", "0", "0", "nan"), ("3", "0", "0", "0", "1")])
        self.rows(self.scale("g.safetensors", "--scaler", "popart"))

    def test_the_least_gradient_that_survives_is_that_of_all_tensors(self):
        for values in ([1.0, 2.0**-20], [2.0**-10]), ([2.0**-10], [1.0, 2.0**-20]), ([0.0], [2.0**-20, 1.0]):
            safetensors(self.path / "g.safetensors", {f"0/{i}": numbers for i, numbers in enumerate(values)})
            self.assertEqual(self.scale("g.safetensors", "--scaler", "static:1", "-o", "out").returncode, 0)
            row, = csv.DictReader((self.path / "out/scale_windows.csv").open())
            self.assertAlmostEqual(float(row["least_scale"]), 2.0**-5, msg=values)  # half of the least float16 is 2^-25


if __name__ == "__main__":
    unittest.main()
