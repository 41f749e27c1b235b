#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The formats of IEEE P3109 beside gfloat's: every code of every format of 3 to 8 bits, and their rounding of every float16, number,
midpoint and neighbour. Without the package gfloat it is skipped by name (exit code 4).

gfloat does not say what a negative number becomes in an unsigned format, and has no to_odd; tests/emu/p3109_test.cpp has both.

usage: gfloat_test.py, with the package on PYTHONPATH"""
import sys
import unittest

import numpy as np
import ulpscope as us

try:
    import gfloat
    from gfloat.formats import format_info_p3109, p3109_binary8_formats
except ImportError:
    print("python_gfloat: skipped: no gfloat")
    sys.exit(4)

MODES = {"nearest_even": gfloat.RoundMode.TiesToEven, "nearest_away": gfloat.RoundMode.TiesToAway,
         "toward_zero": gfloat.RoundMode.TowardZero, "upward": gfloat.RoundMode.TowardPositive,
         "downward": gfloat.RoundMode.TowardNegative}
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)


def name_of(info):
    return info.name.replace("p3109_k", "binary")


def formats(bits):
    """Every format of so many bits but the one without an exponent field, which the report does not have."""
    for signedness in gfloat.Signedness:
        for domain in gfloat.Domain:
            for precision in range(1, bits + (0 if signedness == gfloat.Signedness.Signed else 1)):
                yield format_info_p3109(bits, precision, signedness, domain)


def finite_codes(info):
    return np.arange(info.code_of_max + 1, dtype=np.uint8)


class Formats(unittest.TestCase):
    def test_the_formats_that_it_lists_have_names_and_facts(self):
        named = us.formats()["name"]
        for info in p3109_binary8_formats:
            ours = us.Format(info.name)
            self.assertIn(ours.name, named)
            self.assertEqual(us.Format(name_of(info)), ours)
            self.assertEqual((ours.bits, ours.exponent_bits, ours.bias, ours.max_finite, ours.min_normal, ours.has_inf),
                             (info.k, info.expBits, info.bias, float(info.max), float(info.smallest_normal), info.num_infs > 0))

    def test_every_code_of_up_to_8_bits_is_the_same_number(self):
        for bits in range(3, 9):
            for info in formats(bits):
                codes = np.arange(1 << bits, dtype=np.uint8)
                np.testing.assert_array_equal(us.decode(codes, name_of(info)).astype(np.float64), gfloat.decode_ndarray(info, codes.astype(np.int64)), info.name)

    def test_every_number_has_its_code(self):
        for bits in range(3, 9):
            for info in formats(bits):
                codes = np.arange(1 << bits, dtype=np.uint8)
                np.testing.assert_array_equal(us.encode(us.decode(codes, name_of(info)).astype(np.float64), name_of(info)), codes, info.name)


class Rounding(unittest.TestCase):
    def inputs(self, info):
        numbers = gfloat.decode_ndarray(info, finite_codes(info).astype(np.int64))
        exact = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2, numbers[-1] * np.array([1.25, 1.5, 2, 3, 1e9]), numbers[1] * np.array([0.5, 0.25, 0.75])])
        near = np.concatenate([exact, np.nextafter(exact, 0), np.nextafter(exact, np.inf)])
        x = np.concatenate([near, -near, HALVES, [np.inf, -np.inf, np.nan]])
        return x if info.is_signed else x[~np.signbit(x) | np.isnan(x)]

    def test_rounding_is_the_same(self):
        for bits in range(3, 9):
            for info in formats(bits):
                x = self.inputs(info)
                for word, mode in MODES.items():
                    for policy in ("nonsaturating", "saturating"):
                        wanted = gfloat.round_ndarray(info, x, mode, policy == "saturating")
                        got = us.round(x, name_of(info), rounding=word, policy=policy)
                        kept = np.ones(len(x), bool)
                        if info.domain == gfloat.Domain.Finite and policy == "nonsaturating":
                            # Where gfloat stops at the largest number in some directions, nonsaturating is NaN in each.
                            kept = (np.abs(x) <= info.max) | (word in ("nearest_even", "nearest_away"))
                        np.testing.assert_array_equal(got[kept], wanted[kept], f"{info.name} {word} {policy}")


if __name__ == "__main__":
    unittest.main()
