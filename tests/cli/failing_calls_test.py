#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every call that writes, made to fail in turn: the exit code says so in one line, and what was there is as before or replaced whole.
usage: failing_calls_test.py PROGRAM LIBRARY"""
import errno
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

LIBRARY = os.path.abspath(sys.argv.pop())
PROGRAM = os.path.abspath(sys.argv.pop())
REASONS = {"open": errno.ENOSPC, "read": errno.EIO, "write": errno.ENOSPC, "stat": errno.EIO, "chmod": errno.EPERM, "fsync": errno.EIO, "close": errno.EDQUOT, "rename": errno.EIO,
           "unlink": errno.EIO, "mkdir": errno.EDQUOT, "link": errno.ENOSPC, "flock": errno.ENOLCK}
TINY = """[model]
kind = "layers"
layers = [{linear = [2, 1]}]
[data]
inputs = "normal:0,1:4x2"
[loss]
kind = "sum"
[run]
steps = 2
"""
STUDY = '[[study]]\nkind = "census"\ninputs = ["normal:0,1:50"]\nto = ["e4m3"]\nseed = [1, 2]\n'


def snapshot(folder, but):
    """Names and bytes of all that is in a folder; of a folder nothing but its name."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")
            if str(p.relative_to(folder)).split("/")[0] not in but}


class FailingCalls(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name).resolve()
        self.before = self.path / "before"
        self.before.mkdir()

    def run_program(self, *words, cwd, env=None):
        done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                              timeout=LIMIT, env={**os.environ, "TMPDIR": str(self.path), **(env or {})})
        return done.returncode, done.stderr.decode()

    def prepare(self, *words, code=0):
        self.assertEqual(self.run_program(*words, cwd=self.before)[0], code, words)

    def check(self, *words, code=0, kept=(), step=1):
        """`kept`: folders whose files may stay where a command failed, for it to go on; `step`: every so manieth call."""
        work, mark = self.path / "work", self.path / "mark"
        before = snapshot(self.before, kept)
        shutil.copytree(self.before, work)
        self.assertEqual(self.run_program(*words, cwd=work)[0], code)
        after = snapshot(work, ())
        self.assertNotEqual(before, after)
        counts = {}
        for kind, reason in REASONS.items():
            number = 1
            while True:
                shutil.rmtree(work)
                shutil.copytree(self.before, work)
                mark.unlink(missing_ok=True)
                told = {"LD_PRELOAD": LIBRARY, "FAILING_CALL": kind, "FAILING_NUMBER": str(number), "FAILING_ERRNO": str(reason),
                        "FAILING_FOLDER": str(work), "FAILING_MARK": str(mark)}
                status, said = self.run_program(*words, cwd=work, env=told)
                if not mark.exists():
                    break
                where = (words, kind, number, said)
                now = snapshot(work, kept)
                if status == code:  # where no nameless file can be opened, one with a name is; a lock that cannot be looked at is taken again
                    self.assertIn(kind, ("open", "stat"), where)
                    self.assertEqual(now, after, where)
                else:
                    self.assertEqual((status, said.splitlines()[-1][:10], said.count("ulpscope: ")), (2, "ulpscope: ", 1), where)
                    if "cannot be removed" in said:
                        left = said.splitlines()[-1].split(": ")[1]
                        now = {name: bytes for name, bytes in now.items() if name != left}
                        self.assertEqual(now, {name: bytes for name, bytes in after.items() if name != left}, where)
                    else:
                        self.assertIn(os.strerror(reason), said, where)
                        self.assertIn(now, (before, after), where)
                for folder in kept:
                    self.assertFalse([p.name for p in (work / folder).glob(".*")], where)
                number += step
            counts[kind] = number - 1
        shutil.rmtree(work)
        return counts

    def check_memory(self, *words, times=20):
        """Allocations of the later half of a command, in which it writes, fail."""
        work, mark = self.path / "work", self.path / "mark"
        before, after = snapshot(self.before, ()), None
        told = {"LD_PRELOAD": LIBRARY, "FAILING_CALL": "malloc", "FAILING_ERRNO": str(errno.ENOMEM), "FAILING_FOLDER": str(work),
                "FAILING_MARK": str(mark)}
        failed = 0
        for time in range(-1, times):
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(self.before, work)
            number = 0 if time < 0 else count - count * time * time // (2 * times * times)
            mark.unlink(missing_ok=True)
            status, said = self.run_program(*words, cwd=work, env={**told, "FAILING_NUMBER": str(number)})
            now = snapshot(work, ())
            if time < 0:
                after, count = now, int(mark.read_text())
                self.assertEqual(status, 0, said)
                continue
            if status != 0:
                failed += 1
                self.assertEqual((status, said.splitlines()[-1]), (5, "ulpscope: out of memory"), number)
            self.assertIn(now, (before, after) if status else (after,), (words, number, said))
        self.assertGreater(failed, times // 4)

    def test_memory(self):
        self.check_memory("cast", "normal:0,1:100", "--to", "e4m3", "-o", "x.npy")
        # Not a report: nlohmann-json allocates where it destroys values, which ends the program where that fails.

    def test_a_file(self):
        (self.before / "x.npy").write_bytes(b"former")
        counts = self.check("cast", "normal:0,1:100", "--to", "e4m3", "-o", "x.npy")
        for kind in ("open", "write", "stat", "chmod", "fsync", "close", "rename"):
            self.assertGreater(counts[kind], 0, kind)

    def test_a_new_report(self):
        counts = self.check("census", "normal:0,1:50", "--to", "e4m3", "-o", "report")
        for kind in ("open", "write", "fsync", "close", "rename", "unlink", "mkdir", "flock"):
            self.assertGreater(counts[kind], 0, kind)

    def test_a_report_over_a_former_one(self):
        self.prepare("sweep", "normal:0,1:60", "--to", "e4m3", "-o", "report")
        counts = self.check("census", "normal:0,1:50", "--to", "e4m3", "-o", "report")
        self.assertGreater(counts["unlink"], 3)
        self.assertGreater(counts["read"], 0)

    def test_a_ledger(self):
        self.prepare("matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--engine", "exact", "-o", "d.npy")
        record = ("ledger", "record", "L", "matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--output", "d.npy", "--keep-output",
                  "--case")
        self.check(*record, "first")
        self.prepare(*record, "first")
        self.check(*record, "second", "--tag", "a=b")

    def test_a_ledger_s_verdicts(self):
        self.prepare("matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--engine", "exact", "-o", "d.npy")
        self.prepare("ledger", "record", "L", "matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--output", "d.npy", "--case", "c")
        self.check("ledger", "check", "L", "c", "--output", "d.npy", "--junit", "j.xml")

    def test_a_recording(self):
        (self.before / "r").write_bytes(b"former")
        self.check("devices", "record", "--device", "emulated:sm_80", "--instruction", "mma.sync.m16n8k16.f32.bf16", "--tests", "2", "-o", "r")

    def test_a_study(self):
        (self.before / "study.toml").write_text(STUDY)
        self.check("run", "study.toml", "-o", "out", kept=("out.partial",))

    def test_a_training_run(self):
        (self.before / "tiny.toml").write_text(TINY)
        self.check("train", "tiny.toml", "--recipe", "float32", "-o", "out", "--record", "weights", kept=("out.unfinished",))

    def test_a_case_that_is_kept(self):
        self.prepare("matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--engine", "exact", "-o", "d.npy")
        verify = ("verify", "matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "e4m3", "--output", "d.npy", "--save", "kept")
        self.check(*verify, code=1)


unittest.main()
