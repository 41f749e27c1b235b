# SPDX-License-Identifier: Apache-2.0
"""A short run of `ulpscope evidence` keeps the promises that the long one in docs/evidence makes.

usage: evidence_test.py PROGRAM EVIDENCE
"""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from emulation import not_emulated
from time_limit import LIMIT

EVIDENCE = pathlib.Path(sys.argv.pop())
PROGRAM = os.path.abspath(sys.argv.pop())


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@not_emulated(PROGRAM, "judging this many products takes more than twenty minutes")
class Evidence(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.short = pathlib.Path(cls.scratch.name) / "evidence"
        done = subprocess.run([PROGRAM, "evidence", "-o", cls.short, "--products", "1500", "--plants", "12", "--k", "1:256",
                               "--seed", "7"], stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def each(self):
        return ("committed", EVIDENCE), ("short run", self.short)

    def test_no_correct_product_is_rejected(self):
        for name, folder in self.each():
            table = rows(folder / "false_alarms.csv")
            products = sum(int(row["products"]) for row in table)
            self.assertEqual(sum(int(row["rejected"]) for row in table), 0, name)
            stated = float(table[0]["stated_false_alarm"])
            self.assertLessEqual(sum(int(row["rejected_by_chance"]) for row in table), stated * products, name)
            self.assertGreaterEqual(products, 100000 if name == "committed" else 1000)

    def test_the_bound_rejects_every_required_mutant_that_exceeds_it(self):
        for name, folder in self.each():
            table = [row for row in rows(folder / "audit_power.csv") if row["required"] == "yes" and row["beyond_bound"] == "yes"]
            fates = {row["fate"] for row in table if row["rule"] == "bound"}
            self.assertEqual(fates, {"killed"}, name)
            lived = {row["rule"] for row in table if row["fate"] == "lived"}
            self.assertTrue({"cosine:0.999", "matched_ratio"} <= {rule.split(":")[0] if rule.startswith("matched") else rule
                                                                  for rule in lived}, (name, lived))

    def test_no_error_exceeds_its_bound(self):
        for name, folder in self.each():
            table = [row for row in rows(folder / "tightness.csv") if row["max_of_bound"] != "nan"]
            self.assertGreater(len(table), 100)
            for row in table:
                self.assertLessEqual(float(row["max_of_bound"]), 1, (name, row))

    def test_every_engine_of_narrow_formats_has_rows(self):
        listed = subprocess.run([PROGRAM, "engines", "--csv"], stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT).stdout
        narrow = {row["engine"] for row in csv.DictReader(listed.splitlines())
                  if row["evidence"] in ("recordings", "live", "emulator", "published") and row["products"]
                  and ":" not in row["scales"] and set(row["operands"].split("|")) - {"any", "float32", "float64"}}
        self.assertGreater(len(narrow), 25)
        for name, folder in self.each():
            for table, column in (("false_alarms.csv", "arithmetic"), ("tightness.csv", "engine")):
                self.assertEqual(narrow - {row[column] for row in rows(folder / table)}, set(), (name, table))

    def test_a_wrong_epsilon_is_seen_in_float32_and_hardly_in_bfloat16(self):
        table = rows(self.short / "norm_faults.csv")
        self.assertEqual(len({(row["norm"], row["fault"], row["out"], row["sum_depth"]) for row in table}), 2 * 4 * 2 * 2)
        for row in table:
            share, elements, changed, beyond = (float(row[name]) for name in ("max_of_bound", "elements", "changed", "beyond"))
            self.assertEqual(share > 1, beyond > 0, row)
            if row["out"] == "float32":
                self.assertEqual((beyond > 0, changed > elements / 2), (row["sum_depth"] == "64", True), row)
                continue
            # eps / 2 of a row whose variance is 1; half an ulp of bfloat16 is 2^-9 or more of an element, and an ulp 2^-8 or more.
            shift = 0.5e-5 * 1.2  # variances of 1024 numbers deviate by 1/22
            self.assertLess(share, 1 + shift * 2**9, row)
            self.assertLess(changed, 2 * elements * shift * 2**8, row)
            if row["sum_depth"] == "any":
                self.assertEqual(beyond, 0, row)
        found = {r["where"]: r for r in rows(self.short / "findings.csv") if r["what"] == "elements_beyond_bound"}
        for fault in {row["fault"] for row in table}:
            least = min(int(row["beyond"]) for row in table if (row["fault"], row["out"], row["sum_depth"]) == (fault, "bfloat16", "64"))
            finding = found[f"norms in bfloat16, {fault}"]
            self.assertEqual((finding["value"], finding["severity"]), (str(least), "good" if least else "warning"))

    def test_findings_are_those_of_the_tables(self):
        for name, folder in self.each():
            found = {(r["what"], r["where"]): r for r in rows(folder / "findings.csv")}
            table = rows(folder / "false_alarms.csv")
            chance = sum(int(row["rejected_by_chance"]) for row in table) / sum(int(row["products"]) for row in table)
            self.assertEqual(float(found["share_of_correct_products_rejected", "probabilistic bound"]["value"]), chance, name)
            power = [row for row in rows(folder / "audit_power.csv") if row["required"] == "yes" and row["beyond_bound"] == "yes"]
            for rule in {row["rule"] for row in power}:
                lived = sum(row["fate"] != "killed" for row in power if row["rule"] == rule)
                self.assertEqual(found["required_mutants_that_live", rule]["value"], str(lived), (name, rule))
            self.assertEqual({r["severity"] for r in found.values() if r["where"] == "deterministic bound"}, {"good"}, name)
            self.assertFalse([r for r in found.values() if r["threshold"] and not r["source"]], name)

    def test_the_page_explains_its_words_and_says_nothing_of_zero_cases(self):
        for name, folder in self.each():
            page = (folder / "index.html").read_text()
            for words in ("A check takes what a kernel returned", "A mutant is an output made wrong on purpose", "false alarm"):
                self.assertIn(words, page, name)
            self.assertNotRegex(page, r"<(li|p)[^>]*>[^<]*(: 0\b|\b0 of|\bFor 0\b|Of 0\b)", name)
            names = {p.name for p in folder.iterdir()}
            self.assertLessEqual({"false_alarms.svg", "power.svg", "tightness.svg"}, names)

    def test_causes_are_named_and_unknown_ones_are_not(self):
        table = rows(EVIDENCE / "explain_plants.csv")
        known = [row for row in table if not row["cause"].startswith("unknown:")]
        unknown = [row for row in table if row["cause"].startswith("unknown:")]
        count = lambda some, *columns: sum(int(row[column]) for row in some for column in columns)
        self.assertGreaterEqual(count(known, "named", "grouped"), 0.95 * count(known, "trials"))
        self.assertEqual(count(unknown, "none"), count(unknown, "trials"))
        self.assertGreaterEqual(count(table, "trials"), 1000)

    def test_roundings_are_found_and_none_imagined(self):
        for name, folder in self.each():
            table = rows(folder / "explain_roundings.csv")
            planted = [row for row in table if row["roundings"] != "0"]
            plain = [row for row in table if row["roundings"] == "0"]
            count = lambda some, *columns: sum(int(row[column]) for row in some for column in columns)  # noqa: E731
            self.assertGreaterEqual(count(table, "trials"), 250 if name == "committed" else 3)
            self.assertEqual(count(plain, "none"), count(plain, "trials"), name)
            self.assertGreaterEqual(count(planted, "named", "grouped"), 0.9 * count(planted, "trials"), name)


unittest.main()
