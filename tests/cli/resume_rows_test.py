#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same of choices, histories and differences, which keep a row for each tensor. usage: resume_rows_test.py PROGRAM"""
import csv
import hashlib
import io
import os
import shutil
import unittest

from resuming import KEPT, TENSORS, UNSAMPLED, Resuming


class Chosen(Resuming):
    WORDS = ("choose", "m.safetensors", "--to", "e4m3,e5m2,bf16", "--scale", "none,row,mx:rceil", "--sqnr", "30", "--threads", "1", "-o", "plan.toml")
    KEPT = "plan.toml.partial/measured.txt"

    def plan(self, *words):
        self.program(*self.WORDS, *words)
        return (self.path / "plan.toml").read_bytes()

    def test_a_choice(self):
        right = self.plan()
        (self.path / "plan.toml").unlink()
        kept = 0
        for most in (6000, 9000):
            self.assertIn("File too large", self.program(*self.WORDS, "--resume", code=2, most=most))
            self.assertGreater((self.path / self.KEPT).read_bytes().count(b"\n"), kept)
            kept = (self.path / self.KEPT).read_bytes().count(b"\n")
            self.assertLess(kept, TENSORS * 5)
        self.numbers["t00"][UNSAMPLED] *= 2.0 ** 40  # kept rows are not measured again
        self.write()
        self.assertEqual(self.plan("--resume"), right)
        self.assertEqual(sorted(os.listdir(self.path)), ["m.safetensors", "plan.toml"])
        self.assertNotEqual(self.plan(), right)

    def test_other_work_is_refused(self):
        self.program(*self.WORDS, "--resume", code=2, most=6000)
        self.assertIn("plan.toml.partial: holds what a run that was ended has measured", self.refused(*self.WORDS))
        self.assertIn("plan.toml.partial: is of other work: ", self.refused(*self.WORDS, "--hadamard", "32", "--resume"))
        self.numbers["t05"][0] += 1
        self.write()
        self.assertIn("sample", self.refused(*self.WORDS, "--resume"))
        self.assertIn("--resume: -o PLAN.toml is missing", self.refused(*self.WORDS[:-2], "--resume"))

    def test_a_plan_that_cannot_be_written_is_told_before_anything_is_measured(self):
        (self.path / "victim.toml").write_text("years of work")
        (self.path / "plan.toml").symlink_to("victim.toml")
        self.assertIn("plan.toml: cannot be written: it is a link", self.refused(*self.WORDS, "--resume"))
        self.assertEqual(sorted(os.listdir(self.path)), ["m.safetensors", "plan.toml", "victim.toml"])


class Histories(Resuming):
    WORDS = ("census", "--history", "m.safetensors", "n.safetensors", "--all-tensors", "--threads", "1")

    def setUp(self):
        super().setUp()
        self.write("n.safetensors", {name: [2 * x for x in of] for name, of in self.numbers.items()})

    def test_a_history(self):
        right = self.undisturbed(*self.WORDS)
        kept = 0
        for most in (3600, 3900):  # the request takes less, lines of all magnitudes more
            self.ended(*self.WORDS, most=most)
            self.assertTrue(kept < self.whole_lines() < 2 * TENSORS, self.whole_lines())
            kept = self.whole_lines()
        self.numbers["t00"][UNSAMPLED] = 2.0 ** 40  # kept magnitudes are not looked for again
        self.write()
        self.program(*self.WORDS, "-o", "out", "--resume")
        self.assertEqual(self.contents("out"), right)
        self.assertEqual(sorted(os.listdir(self.path)), ["m.safetensors", "n.safetensors", "out"])
        self.assertNotEqual(self.undisturbed(*self.WORDS), right)

    def test_what_is_no_magnitude_is_refused(self):
        self.ended(*self.WORDS, most=3600)
        first, *lines = (self.path / KEPT).read_text().splitlines()
        for changed in ("0 bff0000000000000", "0 7ff8000000000000", "0 3ff0000000000000 0", "0 x", "0 "):
            (self.path / KEPT).write_text("\n".join([f"{hashlib.sha256(changed.encode()).hexdigest()} {changed}", *lines]) + "\n")
            self.assertIn("is no line of what --resume keeps", self.refused(*self.WORDS, "-o", "out", "--resume"))

    def test_other_work_is_refused(self):
        self.ended(*self.WORDS, most=3600)
        self.assertIn("is of other work: ", self.refused("census", "--history", "n.safetensors", "m.safetensors", *self.WORDS[4:], "-o", "out", "--resume"))
        self.assertIn("out.partial: holds what a run that was ended has measured", self.refused(*self.WORDS, "-o", "out"))


