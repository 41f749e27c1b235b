#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program of machines with a GPU on emulated devices: the files that each phase writes, what all phases come to, exit codes.
usage: devices_program_test.py PROGRAM ULPSCOPE PLUGINS"""
import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

from emulation import not_emulated
from time_limit import LIMIT

PLUGINS = os.path.abspath(sys.argv.pop())
ULPSCOPE = os.path.abspath(sys.argv.pop())
PROGRAM = os.path.abspath(sys.argv.pop())
WGMMA = ("--device", "emulated:sm_90", "--instruction", "wgmma.f32.f16.f16", "--tests", "200")


def run(*words, program=PROGRAM, cwd=None, plugins="", more={}):
    done = subprocess.run([program, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, cwd=cwd, env={**os.environ, "ULPSCOPE_PLUGINS": plugins, **more}, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@not_emulated(PROGRAM, "it starts itself, without the emulator")
class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def test_all_phases_leave_their_files(self):
        code, out, err = run("all", *WGMMA, "--seconds", "60", "-o", self.path / "out")
        self.assertEqual((code, err), (0, ""), out)
        out = self.path / "out"
        names = {"devices.csv", "small_check.csv", "check.csv", "device.recording", "probe.csv", "cost.csv", "products.csv", "summary.txt"}
        self.assertLessEqual(names, {p.name for p in out.iterdir()})
        self.assertEqual({(r["verdict"], r["mismatches"]) for r in rows(out / "check.csv")}, {("same", "0")})
        self.assertEqual({r["operands"] for r in rows(out / "check.csv")}, {"adversarial", "chain"})
        probe = rows(out / "probe.csv")
        self.assertEqual({r["instruction"] for r in probe}, {"wgmma.f32.f16.f16"})
        done = [r for r in probe if r["feature"] != "not checked"]
        self.assertTrue(all(r["result"] == r["model"] for r in done))
        self.assertTrue(not done or "25" in [r["result"] for r in done if r["feature"] == "fraction_bits"])
        explained = {r["explained"] for r in rows(out / "products.csv")} - {"not checked"}  # of what there was time for
        self.assertTrue(not explained or "yes" in explained, explained)
        self.assertIn("float16", [r["format"] for r in rows(out / "cost.csv")])
        summary = (out / "summary.txt").read_text().splitlines()
        self.assertEqual([line.split(":")[0] for line in summary],
                         ["list", "record", "small_check", "interpreter", "check", "probe", "emulation", "cost", "products"])
        self.assertIn("250 tests, 0 mismatches, 0 failures", summary[4])
        with tarfile.open(self.path / "out.tar.gz") as archive:
            self.assertEqual({name for name in archive.getnames()}, {"out"} | {f"out/{p.name}" for p in out.iterdir()})
        self.assertFalse([p.name for p in out.iterdir() if "journal" in p.name or "part" in p.name or "new" in p.name])
        code, replayed, err = run("devices", "replay", out / "device.recording", "--csv", program=ULPSCOPE)
        self.assertEqual((code, err), (0, ""))
        self.assertGreater(len(replayed.splitlines()), 1)

    def test_what_goes_wrong_in_a_phase_is_told_by_all(self):
        expected = {"right": 0, "wrong": 1, "broken": 1}  # a failed instruction fails the check, as a wrong bit does
        for instruction, status in expected.items():
            code, out, err = run("all", "--device", "cuda:0", "--instruction", instruction, "--tests", "200", "--seconds", "3000", "-o",
                                 self.path / instruction, plugins=PLUGINS)
            self.assertEqual((code, err), (status, ""), out)
            self.assertIn("cost: exit code 3; cuda:0 has no library of matrix products", out)

    def test_a_process_goes_on_after_the_kernel_that_took_the_context(self):
        code, out, err = run("all", "--device", "cuda:1", "--tests", "40", "--seconds", "3000", "-o", self.path / "out", plugins=PLUGINS,
                             more={"FAKE_DEVICES_FRAGILE": "1"})
        self.assertEqual((code, err), (1, ""), out)
        for table in ("small_check.csv", "check.csv"):
            verdicts = {(r["instruction"], r["verdict"], r["remark"]) for r in rows(self.path / "out" / table)}
            self.assertEqual(verdicts, {("first", "same", ""), ("fatal", "failed", "fatal: cudaErrorIllegalAddress (as told)"),
                                        ("second", "same", ""), ("crash", "failed", "the process that asked for it ended"),
                                        ("third", "same", "")})
        failures = {r["instruction"]: r["result"] for r in rows(self.path / "out" / "probe.csv") if r["feature"] == "failure"}
        self.assertEqual(failures["fatal"], "fatal: cudaErrorIllegalAddress (as told)")
        self.assertEqual({r["instruction"] for r in rows(self.path / "out" / "probe.csv")},
                         {"first", "fatal", "second", "crash", "third"})
        code, replayed, err = run("devices", "replay", self.path / "out" / "device.recording", "--csv", program=ULPSCOPE)
        self.assertEqual({(r["instruction"], r["verdict"]) for r in csv.DictReader(replayed.splitlines())},
                         {("first", "same"), ("second", "same"), ("third", "same")})
        self.assertIn("check: exit code 1; 3 processes, of which the last says: ", out)

    def test_without_a_process_to_follow_the_rest_is_not_checked(self):
        code, out, _ = run("check", "--device", "cuda:1", "--tests", "40", plugins=PLUGINS, more={"FAKE_DEVICES_FRAGILE": "1"})
        self.assertEqual(code, 1)
        remarks = {r["instruction"]: r["remark"] for r in csv.DictReader(out.splitlines())}
        for instruction in ("second", "crash", "third"):
            self.assertEqual(remarks[instruction], "context lost after fatal")

    def test_no_library_is_no_failure(self):
        fragile = {"FAKE_DEVICES_FRAGILE": "1"}
        code, out, err = run("all", "--device", "cuda:1", "--instruction", "first", "--tests", "40", "--seconds", "3000", "-o",
                             self.path / "out", plugins=PLUGINS, more=fragile)
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("cost: exit code 3; cuda:1 has no library of matrix products: ulpscope_cublas cannot be opened", out)
        for phase in ("cost", "products"):
            self.assertEqual(run(phase, "--device", "cuda:1", plugins=PLUGINS, more=fragile)[0], 3)

    def test_compute_sanitizer_watches_the_interpreter_where_it_is(self):
        tools = self.path / "tools"
        tools.mkdir()
        (tools / "compute-sanitizer").write_text(f'#!/bin/sh\necho "$@" >>{self.path}/watched\nshift 4\nexec "$@"\n')
        (tools / "compute-sanitizer").chmod(0o755)
        words = ("all", "--device", "cuda:0", "--instruction", "right", "--tests", "40", "--seconds", "3000", "-o")
        code, out, err = run(*words, self.path / "out", plugins=PLUGINS, more={"PATH": f"{tools}:{os.environ['PATH']}"})
        self.assertEqual((code, err), (0, ""), out)
        watched = (self.path / "watched").read_text().splitlines()
        self.assertEqual(len(watched), 1)
        self.assertTrue(watched[0].startswith("--tool memcheck --error-exitcode 1 /"), watched)
        self.assertIn(" interpreter --device cuda:0 ", watched[0])
        self.assertNotIn("there is no compute-sanitizer", out)
        out = run(*words, self.path / "unwatched", plugins=PLUGINS)[1]
        if not shutil.which("compute-sanitizer") and not os.path.exists("/usr/local/cuda/bin/compute-sanitizer"):
            self.assertIn("== interpreter: the emulator on the device beside the one here; there is no compute-sanitizer", out)

    def test_the_files_are_those_of_the_commands(self):
        pairs = {("list",): ("devices",), ("check", "--tests", "100"): ("devices", "check", "--tests", "100"),
                 ("probe", "--instruction", "wgmma.f32.f16.f16"): ("probe", "--instruction", "wgmma.f32.f16.f16")}
        for phase, command in pairs.items():
            device = ("--device", "emulated:sm_80" if "wgmma.f32.f16.f16" not in phase else "emulated:sm_90")
            code, out, _ = run(*phase, *device)
            self.assertEqual((code, out), run(*command, *device, "--csv", program=ULPSCOPE)[:2], phase)

    def test_what_there_was_no_time_for_is_said(self):
        run("check", "--device", "emulated:sm_90", "--tests", "300000", "--seconds", "1", "-o", "check.csv", cwd=self.path)
        remarks = [r["remark"] for r in rows(self.path / "check.csv") if r["verdict"] == "not checked"]
        self.assertEqual(set(remarks), {"time ran out"})

    def test_errors(self):
        expected = {("check", "--device", "cuda:99"): (4, "no device 'cuda:99'"), ("all", "--device", "cuda:99", "-o", "x"): (4, ""),
                    ("nonsense",): (2, "nonsense: no such phase"), ("check", "--what", "1"): (2, "--what: no such option"),
                    ("check", "--tests", "x"): (2, "--tests x: give a whole number"), ("check", "--tests"): (2, "--tests: needs a value"),
                    ("all",): (2, "all: give -o FOLDER"), ("check", "all"): (2, "all: there is a phase already"),
                    ("cost", "--device", "emulated:cdna3"): (3, "emulated:cdna3 has no library"),
                    ("list", "--device", "emulated:sm_90", "-o", "no/such/file"): (2, "no/such/file: cannot be written"),
                    (): (2, "")}
        for words, (status, message) in expected.items():
            code, _, err = run(*words, cwd=self.path)
            self.assertEqual(code, status, (words, err))
            self.assertIn(message, err)
            self.assertLessEqual(err.count("\n"), 1, err)
        self.assertEqual(run("--help")[0], 0)
        self.assertIn(r"no device 'x\x0a::error::y\x1b[31m'", run("list", "--device", "x\n::error::y\x1b[31m")[2])


unittest.main()
