#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers as people type them, of any length, in every direction: `round` against exact fractions. usage: decimals_test.py PROGRAM"""
import csv
import fractions
import io
import math
import os
import random
import subprocess
import sys
import unittest

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop(1))
Q = fractions.Fraction
FORMATS = {"float64": (11, 52), "float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7), "float8_e5m2": (5, 2)}  # exponent, fraction bits
ROUNDINGS = ("nearest_even", "nearest_away", "toward_zero", "upward", "downward", "to_odd")


def run(*words):
    return subprocess.run([PROGRAM, "round", *words], capture_output=True, text=True, timeout=LIMIT)


def number_of(word):
    """The exact value of a decimal or a hexfloat without a sign."""
    if not word.startswith("0x"):
        return Q(word)
    digits, _, exponent = word[2:].partition("p")
    whole, _, part = digits.partition(".")
    return Q(int(whole + part, 16), 16 ** len(part)) * Q(2) ** int(exponent)


def up(kept, rest, step, rounding, negative):
    """Whether a magnitude of `kept` steps and `rest` goes to the next one."""
    if rest == 0:
        return False
    return {"nearest_even": 2 * rest > step or (2 * rest == step and kept % 2 == 1), "nearest_away": 2 * rest >= step, "toward_zero": False,
            "upward": not negative, "downward": negative, "to_odd": kept % 2 == 0}[rounding]


def rounded(x, negative, widths, rounding, policy):
    """Code and class of a magnitude x > 0 by IEEE 754, 4.3 and 7.4."""
    exponent_bits, fraction_bits = widths
    bias, least = 2 ** (exponent_bits - 1) - 1, 2 - 2 ** (exponent_bits - 1)
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    exponent -= x < Q(2) ** exponent
    step = Q(2) ** (max(exponent, least) - fraction_bits)
    kept = x // step
    kept += up(kept, x - kept * step, step, rounding, negative)
    greatest = (2 - Q(2) ** -fraction_bits) * Q(2) ** bias
    sign = int(negative) << (exponent_bits + fraction_bits)
    infinity = (2 ** exponent_bits - 1) << fraction_bits
    if kept * step > greatest:
        towards = policy == "nonsaturating" and (rounding.startswith("nearest") or rounding == ("downward" if negative else "upward"))
        return sign | infinity - (not towards), "overflow"
    if kept == 0:
        return sign, "to_zero"
    kept_exponent = max(exponent, least)
    code = kept if kept < 2 ** fraction_bits else kept + ((kept_exponent - least) << fraction_bits)  # a carry goes into the exponent
    return sign | int(code), "subnormal" if code < 2 ** fraction_bits else "exact" if kept * step == x else "rounded"


def error_ulp(x, negative, widths, value):
    """The double nearest to the distance from a magnitude x > 0 to a value, in spacings at x."""
    exponent_bits, fraction_bits = widths
    if math.isinf(value):
        return value
    if x >= 10 ** 400:  # is not told from infinity
        return math.inf if negative else -math.inf
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    exponent -= x < Q(2) ** exponent
    error = (Q(value) - (-x if negative else x)) / Q(2) ** (max(exponent, 2 - 2 ** (exponent_bits - 1)) - fraction_bits)
    return error.numerator / error.denominator  # rounded once


def words():
    source = random.Random(4)
    found = ["0.1", "1", "1.5", "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400", "1e-330", "1e-600", "1e-800",
             "1e23", "1.00000000000000011102230246251565404236316680908203125", "1.7976931348623159e308", "1.8e308", "9e399",
             "1.7976931348623157e308", "1.7976931348623158e308", "1.797693134862315807e308", "1.797693134862315808e308", "1.8e308", "1e309", "1e400", "1e5000",
             "65504", "65519.99999999999999999999", "65520", "61440", "57344", "3.4028235677973366e38", "0x1p1024", "0x1.fffffffffffff8p1023",
             "0x1.fffffffffffff7ffffffffp1023", "0x1p-1075", "0x1.0000000000000000001p-1075", "0x1p-1074", "0x1.8p-1074"]
    for exponent_bits, fraction_bits in FORMATS.values():
        least = 2 - 2 ** (exponent_bits - 1)
        for _ in range(12):  # at a tie, and a little beside it
            exponent = source.randint(least - fraction_bits - 1, -least)
            step = max(exponent, least) - fraction_bits
            kept = source.randint(0, 2 ** (fraction_bits + 1) - 1)
            tie = (2 * kept + 1) * Q(2) ** (step - 1)
            for x in (tie, tie + tie / 10 ** 40, tie - tie / 10 ** 40, kept * Q(2) ** step):
                if x > 0:
                    digits = x.numerator * 10 ** 1500 // x.denominator  # exact where the number is; else cut, and another number
                    found.append(f"{digits}e-1500")
    for _ in range(60):
        found.append(f"{source.randint(1, 10 ** source.randint(1, 30))}e{source.randint(-360, 330)}")
        found.append(f"0x{source.getrandbits(80):x}.{source.getrandbits(40):x}p{source.randint(-1200, 980)}")
    return [word for word in found if number_of(word) > 0]


class Decimals(unittest.TestCase):
    def test_every_direction_is_that_of_exact_fractions(self):
        typed = [sign + word for word in words() for sign in ("", "-")]
        for rounding in ROUNDINGS:
            for policy in ("nonsaturating", "saturating"):
                done = run(*typed, "--to", ",".join(FORMATS), "--rounding", rounding, "--policy", policy, "--csv")
                self.assertEqual(done.returncode, 0, done.stderr)
                got = list(csv.DictReader(io.StringIO(done.stdout)))
                self.assertEqual(len(got), len(typed) * len(FORMATS))
                for row in got:
                    negative = row["input"].startswith("-")
                    code, outcome = rounded(number_of(row["input"].lstrip("-")), negative, FORMATS[row["format"]], rounding, policy)
                    self.assertEqual((int(row["code"], 16), row["class"]), (code, outcome), (row, rounding, policy))
                    error = error_ulp(number_of(row["input"].lstrip("-")), negative, FORMATS[row["format"]], float(row["value"]))
                    self.assertEqual(float(row["error_ulp"]), error, (row, rounding, policy))

    def test_the_error_of_what_no_double_holds_is_no_zero(self):
        for word, expected in (("1e400", "inf"), ("-1e400", "-inf")):
            for to in FORMATS:
                self.assertIn(f",{expected},overflow", run(word, "--to", to, "--csv").stdout)

    def test_signs_cases_and_points_as_people_type_them(self):
        for word, value in (("+1.5", "1.5"), (".5", "0.5"), ("5.", "5"), ("1E3", "1000"), ("1e+3", "1000"), ("0X1P4", "16"), ("INF", "inf"), ("+infinity", "inf"),
                            ("-Infinity", "-inf"), ("NaN", "nan"), ("0e999999999999", "0"), ("-1e-99999999999999999999", "-0"), ("1e99999999999999999999", "inf"), ("-0.000", "-0")):
            self.assertIn(f",{value},", run(word, "--to", "fp64", "--csv").stdout, word)

    def test_a_draw_between_doubles_is_refused(self):
        done = run("0.1", "--to", "fp64", "--rounding", "stochastic")
        self.assertEqual((done.returncode, done.stderr), (2, "ulpscope: round: stochastic to float64 needs a value that is a double\n"))

    def test_what_is_no_number_is_refused(self):
        for word in ("", "+", ".", "1e", "1e+", "1e++3", "e5", "0x", "0x1p", "1p3", "0x1e3p", "1e5x", "+-1", "1.2.3", "1,5", "infx", "na", "1" * 100_001):
            done = run("--to", "fp64", "--", word)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), (word[:20], done.stderr[:200]))


unittest.main(verbosity=0)