class Differences(Resuming):
    WORDS = ("diff", "m.safetensors", "n.safetensors", "--tolerance", "ulp=1")

    def setUp(self):
        super().setUp()
        self.others = {name: [x * (1 + 2.0 ** -20) for x in of] for name, of in self.numbers.items()}
        self.others["t03"][7] = float("inf")
        self.others["t04"] = self.numbers["t04"]
        self.others["new"] = self.others.pop("t05")
        self.write("n.safetensors", self.others)

    def report(self, *words):
        self.program(*self.WORDS, *words, "-o", "out", code=1)
        return self.contents("out")

    def test_a_difference(self):
        right = self.report()
        self.assertEqual(sorted(right), ["diff.csv", "diff_ulps.svg", "findings.csv", "index.html", "manifest.json", "unmatched.csv", "worst.csv"])
        shutil.rmtree(self.path / "out")
        kept = 0
        for most in (6000, 9000):
            self.assertIn("File too large", self.program(*self.WORDS, "--resume", "-o", "out", code=2, most=most))
            self.assertFalse((self.path / "out").exists())
            self.assertTrue(kept < self.whole_lines() < TENSORS - 1)
            kept = self.whole_lines()
        for name in self.others:  # what is kept is not compared again
            if name not in ("t04", "new"):
                self.others[name][UNSAMPLED] *= 2.0 ** 40
        self.write("n.safetensors", self.others)
        resumed = self.report("--resume")
        self.assertEqual(sorted(os.listdir(self.path)), ["m.safetensors", "n.safetensors", "out"])
        rows = [{row["ref"]: row for row in csv.DictReader(io.StringIO(of["diff.csv"].decode()))} for of in (right, resumed, self.report())]
        same = [sum(row == more[ref] for ref, row in rows[0].items()) for more in rows]
        self.assertEqual((same[0], same[2]), (TENSORS - 1, 1))
        self.assertGreaterEqual(same[1], kept)
        self.assertLess(same[1], TENSORS - 1)

    def test_the_same_bytes_after_an_end(self):
        right = self.report()
        self.program(*self.WORDS, "--resume", "-o", "out", code=2, most=6000)
        self.assertEqual(self.contents("out"), right)
        shutil.rmtree(self.path / "out")
        self.assertEqual(self.report("--resume"), right)
        self.program("report", "check", "out")

    def test_other_work_is_refused(self):
        self.program(*self.WORDS, "--resume", "-o", "out", code=2, most=6000)
        self.assertIn("out.partial: holds what a run that was ended has measured", self.refused(*self.WORDS, "-o", "out"))
        self.assertIn("out.partial: is of other work: ", self.refused(*self.WORDS[:-1], "ulp=2", "-o", "out", "--resume"))
        self.others["t06"][0] += 1
        self.write("n.safetensors", self.others)
        self.assertRegex(self.refused(*self.WORDS, "-o", "out", "--resume"), "'n.safetensors:t06, float32 64 64, sample ")
        self.assertIn("--resume: -o DIR is missing", self.refused(*self.WORDS, "--resume"))
        (self.path / "held.partial").mkdir()
        (self.path / "n.safetensors").rename(self.path / "held.partial/n.safetensors")
        self.assertIn("held.partial, which holds the input",
                      self.refused("diff", "m.safetensors", "held.partial/n.safetensors", "-o", "held", "--resume"))

    def test_two_tensors(self):
        words = ("diff", "m.safetensors:t03", "n.safetensors:t03")
        said = self.program(*words, "-o", "out", "--resume", code=1)
        self.assertEqual(sorted(self.contents("out")), ["diff.csv", "diff_ulps.svg", "findings.csv", "index.html", "manifest.json", "worst.csv"])
        self.assertIn("out/index.html written", said)
        self.assertIn("--where, --sort and --rows are for tables that are printed", self.refused(*words, "-o", "out", "--rows", "1"))
        self.program("diff", "m.safetensors:t03", "m.safetensors:t03", "-o", "out")


unittest.main()
