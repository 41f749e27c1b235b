#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Integers with a zero point, the rules `minmax`, `minmax:row` and `minmax:1x128`: codes, scales and zero points of `cast` beside those that
torch's MinMaxObserver and quantize_per_tensor define, written here in exact fractions and float32; `census`, `choose` and `diff` of the same.
usage: zero_points_test.py PROGRAM"""
import csv
import fractions
import math
import pathlib
import random
import struct
import tempfile
import unittest

from files_test import parse, run, safetensors

EPS = 2.0**-23
ROWS, COLUMNS = 5, 200


def float32(x):
    """The nearest float32 of a fraction or a float that is one rounding away from it."""
    x = fractions.Fraction(x)
    if x == 0:
        return 0.0
    exponent = max(math.frexp(float(x))[1] - 24, -149)
    return float(fractions.Fraction(round(x / fractions.Fraction(2) ** exponent)) * fractions.Fraction(2) ** exponent)


def quantized(block, bits):
    """Codes, scale and zero point; numbers that are not finite are not among them."""
    least, most = -2**(bits - 1), 2**(bits - 1) - 1
    low, high = min(*block, 0.0), max(*block, 0.0)
    scale = max(float32(fractions.Fraction(float32(fractions.Fraction(high) - fractions.Fraction(low))) / (most - least)), EPS)
    zero = least - round(fractions.Fraction(float32(fractions.Fraction(low) / fractions.Fraction(scale))))
    zero = min(max(zero, least), most)
    inverse = fractions.Fraction(float32(1 / fractions.Fraction(scale)))
    codes = [min(max(round(fractions.Fraction(float32(fractions.Fraction(x) * inverse))) + zero, least), most) for x in block]
    return codes, scale, zero


def blocks_of(rule):
    """Ranges of places that have one scale."""
    if rule == "minmax":
        return [range(ROWS * COLUMNS)]
    width = COLUMNS if rule == "minmax:row" else 128
    return [range(row * COLUMNS + first, row * COLUMNS + min(first + width, COLUMNS)) for row in range(ROWS) for first in range(0, COLUMNS, width)]


class ZeroPoints(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        drawn = random.Random(11)
        shapes = [lambda: drawn.gauss(0.7, 1), lambda: abs(drawn.gauss(0, 3)), lambda: -drawn.expovariate(5), lambda: drawn.gauss(0, 1e-9), lambda: 0.0]
        self.values = [float32(shapes[i // COLUMNS]()) for i in range(ROWS * COLUMNS)]
        self.values[:3] = [-2.5, 253.0 / 2, 0.25]  # of the first row: halves of its steps, and a zero point that is rounded
        self.write("m.safetensors", self.values)

    def write(self, name, values, columns=COLUMNS):
        (self.path / name).write_bytes(safetensors({"layer.w": ("F32", [len(values) // columns, columns], struct.pack(f"<{len(values)}f", *values))}))

    def run_in(self, *words, wanted=0):
        code, out, err = run(*words, cwd=self.path)
        self.assertEqual(code, wanted, (words, err))
        return out, err

    def test_codes_scales_and_zero_points_are_torchs(self):
        for bits in (3, 4, 7, 8):
            for rule in ("minmax", "minmax:row", "minmax:1x128"):
                with self.subTest(bits=bits, rule=rule):
                    self.run_in("cast", "m.safetensors", "--to", f"int{bits}", "--scale", rule, "-o", "q.safetensors")
                    header, data = parse(self.path / "q.safetensors")
                    self.assertEqual([header[name]["dtype"] for name in ("layer.w", "layer.w.scale", "layer.w.zero_point")], ["I8", "F32", "I8"])
                    shape = {"minmax": [], "minmax:row": [ROWS, 1], "minmax:1x128": [ROWS, 2]}[rule]
                    self.assertEqual([header[f"layer.w.{name}"]["shape"] for name in ("scale", "zero_point")], [shape, shape])
                    codes = struct.unpack(f"<{len(self.values)}b", data["layer.w"])
                    scales = struct.unpack(f"<{len(data['layer.w.scale']) // 4}f", data["layer.w.scale"])
                    zeros = struct.unpack(f"<{len(data['layer.w.zero_point'])}b", data["layer.w.zero_point"])
                    error = signal = 0
                    for block, scale, zero in zip(blocks_of(rule), scales, zeros, strict=True):
                        want = quantized([self.values[i] for i in block], bits)
                        self.assertEqual(([codes[i] for i in block], scale, zero), want)
                        for i in block:
                            error += fractions.Fraction((codes[i] - zero) * scale - self.values[i]) ** 2
                            signal += fractions.Fraction(self.values[i]) ** 2
                    decibels = 10 * math.log10(signal / error)
                    out, _ = self.run_in("census", "m.safetensors", "--to", f"int{bits}", "--scale", rule, "--csv")
                    row = next(csv.DictReader(out.splitlines()))
                    self.assertAlmostEqual(float(row["sqnr_db"]), decibels, 9)
                    self.assertEqual((row["overflow"], row["scale"]), ("0", rule))
                    lost = sum(codes[i] == zero and self.values[i] != 0 for block, zero in zip(blocks_of(rule), zeros) for i in block)
                    self.assertEqual(int(row["to_zero"]), lost)
                    out, said = self.run_in("diff", "m.safetensors", "q.safetensors", "--csv", wanted=1)
                    row = next(csv.DictReader(out.splitlines()))
                    self.assertAlmostEqual(float(row["sqnr_db"]), decibels, 9)
                    self.assertIn("codes under scales", said)

    def test_a_scale_of_one_is_a_scale(self):
        for bits, values in ((8, [float(x) for x in range(256)]), (8, [0.0, 255.0, 3.0, 7.25]), (4, [-8.0, 7.0, 1.0, 0.0]), (8, [-510.0, 0.0, 2.0, 4.0])):
            self.write("o.safetensors", values, 4)
            row = next(csv.DictReader(self.run_in("census", "o.safetensors", "--to", f"int{bits}", "--scale", "minmax", "--csv")[0].splitlines()))
            codes, scale, zero = quantized(values, bits)
            self.assertEqual(float(row["max_abs_error"]), max(abs((code - zero) * scale - x) for code, x in zip(codes, values)))
            self.assertEqual(row["overflow"], "0")

    def test_zero_points_of_other_dtypes_are_read_and_of_other_shapes_are_none(self):
        self.run_in("cast", "m.safetensors", "--to", "int8", "--scale", "minmax:1x128", "-o", "q.safetensors")
        header, data = parse(self.path / "q.safetensors")
        zeros = struct.unpack("<10b", data["layer.w.zero_point"])
        want = self.run_in("diff", "m.safetensors", "q.safetensors", "--csv", wanted=1)[0].splitlines()[1].split(",")[2:]
        for dtype, codec, shape, same in (("I32", "i", [ROWS, 2], True), ("I64", "q", [ROWS, 2], True), ("F32", "f", [ROWS, 2], True),
                                          ("I8", "b", [2, ROWS], False), ("I8", "b", [10], False)):
            entries = {name: (header[name]["dtype"], header[name]["shape"], data[name]) for name in data}
            entries["layer.w.zero_point"] = (dtype, shape, struct.pack(f"<10{codec}", *zeros))
            (self.path / "z.safetensors").write_bytes(safetensors(entries))
            code, out, err = run("diff", "m.safetensors", "z.safetensors", "--csv", cwd=self.path)
            self.assertEqual("codes under scales" in err, same, (dtype, shape))
            self.assertEqual(out.splitlines()[1].split(",")[2:] == want, same, (dtype, shape))

    def test_codes_and_their_scales_are_not_cast_again(self):
        for scale in ("minmax", "row"):
            self.run_in("cast", "m.safetensors", "--to", "int8", "--scale", scale, "-o", "q.safetensors")
            for words in (("cast", "q.safetensors", "--to", "bf16", "-o", "r.safetensors"), ("choose", "q.safetensors", "--to", "e4m3")):
                self.assertIn("is codes under scales, not values", self.run_in(*words, wanted=2)[1])
            self.run_in("cast", "q.safetensors", "--to", "bf16", "--copy", "layer.w*", "-o", "r.safetensors")

    def test_threads_and_parts_change_nothing(self):
        drawn = random.Random(5)
        self.write("l.safetensors", [float32(drawn.gauss(1, 2)) for _ in range(300 * 1000)], 1000)
        words = ("census", "l.safetensors", "--to", "int4", "--scale", "minmax")
        self.assertEqual(self.run_in(*words, "--csv", "--threads", "1"), self.run_in(*words, "--csv", "--threads", "3"))
        for i in range(3):
            self.run_in(*words, "--shard", f"{i}/3", "-o", f"parts/{i}")
        self.run_in("merge", "parts", "-o", "merged")
        self.run_in(*words, "-o", "whole")
        self.assertEqual((self.path / "merged/census.csv").read_bytes(), (self.path / "whole/census.csv").read_bytes())

    def test_a_range_of_one_side_gains_a_bit(self):
        self.write("p.safetensors", [abs(x) for x in self.values])
        out, _ = self.run_in("choose", "p.safetensors", "--to", "int8", "--scale", "amax,minmax", "--sqnr", "30", "--csv")
        self.assertEqual(next(csv.DictReader(out.splitlines()))["scale"], "minmax")
        rows = [next(csv.DictReader(self.run_in("census", "p.safetensors", "--to", "int8", "--scale", scale, "--csv")[0].splitlines()))
                for scale in ("row", "minmax:row")]
        self.assertGreater(float(rows[1]["sqnr_db"]), float(rows[0]["sqnr_db"]) + 5)
        out, _ = self.run_in("census", "p.safetensors", "--to", "int8", "--scale", "minmax:row", "--blocks", "--csv")
        self.assertEqual(next(csv.DictReader(out.splitlines()))["saturated"], "0")

    def test_what_is_not_finite_takes_an_end(self):
        self.write("n.safetensors", [1.0, math.nan, -3.0, 2.0], 4)
        self.run_in("cast", "n.safetensors", "--to", "int8", "--scale", "minmax", "-o", "q.safetensors")
        _, data = parse(self.path / "q.safetensors")
        want, scale, zero = quantized([1.0, -3.0, 2.0], 8)
        self.assertEqual(struct.unpack("<4b", data["layer.w"]), (want[0], 127, *want[1:]))  # a NaN, as of integers without a zero point
        self.assertEqual((struct.unpack("<f", data["layer.w.scale"])[0], data["layer.w.zero_point"][0]), (scale, zero % 256))
        self.write("i.safetensors", [1.0, math.inf, -math.inf, 0.0], 4)
        self.run_in("cast", "i.safetensors", "--to", "int8", "--scale", "minmax", "-o", "q.safetensors")
        self.assertEqual(struct.unpack("<4b", parse(self.path / "q.safetensors")[1]["layer.w"]), (1, 127, -128, 0))

    def test_other_formats_and_layouts_are_refused_in_a_line(self):
        for words, said in ((("census", "m.safetensors", "--to", "e4m3", "--scale", "minmax"), "is for integers"),
                            (("census", "m.safetensors", "--to", "int8,int9", "--scale", "minmax:row"), "is for integers"),
                            (("cast", "m.safetensors", "--to", "bf16", "--scale", "minmax", "-o", "x.safetensors"), "is for integers"),
                            (("cast", "m.safetensors", "--to", "int8", "--scale", "minmax", "--layout", "modelopt", "-o", "x.safetensors"), "does not store int8"),
                            (("cast", "m.safetensors", "--to", "int8", "--scale", "minmax", "-o", "x.npy"), "without scales")):
            with self.subTest(words):
                out, err = self.run_in(*words, wanted=2)
                self.assertEqual((out, err.count("\n")), ("", 1))
                self.assertIn(said, err)
        self.assertEqual(list(self.path.glob("x.*")), [])


if __name__ == "__main__":
    unittest.main()
