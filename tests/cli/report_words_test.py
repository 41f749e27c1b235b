#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ulpscope report` on folders that no command wrote so: numbers that are none, tables of one side, files that are gone, changed or new.

usage: report_words_test.py PROGRAM"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())


class Reports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def run_here(self, *words, code=0):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, cwd=self.path, timeout=LIMIT)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def report(self, folder, tables, names=()):
        (self.path / folder).mkdir(exist_ok=True)
        files = {name: "0" for name in (*tables, *names)}
        (self.path / folder / "manifest.json").write_text(json.dumps({"program": "ulpscope", "arguments": ["x"], "files": files}))
        for name, text in tables.items():
            (self.path / folder / name).write_text(text)

    def diff(self, *words, code=1):
        return [tuple(row.values()) for row in csv.DictReader(self.run_here("report", "diff", "a", "b", "--csv", *words, code=code).stdout.splitlines())]

    def test_numbers_are_compared_as_numbers_and_the_rest_as_words(self):
        self.report("a", {"t.csv": "k,x,y\na,1,1e999\nb,0,3\nc,z,2x\nd,nan,\ne,2,5\n", "only.csv": "k\n"})
        self.report("b", {"t.csv": "k,x,y\na,1.5,1\nb,1,3\nc,2,2\nd,1,1\ne,z,5\n", "other.csv": "k\n"})
        a_x = ("t.csv", "a", "x", "1", "1.5", "0.5", "0.5")
        rest = [("t.csv", "a", "y", "1e999", "1", "nan", "nan"), ("t.csv", "b", "x", "0", "1", "1", "inf"), ("t.csv", "c", "x", "z", "2", "nan", "nan"),
                ("t.csv", "c", "y", "2x", "2", "nan", "nan"), ("t.csv", "d", "x", "nan", "1", "nan", "nan"), ("t.csv", "d", "y", "", "1", "nan", "nan"),
                ("t.csv", "e", "x", "2", "z", "nan", "nan")]
        sides = [("only.csv", "", "", "present", "", "nan", "nan"), ("other.csv", "", "", "", "present", "nan", "nan")]
        self.assertEqual(self.diff(), [*sides, a_x, *rest])
        self.assertEqual(self.diff("--relative", "0.5"), [*sides, *rest])
        self.assertEqual(self.diff("--absolute", "0.5"), [*sides, *rest])
        self.assertEqual(self.diff("--absolute", "1"), [*sides, *(row for row in rest if row[1] != "b")])

    def test_names_stay_in_the_folder(self):
        for name in ("", ".t.csv", "/t.csv", "x/", "a/.t.csv", ".a/t.csv", "a/b/t.csv", "../t.csv"):
            self.report("a", {}, [name])
            done = self.run_here("report", "diff", "a", "a", code=2)
            self.assertEqual(done.stderr, f"ulpscope: a/manifest.json: names the file '{name}', which is not in its folder\n")

    def test_files_that_are_gone_changed_or_new(self):
        self.run_here("census", "normal:0,1:64", "--to", "e4m3", "-o", "r")
        report = self.path / "r"
        self.run_here("report", "check", "r")
        (report / "census.csv").write_text("tensor\n")
        (report / "index.html").unlink()
        for folder in ("a", "figures", "zz"):
            (report / folder).mkdir(exist_ok=True)
            (report / folder / "new.svg").write_text("")
        rows = dict(csv.reader(self.run_here("report", "check", "r", "--csv", code=1).stdout.splitlines()[1:]))
        self.assertEqual((rows["census.csv"], rows["index.html"], rows["a"], rows["zz"]), ("edited", "missing", "unlisted", "unlisted"))


if __name__ == "__main__":
    unittest.main()
