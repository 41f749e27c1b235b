# SPDX-License-Identifier: Apache-2.0
"""Runs of a command with --resume that end before they are done, for tests."""
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest

from files_test import PROGRAM, safetensors
from time_limit import LIMIT

TENSORS, ELEMENTS = 24, 4096
UNSAMPLED = 1000  # neither of the first, middle nor last 256
KEPT = "out.partial/measured.txt"


class Resuming(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        drawn = random.Random(3)
        self.numbers = {f"t{i:02}": [drawn.gauss(0, 1) * 2.0 ** drawn.randint(-9, 9) for _ in range(ELEMENTS)] for i in range(TENSORS)}
        self.write()

    def write(self, name="m.safetensors", numbers=None, ending=""):
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_bytes(safetensors({key + ending: ("F32", [len(of) // 64, 64], struct.pack(f"<{len(of)}f", *of))
                                                    for key, of in (numbers or self.numbers).items()}))

    def program(self, *words, code=0, most=None):
        """`most`: bytes that a file may have at most."""
        def before():
            if most is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.path,
                              timeout=LIMIT, preexec_fn=before)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr.decode()

    def refused(self, *words):
        said = self.program(*words, code=2)
        self.assertEqual(said.count("\n"), 1, said)
        return said

    def contents(self, name):
        return {str(p.relative_to(self.path / name)): p.read_bytes() for p in sorted((self.path / name).rglob("*")) if p.is_file()}

    def undisturbed(self, *words):
        self.program(*words, "-o", "out")
        right = self.contents("out")
        shutil.rmtree(self.path / "out")
        return right

    def ended(self, *words, most=12000):
        """Ends a command that keeps what it has, before it is done."""
        said = self.program(*words, "-o", "out", "--resume", code=2, most=most)
        self.assertIn("File too large", said)
        self.assertFalse((self.path / "out").exists())

    def whole_lines(self):
        return (self.path / KEPT).read_bytes().count(b"\n")
