# SPDX-License-Identifier: Apache-2.0
"""`ulpscope verify OP` for every operation: a right float64 computation passes, one wrong element fails.

usage: operations_test.py PROGRAM
"""
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
HEADER = 128


def read(path):
    data = path.read_bytes()[HEADER:]
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def write(path, shape, values):
    words = "".join(f"{extent}," for extent in shape)
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({words}), }}"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", HEADER - 10) + text.ljust(HEADER - 11).encode() + b"\n"
    path.write_bytes(head + struct.pack(f"<{len(values)}f", *values))


def rows(values, length):
    return [values[i:i + length] for i in range(0, len(values), length)]


def softmax(row):
    most = max(row)
    powers = [math.exp(x - most) for x in row]
    return [p / math.fsum(powers) for p in powers]


def layer_norm(row, eps=1e-5):
    mean = math.fsum(row) / len(row)
    variance = math.fsum((x - mean) ** 2 for x in row) / len(row)
    return [(x - mean) / math.sqrt(variance + eps) for x in row]


def rms_norm(row, eps=1e-5):
    square = math.fsum(x * x for x in row) / len(row)
    return [x / math.sqrt(square + eps) for x in row]


class Operations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *words):
        return subprocess.run([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=self.folder, timeout=LIMIT)

    def drawn(self, name, shape, seed):
        done = self.run_program("cast", f"normal:0,1:{shape}", "--seed", seed, "--to", "float32", "-o", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return read(self.folder / name)

    def test_sums_of_all_and_of_no_numbers(self):
        write(self.folder / "x.npy", (2, 4), [1] * 8)
        write(self.folder / "all.npy", (), [8])
        self.assertEqual(self.run_program("verify", "sum", "x.npy", "--axis", "all", "--output", "all.npy").returncode, 0)
        refused = self.run_program("verify", "sum", "x.npy", "--output", "all.npy")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("all.npy a scalar: the result of these inputs is 2; that of all numbers is asked for with --axis all", refused.stderr)
        write(self.folder / "none.npy", (3, 0), [])
        for wanted, sums in ((3, [0, 0, 0]), (1, [0, 1, 0])):  # 3: zeros pass, and nothing else was asked
            write(self.folder / "y.npy", (3,), sums)
            self.assertEqual(self.run_program("verify", "sum", "none.npy", "--output", "y.npy").returncode, wanted)
            self.assertEqual(self.run_program("verify", "dot", "none.npy", "none.npy", "--output", "y.npy").returncode, wanted)

    def check(self, operation, inputs, shape, values, *options):
        write(self.folder / "y.npy", shape, values)
        done = self.run_program("verify", operation, *inputs, "--output", "y.npy", *options)
        self.assertEqual(done.returncode, 0, (operation, done.stdout, done.stderr))
        wrong = list(values)
        wrong[len(wrong) // 2] = wrong[len(wrong) // 2] * 1.5 + 0.25
        write(self.folder / "y.npy", shape, wrong)
        done = self.run_program("verify", operation, *inputs, "--output", "y.npy", *options)
        self.assertEqual(done.returncode, 1, (operation, done.stdout, done.stderr))
        self.assertIn("FAIL: 1 of", done.stderr)

    def test_rows(self):
        x = self.drawn("x.npy", "6x32", 1)
        for operation, function in (("softmax", softmax), ("layer_norm", layer_norm), ("rms_norm", rms_norm)):
            self.check(operation, ["x.npy"], (6, 32), [y for row in rows(x, 32) for y in function(row)])

    def test_sum_and_dot(self):
        x, y = self.drawn("x.npy", "6x32", 1), self.drawn("z.npy", "6x32", 2)
        self.check("sum", ["x.npy"], (6,), [math.fsum(row) for row in rows(x, 32)])
        products = [math.fsum(a * b for a, b in zip(p, q)) for p, q in zip(rows(x, 32), rows(y, 32))]
        self.check("dot", ["x.npy", "z.npy"], (6,), products)

    def test_elementwise(self):
        x = self.drawn("x.npy", "6x32", 1)
        for name, function in (("exp", math.exp), ("tanh", math.tanh), ("erf", math.erf), ("erfc", math.erfc), ("asinh", math.asinh)):
            self.check("elementwise", [name, "x.npy"], (6, 32), [function(v) for v in x])

    def test_attention(self):
        q, k, v = (rows(self.drawn(name, "1x1x8x16".replace("1x1x", ""), seed), 16)
                   for seed, name in enumerate(("q.npy", "k.npy", "v.npy")))
        out = []
        for row in q:
            p = softmax([math.fsum(a * b for a, b in zip(row, key)) / 4 for key in k])
            out += [math.fsum(w * value[j] for w, value in zip(p, v)) for j in range(16)]
        self.check("attention", ["q.npy", "k.npy", "v.npy"], (8, 16), out)

    def test_grouped_products(self):
        a, b = rows(self.drawn("a.npy", "7x8", 1), 8), rows(self.drawn("flat.npy", "24x5", 2), 5)
        write(self.folder / "b.npy", (3, 8, 5), [x for row in b for x in row])
        group_of = [0, 0, 2, 2, 2, 2, -1]

        def products(expert):
            return [math.fsum(x * b[expert(g) * 8 + i][j] for i, x in enumerate(row)) if g >= 0 else math.nan
                    for row, g in zip(a, group_of) for j in range(5)]

        (self.folder / "ends.csv").write_text("2\n2\n6\n")
        write(self.folder / "groups.npy", (7,), group_of)
        for option in (["--offsets", "ends.csv"], ["--group-of-row", "groups.npy"]):
            self.check("grouped_matmul", ["a.npy", "b.npy"], (7, 5), products(lambda g: g), *option)
            write(self.folder / "y.npy", (7, 5), products(lambda g: min(g, 1)))
            done = self.run_program("verify", "grouped_matmul", "a.npy", "b.npy", "--output", "y.npy", *option)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("20 of 20 wrong elements looked at are right with the matrix of group 1, not 2", done.stderr)
        (self.folder / "ends.csv").write_text("2\n2\n3\n")
        words = ["verify", "grouped_matmul", "a3.npy", "b.npy", "c.npy", "--output", "y.npy", "--offsets", "ends.csv"]
        write(self.folder / "a3.npy", (3, 8), [x for row in a[:3] for x in row])
        for shape, c_of in (((3, 1, 5), lambda row, group: group), ((1, 3, 5), lambda row, group: row)):  # of groups, of rows
            write(self.folder / "c.npy", shape, [100.0 * i for i in range(15)])
            write(self.folder / "y.npy", (3, 5), [100.0 * (5 * c_of(i, g) + j) + math.fsum(x * b[g * 8 + k][j] for k, x in enumerate(row))
                                                  for i, (row, g) in enumerate(zip(a, (0, 0, 2))) for j in range(5)])
            self.assertEqual(self.run_program(*words).returncode, 0, shape)
        write(self.folder / "c.npy", (3, 5), [100.0 * i for i in range(15)])
        done = self.run_program(*words)
        self.assertEqual((done.returncode, done.stderr), (2, "ulpscope: C c.npy (3x5): is a row for each group or for each row of A; "
                                                             "say which, as 3x1x5 or 1x3x5\n"))
        write(self.folder / "y.npy", (7, 5), products(lambda g: g))
        (self.folder / "ends.csv").write_text("2\n1\n6\n")
        done = self.run_program("verify", "grouped_matmul", "a.npy", "b.npy", "--output", "y.npy", "--offsets", "ends.csv")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "ulpscope: --offsets: group 1 would end at row 1, before it begins at 2\n"))

    def test_convolution(self):
        done = self.run_program("cast", "normal:0,1:60", "--to", "float32", "-o", "flat.npy")
        self.assertEqual(done.returncode, 0)
        x = read(self.folder / "flat.npy")
        write(self.folder / "x.npy", (1, 3, 20), x)
        w = [0.5, -1.0, 2.0, 0.25, 1.5, -0.75, 1.0, 1.0, -2.0]
        write(self.folder / "w.npy", (1, 3, 3), w)
        out = [math.fsum(x[c * 20 + i + t] * w[c * 3 + t] for c in range(3) for t in range(3)) for i in range(18)]
        self.check("conv", ["x.npy", "w.npy"], (1, 1, 18), out)


unittest.main()
