#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of .gguf files beside what ggml's own Python package makes of them, bit by bit: blocks of every type that is read, random in
all their bytes. Without the package gguf it is skipped by name (exit code 4).

usage: gguf_test.py PROGRAM, with the package on PYTHONPATH"""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

try:
    import gguf
except ImportError:
    print("python_gguf: skipped: no gguf")
    sys.exit(4)

PROGRAM = os.path.abspath(sys.argv.pop(1))
TYPES = gguf.GGMLQuantizationType
BLOCKS = {"q4_0": TYPES.Q4_0, "q4_1": TYPES.Q4_1, "q5_0": TYPES.Q5_0, "q5_1": TYPES.Q5_1, "q8_0": TYPES.Q8_0, "q2_K": TYPES.Q2_K,
          "q3_K": TYPES.Q3_K, "q4_K": TYPES.Q4_K, "q5_K": TYPES.Q5_K, "q6_K": TYPES.Q6_K, "mxfp4": TYPES.MXFP4}
NUMBERS = {"float32": np.float32, "float16": np.float16, "float64": np.float64, "int8": np.int8, "int16": np.int16, "int32": np.int32,
           "int64": np.int64}
ROWS, BLOCKS_IN_ROW = 64, 8


class Files(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        self.random = np.random.default_rng(3)

    def run_here(self, *words):
        done = subprocess.run([PROGRAM, *words], cwd=self.path, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def write(self, tensors, alignment=None):
        writer = gguf.GGUFWriter(self.path / "m.gguf", "llama")
        if alignment:
            writer.add_custom_alignment(alignment)
        writer.add_array("tokenizer.ggml.tokens", ["a", "bc", ""])
        writer.add_array("tokenizer.ggml.scores", [0.5, 1.5])
        writer.add_bool("flag", True)
        writer.add_string("general.name", "a model")
        for name, (values, kind) in tensors.items():
            writer.add_tensor(name, values, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def values(self, name, to="fp32"):
        self.run_here("cast", f"m.gguf:{name}", "--to", to, "--codes", "-o", "out.npy")
        return np.load(self.path / "out.npy")

    def blocks(self, kind):
        size, length = gguf.GGML_QUANT_SIZES[kind]
        return self.random.integers(0, 256, (ROWS, BLOCKS_IN_ROW * length), np.uint8), size

    def test_blocks_of_every_type(self):
        made = {name: self.blocks(kind) for name, kind in BLOCKS.items()}
        self.write({name: (made[name][0], kind) for name, kind in BLOCKS.items()}, alignment=64)
        with np.errstate(all="ignore"):
            wanted = {name: gguf.dequantize(made[name][0], kind).astype(np.float32) for name, kind in BLOCKS.items()}
        for name in BLOCKS:
            self.assertEqual(wanted[name].shape, (ROWS, BLOCKS_IN_ROW * made[name][1]))
            got = self.values(name).view(np.float32)
            both_nan = np.isnan(got) & np.isnan(wanted[name])
            same = (got.view(np.uint32) == wanted[name].view(np.uint32)) | both_nan
            self.assertTrue(same.all(), f"{name}: {np.count_nonzero(~same)} of {same.size} differ")
            self.assertGreater(np.count_nonzero(np.isfinite(wanted[name])), same.size // 2)
        rows = {row["tensor"]: row for row in csv.DictReader(self.run_here("info", "m.gguf", "--csv").splitlines())}
        self.assertEqual({name: rows[f"m.gguf:{name}"]["dtype"] for name in BLOCKS}, {name: name for name in BLOCKS})

    def test_numbers_and_shapes(self):
        made = {name: self.random.standard_normal((2, 3, 5)).astype(dtype) * 9 for name, dtype in NUMBERS.items()}
        made = {name: values.astype(NUMBERS[name]) for name, values in made.items()}
        tensors = {name: (values, None) for name, values in made.items()}
        bf16 = self.random.integers(0, 1 << 16, (4, 6), np.uint16)
        tensors["bfloat16"] = (bf16.view(np.uint8), TYPES.BF16)
        self.write(tensors)
        for name, values in made.items():
            self.run_here("cast", f"m.gguf:{name}", "--to", "fp64", "--codes", "-o", "out.npy")
            np.testing.assert_array_equal(np.load(self.path / "out.npy").view(np.float64), values.astype(np.float64))
        np.testing.assert_array_equal(self.values("bfloat16", "bf16"), np.where(np.isnan((bf16.astype(np.uint32) << 16).view(np.float32)), 0x7FC0, bf16))

    def test_a_real_quantizer(self):
        weight = (self.random.standard_normal((32, 512)) * 0.02).astype(np.float32)
        made = {kind.name: (gguf.quantize(weight, kind), kind) for kind in (TYPES.Q8_0, TYPES.Q4_0, TYPES.Q5_1, TYPES.MXFP4)}
        self.write(made)
        np.save(self.path / "w.npy", weight)
        decibels = {}
        for name in made:
            done = subprocess.run([PROGRAM, "diff", "w.npy", f"m.gguf:{name}", "--csv"], cwd=self.path, capture_output=True, text=True, timeout=60)
            decibels[name] = float(next(csv.DictReader(done.stdout.splitlines()))["sqnr_db"])
        self.assertGreater(decibels["Q8_0"], 44)
        self.assertGreater(decibels["Q5_1"], 25)
        self.assertGreater(decibels["Q4_0"], 19)
        self.assertGreater(decibels["MXFP4"], 17)
        rows = list(csv.DictReader(self.run_here("choose", "m.gguf:Q4_0", "--to", "e4m3", "--scale", "row", "--csv").splitlines()))
        self.assertEqual((rows[0]["format"], float(rows[0]["bits_before"])), ("copy", 4.5))  # no number is wider than it is


unittest.main()
