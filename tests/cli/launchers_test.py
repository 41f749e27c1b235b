#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shards that a launcher starts: what `merge` makes of their parts is what one undivided run writes. Skipped where the launcher is not installed
(Debian: openmpi-bin, parallel); Slurm is in slurm_test.py. usage: launchers_test.py PROGRAM OpenMpi|GnuParallel"""
import shutil
import subprocess
import unittest

from files_test import PROGRAM
from shards_model import Model
from time_limit import LIMIT

CENSUS = ("census", "model", "--to", "e4m3", "--scale", "0.3")


class Launched(Model):
    def launched(self, *words):
        wanted = self.whole("census", *CENSUS[2:])
        done = subprocess.run(words, cwd=self.folder / "parts", capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list((self.folder / "parts/parts").iterdir())), 4)
        self.assertEqual(self.merged("parts"), wanted)


class OpenMpi(Launched):
    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_processes(self):
        self.launched("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", PROGRAM, *CENSUS, "--shard", "auto", "-o", "parts")


class GnuParallel(Launched):
    @unittest.skipUnless(shutil.which("parallel"), "no GNU parallel")
    def test_jobs(self):
        self.launched("parallel", "-j", "2", PROGRAM, *CENSUS, "--shard", "{}/4", "-o", "parts/{}", ":::", "0", "1", "2", "3")


if __name__ == "__main__":
    unittest.main()
