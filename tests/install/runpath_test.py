#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the loader looks for libraries of what is built here: never in the current folder, which an empty element of a RUNPATH means.
usage: runpath_test.py SOURCE COMPILER FILE...   FILE: programs and shared objects of this build"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE, COMPILER, *FILES = sys.argv[1:]
del sys.argv[1:]


def runpath(path):
    """The elements; none where there is no such entry."""
    text = subprocess.run(["readelf", "-dW", path], stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout
    found = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text)
    return [element for words in found for element in words.split(":")]


class Runpath(unittest.TestCase):
    def test_of_what_is_built_here(self):
        for path in FILES:
            elements = runpath(path)
            self.assertTrue(all(element.startswith("/") for element in elements), (path, elements))

    def test_of_a_plugin_beside_a_vendor_s_library(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            vendor = folder / "vendor"
            vendor.mkdir()
            subprocess.run([COMPILER, "-shared", "-fPIC", "-o", vendor / "libvendor.so", f"{SOURCE}/tests/install/runpath/vendor.cpp"], check=True,
                           timeout=120)
            elements = {}
            for modules in ("", f"{SOURCE}/cmake"):
                build = folder / f"build{bool(modules)}"
                for command in (["cmake", "-S", f"{SOURCE}/tests/install/runpath", "-B", build, f"-DCMAKE_CXX_COMPILER={COMPILER}",
                                 f"-DVENDOR={vendor}", f"-DMODULES={modules}", f"-DCMAKE_INSTALL_PREFIX={build}/installed"],
                                ["cmake", "--build", build], ["cmake", "--install", build]):
                    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=120)
                elements[modules] = runpath(build / "libplugin.so"), runpath(build / "installed/lib/libplugin.so")
            without, with_modules = elements.values()
            self.assertIn("", without[0], "CMake has changed: cmake/UlpscopePlugins.cmake is not needed any more")
            self.assertEqual(with_modules, ([str(vendor)], [str(vendor)]))

    def test_the_build_includes_it(self):
        self.assertIn("include(UlpscopePlugins)", pathlib.Path(SOURCE, "CMakeLists.txt").read_text())


unittest.main()
