#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every call that writes, made to fail in turn: the exit code says so in one line, and what was there is as before or replaced whole.
usage: failing_calls_test.py PROGRAM LIBRARY DEVICES_PROGRAM"""
import collections
import errno
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

DEVICES = os.path.abspath(sys.argv.pop())
LIBRARY = os.path.abspath(sys.argv.pop())
PROGRAM = os.path.abspath(sys.argv.pop())
REASONS = {"open": errno.ENOSPC, "read": errno.EIO, "write": errno.ENOSPC, "stat": errno.EIO, "statat": errno.EIO, "chmod": errno.EPERM,
           "chown": errno.EPERM, "fsync": errno.EIO, "close": errno.EDQUOT, "rename": errno.EIO,
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
PRODUCT = ("matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--engine", "exact", "-o", "d.npy")
VERDICT = ("verify", "matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "e4m3", "--output", "d.npy")  # it is of other inputs
RECORDING = ("devices", "record", "--device", "emulated:sm_80", "--instruction", "mma.sync.m16n8k16.f32.bf16", "--tests", "2", "-o", "r")
CHOICE = ("choose", "normal:0,1:50", "--to", "e4m3", "--scale", "none", "-o", "plan.toml")
SHARD = ("census", "normal:0,1:50", "--to", "e4m3", "--shard", "0/1", "-o", "part")
TRAINING = ("train", "tiny.toml", "--recipe", "float32", "-o", "out", "--record", "weights")
FEW = 20
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

    def check(self, *words, code=0, kept=(), spared=None, step=1):
        """`kept`: folders whose files may stay where a command failed, for it to go on; `spared`: how many calls of which kinds may
        fail and all is done; `step`: every so manieth call."""
        spared, passed = spared or {}, collections.Counter()
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
                if status == code:  # no nameless file can be opened: one with a name is; what is read may be opened once more;
                    passed[kind] += 1
                    self.assertIn(kind, ("open", "stat", "chown", *spared), where)  # a new file stays in this user's group
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
        self.assertEqual({kind: passed[kind] for kind in spared}, spared, words)
        shutil.rmtree(work)
        return counts

    def check_memory(self, *words, code=0, times=100):
        """Allocations all over a command fail, and a third of the last, among which it writes."""
        work, mark = self.path / "work", self.path / "mark"
        before, after = snapshot(self.before, ()), None
        told = {"LD_PRELOAD": LIBRARY, "FAILING_CALL": "malloc", "FAILING_ERRNO": str(errno.ENOMEM), "FAILING_FOLDER": str(work),
                "FAILING_MARK": str(mark)}
        def run(number):
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(self.before, work)
            mark.unlink(missing_ok=True)
            return *self.run_program(*words, cwd=work, env={**told, "FAILING_NUMBER": str(number)}), snapshot(work, ())

        status, said, after = run(0)
        self.assertEqual(status, code, said)
        count, failed = int(mark.read_text()), 0
        numbers = {*range(1, count, max(1, count // times)), *range(max(1, count - times), count, 3)}
        for number in sorted(numbers):
            status, said, now = run(number)
            where = (words, number, said)
            if status == code:
                self.assertEqual(now, after, where)
                continue
            failed += 1
            self.assertEqual((status, said.splitlines()[-1:], said.count("ulpscope: ")), (5, ["ulpscope: out of memory"], 1), where)
            if now not in (before, after):  # where nothing may be thrown the program ends at once, as if it were killed
                self.assertEqual({**now, **before}, now, where)
                self.assertEqual((self.run_program(*words, cwd=work)[0], snapshot(work, ())), (code, after), where)
        self.assertGreater(failed, len(numbers) // 2)

    def test_memory(self):
        self.check_memory("cast", "normal:0,1:100", "--to", "e4m3", "-o", "x.npy")

    def test_memory_of_safetensors(self):
        (self.before / "x.safetensors").write_bytes(b"former")
        self.check_memory("cast", "normal:0,1:100", "--to", "e4m3", "-o", "x.safetensors")

    def test_memory_of_a_new_report(self):
        self.check_memory("census", "normal:0,1:50", "--to", "e4m3", "-o", "report")

    def test_memory_of_a_report_over_a_former_one(self):
        self.prepare("census", "normal:0,1:60", "--to", "e4m3", "-o", "report")
        self.check_memory("census", "normal:0,1:50", "--to", "e4m3", "-o", "report")

    def test_memory_of_a_case(self):
        self.check_memory("generate", "matmul", "ties", "--m", "4", "--n", "4", "--k", "8", "-o", "case")

    def test_memory_of_a_ledger(self):
        self.prepare(*PRODUCT)
        record = ("ledger", "record", "L", "matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--output", "d.npy", "--case")
        self.prepare(*record, "first")
        self.check_memory(*record, "second", "--keep-output")

    def test_memory_of_a_recording(self):
        self.check_memory(*RECORDING, times=FEW)

    def test_memory_of_a_plan(self):
        self.check_memory(*CHOICE, times=FEW)

    def test_memory_of_a_shard(self):
        self.check_memory(*SHARD, times=FEW)

    def test_memory_of_a_merged_report(self):
        self.prepare(*SHARD)
        self.check_memory("merge", "part", "-o", "report", times=FEW)

    def test_memory_of_a_study(self):
        (self.before / "study.toml").write_text(STUDY)
        self.check_memory("run", "study.toml", "-o", "out", "--resume", times=FEW)

    def test_memory_of_a_training_run(self):
        (self.before / "tiny.toml").write_text(TINY)
        self.check_memory(*TRAINING, "--resume", times=FEW)

    def test_memory_of_a_case_that_is_kept(self):
        self.prepare(*PRODUCT)
        self.check_memory(*VERDICT, "--save", "kept", code=1, times=FEW)

    def test_a_file(self):
        (self.before / "x.npy").write_bytes(b"former")
        counts = self.check("cast", "normal:0,1:100", "--to", "e4m3", "-o", "x.npy")
        for kind in ("open", "write", "stat", "statat", "chmod", "fsync", "close", "rename"):
            self.assertGreater(counts[kind], 0, kind)

    def test_a_file_of_another_group(self):
        other = 4242 if os.geteuid() == 0 else next((group for group in os.getgroups() if group != os.getegid()), None)
        if other is None:
            self.skipTest("this user is in one group")
        for reason, mode in ((None, 0o660), (errno.EPERM, 0o600)):
            x = self.path / "x.npy"
            x.write_bytes(b"former")
            os.chown(x, -1, other)
            x.chmod(0o660)
            told = {"LD_PRELOAD": LIBRARY, "FAILING_CALL": "chown", "FAILING_NUMBER": "1" if reason else "0", "FAILING_ERRNO": str(reason or 0),
                    "FAILING_FOLDER": str(self.path), "FAILING_MARK": str(self.path / "mark")}
            self.assertEqual(self.run_program("cast", "normal:0,1:100", "--to", "e4m3", "-o", "x.npy", cwd=self.path, env=told)[0], 0)
            self.assertTrue((self.path / "mark").exists())
            self.assertEqual((x.stat().st_mode & 0o777, x.stat().st_gid == other), (mode, reason is None))

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
        self.prepare(*PRODUCT)
        record = ("ledger", "record", "L", "matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--output", "d.npy", "--keep-output",
                  "--case")
        self.check(*record, "first")
        self.prepare(*record, "first")
        self.check(*record, "second", "--tag", "a=b")

    def test_a_ledger_s_verdicts(self):
        self.prepare(*PRODUCT)
        self.prepare("ledger", "record", "L", "matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--output", "d.npy", "--case", "c")
        self.check("ledger", "check", "L", "c", "--output", "d.npy", "--junit", "j.xml")

    def test_a_recording(self):
        (self.before / "r").write_bytes(b"former")
        self.check(*RECORDING)

    def test_a_safetensors_file(self):
        (self.before / "x.safetensors").write_bytes(b"former")
        self.check("cast", "normal:0,1:100", "--to", "e4m3", "-o", "x.safetensors")

    def prepare_a_checkpoint(self):
        (self.before / "in").mkdir()
        for name in ("a", "b"):
            self.prepare("cast", "normal:0,1:10", "--to", "bf16", "-o", f"in/{name}.safetensors")

    def test_a_checkpoint(self):
        self.prepare_a_checkpoint()
        counts = self.check("cast", "in", "--to", "e4m3", "-o", "out")
        for kind in ("open", "write", "fsync", "rename", "unlink", "mkdir", "flock"):
            self.assertGreater(counts[kind], 0, kind)

    def test_a_checkpoint_over_a_former_one(self):
        self.prepare_a_checkpoint()
        self.prepare("cast", "in", "--to", "e5m2", "-o", "out")
        self.check("cast", "in", "--to", "e4m3", "-o", "out")

    def test_what_is_kept_of_a_checkpoint(self):
        self.prepare_a_checkpoint()
        # A file that is kept is linked to, and that which was opened for its bytes closed without any; else it is copied.
        self.check("cast", "in", "--to", "e4m3", "-o", "out", "--resume", kept=("out.partial",), spared={"close": 2, "link": 2})

    def test_a_case(self):
        self.check("generate", "matmul", "ties", "--m", "4", "--n", "4", "--k", "8", "-o", "case")

    def test_inputs_of_a_converter(self):
        (self.before / "inputs").write_bytes(b"former")
        self.check("conform", "--from", "e4m3", "--to", "e5m2", "--write-inputs", "inputs")

    def test_a_figure(self):
        (self.before / "scales.svg").write_bytes(b"former")
        self.check("sweep", "normal:0,1:50", "--to", "e4m3", "--log2-scale", "0:1", "--svg", "scales.svg")

    def test_a_plan(self):
        (self.before / "plan.toml").write_bytes(b"former")
        self.check(*CHOICE)

    def test_a_shard_and_the_report_of_it(self):
        self.check(*SHARD)
        self.prepare(*SHARD)
        self.check("merge", "part", "-o", "report", step=3)

    def test_a_shard_of_a_study(self):
        (self.before / "study.toml").write_text(STUDY)
        self.check("run", "study.toml", "--shard", "0/1", "-o", "part", kept=("part.partial",))

    def test_a_shard_of_a_training(self):
        (self.before / "tiny.toml").write_text(TINY)
        self.check(*TRAINING[:4], "--shard", "0/1", "-o", "part", kept=("part.unfinished",))

    def test_the_archive_of_the_devices_program(self):
        words = [DEVICES, "all", "--device", "emulated:sm_70", "--instruction", "nothing", "--tests", "1", "--seconds", "1", "-o", "out"]
        phases = 0
        for number in (0, 1):  # the archive's bytes are brought to the disk last, after the summary's of each phase
            told = {"LD_PRELOAD": LIBRARY, "FAILING_CALL": "fsync", "FAILING_NUMBER": str(number * (phases + 1)), "FAILING_ERRNO": str(errno.EIO),
                    "FAILING_FOLDER": str(self.path), "FAILING_MARK": str(self.path / "mark")}
            done = subprocess.run(words, cwd=self.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=LIMIT, env={**os.environ, **told})
            phases = (self.path / "out/summary.txt").read_text().count("\n")
            self.assertEqual(done.stdout.decode().splitlines()[-1].split(":")[0], "no archive" if number else
                             f"everything is in {self.path}/out.tar.gz")
            self.assertEqual([p.name for p in self.path.glob("*out*tar.gz*")] + [p.name for p in self.path.glob(".*")],
                             [] if number else ["out.tar.gz"])
            (self.path / "out.tar.gz").unlink(missing_ok=True)

    def test_what_is_kept_of_a_census(self):
        counts = self.check("census", "normal:0,1:50", "--to", "e4m3", "-o", "report", "--resume", kept=("report.partial",))
        for kind in ("open", "write", "fsync", "rename", "unlink", "mkdir", "flock"):
            self.assertGreater(counts[kind], 0, kind)

    def test_files_of_a_cast_that_cannot_be_linked_are_copied(self):
        for name in ("a", "b"):
            self.prepare("cast", "normal:0,1:100", "--to", "bf16", "-o", f"{name}.safetensors")
        mark = self.path / "mark"
        words = ("cast", ".", "--to", "e4m3", "-o", "../out")
        self.assertEqual(self.run_program(*words, cwd=self.before)[0], 0)
        right, copied = snapshot(self.path / "out", ()), 0
        self.assertEqual(len(right), 2)
        for number in itertools.count(1):
            for folder in ("out", "out.partial"):
                shutil.rmtree(self.path / folder, ignore_errors=True)
            mark.unlink(missing_ok=True)
            told = {"LD_PRELOAD": LIBRARY, "FAILING_CALL": "link", "FAILING_NUMBER": str(number), "FAILING_ERRNO": str(errno.EXDEV),
                    "FAILING_FOLDER": str(self.path / "out"), "FAILING_MARK": str(mark)}
            status, said = self.run_program(*words, "--resume", cwd=self.before, env=told)
            if not mark.exists():
                break
            if status == 0:  # else of a new file, which has no other name
                copied += 1
                self.assertEqual(snapshot(self.path / "out", ()), right)
        self.assertEqual(copied, len(right))

    def test_what_a_cast_looks_at_grows_as_its_files_do(self):
        made = "made.safetensors"
        self.prepare("cast", "normal:0,1:100", "--to", "bf16", "-o", made)
        mark = self.path / "mark"
        counts = {kind: [] for kind in ("open", "statat", "look")}
        for files in (10, 20, 30):
            model = self.path / f"model{files}"
            model.mkdir()
            for i in range(files):
                (model / f"{i}.safetensors").write_bytes((self.before / made).read_bytes().replace(b'"tensor"', f'"t{i:05}"'.encode()))
            (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {f"t{i:05}": f"{i}.safetensors" for i in range(files)}}))
            for kind, numbers in counts.items():
                mark.unlink(missing_ok=True)
                told = {"LD_PRELOAD": LIBRARY, "FAILING_CALL": kind, "FAILING_NUMBER": "0", "FAILING_ERRNO": "0", "FAILING_FOLDER": str(self.path),
                        "FAILING_MARK": str(mark)}
                status, said = self.run_program("cast", model.name, "--to", "e4m3", "-o", f"{kind}{files}", cwd=self.path, env=told)
                self.assertEqual(status, 0, said)
                numbers.append(int(mark.read_text()))
        for kind, (ten, twenty, thirty) in counts.items():
            self.assertEqual(thirty - twenty, twenty - ten, (kind, counts))
            self.assertGreaterEqual(twenty - ten, 10, (kind, counts))

    def test_a_study(self):
        (self.before / "study.toml").write_text(STUDY)
        self.check("run", "study.toml", "-o", "out", kept=("out.partial",))

    def test_a_training_run(self):
        (self.before / "tiny.toml").write_text(TINY)
        self.check(*TRAINING, kept=("out.unfinished",))

    def test_a_case_that_is_kept(self):
        self.prepare(*PRODUCT)
        self.check(*VERDICT, "--save", "kept", code=1)

    def test_a_verdict_for_junit(self):
        self.prepare(*PRODUCT)
        self.check(*VERDICT, "--junit", "j.xml", code=1)


unittest.main()
