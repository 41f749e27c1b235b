#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the survey of faults changes: code, at every place once, and neither comments nor literal text; the same faults for a seed."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("survey", str(HERE / "survey"))
survey = importlib.util.module_from_spec(importlib.util.spec_from_loader("survey", LOADER))
LOADER.exec_module(survey)

LESS = r'''bool less(int a, int b) { return a < b || "a < 1 \" && b" == name + '0'; }  // a > b'''
TEXT = '''#include <a+b>
// if (a < b) nothing
const auto words = R"(
a < b
)";
template <int n = 1>
''' + LESS + "\n"


class Survey(unittest.TestCase):
    def test_code_is_changed_and_nothing_else(self):
        changed = {survey.planted(TEXT, fault).splitlines()[fault[0]] for fault in survey.faults(TEXT)}
        self.assertEqual({fault[0] for fault in survey.faults(TEXT)}, {6})
        self.assertEqual(changed, {LESS.replace("a < b ||", "a <= b ||"), LESS.replace("||", "&&"), LESS.replace("==", "!="),
                                   LESS.replace("name +", "name -")})

    def test_a_number_grows_and_a_fraction_stays(self):
        changed = {survey.planted("x = f(0, 12, 1.5, a1);", fault) for fault in survey.faults("x = f(0, 12, 1.5, a1);")}
        self.assertEqual(changed, {"x = f(1, 12, 1.5, a1);", "x = f(0, 13, 1.5, a1);"})

    def test_a_seed_gives_the_same_faults(self):
        root = HERE.parent.parent
        first = survey.choose(root, ["recipes"], 7)
        self.assertGreater(len(first), 100)
        self.assertEqual(first, survey.choose(root, ["recipes"], 7))
        self.assertNotEqual(first, survey.choose(root, ["recipes"], 8))


if __name__ == "__main__":
    unittest.main()
