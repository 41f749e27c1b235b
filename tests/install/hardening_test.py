#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program is hardened as cmake/UlpscopeHardening.cmake asks, and no path of the machine that built it is in it.

usage: hardening_test.py PROGRAM SOURCE_FOLDER BUILD_FOLDER [--hardened | --sanitized]
"""
import pathlib
import subprocess
import sys
import unittest

HARDENED, SANITIZED = ("--hardened" in sys.argv, "--sanitized" in sys.argv)
sys.argv = [word for word in sys.argv if word not in ("--hardened", "--sanitized")]
PROGRAM, SOURCE, BUILD = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, PROGRAM], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout


@unittest.skipUnless(HARDENED, "skipped: not a hardened build")
class HardeningTest(unittest.TestCase):
    def test_addresses_are_random_and_their_tables_read_only(self):
        self.assertIn("DYN (", readelf("-h"))
        self.assertIn("GNU_RELRO", readelf("-l"))
        self.assertIn("BIND_NOW", readelf("-d"))

    def test_stacks_are_protected_and_do_not_run(self):
        self.assertIn("__stack_chk_fail", readelf("--dyn-syms"))
        stack = next(line for line in readelf("-l").splitlines() if "GNU_STACK" in line)
        self.assertNotIn("E", stack.split()[6:7][0])

    def test_library_calls_are_checked(self):
        checked = {name for name in ("__memcpy_chk", "__memmove_chk", "__memset_chk", "__read_chk", "__snprintf_chk", "__fread_chk",
                                     "__pread64_chk", "__readlink_chk", "__realpath_chk")
                   if name in readelf("--dyn-syms")}
        self.assertTrue(checked)

    def test_subscripts_of_the_standard_library_are_checked(self):
        self.assertIn("__glibcxx_assert_fail", readelf("--dyn-syms"))


@unittest.skipIf(SANITIZED, "skipped: sanitizers name sources by their place")
class PathsTest(unittest.TestCase):
    def test_no_folder_of_the_build_is_in_the_program(self):
        data = pathlib.Path(PROGRAM).read_bytes()
        for folder in (SOURCE, BUILD):
            self.assertNotIn(folder.encode() + b"/", data)


if __name__ == "__main__":
    unittest.main()
