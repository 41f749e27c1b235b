#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formulas of `ulpscope verify expr` that are short and odd: each against values written down here, or refused in its words.

usage: formulas_test.py PROGRAM"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from npy_file import npy
from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
TENSORS = {"x": ((2, 3), [1, 2, 3, 4, 5, 6]), "v": ((3,), [1, 2, 4]), "e": ((2, 0), []), "k": ((1024,), [1] * 1024), "w": ((4, 3), [1] * 12),
           "y": ((1, 3), [1, 2, 4]), "q": ((3, 2), [0, 1, 1, 1, 1, 1]), "h": ((3,), [-1.5, 0.5, 2.5]), "n": ((2,), [2, 0]),
           "r": ((1,) * 10, [1])}
WHOLE = "a whole number stands here, as 2, extent(x, axis=-1) or extent(x) / 2"
GATHER = "do not fit 2x3: they have its extents but along the axis"

# A formula, the shape and the elements of what it is.
RIGHT = (
    ("t = x * 2; x", (2, 3), [1, 2, 3, 4, 5, 6]),
    ("x\t+\r\nx", (2, 3), [2, 4, 6, 8, 10, 12]),
    ("v ** -1", (3,), [1, 0.5, 0.25]),
    ("ceil(h)", (3,), [-1, 1, 3]),
    ("trunc(h)", (3,), [-1, 0, 2]),
    ("round(h)", (3,), [-2, 0, 2]),
    ("sum(x, axis=0, keepdims=True)", (1, 3), [5, 7, 9]),
    ("sum(x, axis=0, keepdims=1)", (1, 3), [5, 7, 9]),
    ("sum(x, axis=0, keepdims=False)", (3,), [5, 7, 9]),
    ("sum(x, axis=0, keepdims=false)", (3,), [5, 7, 9]),
    ("sum(x, axis=0, keepdims=0)", (3,), [5, 7, 9]),
    ("sum(e, axis=-1) + n", (2,), [2, 0]),
    ("transpose(x, -1, -2)", (3, 2), [1, 4, 2, 5, 3, 6]),
    ("reshape(x, extent(x) * 2, -1)", (6, 1), [1, 2, 3, 4, 5, 6]),
    ('einsum("...i,...i->...i", x, y)', (2, 3), [1, 4, 12, 4, 10, 24]),
    ('einsum("...i,...i->...i", y, x)', (2, 3), [1, 4, 12, 4, 10, 24]),
    ("gather(x, n, axis=1)", (2,), [3, 4]),
    # In a format: what is not one of its numbers is rounded where it enters.
    ("(bfloat16: x + positions(x, axis=-1))", (2, 3), [1, 3, 5, 4, 6, 8]),
    ("(bfloat16: sum(x, axis=-1))", (2,), [6, 15]),
    ("(bfloat16: (v == 2) + (v < 2 and v < 4) + (not v))", (3,), [1, 1, 0]),
    ("(bfloat16: concat(v, v * 1, axis=0) + 1)", (6,), [2, 3, 5, 2, 3, 5]),
    ("(bfloat16: concat(v * 1, v * 2, axis=0) + 1)", (6,), [2, 3, 5, 3, 5, 9]),
    ("(bfloat16: reshape(x, 6) + 1)", (6,), [2, 3, 4, 5, 6, 7]),
    ("(bfloat16: gather(x, n, axis=1) + 1)", (2,), [4, 5]),
    ("(float16: bfloat16(v) + 1)", (3,), [2, 3, 5]),
    ("(float16: float8_e5m2(v) + 1)", (3,), [2, 3, 5]),
    ("(float16: e6m2b15(v) + 1)", (3,), [2, 3, 5]),
)
# A formula, where it is wrong, what is said.
REFUSED = (
    ('"ab" + x', 1, 'a text stands only in einsum("...", ...)'),
    ("sum = x * 2; sum + x", 9, "'sum' is the name of a function"),
    ("x ** -2", 6, "an exponent is a whole number from 2 to 16, -1, 0.5 or -0.5"),
    ("x ** -v", 7, WHOLE),
    ('bf16(x, rounding="stochastic")', 18,
     "bf16(x, rounding=R, policy=P): R is a rounding such as toward_zero, P is saturating or nonsaturating"),
    ('einsum("...ijk->...", x)', 1, "einsum: '...ijk->...' does not fit the dimensions"),
    ('einsum("...->...", r)', 1, "einsum: '...->...' does not fit the dimensions"),
    ('einsum("...i,...i->...i", x, w)', 1, "einsum: an axis of 2 meets one of 4"),
    ("max(e, axis=-1)", 1, "max of no elements"),
    ("gather(x, w, axis=-1)", 1, f"gather: indices of 4x3 {GATHER}"),
    ("gather(x, v, axis=1)", 1, f"gather: indices of 3 {GATHER}"),
    ("transpose(x, -3, 0)", 14, "transpose: the axes, each once"),
    ("reshape(x, extent(x + 1), 3)", 12, WHOLE),
    ("reshape(x, extent(none), 3)", 12, WHOLE),
    ("reshape(x, extent(x, x), 3)", 19, WHOLE),
    ("reshape(x, 1048576 * 2, 3)", 20, WHOLE),
    ("reshape(x, 2 * 1048576, 3)", 14, WHOLE),
    ("reshape(x, 999999999999 + 999999999999, 3)", 25, WHOLE),
    ("sum(x, axis=0, keepdims=maybe)", 25, "keepdims is true or false"),
    ("reshape(x, -2, 3)", 12, "reshape: one extent may be -1"),
    ("reshape(x, -1, -1)", 16, "reshape: one extent may be -1"),
    ("reshape(x, 0, -1)", 1, "reshape: 2x3 has other elements than 0x0"),
    ("reshape(x, 4, -1)", 1, "reshape: 2x3 has other elements than 4x0"),
)


