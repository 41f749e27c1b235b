#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ulpscope invariance --program`: programs that compute rows in the same way whatever is around them, and others that do not; which
inputs they are given in parts. usage: invariance_program_test.py PROGRAM"""
import csv
import io
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

# What each kernel below begins with: arrays of .npy by the standard library alone.
READING = '''
import math, os, struct, sys

def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + size])
    count = math.prod(header["shape"])
    kind = {"<f4": "f", "<f8": "d", "<u2": "H", "|u1": "B"}[header["descr"]]
    return header["shape"], struct.unpack(f"<{count}{kind}", data[10 + size:])

def write(path, shape, values):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\\n"
    with open(path, "wb") as out:
        out.write(b"\\x93NUMPY\\x01\\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}f", *values))

def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]

def total(terms):
    sum = 0.0
    for term in terms:
        sum = f32(sum + term)
    return sum
'''
SUMS = READING + '''
shape, x = read(sys.argv[1])
rows, width = math.prod(shape[:-1]), shape[-1]
order = -1 if len(sys.argv) > 3 and shape[0] < int(sys.argv[3]) else 1
write(sys.argv[2], shape[:-1], [total(x[i * width:(i + 1) * width][::order]) for i in range(rows)])
'''
MATMUL = READING + '''
a_shape, a = read(sys.argv[1])
b_shape, b = read(sys.argv[2])
print("shapes", a_shape, b_shape, file=open("seen", "a"))
m, k, n = a_shape[-2], a_shape[-1], b_shape[-1]
batch = math.prod(a_shape[:-2])
each = 0 if len(b_shape) == 2 else k * n
d = [total(a[(p * m + i) * k + l] * b[p * each + l * n + j] for l in range(k)) for p in range(batch) for i in range(m) for j in range(n)]
write(sys.argv[3], (*a_shape[:-1], n), d)
'''
# Element by element; with a third argument it counts its calls in that file and adds them to the first element.
SQUARES = READING + '''
shape, x = read(sys.argv[1])
y = [f32(v * v) for v in x]
print("input", shape, x[0], file=open("seen", "a"))
if len(sys.argv) > 3:
    open(sys.argv[3], "a").write(".")
    y[0] += os.path.getsize(sys.argv[3])
write(sys.argv[2], shape, y)
'''
ATTENTION = READING + '''
shape, q = read(sys.argv[1])
k, v, mask = (read(path)[1] for path in sys.argv[2:5])
mask_shape = read(sys.argv[4])[0]
print("mask", mask_shape, file=open("seen", "a"))
batch, length, width = shape
y = []
for b in range(batch):
    for i in range(length):
        at = lambda t, j: t[(b * length + j) * width:(b * length + j + 1) * width]
        own = mask[b * length * length:] if len(mask_shape) == 3 else mask
        scores = [sum(p * r for p, r in zip(at(q, i), at(k, j))) / math.sqrt(width) + own[i * length + j] for j in range(length)]
        e = [math.exp(s - max(scores)) for s in scores]
        y += [sum(w * at(v, j)[c] for j, w in enumerate(e)) / sum(e) for c in range(width)]
write(sys.argv[5], shape, y)
'''


class InvarianceOfPrograms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()
        for name, text in {"sums.py": SUMS, "matmul.py": MATMUL, "squares.py": SQUARES, "attention.py": ATTENTION}.items():
            (self.folder / name).write_text(text)

    def run_program(self, *words, code=0):
        done = subprocess.run([PROGRAM, "invariance", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              timeout=LIMIT, env={**os.environ, "TMPDIR": str(self.scratch)})
        self.assertEqual(done.returncode, code, (words, done.stderr, done.stdout))
        self.assertEqual(os.listdir(self.scratch), [])
        return done

    def pairs(self, *words, code=0):
        done = self.run_program(*words, "--csv", code=code)
        return {(row["condition"], row["other"]): row for row in csv.DictReader(io.StringIO(done.stdout.decode()))}

    def kernel(self, name, *words):
        return ("--program", " ".join([sys.executable, name, *words]))

    def seen(self):
        return (self.folder / "seen").read_text().splitlines()

    def test_a_kernel_that_does_not_look_around_passes(self):
        pairs = self.pairs("sum", "normal:0,1:9x40", *self.kernel("sums.py", "{x}", "{out}"))
        names = {name for pair in pairs for name in pair}
        self.assertEqual(names, {"all", "again", "first", "last", "half", "from_1"})
        self.assertEqual({row["rows_moved"] for row in pairs.values()}, {"0"})
        self.assertEqual({pair: int(row["rows"]) for pair, row in pairs.items() if "all" in pair},
                         {("all", "again"): 9, ("all", "first"): 1, ("all", "last"): 1, ("all", "half"): 4, ("all", "from_1"): 8})

    def test_rows_that_are_summed_in_another_order_in_small_batches_move(self):
        pairs = self.pairs("sum", "normal:0,1:9x40", *self.kernel("sums.py", "{x}", "{out}", "5"), code=1)
        moved = {pair for pair, row in pairs.items() if row["rows_moved"] != "0"}
        self.assertIn(("all", "half"), moved)
        self.assertNotIn(("all", "from_1"), moved)
        self.assertEqual(pairs["all", "half"]["right"], "yes")
        self.assertEqual(pairs["all", "half"]["cause"], "all: in order")  # sums from behind are no usual order

    def test_a_report_is_checked_by_starting_the_program_again(self):
        self.run_program("sum", "normal:0,1:9x40", *self.kernel("sums.py", "{x}", "{out}"), "-o", "report")

        def check(*words):
            return subprocess.run([PROGRAM, "report", "check", "report", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                  timeout=LIMIT, env={**os.environ, "TMPDIR": str(self.scratch)})
        self.assertIn(b"--allow-programs lets it", check().stderr)
        done = check("--allow-programs")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({row["status"] for row in csv.DictReader(io.StringIO(done.stdout.decode()))}, {"same"})
        self.assertEqual(os.listdir(self.scratch), [])

    def test_inputs_of_formulas_have_the_names_of_conditions(self):
        for name in ("all", "again", "first", "last", "half", "from_1"):
            pairs = self.pairs("expr", f"{name}*{name}", "--input", f"{name}=normal:0,1:9x8",
                               *self.kernel("squares.py", f"{{{name}}}", "{out}"))
            self.assertEqual({row["rows_moved"] for row in pairs.values()}, {"0"}, name)
        nothing = ["--program", "true {all} {out}"]
        done = self.run_program("expr", "all*all", "--input", "all=normal:0,1:9x8", *nothing, code=2)
        self.assertIn(b"condition all: has not written {out}", done.stderr)

    def test_what_stands_for_two_files_is_refused(self):
        own = ("--input", "x=normal:0,1:9x8")
        self.pairs("expr", "x*x", *own, *self.kernel("squares.py", "{x}", "{out}"))
        for formula, slot, name in (("x*out", "{out}", "out"), ("x*x_codes", "{x_codes}", "x_codes")):
            done = self.run_program("expr", formula, *own, "--input", f"{name}=normal:0,1:9x8",
                                    *self.kernel("squares.py", "{x}", slot, "{out}"), code=2)
            said = f"{slot} stands for two files; give the input '{name}' another name in the formula"
            self.assertIn(said.encode(), done.stderr)

    def test_few_rows_have_fewer_conditions(self):
        for batch, names in [(1, {"all", "again"}), (2, {"all", "again", "first", "last"}), (3, {"all", "again", "first", "last", "from_1"})]:
            pairs = self.pairs("sum", f"normal:0,1:{batch}x8", *self.kernel("sums.py", "{x}", "{out}"))
            self.assertEqual({name for pair in pairs for name in pair}, names)

    def test_a_result_that_changes_from_run_to_run_moves(self):
        pairs = self.pairs("expr", "x * x", "--input", "x=normal:0,1:4x6", *self.kernel("squares.py", "{x}", "{out}", "calls"), code=1)
        self.assertEqual(pairs["all", "again"]["rows_moved"], "1")
        self.assertEqual(pairs["all", "again"]["right"], "no")
        self.assertEqual(pairs["all", "last"]["rows_moved"], "1")

    def test_a_product_is_given_rows_of_a_and_all_of_b(self):
        self.pairs("matmul", "normal:0,1:6x6", "normal:0,1:6x4", "--seed", "0,1", *self.kernel("matmul.py", "{A}", "{B}", "{out}"))
        shapes = ["(6, 6) (6, 4)"] * 2 + ["(1, 6) (6, 4)"] * 2 + ["(3, 6) (6, 4)", "(5, 6) (6, 4)"]
        self.assertEqual(self.seen(), ["shapes " + shape for shape in shapes])

    def test_a_batch_of_products_is_cut_by_products_and_rows_are_counted_through(self):
        pairs = self.pairs("matmul", "normal:0,1:3x5x6", "normal:0,1:3x6x4", "--seed", "0,1", *self.kernel("matmul.py", "{A}", "{B}", "{out}"))
        self.assertEqual(self.seen()[2], "shapes (1, 5, 6) (1, 6, 4)")
        self.assertEqual([pairs[pair]["rows"] for pair in (("all", "last"), ("last", "from_1"))], ["5", "5"])

    def test_numbers_are_those_that_are_computed_with(self):
        self.pairs("expr", "x * x", "--input", "x=normal:0,1:2x3", "--in", "bf16", *self.kernel("squares.py", "{x}", "{out}"))
        first = float(self.seen()[0].split(")")[1])
        self.assertEqual(struct.pack("<f", first)[:2], b"\0\0")  # a bfloat16
        (self.folder / "seen").unlink()
        codes = READING + 'shape, x = read(sys.argv[1])\nprint(x[0], file=open("seen", "a"))\nwrite(sys.argv[2], shape, [0.0] * len(x))\n'
        (self.folder / "codes.py").write_text(codes)
        self.pairs("expr", "x * x", "--input", "x=normal:0,1:2x3", "--in", "bf16", *self.kernel("codes.py", "{x_codes}", "{out}"), code=1)
        self.assertEqual(struct.unpack("<f", struct.pack("<HH", 0, int(self.seen()[0])))[0], first)

    def test_a_mask_is_cut_where_it_has_the_batch(self):
        for mask, parts in [("3x2x2", "(1, 2, 2)"), ("2x2", "(2, 2)")]:
            words = ("attention", "normal:0,1:3x2x4", "normal:0,1:3x2x4", "normal:0,1:3x2x4", "--mask", f"uniform:-1,0:{mask}")
            self.pairs(*words, *self.kernel("attention.py", "{q}", "{k}", "{v}", "{mask}", "{out}"))
            self.assertEqual(self.seen()[2], "mask " + parts)
            (self.folder / "seen").unlink()

    def test_inputs_may_be_named_that_are_cut(self):
        (self.folder / "outer.py").write_text(READING + '''
(rows,), a = read(sys.argv[1])
(columns,), b = read(sys.argv[2])
print("shapes", rows, columns, file=open("seen", "a"))
write(sys.argv[3], (rows, columns), [f32(x * y) for x in a for y in b])
''')
        words = ("expr", 'einsum("i,j->ij", a, b)', "--input", "a=normal:0,1:4", "--input", "b=normal:0,1:4")
        program = self.kernel("outer.py", "{a}", "{b}", "{out}")
        self.pairs(*words, *program, "--batched", "a")
        self.assertEqual(self.seen()[2], "shapes 1 4")
        error = self.run_program(*words, *program, code=2).stderr.decode()  # both are cut, and the results are none
        self.assertEqual(error.count("\n"), 1, error)

    def test_bad_input_is_one_line(self):
        good = self.kernel("sums.py", "{x}", "{out}")
        expected = {
            ("sum", "normal:0,1:4x4"): "--output: give two or more, each as NAME=FILE, or --program WORDS",
            ("sum", "normal:0,1:4x4", "--program", ""): "--program: '': give a word",
            ("sum", "normal:0,1:4x4", "--program", " "): "--program ' ': names no program",
            ("sum", "normal:0,1:4x4", "--program", "'a {out}"): "--program ''a {out}': a quote is not closed",
            ("sum", "normal:0,1:4x4", "--program", "true {x}"): "--program 'true {x}': is not told where to write; it is given {out}, and {x}",
            ("sum", "normal:0,1:4x4", "--program", "true {out}"): "--program 'true {out}': is not given {x}",
            ("sum", "normal:0,1:4x4", "--program", "true {x} {out}"): "--program 'true', condition all: has not written {out}",
            ("sum", "normal:0,1:4x4", "--program", "false {x} {out}"): "--program 'false', condition all: ended with exit code 1",
            ("sum", "normal:0,1:4x4", "--program", "no-such-program {x} {out}"): "",
            ("sum", "normal:0,1:4x4", "--timeout", "0.05", "--program", "sh -c 'sleep 9' {x} {out}"): "--program 'sh', condition all: was still running",
            ("sum", "normal:0,1:4x4", "--timeout", "0", *good): "--timeout: give a number of seconds above 0",
            ("sum", "normal:0,1:4x4", "--output", "a=b", *good): "--output, --program: give one of them",
            ("sum", "normal:0,1:4x4", "--batched", "y", *good): "--batched y: there is no such input",
            ("softmax", "normal:0,1:4", *good): "--program: the result, 4, has no rows to be cut",
            ("softmax", "nowhere.npy", *good): "nowhere.npy",
            ("attention", *["normal:0,1:4x4"] * 3, "--program", "true {q} {k} {v} {out}"): "--program: give Q, K and V with a batch",
            ("matmul", "normal:0,1:4x4", "normal:0,1:4x4", "--scale-a", "uniform:1,2:4x1", "--program", "true {A} {B} {out}"):
                "--program: inputs with scale_a are not cut",
        }
        for words, start in expected.items():
            error = self.run_program(*words, code=2).stderr.decode()
            self.assertEqual(error.count("\n"), 1, error)
            self.assertTrue(error.startswith("ulpscope: " + start), (words, error))


if __name__ == "__main__":
    unittest.main()
