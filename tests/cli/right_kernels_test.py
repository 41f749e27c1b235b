#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Right kernels in places where a bound may go wrong, written here in float32 one operation after the other: each of them passes. And what
is said of wrong ones. usage: right_kernels_test.py PROGRAM"""
import math
import pathlib
import random
import struct
import tempfile
import unittest

from files_test import npy, run

LEAST = -struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def f(x):
    """The nearest float32; infinite beyond it."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def summed(terms):
    total = 0.0
    for x in terms:
        total = f(total + x)
    return total


def attention(q, k, v, mask=None, softcap=None):
    """Scores, their softmax and its product with V, each operation rounded to float32."""
    out, scale = [], f(1 / math.sqrt(len(q[0])))
    for i, row in enumerate(q):
        scores = [f(summed(f(x * y) for x, y in zip(row, key)) * scale) for key in k]
        if softcap:
            scores = [f(softcap * f(math.tanh(f(s / softcap)))) for s in scores]
        if mask:
            scores = [f(s + m) for s, m in zip(scores, mask[i])]
        weights = [f(math.exp(f(s - max(scores)))) for s in scores]
        total = summed(weights)
        out.append([f(summed(f(w * value[c]) for w, value in zip(weights, v)) / total) for c in range(len(v[0]))])
    return out


def bfloat16(x):
    word, = struct.unpack("<I", struct.pack("<f", x))
    return struct.unpack("<f", struct.pack("<I", (word + 0x7FFF + (word >> 16 & 1)) & 0xFFFF0000))[0]


