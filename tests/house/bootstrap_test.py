#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `bootstrap` says of systems: names of packages, and one line where it can install none.

usage: bootstrap_test.py ROOT
"""
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())
TOOLS = ("bash", "cat", "tr", "awk", "dirname", "grep", "id", "mktemp", "dpkg-query")


class Systems(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def bootstrap(self, *command, path=None, **release):
        file = self.folder / "os-release"
        file.write_text("".join(f'{key}="{value}"\n' for key, value in release.items()))
        environment = {**os.environ, "OS_RELEASE": str(file)}
        if path:
            environment["PATH"] = path
        return subprocess.run([ROOT / "bootstrap", *command], env=environment, capture_output=True, text=True, timeout=60)

    def packages(self, **release):
        return self.bootstrap("packages", **release).stdout.split()

    def test_packages_by_the_systems_own_names(self):
        bookworm = self.packages(ID="debian", VERSION_ID="12")
        trixie = self.packages(ID="debian", VERSION_ID="13")
        noble = self.packages(ID="ubuntu", VERSION_ID="24.04")

        self.assertEqual(set(bookworm) - set(trixie), {"libboost1.81-dev"})
        self.assertEqual(set(trixie) - set(bookworm), {"libboost-dev"})
        self.assertEqual(set(trixie) - set(noble), {"chromium"})  # a snap there
        self.assertIn("libhwy-dev", bookworm)

    def test_unknown_system_gets_reason_and_packages_in_one_line_before_anything_is_tried(self):
        tools = self.folder / "bin"
        tools.mkdir()
        for tool in TOOLS:
            found = subprocess.run(["sh", "-c", f"command -v {tool}"], capture_output=True, text=True, timeout=120).stdout.strip()
            if found:
                (tools / tool).symlink_to(found)

        for command in ("report", "test"):
            result = self.bootstrap(command, path=str(tools), ID="fedora", VERSION_ID="41", PRETTY_NAME="Fedora 41")

            self.assertEqual(result.returncode, 1)
            said = result.stdout.splitlines()
            self.assertEqual(len(said), 1, said)
            for part in ("Debian 12, Debian 13, Ubuntu 24.04, not on Fedora 41", "CMake 3.25", "libhwy-dev", "libssl-dev"):
                self.assertIn(part, said[0])
            self.assertEqual("libcatch2-dev" in said[0], command == "test")
            self.assertEqual(result.stderr.splitlines(),
                             ["bootstrap: no cmake: install the packages above, then run this command again"])

    def test_other_builds_say_in_one_line_what_they_cannot_do(self):
        noble, bookworm = {"ID": "ubuntu", "VERSION_ID": "24.04"}, {"ID": "debian", "VERSION_ID": "12"}
        crossing = "this is not Debian" if platform.machine() == "x86_64" else "builds for Arm from x86-64"
        for words, release, expected in ((["arm"], noble, crossing), (["arm", "tests"], bookworm, "arm tests: give nothing, emu or program"),
                                         (["clang", "emu"], bookworm, "clang emu: give nothing, or program")):
            result = self.bootstrap(*words, **release)

            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertRegex(result.stderr, f"^bootstrap: .*{expected}.*\n$")

    def test_check_says_in_one_line_what_it_has_no_part_of(self):
        result = self.bootstrap("check", "fuzzy", ID="debian", VERSION_ID="12")

        self.assertEqual((result.returncode, result.stdout, result.stderr), (2, "", "check: fuzzy: give sanitize, tidy, fuzz or changed\n"))


if __name__ == "__main__":
    unittest.main()
