#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that `audit` and `conform` start: whatever they do, nothing of them is left. usage: children_test.py PROGRAM ADOPTS_ORPHANS [--sanitized]"""
import contextlib
import os
import pathlib
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from emulation import is_emulated
from time_limit import LIMIT

SANITIZED = "--sanitized" in sys.argv and (sys.argv.remove("--sanitized") or True)
ADOPTS_ORPHANS, PROGRAM = sys.argv.pop(2), os.path.abspath(sys.argv.pop(1))
FREE = SANITIZED or is_emulated(PROGRAM)  # of a limit of address space
PRODUCT = ("normal:0,1:2x4", "normal:0,1:4x2", "--seed", "0,1", "--in", "bf16", "--out", "bf16", "--engine", "sm_90", "--trials", "0")
SAME = ("--from", "fp16", "--to", "fp16", "--nan", "any")

# A program that leaves children in sessions of their own, twice removed, deaf to all signals that can be ignored.
LEAVES = """#!/usr/bin/env python3
import os, signal, sys, time
for number in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        for ignored in range(1, 32):
            if ignored not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD):
                signal.signal(ignored, signal.SIG_IGN)
        os.execvp("sleep", ["sleep", sys.argv[1]])
time.sleep(0.2)
sys.exit(int(sys.argv[2]))
"""


# Of processors' emulators only: every Linux that runs the program does.
leaves_orphans = unittest.skipUnless(not is_emulated(PROGRAM) or subprocess.run([ADOPTS_ORPHANS], timeout=LIMIT).returncode == 0,
                                     "this emulator gives nobody the children that others leave (PR_SET_CHILD_SUBREAPER)")