class RightKernels(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        self.drawn = random.Random(3)

    def write(self, name, rows):
        flat = [x for row in rows for x in row] if isinstance(rows[0], list) else rows
        shape = f"({len(rows)}, {len(rows[0])})" if isinstance(rows[0], list) else f"({len(rows)},)"
        (self.path / name).write_bytes(npy("<f4", shape, struct.pack(f"<{len(flat)}f", *flat)))

    def verify(self, *words, wanted=0):
        code, out, err = run("verify", *words, "--text", cwd=self.path)
        self.assertEqual(code, wanted, (words, out, err))
        return out

    def normal(self, rows, columns, size=1):
        return [[bfloat16(f(self.drawn.gauss(0, size))) for _ in range(columns)] for _ in range(rows)]

    def test_rows_of_an_attention_that_a_mask_leaves_nothing_of(self):
        q, k, v = self.normal(4, 8), self.normal(6, 8), self.normal(6, 8)
        for name, rows in zip("qkv", (q, k, v)):
            self.write(f"{name}.npy", rows)
        for least in (LEAST, -1e30, -1e20, -1e5):
            mask = [[f(least) if i == 2 else 0.0] * 6 for i in range(4)]
            self.write("m.npy", mask)
            self.write("y.npy", attention(q, k, v, mask))
            self.verify("attention", "q.npy", "k.npy", "v.npy", "--mask", "m.npy", "--output", "y.npy")
            wrong = attention(q, k, v, mask)
            wrong[1][0] += 0.01
            self.write("y.npy", wrong)
            self.verify("attention", "q.npy", "k.npy", "v.npy", "--mask", "m.npy", "--output", "y.npy", wanted=1)

    def test_a_forgotten_softcap_is_not_taken_for_roundings(self):
        q, k, v = self.normal(8, 16, 4), self.normal(96, 16, 4), self.normal(96, 16)
        for name, rows in zip("qkv", (q, k, v)):
            self.write(f"{name}.npy", rows)
        self.write("y.npy", [[bfloat16(x) for x in row] for row in attention(q, k, v)])
        out = self.verify("attention", "q.npy", "k.npy", "v.npy", "--in", "bf16", "--out", "bf16", "--softcap", "30", "--output", "y.npy", wanted=1)
        self.assertIn("without the softcap", out)
        self.assertNotIn("--probabilities", out)

    def test_random_roundings_are_asked_of_terms_whose_roundings_are(self):
        n = 8192
        for values in ([f(self.drawn.randint(-8, 7) * 0.1) for _ in range(n)], [f(1 + 1e-4 * self.drawn.random()) for _ in range(n)],
                       [f(1 + i * 1e-8) for i in range(n)], [f(self.drawn.gauss(0, 1)) for _ in range(n)]):
            self.write("x.npy", [values])
            root = f(math.sqrt(f(f(summed(f(x * x) for x in values) / n) + f(1e-5))))
            self.write("y.npy", [[f(x / root) for x in values]])
            self.verify("rms_norm", "x.npy", "--eps", "1e-5", "--false-alarm", "1e-6", "--output", "y.npy")
        for values in ([1.1] * n, [1 + 1e-4 * self.drawn.random() for _ in range(n)], [0.1 * self.drawn.randint(0, 7) for _ in range(n)]):
            values = [f(x) for x in values]
            self.write("a.npy", [values]), self.write("b.npy", [[1.0]] * n), self.write("d.npy", [[summed(values)]])
            words = ("matmul", "a.npy", "b.npy", "--in", "float32", "--false-alarm", "1e-6", "--output", "d.npy")
            self.verify(*words)
            self.write("d.npy", [[f(summed(values) * 1.01)]])
            self.verify(*words, wanted=1)
        row = [0.0] + [f(-1e-4 * self.drawn.random() - 0.5) for _ in range(20000)]
        powers = [f(math.exp(x)) for x in row]
        total = summed(powers)
        self.write("x.npy", [row]), self.write("y.npy", [[f(p / total) for p in powers]])
        self.verify("softmax", "x.npy", "--false-alarm", "1e-6", "--output", "y.npy")

    def test_an_overflow_beside_an_infinity_is_nan(self):
        self.write("x.npy", [[3e38, 3e38, -math.inf, 1.0], [1.0, 2.0, -math.inf, 1.0]])
        self.write("o.npy", [1.0] * 4)
        self.write("y.npy", [math.nan, -math.inf])
        self.verify("sum", "x.npy", "--output", "y.npy")
        self.write("y.npy", [math.nan, math.nan])
        self.assertIn("1 of 2", self.verify("sum", "x.npy", "--output", "y.npy", wanted=1))
        self.write("b.npy", [[1.0]] * 4)
        self.write("d.npy", [[math.nan], [-math.inf]])
        self.verify("matmul", "x.npy", "b.npy", "--in", "float32", "--output", "d.npy")
        self.write("d.npy", [[math.nan], [math.nan]])
        self.assertIn("1 of 2", self.verify("matmul", "x.npy", "b.npy", "--in", "float32", "--output", "d.npy", wanted=1))

    def test_gates_of_minus_infinity_may_be_nan(self):
        for name in ("silu", "gelu", "gelu_tanh"):
            self.write("x.npy", [-math.inf, 20.0])
            for y in (math.nan, 0.0, -0.0):
                self.write("y.npy", [y, 20.0])
                self.verify("elementwise", name, "x.npy", "--output", "y.npy")
                self.verify("expr", f"{name}(x)", "--input", "x=x.npy", "--output", "y.npy")
            self.write("y.npy", [math.inf, 20.0])
            self.verify("elementwise", name, "x.npy", "--output", "y.npy", wanted=1)
        self.write("x.npy", [math.inf, 20.0]), self.write("y.npy", [math.nan, 20.0])
        self.verify("elementwise", "silu", "x.npy", "--output", "y.npy", wanted=1)

    def explain(self, formula, wanted):
        code, out, err = run("explain", "expr", formula, "--input", "g=g.npy", "--input", "u=u.npy", "--out", "bf16", "--output", "y.npy", "--text", cwd=self.path)
        self.assertEqual(code, wanted, out + err)
        return out + err

    def test_roundings_that_an_output_does_not_show_are_said(self):
        g = self.normal(1, 200)[0]
        silu = [bfloat16(f(x / (1 + math.exp(-x)))) for x in g]
        self.write("g.npy", g), self.write("u.npy", [1.0] * 200), self.write("y.npy", silu)
        for formula in ("silu(g) * u", "bf16(silu(g)) * u"):
            self.assertIn("does not tell it from one other", self.explain(formula, 0))
        self.write("y.npy", [silu[0] + 1] + silu[1:])
        self.assertIn("silu(g) * u leaves 0.5%", self.explain("silu(g) * u", 1))

    def test_inputs_of_one_word_are_not_the_same_numbers(self):
        self.write("y.npy", [0.0] * 8)
        code, out, _ = run("verify", "expr", "a * b", "--input", "a=normal:0,1:8", "--input", "b=normal:0,1:8", "--output", "y.npy", "--save", "s", cwd=self.path)
        self.assertEqual(code, 1, out)
        saved = sorted(path.read_bytes() for path in (self.path / "s").glob("input*.npy"))
        self.assertEqual(len(saved), 2)
        self.assertNotEqual(saved[0], saved[1])

    def test_options_that_play_no_part_are_refused(self):
        self.write("x.npy", [1.0, 2.0]), self.write("y.npy", [f(math.exp(1)), f(math.exp(2))])
        for more, said in ((("--at-most", "2"), "--at-most: is of --against FILE"), (("--output-dtype", "bf16"), "holds float32, not codes of bfloat16")):
            code, out, err = run("verify", "elementwise", "exp", "x.npy", "--output", "y.npy", *more, cwd=self.path)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1))
            self.assertIn(said, err)

    def test_padding_is_multiplied_or_left_out(self):
        image = npy("<f4", "(1, 1, 1, 4)", struct.pack("<4f", 1, 2, 3, 4))
        (self.path / "x.npy").write_bytes(image)
        (self.path / "w.npy").write_bytes(npy("<f4", "(1, 1, 1, 3)", struct.pack("<3f", math.inf, 1, 1)))
        for first, code in ((math.nan, 0), (3.0, 0), (math.inf, 1)):
            (self.path / "y.npy").write_bytes(npy("<f4", "(1, 1, 1, 4)", struct.pack("<4f", first, math.inf, math.inf, math.inf)))
            self.verify("conv", "x.npy", "w.npy", "--padding", "0,1", "--output", "y.npy", wanted=code)
        (self.path / "y.npy").write_bytes(npy("<f4", "(1, 1, 1, 4)", struct.pack("<4f", 3, math.nan, math.inf, math.inf)))
        self.verify("conv", "x.npy", "w.npy", "--padding", "0,1", "--output", "y.npy", wanted=1)


if __name__ == "__main__":
    unittest.main()
