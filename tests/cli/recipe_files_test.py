#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of recipes: what of them is refused, in its words, and what `ulpscope recipes` finds nothing wrong with.

usage: recipe_files_test.py PROGRAM"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
PLACES = ("input", "weight", "output", "grad_output", "grad_input", "grad_weight", "accumulate")
ALL = "[[rule]]\n" + "".join(f'{place} = "float32"\n' for place in PLACES)
LINEAR = ALL + '[[rule]]\noperations = ["linear"]\n'
DEPTH = "a depth is first:N or last:N"

# A recipe, and what is said of it.
REFUSED = [(LINEAR + key, f"mine.toml:11: {what}") for key, what in (
    ('hadamard = "weight"', "hadamard: unknown hadamard 'weight'; known: none, grad_weight"),
    ('promote = "x"', "promote: 'x': give a whole number from 0 to 1073741824"), ('depth = ["first:0"]', f"depth: 'first:0': {DEPTH}"),
    ('depth = ["first"]', f"depth: 'first': {DEPTH}"), ('depth = ["middle:1"]', f"depth: 'middle:1': {DEPTH}"),
    ('depth = ["first:x"]', f"depth: 'first:x': {DEPTH}"))] + [
    (LINEAR + 'weight = "keep"\n', "recipe mine: no format for weight of linear"),
    (ALL.replace('weight = "float32"\ngrad', 'grad', 1).replace('\nweight = "float32"', ""), "recipe mine: no format for weight of linear"),
    (LINEAR + 'input_scaling = "amax"\n',
     "recipe mine: input_scaling 'amax' of linear: float32 has the range of float32, and needs no scales"),
    (LINEAR + 'input_scaling = "current"\n',
     "recipe mine: input_scaling 'current' of linear: float32 has the range of float32, and needs no scales"),
    ("state = 3\n" + ALL, "mine.toml:1: state: write [state]"), ("dynamic = 3\n" + ALL, "mine.toml:1: dynamic: write [dynamic]"),
    *((text, "mine.toml:1: rule: write [[rule]]") for text in ("rule = 3\n", "rule = [3]\n", ALL.replace("[[rule]]", "[rule]"),
                                                               'rule = [{input = "float32"}, 3]\n')),
    ("", "mine.toml: a recipe needs at least one [[rule]]")]
# What `linear` has in another rule of a recipe that is right.
RIGHT = ('hadamard = "none"', 'hadamard = "grad_weight"', 'scaling = "amax"', 'input_scaling = "none"', 'input_scaling = "2"',
         'input = "e4m3"\nscaling = "current"', 'input = "e4m3"\nscaling = "none"', 'input = "e4m3"\nscaling = "3"', 'input = "e4m3"\nscaling = "delayed"',
         'input = "fp16"\ninput_scaling = "none"', 'input = "fp16"\ninput_scaling = "amax"')


class Recipes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def recipes(self, text, name="mine.toml"):
        (self.path / name).write_text(text)
        return subprocess.run([PROGRAM, "recipes", name, "--csv"], capture_output=True, text=True, cwd=self.path, timeout=LIMIT)

    def test_what_is_refused(self):
        for text, what in REFUSED:
            with self.subTest(text):
                done = self.recipes(text)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"ulpscope: {what}\n"))

    def test_what_is_right(self):
        for key in RIGHT:
            with self.subTest(key):
                done = self.recipes(LINEAR + key + "\n")
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_file_is_known_by_its_words_or_is_one(self):
        for name in ("mine.toml", "mine"):
            done = self.recipes(ALL, name)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = self.recipes("x = 1\n", name)
            self.assertEqual((done.returncode, done.stderr), (2, f"ulpscope: {name}:1: unknown key 'x'; known: state, dynamic, rule\n"))


if __name__ == "__main__":
    unittest.main()
