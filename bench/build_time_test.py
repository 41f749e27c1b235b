#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/build-time measures the program alone and everything, names the files that cost most, and holds both to their marks.

usage: build_time_test.py COMPILER
"""
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parent / "build-time"
COMPILER = sys.argv.pop() if len(sys.argv) > 1 else "g++"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
add_executable(ulpscope cheap.cpp)
add_executable(tests expensive.cpp)
add_executable(again expensive.cpp)
"""


def script():
    loader = importlib.machinery.SourceFileLoader("build_time", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("build_time", loader))
    loader.exec_module(module)
    return module


class BuildTimeTest(unittest.TestCase):
    def run_script(self, project, *options):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "CMakeLists.txt").write_text(project)
            (root / "cheap.cpp").write_text("int main() {}\n")
            (root / "expensive.cpp").write_text("#include <string>\nint main() { return std::stoi(\"0\"); }\n")
            return subprocess.run([SCRIPT, "--source", root, "--compiler", COMPILER, "--jobs", "1", *options],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_a_build_is_measured(self):
        done = self.run_script(PROJECT, "--program-mark", "1000", "--mark", "0")

        self.assertEqual(done.returncode, 1, done.stderr)
        spent = {what: float(seconds) for seconds, what in re.findall(r"^ *([\d.]+)  (.*?)(?: +\w+ the mark.*)?$", done.stdout, re.M)}
        self.assertEqual(list(spent), ["program alone", "everything", "expensive.cpp (2 times)", "cheap.cpp"])
        self.assertGreater(spent["program alone"], spent["cheap.cpp"] - 0.05)
        self.assertGreater(spent["everything"], spent["program alone"] + spent["expensive.cpp (2 times)"] - 0.05)

    def test_a_build_that_fails_is_exit_code_2(self):
        done = self.run_script("cmake_minimum_required(VERSION 3.25)\nproject(small LANGUAGES NONE)\nmessage(FATAL_ERROR nothing)\n")

        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing", done.stderr)

    def test_a_folder_that_is_there_is_refused(self):
        self.assertEqual(self.run_script(PROJECT, "--folder", "/").returncode, 2)

    def test_a_mark_is_reached_or_missed(self):
        lines = script().report(360, 360, 1080.1, 1080, []).splitlines()

        self.assertIn("reaches the mark, 360", lines[0])
        self.assertIn("misses the mark, 1080", lines[1])

    def test_ten_files_are_named_the_most_expensive_first(self):
        with tempfile.NamedTemporaryFile("w+") as log:
            log.writelines(f"{i}.5\t/tree/emu/{i}.cpp\n" for i in range(12))
            log.write("20\t/tree/emu/0.cpp\n")
            log.flush()
            files = script().costs(log.name, "/tree")

        self.assertEqual(files[0], (20.5, 2, "emu/0.cpp"))
        named = [line.split()[1] for line in script().report(0, 1, 0, 1, files).splitlines()[3:]]
        self.assertEqual(named, [f"emu/{i}.cpp" for i in (0, 11, 10, 9, 8, 7, 6, 5, 4, 3)])


unittest.main()
