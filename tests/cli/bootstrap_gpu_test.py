#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./bootstrap gpu` hands its words on to the program that it builds. CMake is a script here that makes a program which prints them.
usage: bootstrap_gpu_test.py BOOTSTRAP"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

BOOTSTRAP = os.path.abspath(sys.argv.pop())
CMAKE = """#!/bin/sh
echo "$@" >>cmake_words
mkdir -p build/gpu/cli
printf '#!/bin/sh\\necho "$@"\\n' >build/gpu/cli/ulpscope-devices
chmod +x build/gpu/cli/ulpscope-devices
"""


class Bootstrap(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        shutil.copy(BOOTSTRAP, self.path / "bootstrap")
        (self.path / "bin").mkdir()
        (self.path / "bin" / "cmake").write_text(CMAKE)
        (self.path / "bin" / "cmake").chmod(0o755)

    def run_gpu(self, *words):
        environment = {**os.environ, "PATH": f"{self.path / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run([self.path / "bootstrap", "gpu", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=LIMIT)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_words_are_handed_on(self):
        expected = {(): "all --device cuda:0 -o out/gpu", ("--seconds", "90"): "all --device cuda:0 --seconds 90 -o out/gpu",
                    ("cuda:1", "--seconds", "90"): "all --device cuda:1 --seconds 90 -o out/gpu",
                    ("--seconds", "90", "emulated:sm_90"): "all --device emulated:sm_90 --seconds 90 -o out/gpu"}
        for words, printed in expected.items():
            code, out, err = self.run_gpu(*words)
            self.assertEqual((code, err, out[-1]), (0, "", printed), words)

    def test_words_that_are_none_are_refused(self):
        for words, message in {("--seconds",): "give a whole number", ("--seconds", "x"): "--seconds x: give a whole number",
                               ("--what",): "--what: no such option"}.items():
            code, out, err = self.run_gpu(*words)
            self.assertNotEqual(code, 0)
            self.assertEqual((out, err.count("\n")), ([], 1))
            self.assertIn(message, err)
        self.assertFalse((self.path / "cmake_words").exists())


unittest.main()
