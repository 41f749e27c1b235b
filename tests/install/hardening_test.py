#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program is hardened as cmake/UlpscopeHardening.cmake asks, and no path of the machine that built it is in it.

usage: hardening_test.py PROGRAM SOURCE_FOLDER BUILD_FOLDER [--hardened | --sanitized]
"""
import pathlib
import re
import subprocess
import sys
import unittest

HARDENED, SANITIZED = ("--hardened" in sys.argv, "--sanitized" in sys.argv)
sys.argv = [word for word in sys.argv if word not in ("--hardened", "--sanitized")]
PROGRAM, SOURCE, BUILD = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, PROGRAM], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout


def functions():
    """(name, first four bytes) of each function of ours that other sources may call, and so another's jumps may reach."""
    begin, offset, size = (int(word, 16) for word in re.search(r" \.text +PROGBITS +(\w+) (\w+) (\w+)", readelf("-S")).groups())
    data = pathlib.Path(PROGRAM).read_bytes()
    for words in map(str.split, readelf("-s").splitlines()):
        if len(words) == 8 and words[3] == "FUNC" and words[4] in ("GLOBAL", "WEAK") and "8ulpscope" in words[7] and words[6] != "UND":
            at = int(words[1], 16) - begin
            if 0 <= at < size:
                yield words[7], data[offset + at:offset + at + 4]


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

    def test_indirect_jumps_land_on_marks(self):
        if "X86-64" not in readelf("-h"):
            self.skipTest("skipped: the marks of CET are of x86-64")
        found = dict(functions())
        self.assertGreater(len(found), 1000)
        endbr64 = b"\xf3\x0f\x1e\xfa"  # Intel SDM, volume 2, ENDBR64; the program's property note says nothing: docs/systems.md
        self.assertEqual([name for name, begin in found.items() if begin != endbr64][:5], [])


@unittest.skipIf(SANITIZED, "skipped: sanitizers name sources by their place")
class PathsTest(unittest.TestCase):
    def test_no_folder_of_the_build_is_in_the_program(self):
        data = pathlib.Path(PROGRAM).read_bytes()
        for folder in (SOURCE, BUILD):
            self.assertNotIn(folder.encode() + b"/", data)


if __name__ == "__main__":
    unittest.main()