class Formulas(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        for name, (shape, values) in TENSORS.items():
            npy(self.path / f"{name}.npy", shape, values)

    def verify(self, formula, output, *more):
        names = [name for name in re.findall(r"\b\w\b", re.sub('".*?"', "", formula)) if name in TENSORS]
        inputs = [word for name in dict.fromkeys(names) for word in ("--input", f"{name}={name}.npy")]
        return subprocess.run([PROGRAM, "verify", "expr", formula, *inputs, "--output", output, *more], capture_output=True, text=True,
                              cwd=self.path, timeout=LIMIT)

    def refused(self, formula, message, *more):
        done = self.verify(formula, "x.npy", *more)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"ulpscope: {message}\n"), formula[:80])

    def test_the_right_elements_alone_pass(self):
        for formula, shape, values in RIGHT:
            npy(self.path / "right.npy", shape, values)
            npy(self.path / "wrong.npy", shape, [*values[:-1], values[-1] + 1])
            for name, code in (("right.npy", 0), ("wrong.npy", 1)):
                done = self.verify(formula, name)
                self.assertEqual(done.returncode, code, (formula, name, done.stdout, done.stderr))

    def test_what_is_refused(self):
        for formula, column, what in REFUSED:
            self.refused(formula, f"formula, column {column}: {what}")

    def test_names_are_used_and_given_once(self):
        self.refused("x", "--input y: is not in the formula", "--input", "y=y.npy")
        self.refused("x", "--input a: is not in the formula", "--input", "a=y.npy")
        self.refused("x", "--let eps: is not in the formula", "--let", "eps=2")
        self.refused("x", "--input x: is given twice", "--input", "x=y.npy")
        self.refused("x * two", "--let two: is given twice", "--let", "two=2", "--let", "two=3")
        self.refused("x", "--let x: is given twice", "--let", "x=2")

    def test_sizes_end(self):
        self.refused("x" + " + x ** 16" * 300, "formula: more than 4096 operations")
        self.refused('t = einsum("i,j->ij", k, k); u = einsum("ij,kl->ijkl", t, t); einsum("ijkl,m->ijklm", u, v)',
                     "formula: a tensor of more than 2^40 elements")


if __name__ == "__main__":
    unittest.main()
