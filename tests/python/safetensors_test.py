#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that `ulpscope cast` writes, read by the safetensors library, which checks what a file says of itself, and NumPy: their values are as far
from the original as a census says; and files that the library writes, read by `ulpscope`. Without safetensors or ml_dtypes it is skipped by name
(exit code 4). What needs torch is in checkpoints_test.py.

usage: safetensors_test.py PROGRAM"""
import csv
import io
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import ml_dtypes
    import numpy as np
    import safetensors
    from safetensors.numpy import load_file, save_file
except ImportError as error:
    print(f"python_safetensors: skipped: no {error.name}")
    sys.exit(4)

PROGRAM = os.path.abspath(sys.argv.pop(1))
NAME = "layers.0.mlp.up_proj.weight"
DTYPES = {"F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2, "F8_E8M0": ml_dtypes.float8_e8m0fnu, "BF16": ml_dtypes.bfloat16,
          "F32": np.float32, "F16": np.float16, "I8": np.int8}


def array(entry):
    """What an entry of a file holds; two elements of 4 bits lie in a byte, the first in its low bits."""
    data = np.frombuffer(bytes(entry["data"]), np.uint8)
    if entry["dtype"] == "F4":
        return np.stack([data & 15, data >> 4], axis=-1).reshape(entry["shape"]).view(ml_dtypes.float4_e2m1fn)
    return data.view(DTYPES[entry["dtype"]]).reshape(entry["shape"])


class Safetensors(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        drawn = np.random.default_rng(0)
        self.weight = (drawn.normal(size=(64, 256)) * np.logspace(-1, 1, 64)[:, None]).astype(np.float32)
        self.bias = np.arange(3, dtype=np.float32)
        save_file({NAME: self.weight, "layers.0.bias": self.bias}, self.path / "m.safetensors", {"format": "np"})

    def run_here(self, *words):
        done = subprocess.run([PROGRAM, *words], cwd=self.path, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def cast(self, to, scale):
        self.run_here("cast", "m.safetensors", "--to", to, "--scale", scale, "--copy", "*bias", "-o", "q.safetensors")
        entries = dict(safetensors.deserialize((self.path / "q.safetensors").read_bytes()))
        return {name: array(entry) for name, entry in entries.items()}

    def decibels(self, to, scale):
        out = self.run_here("census", f"m.safetensors:{NAME}", "--to", to, "--scale", scale, "--policy", "saturating", "--csv")
        return float(next(csv.DictReader(io.StringIO(out)))["sqnr_db"])

    def test_the_library_reads_what_is_written(self):
        for to, scale, columns in (("e4m3", "row", 256), ("e5m2", "amax", 256), ("e4m3", "mx:rceil", 32), ("e2m1", "mx:floor", 32), ("e2m1", "nvfp4", 16),
                                   ("e4m3", "1x128", 128), ("int8", "row", 256), ("bf16", "none", 256), ("fp16", "none", 256)):
            with self.subTest(to=to, scale=scale):
                tensors = self.cast(to, scale)
                self.assertTrue(np.array_equal(tensors["layers.0.bias"], self.bias))
                values = tensors[NAME].astype(np.float64)
                if scale != "none":
                    scales = tensors[NAME + ".scale"].astype(np.float64)
                    values *= np.repeat(scales, columns, axis=-1) if scales.ndim else scales
                if scale == "nvfp4":
                    values *= tensors[NAME + ".global_scale"].astype(np.float64)
                wanted = self.weight.astype(np.float64)
                got = 10 * math.log10((wanted**2).sum() / ((wanted - values) ** 2).sum())
                # Stored scales are rounded reciprocals: as checkpoints_test.py allows for them.
                self.assertAlmostEqual(got, self.decibels(to, scale), delta=1e-5)

    def test_numpy_loads_what_it_has_dtypes_for(self):
        self.run_here("cast", "m.safetensors", "--to", "int8", "--scale", "row", "-o", "q.safetensors")
        tensors = load_file(self.path / "q.safetensors")
        self.assertEqual({name: (tensor.dtype.name, tensor.shape) for name, tensor in tensors.items() if name.startswith(NAME)},
                         {NAME: ("int8", (64, 256)), NAME + ".scale": ("float32", (64, 1))})
        with safetensors.safe_open(self.path / "q.safetensors", "np") as file:
            self.assertEqual(file.metadata(), {"format": "np"})

    def test_what_the_library_writes_is_read(self):
        made = {"a": np.arange(6, dtype=np.float64).reshape(2, 3), "b": np.array([1, 2], np.int16), "c": np.array([True, False]), "none": np.zeros((0, 4), np.float32),
                "scalar": np.array(3, np.float16)}
        save_file(made, self.path / "n.safetensors")
        rows = csv.DictReader(io.StringIO(self.run_here("info", "n.safetensors", "--csv")))
        self.assertEqual({row["tensor"].partition(":")[2]: (row["dtype"], row["shape"]) for row in rows},
                         {name: (tensor.dtype.name, "x".join(map(str, tensor.shape))) for name, tensor in made.items()})


if __name__ == "__main__":
    unittest.main()
