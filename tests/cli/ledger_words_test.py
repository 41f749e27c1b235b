#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Words of `ulpscope ledger check` that name too much or too little, each refused in its words, and reports of cases that are not compared.

usage: ledger_words_test.py PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

from npy_file import npy
from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
M, K, N = 4, 16, 3
A = [(7 * i) % 9 + 1 for i in range(M * K)]
B = [(5 * i) % 7 + 1 for i in range(K * N)]
D = [float(sum(A[i * K + k] * B[k * N + j] for k in range(K))) for i in range(M) for j in range(N)]  # exact in any order
ULP = 2.0**-15  # of float32 in [256, 512)


class Words(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "none").write_text('{"ulpscope_ledger":1}\n')
        moved = [D[0] + ULP, *D[1:]]
        for name, shape, values in (("a", (M, K), A), ("b", (K, N), B), ("d", (M, N), D), ("six", (M, N), [6 * x for x in D]), ("moved", (M, N), moved),
                                    ("wrong", (M, N), [D[0] + 1, *D[1:]])):
            npy(self.folder / f"{name}.npy", shape, values)
        self.ledger("record", "L", "matmul", "a.npy", "b.npy", "--in", "bf16", "--output", "d.npy", "--case", "g", "--keep-output")
        self.ledger("record", "S", "matmul", "a.npy", "b.npy", "--in", "bf16", "--output", "six.npy", "--case", "s", "--scale-a", "2", "--scale-a", "3")

    def ledger(self, *words, code=0):
        done = subprocess.run([PROGRAM, "ledger", *words], capture_output=True, text=True, cwd=self.folder, timeout=LIMIT)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def test_what_is_refused(self):
        for words, what in (
                (("L", "g"), "give a CASE and its --output, or a --manifest"),
                (("L", "--output", "d.npy"), "give a CASE and its --output, or a --manifest"),
                (("L", "g", "--output", "d.npy", "--input", "=a.npy"), "--input '=a.npy': give ROLE=FILE"),
                (("L", "g", "--output", "d.npy", "--input", "A="), "--input 'A=': give ROLE=FILE"),
                (("L", "g", "--manifest", "m.csv"), "--manifest m.csv: names cases and outputs itself; give neither CASE nor --output"),
                (("L", "--output", "d.npy", "--manifest", "m.csv"), "--manifest m.csv: names cases and outputs itself; give neither CASE nor --output"),
                (("S", "s", "--output", "six.npy", "--scale-a", "2", "--scale-a", "3", "--scale-a", "4"),
                 "--scale-a: may be given twice, the second time for the whole operand")):
            done = self.ledger("check", *words, code=2)
            self.assertEqual((done.stdout, done.stderr), ("", f"ulpscope: {what}\n"), words)

    def test_scales_of_the_whole_operand(self):
        self.ledger("check", "S", "s", "--output", "six.npy")
        self.ledger("check", "S", "s", "--output", "six.npy", "--scale-a", "2", "--scale-a", "3")
        done = self.ledger("check", "S", "s", "--output", "six.npy", "--scale-a", "2", "--scale-a", "4", code=2)
        self.assertIn("scale_a_whole", done.stdout)

    def test_one_scale_and_tf32_that_rounds(self):
        twice = [2 * x for x in D]
        npy(self.folder / "twice.npy", (M, N), twice)
        self.ledger("record", "T", "matmul", "a.npy", "b.npy", "--in", "tf32:nearest", "--output", "twice.npy", "--case", "t", "--scale-a", "2")
        self.assertEqual(json.loads((self.folder / "T").read_text().splitlines()[1])["options"]["in"], "tf32:nearest")
        self.ledger("check", "T", "t", "--output", "twice.npy", "--scale-a", "2")

    def test_a_case_without_inputs(self):
        head, case = (self.folder / "L").read_text().splitlines()
        (self.folder / "N").write_text(f"{head}\n{json.dumps({**json.loads(case), 'inputs': []})}\n")
        for words, what in ((("a.npy",), "inputs: 1; the case has none"), (("--input", "A=a.npy"), "input A (a.npy): the case has none (case g of N)")):
            self.assertEqual(self.ledger("check", "N", "g", *words, "--output", "d.npy", code=2).stderr, f"ulpscope: {what}\n")

    def junit(self):
        """The cases of the file, and whether each failed."""
        return [(case.get("name"), case.find("failure") is not None) for case in xml.parse(self.folder / "j.xml").iter("testcase")]

    def test_cases_that_are_not_compared(self):
        self.assertEqual(self.ledger("diff", "none", "none", "--text", code=3).stdout, "0 cases; nothing is beyond the bound\n")
        done = self.ledger("diff", "none", "L", "--text", "--junit", "j.xml", code=3)
        self.assertEqual((done.stdout, self.junit()), ("g: added\n\n1 case: 1 added; nothing is beyond the bound\n", [("g", False)]))
        self.ledger("diff", "none", "L", "--strict", "--junit", "j.xml", code=1)
        self.assertEqual(self.junit(), [("g", True)])
        (self.folder / "m.csv").write_text("case,output\ng,d.npy\nh,d.npy\n")
        done = self.ledger("check", "L", "--manifest", "m.csv", "--text", "--junit", "j.xml", code=2)
        self.assertIn("h: not checked: m.csv: row 3: unknown case 'h'; nearest: g\n", done.stdout)
        self.assertEqual(self.junit(), [("g", False), ("h", True)])

    def test_a_report_on_the_standard_error(self):
        done = self.ledger("check", "L", "g", "--output", "d.npy", "--junit", "/dev/stderr")
        self.assertIn('<testcase classname="ulpscope.ledger" name="g">', done.stderr)

    def test_cases_that_moved(self):
        for output, words, failed in (("d", (), 0), ("moved", (), 0), ("moved", ("--strict",), 1), ("wrong", (), 1), ("d", ("--strict",), 0)):
            self.ledger("check", "L", "g", "--output", f"{output}.npy", "--junit", "j.xml", *words, code=failed)
            self.assertEqual(self.junit(), [("g", bool(failed))], (output, words))


if __name__ == "__main__":
    unittest.main()
