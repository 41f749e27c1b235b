#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that `ulpscope cast` writes, read by the libraries that its layouts are for: safetensors, compressed-tensors (vLLM) and
torchao. What they make of them is as far from the original as a census says. Without one of these it is skipped by name (exit code 4).

usage: checkpoints_test.py PROGRAM, with the package on PYTHONPATH"""
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
    import torch
    import torchao  # noqa: F401
    from compressed_tensors.compressors.base import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file
    from torchao.prototype.safetensors.safetensors_support import unflatten_tensor_state_dict
except ImportError as error:
    print(f"python_checkpoints: skipped: no {error.name}")
    sys.exit(4)

PROGRAM = os.path.abspath(sys.argv.pop(1))
NAME = "layers.0.mlp.up_proj.weight"


def decibels(reference, other):
    reference, other = reference.double(), other.double()
    return 10 * math.log10((reference**2).sum() / ((reference - other) ** 2).sum())


class Checkpoints(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        torch.manual_seed(0)
        self.weight = torch.randn(64, 256) * torch.logspace(-1, 1, 64)[:, None]
        self.bias = torch.arange(3.0)
        save_file({NAME: self.weight, "layers.0.bias": self.bias}, self.path / "m.safetensors", {"format": "pt"})

    def run_here(self, *words):
        done = subprocess.run([PROGRAM, *words], cwd=self.path, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def cast(self, to, scale, layout):
        self.run_here("cast", "m.safetensors", "--to", to, "--scale", scale, "--layout", layout, "--copy", "*bias", "-o", "q.safetensors")
        with safe_open(self.path / "q.safetensors", "pt") as file:
            return load_file(self.path / "q.safetensors"), file.metadata()

    def census(self, to, scale):
        out = self.run_here("census", f"m.safetensors:{NAME}", "--to", to, "--scale", scale, "--policy", "saturating", "--csv")
        return float(next(csv.DictReader(io.StringIO(out)))["sqnr_db"])

    def assert_same_decibels(self, got, to, scale, delta=1e-5):
        self.assertAlmostEqual(decibels(self.weight, got), self.census(to, scale), delta=delta, msg=(to, scale))

    def test_torch_reads_the_dtypes(self):
        for to, scale, dtypes in (
                ("e4m3", "row", (torch.float8_e4m3fn, torch.float32)), ("e5m2", "amax", (torch.float8_e5m2, torch.float32)),
                ("e2m1", "mx:rceil", (torch.float4_e2m1fn_x2, torch.float8_e8m0fnu)), ("int8", "row", (torch.int8, torch.float32)),
                ("e2m1", "nvfp4", (torch.float4_e2m1fn_x2, torch.float8_e4m3fn))):
            tensors, metadata = self.cast(to, scale, "ulpscope")
            self.assertEqual((tensors[NAME].dtype, tensors[NAME + ".scale"].dtype), dtypes)
            self.assertEqual(metadata, {"format": "pt"})
            self.assertTrue(torch.equal(tensors["layers.0.bias"], self.bias))
        values = tensors = self.cast("e4m3", "row", "ulpscope")[0]
        values = tensors[NAME].float() * tensors[NAME + ".scale"]
        self.assert_same_decibels(values, "e4m3", "row")

    def test_compressed_tensors_reads_its_layout(self):
        fp4, fp8 = {"num_bits": 4, "type": "float"}, {"num_bits": 8, "type": "float"}
        mx = {"strategy": "group", "group_size": 32, "scale_dtype": torch.uint8}
        for form, to, scale, arguments, delta in (
                ("nvfp4-pack-quantized", "e2m1", "nvfp4", fp4 | {"strategy": "tensor_group", "group_size": 16}, 0.02),  # in bfloat16
                ("mxfp4-pack-quantized", "e2m1", "mx:rceil", fp4 | mx, 1e-5),
                ("mxfp8-quantized", "e4m3", "mx:rceil", fp8 | mx, 1e-5),
                ("float-quantized", "e4m3", "amax", fp8 | {"strategy": "tensor"}, 1e-5),
                ("float-quantized", "e4m3", "row", fp8 | {"strategy": "channel"}, 1e-5),
                ("float-quantized", "e4m3", "128x128", fp8 | {"strategy": "block", "block_structure": [128, 128]}, 1e-5),
                ("int-quantized", "int8", "row", {"num_bits": 8, "type": "int", "strategy": "channel"}, 1e-5)):
            stem = NAME.removesuffix("weight")
            tensors = {name.removeprefix(stem): tensor for name, tensor in self.cast(to, scale, "compressed-tensors")[0].items()
                       if name.startswith(stem)}
            compressor = BaseCompressor.get_value_from_registry(form)
            scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**arguments), format=form)
            self.assertEqual(set(tensors), set(compressor.compression_param_names(scheme)))
            self.assert_same_decibels(compressor.decompress(tensors, scheme)["weight"], to, scale, delta)

    def test_torchao_reads_its_layout(self):
        for to, scale, kind in (("e4m3", "amax", "Float8Tensor"), ("e4m3", "row", "Float8Tensor"), ("e5m2", "row", "Float8Tensor"),
                                ("e4m3", "128x128", "Float8Tensor"), ("int8", "row", "Int8Tensor"), ("e4m3", "mx:rceil", "MXTensor"),
                                ("e5m2", "mx:even", "MXTensor"), ("e2m1", "mx:floor", "MXTensor"), ("e2m1", "nvfp4", "NVFP4Tensor")):
            tensors, rest = unflatten_tensor_state_dict(*self.cast(to, scale, "torchao"))
            self.assertEqual((set(tensors), rest), ({NAME, "layers.0.bias"}, {}))
            self.assertEqual(type(tensors[NAME]).__name__, kind)
            self.assertTrue(torch.equal(tensors["layers.0.bias"], self.bias))
            self.assert_same_decibels(tensors[NAME].dequantize(), to, scale)


unittest.main()
