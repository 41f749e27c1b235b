# SPDX-License-Identifier: Apache-2.0
"""The program under attack, which the command line names, in a folder of its own and with little memory."""
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "cli")]
from emulation import is_emulated  # noqa: E402
from time_limit import LIMIT  # noqa: E402

SANITIZED = "--sanitized" in sys.argv and (sys.argv.remove("--sanitized") or True)
PROGRAM = os.path.abspath(sys.argv.pop(1))
FREE = SANITIZED or is_emulated(PROGRAM)  # of the limit: they reserve more address space than there is memory
MEBIBYTE = 1 << 20
# C0, DEL, C1, what changes the direction of text, separators of lines; in files of our own, tabs and line feeds are ours.
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufffe\uffff]")  # and what is no character of XML
COMMAND = re.compile(r"^[^\S\n]*::|##(\[|[a-z]+\[)", re.MULTILINE)  # GitHub skips the blanks of Unicode, too


class Attack(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)

    def write(self, name, data):
        (self.path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return name

    def script(self, name, text):
        self.write(name, "#!/bin/sh\n" + text)
        (self.path / name).chmod(0o755)
        return name

    def run_here(self, *words, memory=1024 * MEBIBYTE, env=None):
        """(exit code, standard output, standard error), of at most so much address space"""
        def before():
            if not FREE and memory is not None:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.path,
                              timeout=LIMIT, preexec_fn=before, env={**os.environ, **(env or {})})
        return done.returncode, done.stdout.decode(), done.stderr.decode()  # all of it is UTF-8

    def refused(self, *words, **more):
        code, out, err = self.run_here(*words, **more)
        self.assertEqual((code, out, err.count("\n"), err[:10]), (2, "", 1, "ulpscope: "), (words, code, out[:200], err[:500]))
        self.assertLess(len(err), 5000)
        self.harmless(err)
        return err[10:-1]

    def harmless(self, text):
        self.assertIsNone(ACTING.search(text), repr(text[:2000]))
        self.assertIsNone(COMMAND.search(text), repr(text[:2000]))
