#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the program writes, others have been: planted links, lists and files in its folders, other writers, files that are private, and
pipes in place of files. usage: writing_test.py PROGRAM DEVICES_PROGRAM"""
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from emulation import is_emulated
from time_limit import LIMIT

DEVICES = os.path.abspath(sys.argv.pop())
PROGRAM = os.path.abspath(sys.argv.pop())
CENSUS = ("census", "normal:0,1:50", "--to", "e4m3", "-o", "report")
A, B = "normal:0,1:4x8", "normal:0,1:8x3"
LOCK = ".ulpscope-lock"


class Writing(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)

    def run_program(self, *words, code=0, program=PROGRAM):
        done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.path,
                              timeout=LIMIT)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr.decode()

    def refused(self, *words, program=PROGRAM):
        said = self.run_program(*words, code=2, program=program)
        self.assertEqual(said.count("\n"), 1, said)
        return said

    def output(self, name="d.npy"):
        self.run_program("matmul", A, B, "--in", "bf16", "--engine", "exact", "-o", name)
        return name

    def record(self, ledger, case):
        return ("ledger", "record", ledger, "matmul", A, B, "--in", "bf16", "--output", "d.npy", "--case", case)

    def listing(self, folder="."):
        return sorted(str(p.relative_to(self.path)) for p in (self.path / folder).rglob("*"))


class Planted(Writing):
    def setUp(self):
        super().setUp()
        (self.path / "victim").write_text("years of work")
        (self.path / "outside").mkdir()

    def tearDown(self):
        self.assertEqual((self.path / "victim").read_text(), "years of work")
        self.assertEqual(list((self.path / "outside").iterdir()), [])

    def link(self, name, to="victim"):
        (self.path / name).symlink_to(self.path / to)

    def test_links_in_report_folders(self):
        (self.path / "report").mkdir()
        digest = hashlib.sha256(b"years of work").hexdigest()
        for files in ({"census.csv": digest}, {"census.csv": "0" * 64}, {"census.csv": digest, "../victim": digest}):
            (self.path / "report/manifest.json").write_text(json.dumps({"program": "ulpscope", "arguments": [], "files": files}))
            self.link("report/census.csv")
            self.assertIn("report holds census.csv, a link, which is not part of a report", self.refused(*CENSUS))
            (self.path / "report/census.csv").unlink()
        self.run_program(*CENSUS)

    def test_files_that_a_list_names_are_not_ours_for_that(self):
        (self.path / "report").mkdir()
        (self.path / "report/manifest.json").write_text(
            json.dumps({"program": "ulpscope", "arguments": [], "files": {"thesis.tex": "0" * 64}}))
        (self.path / "report/thesis.tex").write_text("years of work")
        self.assertIn("thesis.tex, which is not what manifest.json lists", self.refused(*CENSUS))
        self.assertEqual((self.path / "report/thesis.tex").read_text(), "years of work")

    def test_a_file_is_not_written_through_a_link(self):
        self.output()
        for words in (("cast", "normal:0,1:9", "--to", "e4m3", "-o", "link.npy"), ("conform", "--from", "fp16", "--to", "fp16", "--write-inputs", "link.npy"),
                      ("sweep", "normal:0,1e-5:99", "--to", "e4m3", "--svg", "link.svg"), self.record("link.npy", "x"),
                      ("devices", "record", "--device", "emulated:sm_70", "--tests", "1", "-o", "link.npy")):
            for to in ("victim", "nowhere"):
                link = next(word for word in words if word.startswith("link."))
                self.link(link, to)
                said = self.run_program(*words, code=2).splitlines()[-1]
                self.assertRegex(said, f"^ulpscope: {link}: (cannot be written: it is a link|line 1)", words)
                self.assertTrue((self.path / link).is_symlink())
                (self.path / link).unlink()
        self.assertEqual(self.listing("outside"), [])
        self.assertFalse((self.path / "nowhere").exists())

    def test_links_where_temporary_files_were_once(self):
        for name in ("r.partial", "r.new", "x.npy.tmp.1"):
            self.link(name)
        self.run_program("devices", "record", "--device", "emulated:sm_70", "--tests", "1", "-o", "r")
        self.run_program("list", "--device", "emulated:sm_70", "-o", "r", program=DEVICES)
        self.run_program("devices", "record", "--device", "emulated:sm_70", "--tests", "1", "-o", "r")

    def test_folders_of_runs_on_their_way(self):
        (self.path / "s.toml").write_text('[[study]]\nkind = "census"\ninputs = ["normal:0,1:50"]\nto = ["e4m3"]\n')
        self.link("out.partial", "outside")
        self.assertIn("out.partial: is a link", self.refused("run", "s.toml", "-o", "out", "--resume"))
        self.link("out.unfinished", "outside")
        (self.path / "t.toml").write_text('[model]\nkind = "layers"\nlayers = [{linear = [2, 1]}]\n[data]\ninputs = "normal:0,1:4x2"\n'
                                          '[loss]\nkind = "sum"\n[run]\nsteps = 2\n')
        self.assertIn("out.unfinished: is a link", self.refused("train", "t.toml", "-o", "out", "--resume"))

    def test_a_ledger_s_outputs(self):
        self.output()
        self.link("L.outputs", "outside")
        self.refused(*self.record("L", "x"), "--keep-output")
        self.assertFalse((self.path / "L").exists())

    def test_outputs_of_another_ledger_are_left_alone(self):
        self.output()
        self.run_program(*self.record("other", "x"), "--keep-output")
        before = self.listing("other.outputs")
        self.assertEqual(len(before), 1)
        self.link("mine.outputs", "other.outputs")
        self.refused(*self.record("mine", "x"), "--keep-output")
        self.run_program(*self.record("mine", "x"))
        self.output("e.npy")
        (self.path / "e.npy").write_bytes((self.path / "e.npy").read_bytes()[:-1] + b"\x01")
        again = [word if word != "d.npy" else "e.npy" for word in self.record("mine", "x")]
        self.run_program(*again, code=1)  # which replaces an entry of the output that lies there
        self.assertEqual(self.listing("other.outputs"), before)
        self.assertTrue((self.path / "mine.outputs").is_symlink())

    def test_a_file_that_is_named_as_outputs_are_is_not_one(self):
        self.output(), self.output("e.npy")
        (self.path / "e.npy").write_bytes((self.path / "e.npy").read_bytes()[:-1] + b"\x01")
        self.run_program(*self.record("L", "x"))
        digest = json.loads((self.path / "L").read_text().splitlines()[1])["output"]["sha256"]
        again = [word if word != "d.npy" else "e.npy" for word in self.record("L", "x")]
        for make in (lambda: (self.path / "L.outputs").write_text("mine"),
                     lambda: ((self.path / "L.outputs").mkdir(), (self.path / f"L.outputs/{digest}.npy").write_text("mine"))):
            make()
            before = self.listing()
            self.run_program(*again, code=1)
            self.run_program(*self.record("L", "x"))
            self.assertEqual(self.listing(), before)
            shutil.rmtree(self.path / "L.outputs") if (self.path / "L.outputs").is_dir() else (self.path / "L.outputs").unlink()

    @unittest.skipIf(is_emulated(DEVICES), "it starts itself, without the emulator")
    def test_the_folder_of_the_devices_program(self):
        (self.path / "out").mkdir()
        for name in ("summary.txt", "devices.csv", "list.journal", "list.log"):
            self.link("out/" + name)
        words = ("--device", "emulated:sm_70", "--instruction", "nothing", "--tests", "1", "--seconds", "1", "-o", "out")
        said = self.run_program("all", *words, code=2, program=DEVICES)
        self.assertIn("summary.txt: cannot be written: it is a link", said)
        (self.path / "out/summary.txt").unlink()
        self.link("out.tar.gz")
        subprocess.run([DEVICES, "all", *words], cwd=self.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT)
        self.assertFalse((self.path / "out.tar.gz").is_symlink())
        self.assertTrue((self.path / "out/devices.csv").is_symlink())


class Foreign(Writing):
    """Files of names that commands write, which are not theirs."""

    def test_what_verify_keeps(self):
        self.output()
        verify = ("verify", "matmul", A, B, "--in", "e4m3", "--output", "d.npy", "--save", "kept")
        (self.path / "kept").mkdir()
        for name in ("input0.npy", "output.npy", "command.txt", "notes"):
            (self.path / "kept" / name).write_text("years of work")
            self.assertIn(f"kept holds {name}, which is not part of a case that was kept", self.refused(*verify))
            self.assertEqual((self.path / "kept" / name).read_text(), "years of work")
            (self.path / "kept" / name).unlink()
        self.run_program(*verify, code=1)
        first = self.listing("kept")
        self.assertEqual(first, ["kept/command.txt", "kept/input0.npy", "kept/input1.npy", "kept/kept.json", "kept/output.npy"])
        self.run_program(*verify, code=1)  # its own are replaced
        self.assertEqual(self.listing("kept"), first)
        (self.path / "kept/output.npy").write_text("changed")
        self.assertIn("output.npy, which is not what kept.json lists", self.refused(*verify))

    def test_what_verify_keeps_where_files_may_not_grow(self):
        self.output()
        verify = ("verify", "matmul", A, B, "--in", "e4m3", "--output", "d.npy", "--save", "kept")
        for blocks in (0, 1):
            done = subprocess.run(["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "bash", PROGRAM, *verify], cwd=self.path, timeout=LIMIT,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            lines = done.stderr.decode().splitlines()
            if blocks == 0:
                self.assertEqual(done.returncode, 2, lines)
                self.assertIn("File too large", lines[-1])
                self.assertFalse((self.path / "kept").exists())
            else:
                self.assertEqual(done.returncode, 1, lines)

    def test_what_generate_writes(self):
        (self.path / "case").mkdir()
        (self.path / "case/a.npy").write_text("years of work")
        generate = ("generate", "matmul", "ties", "--m", "4", "--n", "4", "--k", "8", "-o", "case")
        self.assertIn("case holds a.npy, which is not part of a case", self.refused(*generate))
        self.assertEqual((self.path / "case/a.npy").read_text(), "years of work")
        (self.path / "case/a.npy").unlink()
        self.run_program(*generate)
        whole = self.listing("case")
        self.run_program(*generate, "--safetensors")
        self.assertEqual(self.listing("case"), ["case/case.json", "case/case.safetensors"])
        self.run_program(*generate)
        self.assertEqual(self.listing("case"), whole)

    def test_private_files_stay_private(self):
        self.output()
        self.run_program(*self.record("L", "one"))
        for name, words in (("L", self.record("L", "two")), ("d.npy", ("cast", "normal:0,1:9", "--to", "e4m3", "-o", "d.npy"))):
            for mode in (0o600, 0o664):
                os.chmod(self.path / name, mode)
                self.run_program(*words)
                self.assertEqual((self.path / name).stat().st_mode & 0o777, mode)


    @unittest.skipIf(os.geteuid() != 0, "only root gives files away")
    def test_root_leaves_a_file_to_its_owner(self):
        self.output()
        self.run_program(*self.record("L", "one"))
        os.chown(self.path / "L", 65534, 65533)
        os.chmod(self.path / "L", 0o640)
        self.run_program(*self.record("L", "two"))
        found = (self.path / "L").stat()
        self.assertEqual((found.st_uid, found.st_gid, found.st_mode & 0o777), (65534, 65533, 0o640))

    def test_an_access_control_list_stays(self):
        self.output()
        self.run_program(*self.record("L", "one"))
        whole, name = 2 ** 32 - 1, "system.posix_acl_access"
        entries = [(1, 6, whole), (2, 6, 1000), (4, 0, whole), (16, 6, whole), (32, 0, whole)]  # user 1000 may, the group may not
        try:
            os.setxattr(self.path / "L", name, struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries))
        except OSError as refused:
            self.skipTest(f"no access control lists here: {refused}")
        before = os.getxattr(self.path / "L", name)
        self.run_program(*self.record("L", "two"))
        self.assertEqual(os.getxattr(self.path / "L", name), before)
        os.removexattr(self.path / "L", name)  # and what its folder gives to new files is not added
        os.setxattr(self.path, "system.posix_acl_default", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries))
        os.chmod(self.path / "L", 0o640)
        self.run_program(*self.record("L", "three"))
        self.assertNotIn(name, os.listxattr(self.path / "L"))
        self.assertEqual((self.path / "L").stat().st_mode & 0o777, 0o640)


class ClosedDescriptors(Writing):
    """Files that are opened do not take the place of standard input, output and error."""

    def test_what_is_printed_lands_in_no_file(self):
        self.run_program("cast", "normal:0,1:4x64", "--to", "fp32", "-o", "x.npy")
        for words, output in ((("choose", "x.npy", "--to", "e4m3,bf16", "-o", "p.toml"), "p.toml"),
                              (("cast", "x.npy", "--to", "e4m3", "-o", "y.npy"), "y.npy")):
            self.run_program(*words)
            right = (self.path / output).read_bytes()
            for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
                (self.path / output).unlink(missing_ok=True)
                done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", PROGRAM, *words], cwd=self.path, timeout=LIMIT,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                if done.returncode == 0:
                    self.assertEqual((self.path / output).read_bytes(), right, (words, closed))
                else:
                    self.assertEqual((done.returncode, (self.path / output).exists()), (2, False), (words, closed))
            self.run_program(*words)
            self.assertEqual(self.run_program("info", "x.npy"), "")

    def test_what_cannot_be_printed_is_told(self):
        done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", PROGRAM, "formats"], stderr=subprocess.PIPE, timeout=LIMIT, cwd=self.path)
        self.assertEqual((done.returncode, done.stderr), (2, b"ulpscope: standard output cannot be written: Bad file descriptor\n"))
        with open("/dev/full", "w") as full:
            done = subprocess.run([DEVICES, "--help"], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT, cwd=self.path)
        self.assertEqual((done.returncode, done.stderr), (2, b"ulpscope-devices: standard output cannot be written\n"))


class Others(Writing):
    """Another process writes at the same time."""

    def held(self, name):
        (self.path / name).parent.mkdir(exist_ok=True)
        file = open(self.path / name, "w")
        self.addCleanup(file.close)
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    def test_a_report(self):
        self.run_program(*CENSUS)
        before = {p.name: p.read_bytes() for p in (self.path / "report").iterdir()}
        lock = self.held("report/" + LOCK)
        self.assertEqual(self.run_program(*CENSUS, code=2).splitlines()[-1], "ulpscope: report: another process is writing to it")
        lock.close()
        (self.path / "report" / LOCK).unlink()
        self.assertEqual({p.name: p.read_bytes() for p in (self.path / "report").iterdir()}, before)

    def test_runs(self):
        (self.path / "s.toml").write_text('[[study]]\nkind = "census"\ninputs = ["normal:0,1:50"]\nto = ["e4m3"]\n')
        self.held("out.partial/" + LOCK)
        for more in ((), ("--resume",)):
            self.assertIn("out.partial: another process is writing to it", self.refused("run", "s.toml", "-o", "out", *more))
        self.run_program("run", "s.toml", "-o", "out", "--resume", "--dry-run")  # only looks

    def test_a_ledger_waits_a_while_and_no_longer(self):
        self.output()
        lock = self.held(".L.lock")
        process = subprocess.Popen([PROGRAM, *self.record("L", "one")], cwd=self.path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        self.assertFalse((self.path / "L").exists())
        lock.close()
        process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 0)
        self.held(".L.lock")
        self.assertIn("L: another process is writing to it", self.refused(*self.record("L", "two")))

    @unittest.skipIf(os.geteuid() != 0, "only root can be somebody else")
    def test_a_lock_that_somebody_else_has_left_keeps_nobody_out(self):
        self.output()
        self.path.chmod(0o777), (self.path / "d.npy").chmod(0o644)
        (self.path / ".L.lock").touch(0o644)

        def nobody():
            os.setgroups([]), os.setgid(65534), os.setuid(65534)
        done = subprocess.run([PROGRAM, *self.record("L", "one")], cwd=self.path, timeout=LIMIT, capture_output=True, preexec_fn=nobody)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.listing(), ["L", "d.npy"])
        lock = self.held(".L.lock")  # nor does it let anybody in who may not: at most after a while
        done = subprocess.run([PROGRAM, *self.record("L", "two")], cwd=self.path, timeout=LIMIT, capture_output=True, preexec_fn=nobody)
        self.assertIn(b"L: another process is writing to it", done.stderr)
        lock.close()

    @unittest.skipIf(os.geteuid() != 0, "only root can be somebody else")
    def test_who_may_not_write_is_told_so_at_once(self):
        self.output()
        self.path.chmod(0o755), (self.path / "d.npy").chmod(0o644)
        (self.path / "sticky").mkdir()
        (self.path / "sticky").chmod(0o1777)
        (self.path / "sticky" / LOCK).touch(0o644)

        def nobody():
            os.setgroups([]), os.setgid(65534), os.setuid(65534)

        def run(*words):
            return subprocess.run([PROGRAM, *words], cwd=self.path, timeout=LIMIT, capture_output=True, preexec_fn=nobody)
        (self.path / "closed").mkdir(0o755)
        for words in (self.record("L", "one"), (*CENSUS[:-1], "closed")):
            done = run(*words)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
            self.assertIn(b"Permission denied", done.stderr)
        done = run(*CENSUS[:-1], "sticky")  # where nobody removes what is another's
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.path / "sticky/manifest.json").exists())

    def test_many_writers_of_one_recording_all_succeed(self):
        words = [PROGRAM, "devices", "record", "--device", "emulated:sm_70", "--tests", "1", "-o", "r"]
        processes = [subprocess.Popen(words, cwd=self.path, stderr=subprocess.PIPE) for _ in range(4)]
        said = [process.communicate(timeout=LIMIT)[1] for process in processes]
        self.assertEqual([process.returncode for process in processes], [0] * len(processes), said)
        self.assertEqual(self.listing(), ["r"])
        self.run_program("devices", "replay", "r")


class Pipes(Writing):
    """A pipe that nobody writes to, where a file belongs."""

    def test_they_are_refused_at_once(self):
        self.output()
        self.run_program(*self.record("L", "one"))
        self.run_program(*CENSUS)
        shutil.copytree(self.path / "report", self.path / "other")
        os.mkfifo(self.path / "pipe")
        for words in (("devices", "replay", "pipe"), ("ledger", "check", "pipe", "one", "--output", "d.npy"), ("ledger", "show", "pipe"),
                      ("ledger", "diff", "L", "pipe"), self.record("pipe", "two")):
            self.assertEqual(self.run_program(*words, code=2).splitlines()[-1], "ulpscope: pipe: is a pipe, not a file", words)
        for name in ("census.csv", "manifest.json"):
            (self.path / "other" / name).unlink()
            os.mkfifo(self.path / "other" / name)
            for words in (("report", "check", "other"), ("report", "diff", "report", "other")):
                self.assertIn(f"other/{name}: is a pipe, not a file", self.refused(*words))
            self.refused(*CENSUS[:-1], "other")
            shutil.rmtree(self.path / "other")
            shutil.copytree(self.path / "report", self.path / "other")

    def test_who_reads_from_a_pipe_gets_what_is_written(self):
        os.mkfifo(self.path / "pipe.npy")
        reader = subprocess.Popen(["cat", "pipe.npy"], cwd=self.path, stdout=subprocess.PIPE)
        self.run_program("cast", "normal:0,1:9", "--to", "e4m3", "-o", "pipe.npy")
        self.assertTrue(reader.communicate(timeout=LIMIT)[0].startswith(b"\x93NUMPY"))
        with open(self.path / "r", "wb") as file:
            done = subprocess.run([PROGRAM, "devices", "record", "--device", "emulated:sm_70", "--tests", "1", "-o", "/dev/stdout"],
                                  timeout=LIMIT, stdout=file, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.run_program("devices", "replay", "r")

    def test_verdicts_and_files_are_the_same_where_nobody_reads_the_output(self):
        self.output()
        self.run_program(*self.record("L", "one"))
        self.run_program("matmul", A, B, "--in", "e5m2", "--engine", "exact", "-o", "wrong.npy")
        product = ("matmul", A, B, "--in", "bf16")
        commands = {("verify", *product, "--output", "wrong.npy", "--junit", "x.xml"): 1,
                    ("verify", *product, "--output", "wrong.npy", "--json", "--junit", "x.xml"): 1,
                    ("ledger", "check", "L", "one", "--output", "wrong.npy", "--junit", "x.xml"): 1,
                    ("invariance", *product, "--output", "a=d.npy", "--output", "b=wrong.npy", "--junit", "x.xml"): 1,
                    ("explain", *product, "--engine", "exact", "--output", "wrong.npy"): 1,
                    ("diff", "d.npy", "wrong.npy", "--text"): 1,
                    ("conform", "--from", "e5m2", "--to", "e5m2", "--program", "head -c 255; printf x"): 1,
                    ("choose", "d.npy", "--to", "bf16", "-o", "x.toml"): 0,
                    ("sweep", "d.npy", "--to", "e4m3", "--csv"): 0, ("formats",): 0}
        for words, code in commands.items():
            written, files = [], self.listing()
            for reads in (True, False):
                reader, writer = os.pipe()
                if not reads:
                    os.close(reader)
                done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE,
                                      cwd=self.path, timeout=LIMIT)
                os.close(writer)
                if reads:
                    os.close(reader)
                new = [name for name in self.listing() if name not in files]
                written.append((done.returncode, done.stderr, [(self.path / name).read_bytes() for name in new]))
                for name in new:
                    (self.path / name).unlink()
            self.assertEqual(written[0], written[1], words)
            self.assertEqual(written[0][0], code, (words, written[0][1]))
            self.assertEqual(len(written[0][2]), sum(word.startswith("x.") for word in words), words)


unittest.main()
