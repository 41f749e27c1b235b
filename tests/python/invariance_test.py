#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ulpscope.invariance and the command of its name: the same answer, and arrays in the place of files. usage: invariance_test.py PROGRAM"""
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import numpy as np

import ulpscope as us

PROGRAM = os.path.abspath(sys.argv.pop(1))


def run(*words, cwd=None):
    done = subprocess.run([PROGRAM, "invariance", *words], cwd=cwd, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def blas_of_numpy():
    try:
        return np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    except (TypeError, KeyError):  # before numpy 1.25
        return "one that it does not tell"


def strided(x, parts):
    sums = np.zeros((len(x), parts), np.float32)
    for first in range(0, x.shape[1], parts):
        sums += x[:, first:first + parts]
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return sums[:, 0]


class Invariance(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(5)
        self.x = random.normal(size=(40, 4096)).astype(np.float32)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def save(self, **arrays):
        for name, values in arrays.items():
            np.save(self.path / f"{name}.npy", values)

    def test_strided_sums_move_and_are_both_right(self):
        wide, narrow = strided(self.x, 1024), strided(self.x, 256)
        self.save(x=self.x, wide=wide, narrow=narrow)
        code, out, err = run("sum", "x.npy", "--output", "wide=wide.npy", "--output", "narrow=narrow.npy", "--csv", cwd=self.path)
        row, = csv.DictReader(io.StringIO(out))
        self.assertEqual(code, 1)
        moved = int((wide.view(np.uint32) != narrow.view(np.uint32)).sum())
        self.assertGreater(moved, 0)
        self.assertEqual((row["rows"], row["rows_moved"], row["elements_moved"]), ("40", str(moved), str(moved)))
        self.assertEqual((row["right"], row["other_right"]), ("yes", "yes"))
        self.assertEqual(row["cause"], "wide: 1024 strided parts, halves added; narrow: 256 strided parts, halves added")
        self.assertIn("both are right", err)
        result = us.invariance.sum({"wide": wide, "narrow": narrow}, self.x)
        self.assertEqual(result.outcome, "fail")
        self.assertIn("both are right", result.text)
        self.assertEqual(result.text, str(result))
        self.assertEqual([str(cell) for cell in result.tables[0].rows[0]][:6], [row[key] for key in list(row)[:6]])
        self.assertEqual(result.tables[0]["cause"][0], row["cause"])

    def test_keywords_name_the_tensors_and_numbers_of_a_formula(self):
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        outputs = {"a": 2 * x, "b": ((2 * x)[1:2], 1)}
        for result in (us.invariance.expr(outputs, "x * two", x=x, two=2), us.invariance.expr(outputs, "x * two", input={"x": x}, let={"two": 2})):
            self.assertEqual((result.outcome, result.tables[0]["rows"], result.tables[0]["elements_moved"]), ("pass", [1], [0]))
        outputs["b"] = ((2 * x)[:1], 1)
        self.assertEqual(us.invariance.expr(outputs, "x * 2", x=x).outcome, "fail")
        with self.assertRaisesRegex(TypeError, "^invariance expr: x is given twice$"):
            us.invariance.expr(outputs, "x * 2", x=x, input={"x": x})

    def test_numpy_adds_pairwise(self):
        sums = self.x.sum(axis=1)
        one = np.array([row.sum() for row in self.x])  # each alone
        result = us.invariance.sum({"numpy": sums, "alone": one, "strided": strided(self.x, 64)}, self.x)
        self.assertEqual(result.tables[0]["elements_moved"][0], 0)
        self.assertIn("numpy: numpy's pairwise sum; strided: 64 strided parts", result.tables[0]["cause"][1])

    def test_rows_alone_are_compared_with_their_batch(self):
        random = np.random.default_rng(2)
        a, b = random.normal(size=(24, 512)).astype(np.float32), random.normal(size=(512, 16)).astype(np.float32)
        words = {"in_": "bf16"}
        batch = us.matmul(a, b, engine="sm_90", **words)
        last = us.matmul(a[16:], b, engine="sm_90", split_k=4, **words)
        same = us.invariance.matmul({"batch": batch, "alone": (us.matmul(a[3:4], b, engine="sm_90", **words), 3)}, a, b, engine="sm_90", **words)
        self.assertEqual((same.outcome, same.tables[0]["rows"][0]), ("pass", 1))
        moved = us.invariance.matmul({"batch": batch, "last": (last, 16)}, a, b, engine="sm_90", **words)
        self.assertEqual(moved.outcome, "fail")
        self.assertEqual(moved.tables[0]["rows"][0], 8)
        self.assertIn("last: split-K = 4", moved.tables[0]["cause"][0])
        wrong = us.invariance.matmul({"batch": batch, "wrong": -batch}, a, b, engine="sm_90", seconds=0, **words)
        self.assertEqual((wrong.tables[0]["right"][0], wrong.tables[0]["other_right"][0]), ("yes", "no"))
        with self.assertRaisesRegex(us.Error, "without row 25"):
            us.invariance.matmul({"batch": batch, "last": (last, 18)}, a, b, **words)
        with self.assertRaisesRegex(TypeError, "outputs are a dictionary"):
            us.invariance.matmul([batch, batch], a, b)
        with self.assertRaisesRegex(TypeError, "row -1"):
            us.invariance.matmul({"batch": batch, "last": (last, -1)}, a, b)

    def test_a_row_of_openblas_alone_and_in_its_batch(self):
        if "openblas" not in blas_of_numpy().lower():
            self.skipTest(f"skipped: numpy's BLAS is {blas_of_numpy()}, not OpenBLAS")
        random = np.random.default_rng(5)
        a, b = (random.normal(size=shape).astype(np.float32) for shape in ((256, 2048), (2048, 512)))
        outputs = {"batch": a @ b, "alone": (a[:1] @ b, 0)}  # sgemm; and sgemv, which numpy calls for one row
        result = us.invariance.matmul(outputs, a, b, seconds=0)
        of_row = dict(zip(result.tables[0].columns, result.tables[0].rows[0]))
        self.assertEqual((of_row["rows_moved"], of_row["elements"], of_row["right"], of_row["other_right"]), (1, 512, "yes", "yes"))
        self.assertGreater(of_row["elements_moved"], 256)

    def test_a_row_whose_result_is_one_number(self):
        x = self.x[:8, :64]
        sums = x.sum(1)
        for alone in x[7].sum(), np.array(sums[7]), float(sums[7]), sums[7:]:
            result = us.invariance.sum({"batch": sums, "alone": (alone, 7)}, x)
            self.assertEqual((result.outcome, result.tables[0]["rows"]), ("pass", [1]))
        self.assertEqual(us.invariance.sum({"batch": sums, "other": (sums[6], 7)}, x).outcome, "fail")
        for outputs, wanted in (({"batch": sums, "alone": sums[7]}, r"^alone a scalar: the result of these inputs is 8; of some of its rows give \(output, first row\)$"),
                                ({"batch": sums}, "^outputs: give two or more, each by its name$")):
            with self.assertRaisesRegex(us.Error, wanted):
                us.invariance.sum(outputs, x)
        with self.assertRaisesRegex(TypeError, "^invariance sum: output: two are named '1'$"):
            us.invariance.sum({1: sums, "1": sums}, x)

    def test_every_operation_takes_its_outputs(self):
        x = self.x[:, :64]
        y = np.exp(x - x.max(axis=1, keepdims=True))
        y /= y.sum(axis=1, keepdims=True)
        self.assertEqual(us.invariance.softmax({"a": y, "b": (y[5:9], 5)}, x).outcome, "pass")
        self.assertEqual(us.invariance.cast({"a": x, "b": x}, x).outcome, "pass")
        self.assertEqual(us.invariance.elementwise({"a": np.sqrt(y), "b": np.sqrt(y)}, "sqrt", y).outcome, "pass")
        self.assertEqual(us.invariance.dot({"a": (x * x).sum(axis=1), "b": (x * x).sum(axis=1)}, x, x).outcome, "pass")

    def test_reports_and_refusals(self):
        self.save(x=self.x, a=strided(self.x, 64), b=strided(self.x, 32), part=strided(self.x, 64)[:2])
        both = ("--output", "a=a.npy", "--output", "b=b.npy")
        code, _, err = run("sum", "x.npy", *both, "-o", "report", "--junit", "j.xml", cwd=self.path)
        self.assertEqual(code, 1, err)
        self.assertIn("Where rows moved", (self.path / "report/index.html").read_text())
        self.assertEqual(sorted(p.name for p in (self.path / "report").iterdir()),
                         ["findings.csv", "index.html", "invariance.csv", "invariance_rows.csv", "manifest.json", "rows.svg"])
        pairs, stretches, findings = (list(csv.DictReader(open(self.path / "report" / name, encoding="utf-8")))
                                      for name in ("invariance.csv", "invariance_rows.csv", "findings.csv"))
        for column in ("rows", "elements", "elements_moved"):
            self.assertEqual(sum(int(row[column]) for row in stretches), int(pairs[0][column]), column)
        self.assertEqual([row["value"] for row in findings], [pairs[0]["elements_moved"]])
        suite = ElementTree.parse(self.path / "j.xml").getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("3", "1"))
        self.assertEqual(run("sum", "x.npy", "--output", "a=a.npy", "--output", "b=a.npy", "--output", "p=part.npy@0", cwd=self.path)[0], 0)
        self.assertEqual(run("sum", "x.npy", "--output", "a=part.npy@0", "--output", "b=part.npy@2", cwd=self.path)[0], 1)  # b is wrong there
        for words, wanted in ((("sum", "x.npy", "--output", "a=a.npy"), "give two or more"),
                              (("sum", "x.npy", "--output", "a.npy", "--output", "b=b.npy"), "--output 'a.npy': write NAME=FILE"),
                              (("sum", "x.npy", "--output", "a=a.npy", "--output", "p=part.npy@39"), "without row 40"),
                              (("sum", "x.npy", "--output", "a=a.npy", "--output", "p=none.npy"), "none.npy"),
                              (("sum", "x.npy", *both, "--against", "a.npy"), "give exact or engine"),
                              (("sum", "x.npy", *both, "-o", "report", "--rows", "3"), "a report holds"),
                              (("nope",), "unknown command 'nope'")):
            code, out, err = run(*words, cwd=self.path)
            self.assertEqual((code, out, len(err.splitlines())), (2, "", 1), words)
            self.assertIn(wanted, err)


if __name__ == "__main__":
    unittest.main()
