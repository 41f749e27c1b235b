#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an installed wheel does on a machine that has Python, numpy and nothing else of ours: the package, its assertions, the
program, and, where pytest is there, the plugin.

usage: installed_test.py, by the interpreter that the wheel was installed for, outside of the repository"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import unittest

import numpy as np
import ulpscope as us

SCRIPTS = sysconfig.get_path("scripts")
A, B = np.random.default_rng(3).standard_normal((2, 64, 64)).astype(np.float32)
FAILING = """
import numpy as np
from ulpscope import testing


def test_kernel():
    a = np.ones((4, 4), np.float32)
    testing.assert_matmul(3 * a, a, a, in_="bf16")
"""


def run(*command, **options):
    path = os.pathsep.join([SCRIPTS, os.environ["PATH"]])
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PATH": path}, **options)


class Installed(unittest.TestCase):
    def test_it_is_the_installed_one(self):
        self.assertIn("site-packages", us.__file__)
        folder = pathlib.Path(us.__file__).parent
        for name in ("py.typed", "__init__.pyi", "testing.pyi", "bin/ulpscope"):
            self.assertTrue((folder / name).exists(), name)
        texts = {path.stem for path in (folder / "licences").iterdir()}
        self.assertLessEqual({"nanobind", "robin-map"}, texts)
        named = {package["name"] for package in json.loads((folder / "ulpscope.spdx.json").read_text())["packages"]}
        self.assertLessEqual({"ulpscope", "nanobind", "robin-map", "MPFR", "libzip"}, named)
        if pathlib.Path("/usr/share/common-licenses/LGPL-3").exists():  # where it was built, as here
            self.assertLessEqual({*named - {"ulpscope"}, "LGPL-3"}, texts)

    def test_numbers(self):
        self.assertEqual(us.round(0.3, "e4m3"), 0.3125)
        np.testing.assert_array_equal(us.decode(us.encode(A, "bf16"), "bf16"), us.round(A, "bf16"))

    def test_products_and_their_checks(self):
        d = us.matmul(A, B, in_="e4m3", engine="sm_90")
        self.assertTrue(us.verify.matmul(d, A, B, in_="e4m3", engine="sm_90").passed)
        us.testing.assert_matmul(us.matmul(A, B, in_="bf16"), A, B, in_="bf16")
        d[3, 5] += 1
        with self.assertRaisesRegex(AssertionError, "^1 of 4096 elements"):
            us.testing.assert_matmul(d, A, B, in_="e4m3", engine="sm_90")

    def test_the_program(self):
        self.assertEqual(run("ulpscope", "--version").stdout.split()[-1], us.__version__)
        self.assertEqual(run("ulpscope", "formats", "--csv").stdout, us.formats().to_csv())

    @unittest.skipIf(importlib.util.find_spec("pytest") is None, "no pytest")
    def test_the_plugin_of_pytest(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "test_kernel.py").write_text(FAILING)
            ran = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--ulpscope-save", "saved", cwd=folder)
            self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
            self.assertIn("AssertionError: 16 of 16 elements", ran.stdout)
            self.assertIn("beyond: 16", ran.stdout)
            repeated = run("sh", "-c", re.search("^repeat: (.*)$", ran.stdout, re.MULTILINE)[1])
            self.assertEqual(repeated.returncode, 1, repeated.stderr)
            self.assertIn(",fail,", repeated.stdout)
            # Named as well, as it must be where the package is not installed, it is the same plugin.
            named = run(sys.executable, "-m", "pytest", "-p", "ulpscope.pytest_plugin", "-q", "test_kernel.py", cwd=folder)
            self.assertIn("beyond: 16", named.stdout, named.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
