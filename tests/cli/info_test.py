#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `info` says of elements, against Python's own reading of their bits.   usage: info_test.py PROGRAM"""
import itertools
import math
import random
import struct
import unittest

from files_test import Folder, npy, safetensors

PIECE = 65536  # elements that a thread takes at a time


def bfloat16(code):
    return struct.unpack("<f", struct.pack("<I", code << 16))[0]


# numpy's word of a type, the letter of its element, --dtype, its least normal magnitude (0: there are none below)
TYPES = {"<f2": ("e", None, 2.0**-14), "<f4": ("f", None, 2.0**-126), "<f8": ("d", None, 2.0**-1022), "bf16": ("H", "bf16", 2.0**-126),
         "|i1": ("b", None, 0), "|u1": ("B", None, 0), "<i2": ("h", None, 0), "<u2": ("H", None, 0), "<i4": ("i", None, 0),
         "<u4": ("I", None, 0), "<i8": ("q", None, 0), "<u8": ("Q", None, 0), "|b1": ("?", None, 0)}


def order(x):
    """-0 before +0, which compare as equal."""
    return x, math.copysign(1, x)


def expected(values, least_normal):
    finite = [x for x in values if math.isfinite(x)]
    nonzero = [abs(x) for x in finite if x != 0]
    return {"count": len(values), "min": min(finite, key=order, default=math.nan), "max": max(finite, key=order, default=math.nan),
            "min_abs": min(nonzero, default=math.nan), "zero": len(finite) - len(nonzero), "subnormal": sum(x < least_normal for x in nonzero),
            "infinite": sum(map(math.isinf, values)), "nan": sum(map(math.isnan, values))}


class Info(Folder):
    def check(self, rows, cases):
        """`cases`: values and least normal magnitude of each row's tensor."""
        for row, (values, least_normal) in zip(rows, cases, strict=True):
            wanted = expected(values, least_normal)
            got = {column: repr(float(row[column])) if isinstance(wanted[column], float) else row[column] for column in wanted}
            self.assertEqual(got, {column: repr(x) if isinstance(x, float) else str(int(x)) for column, x in wanted.items()}, row["tensor"])

    def test_random_bits_of_every_type_across_pieces(self):
        draw = random.Random(3)
        for name, (letter, dtype, least_normal) in TYPES.items():
            size = struct.calcsize("<" + letter)
            for count in (0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 77):
                data = bytearray(draw.randbytes(size * count))
                if letter == "?":
                    data = bytearray(byte & 1 for byte in data)
                for i in range(0, count, 7):
                    data[i * size:(i + 1) * size] = bytes(size)
                values = [one for one, in struct.iter_unpack("<" + letter, data)]
                self.write("t.npy", npy("<u2" if dtype else name, (count,), data))
                words = ("--dtype", dtype) if dtype else ()
                one, _ = self.rows("info", "t.npy", "--threads", "1", *words)
                with self.subTest(type=name, count=count):
                    self.assertEqual(self.rows("info", "t.npy", "--threads", "3", *words)[0], one)
                    self.check(one, [(list(map(bfloat16, values)) if dtype else values, least_normal)])

    def test_what_stands_behind_the_pieces_that_threads_share_at_once(self):
        zeros = 64 * PIECE
        self.write("t.npy", npy("|u1", (zeros + 1,), bytes(zeros) + b"\7"))
        self.check(self.rows("info", "t.npy")[0], [([0] * zeros + [7], 0)])

    def test_the_only_value_of_its_kind_in_any_lane(self):
        kinds = (0.0, -0.0, 5e-324, -5e-324, math.inf, -math.inf, math.nan, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**-1022, 1e-45,
                 2.0**-126, 2.0**-14, 2.0**-24, -3.0)
        tensors, cases = {}, []
        for stored, letter, least_normal in (("F16", "e", 2.0**-14), ("F32", "f", 2.0**-126), ("F64", "d", 2.0**-1022)):
            for kind, usual, place in itertools.product(kinds, (1.0, -0.0, math.nan, -math.inf), (0, 5, 31, 64, 66)):
                values = [usual] * 67
                try:
                    values[place], = struct.unpack("<" + letter, struct.pack("<" + letter, kind))
                except OverflowError:
                    continue
                tensors[f"{letter}{len(cases)}"] = (stored, [67], struct.pack(f"<67{letter}", *values))
                cases.append((values, least_normal))
        self.write("t.safetensors", safetensors(tensors))
        self.check(self.rows("info", "t.safetensors")[0], cases)

    def test_headers_read_no_element(self):
        self.write("t.npy", npy("|u1", (2, 3), bytes((0, 1, 2, 3, 4, 0x5f))))
        self.assertIn("element 5 is 0x5f", self.refused("info", "t.npy", "--dtype", "e2m3"))
        self.assertEqual(self.rows("info", "t.npy", "--dtype", "e2m3", "--headers")[0],
                         [{"tensor": "t.npy", "dtype": "float6_e2m3fn", "shape": "2x3", "count": "6"}])


if __name__ == "__main__":
    unittest.main()
