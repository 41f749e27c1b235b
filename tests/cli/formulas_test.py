#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formulas of `ulpscope verify expr` that are short and odd: each against values written down here, or refused in its words.

usage: formulas_test.py PROGRAM"""
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest

from npy_file import npy
from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
TENSORS = {"x": ((2, 3), [1, 2, 3, 4, 5, 6]), "v": ((3,), [1, 2, 4]), "e": ((2, 0), []), "k": ((1024,), [1] * 1024), "w": ((4, 3), [1] * 12),
           "y": ((1, 3), [1, 2, 4]), "q": ((3, 2), [0, 1, 1, 1, 1, 1]), "h": ((3,), [-1.5, 0.5, 2.5]), "n": ((2,), [2, 0]),
           "r": ((1,) * 10, [1]), "b": ((2, 3, 2), list(range(1, 13))), "j": ((2, 3), [0, 2, 1, 0, 1, 2]), "s": ((), [1])}
WHOLE = "a whole number stands here, as 2, extent(x, axis=-1) or extent(x) / 2"
GATHER = "do not fit 2x3: they have its extents but along the axis; take(x, index) has the same ones everywhere"

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
    # Indices of more dimensions that fit no line of x are those of all: NumPy's take, here of rows 1 4, 2 5, 3 6.
    ("gather(transpose(x), j, axis=0)", (2, 3, 2), [1, 4, 3, 6, 2, 5, 1, 4, 2, 5, 3, 6]),
    ("gather(x, j, axis=1)", (2, 3), [1, 3, 2, 4, 5, 6]),
    ("take(x, j, axis=1)", (2, 2, 3), [1, 3, 2, 1, 2, 3, 4, 6, 5, 4, 5, 6]),
    ("take(x, n)", (2, 2), [3, 1, 6, 4]),
    ("take(b, n, axis=1)", (2, 2, 2), [5, 6, 1, 2, 11, 12, 7, 8]),
    ("take(v, j)", (2, 3), [1, 4, 2, 1, 2, 4]),
    ("gather(v, j)", (2, 3), [1, 4, 2, 1, 2, 4]),
    ("take(x, s, axis=0)", (3,), [4, 5, 6]),
    ("sum(b, axis=(0, 1))", (2,), [36, 42]),
    ("sum(b, axis=(-1, 0))", (3,), [18, 26, 34]),
    ("sum(b, axis=(-1, 0), keepdims=true)", (1, 3, 1), [18, 26, 34]),
    ("max(b, axis=(0, 2))", (3,), [8, 10, 12]),
    ("min(b, axis=(1, 2))", (2,), [1, 7]),
    ("mean(b, axis=(0, 2, 1))", (), [6.5]),
    ("sum(b, axis=(1,))", (2, 2), [9, 12, 27, 30]),
    ("sum(b, axis=(1))", (2, 2), [9, 12, 27, 30]),
    ("(bfloat16: max(b, axis=(0, 2)) + 1)", (3,), [9, 11, 13]),
    ("sign(h)", (3,), [-1, 1, 1]),
    ("sign(x - 3)", (2, 3), [-1, -1, 0, 1, 1, 1]),
    ("x ** 1", (2, 3), [1, 2, 3, 4, 5, 6]),
    ("v ** -2", (3,), [1, 0.25, 0.0625]),
    ("v ** -3", (3,), [1, 0.125, 0.015625]),
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
    ("x ** -17", 6, "an exponent is a whole number from -16 to 16 but 0, 0.5 or -0.5"),
    ("x ** 0", 6, "an exponent is a whole number from -16 to 16 but 0, 0.5 or -0.5"),
    ("x ** -v", 7, WHOLE),
    ('bf16(x, rounding="stochastic")', 18,
     "bf16(x, rounding=R, policy=P): R is a rounding such as toward_zero, P is saturating or nonsaturating"),
    ('einsum("...ijk->...", x)', 1, "einsum: '...ijk->...' does not fit the dimensions"),
    ('einsum("...->...", r)', 1, "einsum: '...->...' does not fit the dimensions"),
    ('einsum("...i,...i->...i", x, w)', 1, "einsum: an axis of 2 meets one of 4"),
    ("max(e, axis=-1)", 1, "max of no elements"),
    ("take(e, n)", 1, "take of no elements"),
    ("sum(b, axis=(0, -3))", 17, "axis 0 is listed twice"),
    ("sum(b, axis=(0, 3))", 17, "axis 3 of 2x3x2, which has 3 dimensions"),
    ("sum(b, axis=())", 14, "a value is missing before ')'"),
    ("sum(b, axis=(0, 1) + 1)", 13, WHOLE),
    ("cumsum(b, axis=(0, 1))", 16, WHOLE),
    ("sum(b, axis=0, keepdims=(0, 1))", 25, "keepdims is true or false"),
    ("(x, x)", 3, "')' is missing before ','"),
    ("sum((x, x), axis=0)", 7, "')' is missing before ','"),
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

    def run_program(self, *words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, cwd=self.path, timeout=LIMIT)

    def verify(self, formula, output, *more):
        names = [name for name in re.findall(r"\b\w\b", re.sub('".*?"', "", formula)) if name in TENSORS]
        inputs = [word for name in dict.fromkeys(names) for word in ("--input", f"{name}={name}.npy")]
        return self.run_program("verify", "expr", formula, *inputs, "--output", output, *more)

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

    def test_integers_are_their_numbers_whatever_in_says(self):
        labels, mask, whole = [895, 300], [True, False, True], [127, 3, -5]
        npy(self.path / "z.npy", (2, 1000), [i % 7 for i in range(2000)])  # numbers of bfloat16 and E4M3
        npy(self.path / "m.npy", (3,), mask, "|b1"), npy(self.path / "a.npy", (3,), whole, "|i1")
        cases = [("gather(z, i)", {"z": "z.npy", "i": f"{name}.npy"}, (2,), [895 % 7, 1300 % 7], [896 % 7, 1300 % 7])
                 for name in ("i8", "i4", "u2", "f4")]
        for name, descr in (("i8", "<i8"), ("i4", "<i4"), ("u2", "<u2"), ("f4", "<f4")):
            npy(self.path / f"{name}.npy", (2,), labels, descr)
        cases.append(("take(z, i, axis=1)[0]", {"z": "z.npy", "i": "f4.npy"}, (2,), [895 % 7, 300 % 7], [896 % 7, 300 % 7]))
        cases.append(("where(m, v, 0)", {"m": "m.npy", "v": "v.npy"}, (3,), [1, 0, 4], [1, 2, 4]))
        cases.append(("a * v", {"a": "a.npy", "v": "v.npy"}, (3,), [127, 6, -20], [128, 6, -20]))
        for formula, inputs, shape, right, wrong in cases:
            npy(self.path / "right.npy", shape, right), npy(self.path / "wrong.npy", shape, wrong)
            words = [word for name, file in inputs.items() for word in ("--input", f"{name}={file}")]
            for narrow in ("bf16", "e4m3"):  # in which 895 is 896 and no number, 127 is 127 and 128
                for output, code in (("right.npy", 0), ("wrong.npy", 1)):
                    with self.subTest(formula=formula, inputs=inputs, narrow=narrow, output=output):
                        asked = [formula, *words, "--in", narrow, "--output", output]
                        self.assertEqual(self.run_program("verify", "expr", *asked).returncode, code)
                        self.assertEqual(self.run_program("explain", "expr", *asked).returncode, code)
                        (self.path / "book").unlink(missing_ok=True)
                        self.run_program("ledger", "record", "book", "expr", *asked, "--case", "c")
                        self.assertEqual(self.run_program("ledger", "check", "book", "c", "--output", output).returncode, code)

    def test_a_kept_case_has_integers_again(self):
        npy(self.path / "z.npy", (1, 1000), [i % 7 for i in range(1000)]), npy(self.path / "i.npy", (1,), [895], "<i8")
        npy(self.path / "a.npy", (3,), [127, 3, -5], "|i1"), npy(self.path / "y.npy", (1,), [895 % 7 * (127 + 3 - 5) + 1])
        done = self.run_program("verify", "expr", "gather(z, 1 * i) * sum(a)", "--input", "z=z.npy", "--input", "i=i.npy", "--input", "a=a.npy",
                                "--in", "e4m3", "--output", "y.npy", "--save", "kept")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([(self.path / "kept" / f"input{i}.npy").read_bytes() for i in (1, 2)],
                         [(self.path / f"{name}.npy").read_bytes() for name in "ia"])
        again = next(line for line in done.stderr.splitlines() if "again: " in line).split("again: ")[1]
        repeated = self.run_program(*shlex.split(again)[1:])
        counts = lambda one: one.stdout.splitlines()[1].split(",")[1:]  # behind the file's name
        self.assertEqual((repeated.returncode, counts(repeated)), (1, counts(done)))

    def test_an_audit_leaves_integers_their_numbers(self):
        npy(self.path / "z.npy", (4, 1000), [i % 7 for i in range(4000)]), npy(self.path / "i.npy", (4,), [895, 300, 590, 7], "<i8")
        (self.path / "kept").mkdir()
        self.run_program("audit", "expr", "gather(z, 1 * i)", "--input", "z=z.npy", "--input", "i=i.npy", "--in", "bf16", "--out", "fp32",
                         "--rule", "program:sh -c 'cp \"$1\" kept/$(ls kept | wc -l).npy' sh {out}")
        kept = {struct.unpack("<4f", file.read_bytes()[-16:]) for file in (self.path / "kept").iterdir()}
        of = lambda *labels: tuple(float((1000 * row + label) % 7) for row, label in enumerate(labels))
        self.assertIn(of(895, 300, 590, 7), kept)
        self.assertIn(of(7, 895, 300, 590), kept)  # stale_output: the labels elsewhere

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
