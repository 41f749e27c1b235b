# SPDX-License-Identifier: Apache-2.0
"""What tests of cast share: a folder with a tensor in it, and formats by their definitions, from which files are read back."""
import math
import pathlib
import random
import struct
import tempfile
import unittest

from files_test import parse, run, safetensors


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def minifloat(exponent_bits, fraction_bits, bias, codes):
    """Values of the codes whose sign is positive, by OFP8 and MX 1.0, 5.3: no infinities."""
    values = []
    for code in range(codes):
        exponent, fraction = code >> fraction_bits, code & ((1 << fraction_bits) - 1)
        significand = fraction / (1 << fraction_bits) + (exponent > 0)
        values.append(significand * 2.0 ** (max(exponent, 1) - bias))
    return values


E4M3, E2M1 = minifloat(4, 3, 7, 127), minifloat(2, 1, 1, 8)


def nearest(values, x):
    """The code of the nearest value, ties to the even code, and no more than the largest; its sign apart."""
    return min(range(len(values)), key=lambda code: (abs(values[code] - abs(x)), code & 1))


def decoded(values, code, bits):
    return math.copysign(values[code & ((1 << bits - 1) - 1)], -1 if code >> (bits - 1) else 1)


def floats(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def nibbles(data):
    return [part for byte in data for part in (byte & 15, byte >> 4)]


ROWS, COLUMNS = 3, 160
NAME = "layers.0.self_attn.q_proj.weight"


class Folder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        drawn = random.Random(1)
        self.values = [float32(drawn.gauss(0, 0.05) * 2 ** drawn.randint(-3, 3)) for _ in range(ROWS * COLUMNS)]
        self.write("m.safetensors", {NAME: self.tensor([ROWS, COLUMNS], self.values)})

    @staticmethod
    def tensor(shape, values):
        return "F32", shape, struct.pack(f"<{len(values)}f", *values)

    def write(self, name, tensors, metadata=None):
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_bytes(safetensors(tensors, metadata))

    def run_here(self, *words, wanted=0):
        code, out, err = run(*words, cwd=self.path)
        self.assertEqual(code, wanted, err)
        return out, err

    def refused(self, *words):
        out, err = self.run_here(*words, wanted=2)
        self.assertEqual((out, err.count("\n")), ("", 1), err)
        return err.removeprefix("ulpscope: ").rstrip("\n")

    def cast(self, *words, out="out.safetensors", source="m.safetensors"):
        _, err = self.run_here("cast", source, *words, "-o", out)
        self.remarks = err
        return parse(self.path / out) if out.endswith(".safetensors") else None

    def rows(self):
        return [self.values[COLUMNS * i:COLUMNS * (i + 1)] for i in range(ROWS)]

    def assert_entries(self, header, wanted):
        self.assertEqual({name: (entry["dtype"], entry["shape"]) for name, entry in header.items()}, wanted)
