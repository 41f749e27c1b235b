#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An audit that ends before it is done: what it keeps, and what it leaves. usage: audit_resume_test.py PROGRAM"""
import hashlib
import json
import os
import random
import shutil
import signal
import stat
import struct
import subprocess
import time
import unittest

from files_test import PROGRAM
from resuming import KEPT, Resuming
from time_limit import LIMIT

PRODUCT = ("matmul", "m.safetensors:t00", "m.safetensors:t01", "--in", "bf16", "--out", "fp32", "--engine", "sm_90")
SOFTMAX = ("softmax", "m.safetensors:t00", "--out", "fp32")

# Rejects by what an output holds. It counts its calls, waits at the one that `wait` names, and dies at the one that `die` names, once.
CHECK = """#!/bin/sh
read calls < calls
calls=$((calls + 1))
echo $calls > calls
if [ -e die ] && read call < die && [ $calls = $call ]; then rm die; kill -KILL $$; fi
if [ -e wait ] && read call < wait && [ $calls = $call ]; then rm wait; exec sleep 600; fi
set -- $(cksum < "$2")
[ $(($1 % 2)) = 1 ]
"""


class Audits(Resuming):
    def setUp(self):
        super().setUp()
        self.temporary = self.path / "tmp"
        self.temporary.mkdir()
        self.addCleanup(os.environ.pop, "TMPDIR", None)
        os.environ["TMPDIR"] = str(self.temporary)
        self.script("check", CHECK)
        self.begin_to_count()

    def begin_to_count(self):
        (self.path / "calls").write_text("0\n")

    def script(self, name, text):
        (self.path / name).write_text(text)
        (self.path / name).chmod(stat.S_IRWXU)

    def write_scales(self, scale):
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 1)}".ljust(117) + "\n"
        (self.path / "s.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + 64 * struct.pack("<f", scale))

    def words(self, *words, trials=6):
        rules = ("program:./check {ref} {out}", "ulp:0") if "matmul" in words else ("program:./check {ref} {out}",)
        return ["audit", *words, "--trials", str(trials), *(word for rule in rules for word in ("--rule", rule))]

    def calls(self):
        return int((self.path / "calls").read_text())

    def right(self, words):
        """The report of an audit that nothing happens to, and how often the program was called for it."""
        self.begin_to_count()
        self.code = subprocess.run([PROGRAM, *words, "-o", "out"], cwd=self.path, capture_output=True, timeout=LIMIT).returncode
        self.assertIn(self.code, (1, 3))
        right = self.contents("out")
        self.assertEqual(sorted(right), ["audit.csv", "index.html", "manifest.json"])
        shutil.rmtree(self.path / "out")
        return right, self.calls()

    def begun(self, words, call):
        """An audit whose program waits at this call."""
        (self.path / "wait").write_text(f"{self.calls() + call}\n")
        process = subprocess.Popen([PROGRAM, *words, "-o", "out", "--resume"], cwd=self.path, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + LIMIT
        while (self.path / "wait").exists():
            self.assertIsNone(process.poll(), "ended before")
            self.assertLess(time.monotonic(), deadline, "never begun")
            time.sleep(0.01)
        return process

    def ended_at(self, words, call, how=signal.SIGKILL):
        process = self.begun(words, call)
        process.send_signal(how)
        process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, -how)
        self.assertFalse((self.path / "out").exists())

    def assert_goes_on(self, words, right):
        self.program(*words, "-o", "out", "--resume", code=self.code)
        self.assertEqual(self.contents("out"), right)
        self.assertFalse((self.path / "out.partial").exists())


class Resumed(Audits):
    def test_an_audit_that_was_ended_goes_on_with_the_same_report(self):
        drawn = random.Random(5)
        for asked in (PRODUCT, SOFTMAX):
            words = self.words(*asked)
            right, calls = self.right(words)
            self.assertIn(b"rejects", right["index.html"])
            self.begin_to_count()
            first, second = drawn.randrange(2, calls // 2), drawn.randrange(2, calls // 2)
            self.ended_at(words, first)
            self.assertGreater(self.whole_lines(), 0)
            self.ended_at(words, second, signal.SIGTERM)
            self.assert_goes_on(words, right)
            self.assertEqual(self.calls(), calls + 2)  # those that were waiting
            shutil.rmtree(self.path / "out")
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_the_first_false_alarm_is_named_again(self):
        words = self.words(*PRODUCT, trials=12)
        right, calls = self.right(words)
        self.assertRegex(right["index.html"].decode(), "ulp:0: [^<]*rejects [1-9][^<]* of 12 [^<]*, the first: ")
        self.ended_at(words, calls - 1)
        self.assert_goes_on(words, right)

    def test_what_gave_no_verdict_is_asked_again(self):
        words = self.words(*PRODUCT)
        right, calls = self.right(words)
        self.begin_to_count()
        (self.path / "die").write_text("4\n")  # as where all processes of a job are killed, and the audit last
        self.ended_at(words, 7)
        self.assertFalse((self.path / "die").exists())
        self.assert_goes_on(words, right)
        self.assertEqual(self.calls(), calls + 2)

    def test_verdicts_stay_where_a_program_still_owes_some(self):
        words = self.words(*PRODUCT)
        right, calls = self.right(words)
        for call, owed in ((4, "a mutant"), (calls, "the last trial")):
            self.begin_to_count()
            (self.path / "die").write_text(f"{call}\n")
            said = self.program(*words, "-o", "out", "--resume", code=self.code)
            self.assertIn("out/index.html written", said)
            self.assertIn("out.partial: keeps all verdicts but of 1 output on which a rule gave none; the same command with --resume asks again", said)
            self.assertNotEqual(self.contents("out"), right, owed)
            self.assert_goes_on(words, right)
            self.assertEqual(self.calls(), calls + 1, owed)
            shutil.rmtree(self.path / "out")

    def test_a_program_that_never_answered_holds_up_no_other(self):
        words = self.words(*PRODUCT)
        right, _ = self.right(words)
        mistyped = ["program:./chek {ref} {out}" if word.startswith("program:") else word for word in words]
        self.script("chek", "#!/bin/sh\nexit 5\n")
        for again in (["--resume"], []):
            self.begin_to_count()
            self.assertIn("on the correct output it ended with exit code 5", self.refused(*mistyped, "-o", "out", "--resume"))
            self.program(*words, "-o", "out", *again, code=self.code)
            self.assertEqual(self.contents("out"), right)

    def test_a_program_may_be_given_a_file_of_any_size(self):
        with open(self.path / "large", "wb") as file:
            file.truncate((1 << 30) + 1)
        words = ["program:./check {ref} {out} large" if word.startswith("program:") else word for word in self.words(*SOFTMAX)]
        right, _ = self.right(words)
        self.program(*words, "-o", "out", "--resume", code=self.code)
        self.assertEqual(self.contents("out"), right)

    def test_other_work_is_refused(self):
        words = self.words(*PRODUCT)
        self.ended_at(words, 5)
        self.assertIn("out.partial: holds what a run that was ended has measured", self.refused(*words, "-o", "out"))
        other = "out.partial: is of other work: "
        self.assertIn(other, self.refused(*words, "--rule", "cosine", "-o", "out", "--resume"))
        self.assertIn(other, self.refused(*words[:-2], "-o", "out", "--resume"))
        self.assertIn(other, self.refused(*words, "--timeout", "7", "-o", "out", "--resume"))
        self.script("check", CHECK + "\n")
        self.assertRegex(self.refused(*words, "-o", "out", "--resume"), r"'\./check, sha256 \w{64}' there, '\./check, sha256 \w{64}' now")
        self.script("check", CHECK)
        self.numbers["t01"][0] += 1
        self.write()
        self.assertIn("'m.safetensors:t01, float32 64 64, sample ", self.refused(*words, "-o", "out", "--resume"))
        self.assertIn("--resume: -o DIR is missing", self.refused(*words, "--resume"))
        self.assertIn("--where, --sort and --rows", self.refused(*words, "-o", "out", "--rows", "1"))

    def test_scales_are_part_of_the_work(self):
        words = self.words("matmul", "m.safetensors:t00", "m.safetensors:t01", "--in", "e4m3", "--out", "fp32", "--engine", "sm_90", "--scale-a", "s.npy")
        self.write_scales(0.5)
        self.ended_at(words, 5)
        self.write_scales(0.25)
        self.assertIn("'scales of A, float32 65, sample ", self.refused(*words, "-o", "out", "--resume"))

    def test_what_is_no_verdict_is_refused(self):
        words = self.words(*PRODUCT)
        self.ended_at(words, 5)
        correct, mutant, *lines = (self.path / KEPT).read_text().splitlines()
        for place, kept in ((0, correct), (1, mutant)):
            numbers = kept.split(" ")[2:]
            self.assertEqual(len(numbers), (8, 13)[place])
            for changed in (["2", *numbers[1:]], numbers[:-1], [*numbers, "0"], ["x", *numbers[1:]]):
                text = " ".join([str(place), *changed])
                (self.path / KEPT).write_text(f"{hashlib.sha256(text.encode()).hexdigest()} {text}\n")
                self.assertIn("is no line of what --resume keeps", self.refused(*words, "-o", "out", "--resume"))

    def test_a_second_one_is_refused_while_the_first_runs(self):
        words = self.words(*PRODUCT)
        right, calls = self.right(words)
        process = self.begun(words, calls // 2)
        self.assertIn("out.partial: another process is writing to it", self.refused(*words, "-o", "out", "--resume"))
        process.kill()
        process.communicate(timeout=LIMIT)
        self.assert_goes_on(words, right)

    def test_a_report_is_made_again_where_programs_are_allowed(self):
        words = self.words(*PRODUCT)
        self.program(*words, "-o", "out", "--resume", code=1)
        self.assertNotIn("--resume", json.loads((self.path / "out/manifest.json").read_text())["arguments"])
        self.assertIn("--allow-programs lets it", self.refused("report", "check", "out"))
        self.program("report", "check", "out", "--allow-programs")

    def test_what_a_program_says_is_told_without_the_names_of_our_files(self):
        self.script("check", "#!/bin/sh\ncmp -s $1 $2 && exit 0\necho cannot read $2\nexit 7\n")
        right, _ = self.right(self.words(*SOFTMAX))
        self.assertIn("exit code 7, where 0 accepts and 1 rejects: cannot read {out}", right["index.html"].decode())


class LeftFolders(Audits):
    def left(self, name, files=("out.npy",), mode=0o700):
        folder = self.temporary / name
        folder.mkdir()
        for file in files:
            (folder / file).write_text("years of work")
        folder.chmod(mode)
        return folder

    def audit(self):
        self.program(*self.words(*PRODUCT), code=1)

    def test_the_next_audit_removes_what_dead_ones_have_left(self):
        lock = ".ulpscope-scratch"
        self.left("ulpscope-AbCd12", (lock, "out.npy", "ref.npy"))
        stay = {self.left("ulpscope-report", (".ulpscope-lock", "census.csv")), self.left("ulpscope-XyXyXy"),
                self.left("ulpscope-open77", (lock, "out.npy"), 0o755), self.left("ulpscope-longer7", (lock, "out.npy")),
                self.left("another-AbCd12", (lock, "out.npy")), self.temporary / "ulpscope-link12"}
        kept = self.left("kept", (lock, "out.npy"))
        (self.temporary / "ulpscope-link12").symlink_to(kept)
        self.audit()
        self.assertEqual(set(self.temporary.iterdir()), stay | {kept})
        self.assertEqual(sorted(os.listdir(kept)), [lock, "out.npy"])

    def test_that_of_one_that_lives_stays(self):
        process = self.begun(self.words(*PRODUCT), 3)
        folder, = self.temporary.iterdir()
        there = sorted(os.listdir(folder))
        self.assertEqual(there, [".ulpscope-scratch", "out.npy", "ref.npy"])
        self.audit()
        self.assertEqual(sorted(os.listdir(folder)), there)
        process.kill()
        process.communicate(timeout=LIMIT)

    def test_audits_that_are_killed_somewhen_leave_nothing_to_the_next(self):
        drawn = random.Random(7)
        for _ in range(12):
            process = subprocess.Popen([PROGRAM, *self.words(*PRODUCT)], cwd=self.path, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(drawn.uniform(0, 0.3))
            process.send_signal(drawn.choice((signal.SIGKILL, signal.SIGTERM)))
            process.communicate(timeout=LIMIT)
        time.sleep(0.5)  # what is ended with them is gone a moment later
        self.audit()
        left = [(folder.name, sorted(os.listdir(folder))) for folder in self.temporary.iterdir()]
        self.assertEqual([names for _, names in left if names], [])


unittest.main()