def processes(word, program=None):
    """Processes that have this among their words, of a program if it is named."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if word.encode() in words and program in (None, words[0].decode()):
                    found.append(entry.name)
            except OSError:
                pass
    return found


class Children(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        # No other test, and no other run of this one, has a process of that word.
        self.word = f"{900 + os.getpid() % 97}.{os.getpid()}{time.monotonic_ns() % 100000}"

    def script(self, name, text):
        path = self.path / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def script_once(self, name, text):
        """Of the many outputs of an audit the first is judged so; no verdict is given on any."""
        return self.script(name, f"#!/bin/sh\n[ -e {self.path}/{name}.began ] && exit 5\ntouch {self.path}/{name}.began\n{text}")

    def run_here(self, *words):
        done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=self.path, timeout=LIMIT)
        return done.returncode, done.stderr

    def assert_gone(self, word=None):
        self.assertEqual(processes(word or self.word), [])

    @leaves_orphans
    def test_what_an_audited_program_leaves_is_gone_when_the_audit_is(self):
        leaves = self.script("leaves", LEAVES)
        once = self.script_once("once", f"exec {leaves} {self.word} 6\n")
        code, err = self.run_here("audit", "matmul", *PRODUCT, "--rule", f"program:{once} {{out}}")
        self.assertIn("ended with exit code 6", err)
        self.assert_gone()

    @leaves_orphans
    def test_one_that_does_not_end_is_ended_with_all_that_it_started(self):
        leaves = self.script("leaves", LEAVES)
        slow = self.script_once("slow", f"trap '' TERM INT HUP\n{leaves} {self.word} 0\nwhile :; do sleep {self.word}; done\n")
        code, err = self.run_here("audit", "matmul", *PRODUCT, "--rule", f"program:{slow} {{out}}", "--timeout", "0.6")
        self.assertEqual(code, 2, err)
        self.assertIn("still running after 0.6 s", err)
        self.assert_gone()

    @leaves_orphans
    def test_what_a_converter_leaves_is_gone_too(self):
        leaves = self.script("leaves", LEAVES)
        self.assertEqual(self.run_here("conform", "--program", f"{leaves} {self.word} 0 >/dev/null; cat", *SAME)[0], 0)
        self.assert_gone()

    def test_a_converter_that_gives_nothing_is_ended(self):
        for program in (f"sleep {self.word}", f"trap '' TERM; head -c 1000; sleep {self.word}", f"cat >/dev/null; sleep {self.word}"):
            begun = time.monotonic()
            code, err = self.run_here("conform", "--program", program, *SAME, "--timeout", "0.4")
            self.assertEqual((code, err.count("\n")), (2, 1), err)
            self.assertIn("gave nothing for 0.4 s and was ended; --timeout allows more", err)
            self.assertLess(time.monotonic() - begun, LIMIT / 4)
            self.assert_gone()
        self.assertIn("above 0", self.run_here("conform", "--program", "cat", *SAME, "--timeout", "0")[1])

    @leaves_orphans
    def test_nothing_outlives_a_command_that_is_ended(self):
        leaves = self.script("leaves", LEAVES)
        audited = self.script("audited", f"#!/bin/sh\n{leaves} {self.word} 0\nsleep {self.word}\n")
        for command in (["conform", "--program", f"{leaves} {self.word} 0; sleep {self.word}", *SAME],
                        ["audit", "matmul", *PRODUCT, "--rule", f"program:{audited} {{out}}"]):
            for sent in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
                with subprocess.Popen([PROGRAM, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env={**os.environ, "TMPDIR": str(self.path)}) as process:
                    deadline = time.monotonic() + LIMIT / 4
                    while (begun := len(processes(self.word, "sleep"))) < 4 and time.monotonic() < deadline:
                        time.sleep(0.1)
                    self.assertEqual(begun, 4, "it has not begun")
                    process.send_signal(sent)
                    process.communicate(timeout=LIMIT)
                    self.assertEqual(abs(process.returncode) % 128, sent)
                deadline = time.monotonic() + LIMIT / 4  # of a process that is killed, what it started is gone a moment later
                while processes(self.word) and time.monotonic() < deadline:
                    time.sleep(0.1)
                self.assert_gone()

    @leaves_orphans
    def test_the_folder_of_an_audit_that_is_killed_goes_with_what_it_holds(self):
        kept = self.path / "kept"
        kept.write_text("years of work")
        for name, more, left in (("files", f"ln {kept} $folder/hard", {}),
                                 ("others", f"ln -s {kept} $folder/link; mkdir $folder/made; cp {kept} $folder/made/file",
                                  {"link", "made", "made/file"})):
            temporary = self.path / name
            temporary.mkdir()
            writes = self.script(f"writes-{name}", f"#!/bin/sh\nfolder=$(dirname $1)\necho more > $folder/more\n{more}\nsleep {self.word}\n")
            with subprocess.Popen([PROGRAM, "audit", "matmul", *PRODUCT, "--rule", f"program:{writes} {{out}} {{ref}}"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(temporary)}) as process:
                deadline = time.monotonic() + LIMIT / 4
                while not processes(self.word, "sleep") and time.monotonic() < deadline:
                    time.sleep(0.05)
                folder, = temporary.iterdir()
                self.assertTrue({"out.npy", "ref.npy", "more"} < {path.name for path in folder.iterdir()})
                process.kill()
            wanted = {folder / file for file in left} | ({folder} if left else set())
            while set(temporary.rglob("*")) != wanted and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(set(temporary.rglob("*")), wanted)
            self.assert_gone()
        self.assertEqual(kept.read_text(), "years of work")

    def test_floods_of_output_fill_neither_memory_nor_disk(self):
        def before():
            if not FREE:
                resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        temporary = self.path / "tmp"
        temporary.mkdir()
        flood = self.script_once("flood", f"yes {self.word}\n")
        done = subprocess.Popen([PROGRAM, "audit", "matmul", *PRODUCT, "--rule", f"program:{flood} {{out}}", "--timeout", "0.5"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before,
                                env={**os.environ, "TMPDIR": str(temporary)})
        largest = 0
        while done.poll() is None:
            for folder, _, names in os.walk(temporary):  # what is gone when it is looked at had no size to speak of
                for name in names:
                    if name.endswith(".npy") or name == "printed":
                        with contextlib.suppress(FileNotFoundError):
                            largest = max(largest, os.stat(os.path.join(folder, name)).st_size)
            time.sleep(0.1)
        _, err = done.communicate(timeout=LIMIT)
        self.assertEqual(done.returncode, 2, err)
        self.assertIn("still running after 0.5 s: ", err)
        self.assertLess(largest, 1 << 20)
        code, err = self.run_here("conform", "--program", f"cat >/dev/null; yes {self.word}", *SAME)
        self.assertEqual(code, 2, err)
        self.assertIn("wrote more than", err)
        self.assert_gone()

    def test_programs_write_no_core_files(self):
        shows = self.script("shows", f"#!/bin/sh\nulimit -c > {self.path}/core\nulimit -f >> {self.path}/core\nexit 5\n")
        self.run_here("audit", "matmul", *PRODUCT, "--rule", f"program:{shows} {{out}}")
        core, largest = (self.path / "core").read_text().split()
        self.assertEqual(core, "0")
        self.assertNotEqual(largest, "unlimited")

    def test_standard_files_may_be_closed(self):
        for closing in ("<&-", "2>&-", "<&- 2>&-"):
            done = subprocess.run(["sh", "-c", f'"$0" conform --program cat {" ".join(SAME)} {closing}', PROGRAM], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=LIMIT)
            self.assertEqual(done.returncode, 0, (closing, done.stderr))


unittest.main()
