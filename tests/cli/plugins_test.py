#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which shared objects the program opens: none that others could have written, none of another build.
usage: plugins_test.py PROGRAM FAKE_PLUGIN_FOLDER [--sanitized]"""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from emulation import not_emulated
from time_limit import LIMIT

SANITIZED = "--sanitized" in sys.argv and (sys.argv.remove("--sanitized") or True)
PLUGIN = pathlib.Path(sys.argv.pop(2)) / "libulpscope_cuda.so"
PROGRAM = os.path.abspath(sys.argv.pop(1))
NAME = PLUGIN.name


class Plugins(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        self.folder = self.path / "plugins"
        self.folder.mkdir(0o755)
        self.plugin = self.folder / NAME
        shutil.copy(PLUGIN, self.plugin)
        self.plugin.chmod(0o755)

    def remarks(self, program=PROGRAM, plugins=None):
        """What is said of the plugin; empty where it is used."""
        environment = {key: value for key, value in os.environ.items() if key != "ULPSCOPE_PLUGINS"}
        if plugins != "none":
            environment["ULPSCOPE_PLUGINS"] = str(plugins or self.folder)
        done = subprocess.run([program, "devices", "--csv"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=environment, timeout=LIMIT, cwd=self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = [line for line in done.stderr.splitlines() if line.startswith("cuda: ") and "GPU 1 is no fake" not in line]
        self.assertEqual("Fake GPU" in done.stdout, not said, done.stderr)
        return "\n".join(said)

    def test_one_of_this_build_and_this_user_is_used(self):
        self.assertEqual(self.remarks(), "")

    def test_one_that_others_can_write_is_not(self):
        for path, mode in ((self.plugin, 0o757), (self.plugin, 0o777), (self.folder, 0o757), (self.folder, 0o777), (self.folder, 0o1777)):
            before = path.stat().st_mode
            path.chmod(mode)
            self.assertIn(f"ulpscope_cuda is not opened: {path} can be written by others", self.remarks(), oct(mode))
            path.chmod(before)
        self.assertEqual(self.remarks(), "")

    def test_one_below_a_folder_that_others_can_write_is_not(self):
        above = self.path / "above"
        (above / "between").mkdir(0o755, parents=True)
        self.folder.rename(above / "between/plugins")
        moved = above / "between/plugins"
        self.assertEqual(self.remarks(plugins=moved), "")
        (self.path / "link").symlink_to(moved)
        for mode, said in ((0o777, f"{above} can be written by others"), (0o1777, ""), (0o755, "")):
            above.chmod(mode)
            for plugins in (moved, self.path / "link"):
                self.assertIn(said, self.remarks(plugins=plugins), oct(mode))
        self.path.chmod(0o777)
        self.assertIn(f"{self.path} can be written by others", self.remarks(plugins=self.path / "link"))
        self.path.chmod(0o700)
        above.chmod(0o777)  # whoever can write there can replace this program
        shutil.copy(PROGRAM, above / "ulpscope")
        self.assertEqual(self.remarks(str(above / "ulpscope"), moved), "")

    def test_a_folder_is_walked_as_it_is_named(self):
        (self.path / "deep/a").mkdir(0o755, parents=True)
        self.folder.rename(self.path / "deep/plugins")
        (self.path / "real").mkdir(0o755)
        (self.path / "real/link").symlink_to(self.path / "deep/a")
        self.assertEqual(self.remarks(plugins=self.path / "real/link/../plugins"), "")
        (self.path / "real").chmod(0o777)
        self.assertIn(f"{self.path}/real can be written by others", self.remarks(plugins=self.path / "real/link/../plugins"))

    def test_a_prefix_is_no_more_open_than_the_program_in_it(self):
        for folder in ("bin", "lib", "lib/ulpscope"):
            (self.path / "prefix" / folder).mkdir(0o755, parents=True)
        program = self.path / "prefix/bin/ulpscope"
        shutil.copy(PROGRAM, program)
        shutil.copy(PLUGIN, self.path / "prefix/lib/ulpscope" / NAME)
        (self.path / "prefix/lib/ulpscope" / NAME).chmod(0o755)
        (self.path / "prefix/lib").chmod(0o777)
        self.assertIn("prefix/lib can be written by others", self.remarks(str(program), "none"))
        (self.path / "prefix/bin").chmod(0o777)
        self.assertEqual(self.remarks(str(program), "none"), "")

    def test_one_that_a_list_lets_others_write_is_not(self):
        nobody, whole = 65534, 2 ** 32 - 1
        for path in (self.plugin, self.folder):
            entries = [(1, 7, whole), (2, 6, nobody), (4, 5, whole), (16, 7, whole), (32, 5, whole)]
            try:
                os.setxattr(path, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries))
            except OSError as refused:
                self.skipTest(f"no access control lists here: {refused}")
            self.assertIn(f"{path} can be written by others", self.remarks())
            path.chmod(0o755)  # the list may do no more than this
            self.assertEqual(self.remarks(), "")
            os.removexattr(path, "system.posix_acl_access")

    @unittest.skipIf(os.geteuid() != 0, "only root gives files away")
    def test_one_of_another_user_or_group_is_not(self):
        for path in (self.plugin, self.folder):
            os.chown(path, 54321, -1)
            self.assertIn(f"{path} belongs neither to root nor to the user who runs this program", self.remarks())
            os.chown(path, 0, 54321)
            self.assertEqual(self.remarks(), "")
            path.chmod(0o775)
            self.assertIn(f"{path} can be written by others", self.remarks())
            path.chmod(0o755)
            os.chown(path, 0, 0)

    def test_a_link_is_judged_by_what_it_leads_to(self):
        links = self.path / "links"
        links.mkdir(0o755)
        (links / NAME).symlink_to(self.plugin)
        self.assertEqual(self.remarks(plugins=links), "")
        self.folder.chmod(0o777)
        self.assertIn("can be written by others", self.remarks(plugins=links))
        self.folder.chmod(0o755)
        links.chmod(0o777)
        self.assertIn(f"{links} can be written by others", self.remarks(plugins=links))

    @not_emulated(PROGRAM, "it does not lie where the emulator does")
    def test_the_folder_beside_the_program_is_judged_too(self):
        for folder in ("bin", "lib/ulpscope"):
            (self.path / folder).mkdir(0o755, parents=True)
        program = self.path / "bin" / "ulpscope"
        shutil.copy(PROGRAM, program)
        shutil.copy(PLUGIN, self.path / "lib/ulpscope" / NAME)
        (self.path / "lib/ulpscope" / NAME).chmod(0o755)
        self.assertEqual(self.remarks(str(program), "none"), "")
        (self.path / "lib/ulpscope").chmod(0o777)
        self.assertIn("lib/ulpscope can be written by others", self.remarks(str(program), "none"))

    def patched(self, old, new):
        data = PLUGIN.read_bytes()
        self.assertEqual(len(old), len(new))
        self.assertIn(old, data)
        self.plugin.write_bytes(data.replace(old, new))

    def test_one_of_another_build_is_not_asked_for_anything(self):
        self.patched(b"ulpscope 0.", b"ulpscope 9.")
        said = self.remarks()
        self.assertIn("ulpscope_cuda is not used: it is of ulpscope 9.", said)
        self.assertIn("build them together", said)

    @unittest.skipIf(SANITIZED, "the sanitizer's own symbol ends in that name, and would be looked for by the new one")
    def test_one_that_does_not_say_its_build_is_not_used(self):
        self.patched(b"ulpscope_plugin_build", b"ulpscope_plugin_bXild")
        self.assertIn("it does not say which build it is of", self.remarks())


unittest.main()
