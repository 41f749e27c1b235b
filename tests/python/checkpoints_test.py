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
    from torch.ao.quantization import MinMaxObserver, PerChannelMinMaxObserver
    from torchao.prototype.safetensors.safetensors_support import unflatten_tensor_state_dict
    from torchao.quantization.quant_primitives import MappingType, choose_qparams_affine, quantize_affine
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
                ("int-quantized", "int8", "row", {"num_bits": 8, "type": "int", "strategy": "channel"}, 1e-5),
                ("int-quantized", "int8", "minmax:row", {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": False}, 1e-5),
                ("int-quantized", "int8", "minmax", {"num_bits": 8, "type": "int", "strategy": "tensor", "symmetric": False}, 1e-5)):
            stem = NAME.removesuffix("weight")
            tensors = {name.removeprefix(stem): tensor for name, tensor in self.cast(to, scale, "compressed-tensors")[0].items()
                       if name.startswith(stem)}
            compressor = BaseCompressor.get_value_from_registry(form)
            scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**arguments), format=form)
            self.assertEqual(set(tensors), set(compressor.compression_param_names(scheme)))
            self.assert_same_decibels(compressor.decompress(tensors, scheme)["weight"], to, scale, delta)

    def parts(self, to, scale):
        tensors = self.cast(to, scale, "ulpscope")[0]
        return tensors[NAME], tensors[NAME + ".scale"].flatten(), tensors[NAME + ".zero_point"].flatten()

    def assert_parts(self, got, codes, scales, zeros):
        for ours, theirs in zip(got, (codes, scales, zeros), strict=True):
            self.assertTrue(torch.equal(ours.to(theirs.dtype), theirs))

    def test_zero_points_are_those_of_torchs_observers(self):
        self.weight += 0.3
        save_file({NAME: self.weight, "layers.0.bias": self.bias}, self.path / "m.safetensors", {"format": "pt"})
        whole = MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_affine)
        whole(self.weight)
        scale, zero = whole.calculate_qparams()
        self.assert_parts(self.parts("int8", "minmax"),
                          torch.quantize_per_tensor(self.weight, scale.item(), zero.item(), torch.qint8).int_repr(), scale, zero)
        rows = PerChannelMinMaxObserver(ch_axis=0, dtype=torch.qint8, qscheme=torch.per_channel_affine)
        rows(self.weight)
        scale, zero = rows.calculate_qparams()
        self.assert_parts(self.parts("int8", "minmax:row"),
                          torch.quantize_per_channel(self.weight, scale, zero, 0, torch.qint8).int_repr(), scale, zero)

    def test_zero_points_are_torchaos(self):
        self.weight -= 0.2
        save_file({NAME: self.weight, "layers.0.bias": self.bias}, self.path / "m.safetensors", {"format": "pt"})
        for bits, rule, block in ((8, "minmax", (64, 256)), (8, "minmax:row", (1, 256)), (4, "minmax:1x128", (1, 128)), (4, "minmax:row", (1, 256))):
            ends = -2**(bits - 1), 2**(bits - 1) - 1
            scale, zero = choose_qparams_affine(self.weight, MappingType.ASYMMETRIC, block, torch.int8, *ends)
            codes = quantize_affine(self.weight, block, scale, zero, torch.int8, *ends)
            self.assert_parts(self.parts(f"int{bits}", rule), codes, scale.flatten(), zero.flatten())

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
