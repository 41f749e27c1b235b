#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `ulpscope audit matmul`: rules that kill, rules that cannot, programs as rules, what is left behind, error lines.
usage: audit_test.py PROGRAM"""
import csv
import io
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from emulation import is_emulated
from simd_paths import last_path
from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop(1))
PRODUCT = ("normal:0,1:16x256", "normal:0,1:256x16", "--seed", "0,1", "--in", "bf16", "--out", "bf16", "--engine", "sm_90")
IN_FLOAT32 = tuple("fp32" if word == "bf16" and before == "--out" else word for before, word in zip(("", *PRODUCT), PRODUCT))


def words_of(rules, more, product=PRODUCT):
    words = [PROGRAM, "audit", "matmul", *product, *more]
    for rule in rules:
        words += ["--rule", rule]
    return words if "--trials" in more else [*words, "--trials", "0"]


def run(*rules, more=(), env=None, cwd=None, product=PRODUCT):
    done = subprocess.run(words_of(rules, more, product), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, cwd=cwd, env={**os.environ, **(env or {})}, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


def rows(*rules, more=(), expected=0, **named):
    code, out, err = run(*rules, more=(*more, "--csv"), **named)
    assert code == expected, (code, err)
    return list(csv.DictReader(io.StringIO(out)))


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.temporary = self.path / "tmp"
        self.temporary.mkdir()
        self.env = {"TMPDIR": str(self.temporary)}

    def script(self, name, text):
        path = self.path / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def audit(self, *rules, more=()):
        done = run(*rules, more=more, env=self.env, cwd=self.path)
        self.assertEqual(list(self.temporary.iterdir()), [], "files are left behind")
        return done

    def test_a_program_that_always_passes_is_vacuous(self):
        code, out, err = self.audit("program:true {ref} {out}", more=("--text",))
        self.assertEqual((code, err), (3, ""))
        self.assertIn("required mutants LIVE: zeros, constant_mean, nan_everywhere,", out)

    def test_a_program_that_always_fails_rejects_the_correct_output(self):
        code, out, _ = self.audit("program:false {out}", more=("--text",))
        self.assertEqual(code, 1)
        self.assertIn("program:false {out}: REJECTS the correct output", out)

    def test_a_program_reads_what_rules_are_given(self):
        # The same rule, built in and as a program of its own, on the values that the files hold.
        check = self.script("check", "#!/usr/bin/env python3\n" + CHECK)
        table = rows("ulp:3", f"program:{check} {{ref}} {{out}} {{ref_codes}} {{out_codes}}", env=self.env)
        fates = {rule: [(row["mutant"], row["severity"], row["fate"]) for row in table if row["rule"].startswith(rule)]
                 for rule in ("ulp", "program")}
        self.assertEqual(fates["ulp"], fates["program"])
        self.assertGreater(len({fate for _, _, fate in fates["ulp"]}), 3)

    def test_long_names_of_rules_leave_one_table_in_text_and_are_whole_elsewhere(self):
        folders = [self.path / ("é" * 60 + end) for end in ("a", "b")]
        rules = [f"program:sh {folder}/a_check.sh {{out}}" for folder in folders]
        for folder in folders:
            folder.mkdir()
            (folder / "a_check.sh").write_text("exit 0\n")

        def heads(*asked):
            return [line for line in self.audit(*asked, more=("--text",))[1].split("\n") if line.startswith("mutant ")]

        self.assertRegex("\n".join(heads(rules[0], "bound")), r"^mutant +required +program:sh /\S*\.\.\._check.sh {out}  bound$")
        self.assertRegex("\n".join(heads(*rules)), r"^mutant +required +1: program:sh /.*{out}  2: program:sh /.*{out}$")
        self.assertIn(f"{rules[0]}: ", self.audit(rules[0], more=("--text",))[1])
        self.assertEqual({row["rule"] for row in rows(*rules, env=self.env, expected=3)}, set(rules))

    def test_other_exit_codes_and_signals_are_no_verdict(self):
        for body, said in (("echo no module >&2; exit 7", "exit code 7, where 0 accepts and 1 rejects: no module"),
                           ("kill -SEGV $$", "ended by signal 11"), ("exec /nonexistent", "exit code 12")):
            name = self.script("broken.sh", "#!/bin/sh\n" + body + "\n")
            code, out, err = self.audit(f"program:{name} {{ref}} {{out}}")
            self.assertEqual((code, out), (2, ""))
            self.assertIn("on the correct output it", err)
            self.assertIn(said, err)
            self.assertEqual(err.count("\n"), 1)

    def test_a_crash_on_a_mutant_is_not_a_kill(self):
        # Accepts everything but dies of NaN: a crash must not count as a rejection.
        check = self.script("check", "#!/usr/bin/env python3\n" + DIES_OF_NAN)
        table = rows(f"program:{check} {{out}}", env=self.env, expected=3)
        fate = {row["mutant"]: row["fate"] for row in table}
        self.assertEqual((fate["nan_element"], fate["nan_everywhere"], fate["zeros"]), ("broken", "broken", "lived"))

    def test_a_program_that_does_not_end_is_ended_with_its_children(self):
        name = self.script("slow.sh", "#!/bin/sh\nsleep 77.125 &\nsleep 77.125\n")
        start = time.monotonic()
        code, _, err = self.audit(f"program:{name} {{out}}", more=("--timeout", "0.3"))
        self.assertEqual(code, 2)
        self.assertIn("still running after 0.3 s", err)
        self.assertLess(time.monotonic() - start, 30)
        time.sleep(0.2)
        commands = [p.read_bytes() for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if os.access(p, os.R_OK)]
        self.assertEqual([c for c in commands if c.startswith(b"sleep\x0077.125")], [])

    def test_an_interrupted_command_leaves_no_files(self):
        started = self.path / "started"
        name = self.script("slow.sh", f"#!/bin/sh\ntouch {started}\nsleep 60\n")
        with subprocess.Popen(words_of([f"program:{name} {{out}}"], ()), env={**os.environ, **self.env}) as process:
            deadline = time.monotonic() + 60
            while not started.exists():
                self.assertIsNone(process.poll(), "ended before it began")
                self.assertLess(time.monotonic(), deadline, "did not begin")
                time.sleep(0.02)
            self.assertEqual(len(list(self.temporary.iterdir())), 1)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(30), -signal.SIGTERM)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_no_shell_reads_the_words(self):
        victim = self.path / "victim"
        code, _, err = self.audit(f"program:true {{out}} ; touch {victim} $(touch {victim}) `touch {victim}`")
        self.assertEqual(code, 3)
        self.assertFalse(victim.exists(), err)
        self.assertEqual(self.audit(f"program:sh -c 'touch {victim}; test -s {{out}}'")[0], 3)
        self.assertTrue(victim.exists())

    def test_programs_that_cannot_be_run_are_named(self):
        code, _, err = self.audit("program:./nowhere {ref} {out}")
        self.assertEqual(code, 2)
        told = ["program ./nowhere: cannot be run: No such file"]
        if is_emulated(PROGRAM):  # POSIX allows both, and so do emulators
            told.append("exit code 127")
        self.assertTrue(any(one in err for one in told), err)
        self.assertIn("a quote is not closed", self.audit("program:'true {out}")[2])
        self.assertIn("is not given the output", self.audit("program:true {ref}")[2])
        code, _, err = run("program:true {out}", env={"TMPDIR": "/nonexistent"})
        self.assertEqual(code, 2)
        self.assertIn("TMPDIR", err)


class Rules(unittest.TestCase):
    def test_known_rules_and_their_exit_codes(self):
        self.assertEqual(run("calc_diff:1e-3")[0], 0)
        code, out, _ = run("cosine", more=("--text",))
        self.assertEqual(code, 3)
        self.assertIn("LIVE: scale_off 5%, scale_off 10%, scale_off 100%.", out)
        # In float32 the correct output is not the exact product.
        self.assertEqual(run("ulp:0", product=IN_FLOAT32)[0], 1)
        self.assertEqual(run("ulp:0", "cosine", product=IN_FLOAT32)[0], 1)
        self.assertEqual(run("bitwise", more=("--reference", "engine"))[0], 0)

    def test_a_severity_is_where_a_rule_begins_to_kill(self):
        out = run("calc_diff:1e-3", more=("--text",))[1]
        line = next(line for line in out.splitlines() if line.startswith("scale_off"))
        self.assertEqual(line.split(), ["scale_off", "from", "5%", "from", "5%"])

    def test_correct_computations_in_other_orders(self):
        code, out, _ = run("calc_diff", "ulp:0", more=("--trials", "30", "--reference", "engine", "--text"),
                           product=IN_FLOAT32)
        self.assertEqual(code, 0)
        self.assertIn("calc_diff: accepts the correct output (0, limit 0.001); rejects 0 of 30 correct computations in other "
                      "orders (rate below 0.095 at 95 % confidence).", out)
        self.assertRegex(out, r"ulp:0: .* rejects [1-9]\d* of 30 correct computations in other orders, the first: ")

    def test_same_bytes_for_any_number_of_threads_and_simd_path(self):
        outputs = {run("calc_diff", "ulp:2", more=("--trials", "5", "--csv", "--threads", threads), env=env)[1]
                   for threads, env in (("1", {}), ("3", {}), ("2", {"ULPSCOPE_SIMD": last_path(PROGRAM)}))}
        self.assertEqual(len(outputs), 1)
        self.assertNotEqual(outputs, {""})

    def test_json_is_the_table(self):
        table = json.loads(run("calc_diff", more=("--json",))[1])
        self.assertEqual((table[0]["rule"], table[0]["mutant"], table[0]["fate"]), ("calc_diff", "none", "accepted"))
        self.assertEqual(len(table), len(rows("calc_diff")))

    def test_bad_words_are_answered_in_one_line(self):
        for rules, more, said in ((["cosin"], (), "the closest are cosine"), (["ulp:x"], (), "'x' is no number; write it like ulp:1"),
                                  (["ulp"], ("--reference", "gpu"), "give exact or engine"),
                                  (["ulp"], ("--timeout", "0"), "above 0"), ([], (), "--rule is required"),
                                  (["ulp"], ("--acc", "bf16"), "--acc bf16")):
            code, out, err = run(*rules, more=more)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertIn(said, err)
        empty = subprocess.run([PROGRAM, "audit", "matmul", "normal:0,1:0x4", "normal:0,1:4x4", "--in", "bf16", "--engine", "sm_90",
                                "--rule", "ulp"], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(empty.returncode, 2)


READ = """
import math, struct, sys
def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + size])
    kind, width = {"<f4": ("f", 4), "<u2": ("H", 2)}[header["descr"]]
    assert header["shape"] == (16, 16), header
    return struct.unpack(f"<256{kind}", data[10 + size:])
"""
CHECK = READ + """
ref, out, ref_codes, out_codes = map(read, sys.argv[1:])
for values, codes in ((ref, ref_codes), (out, out_codes)):
    for value, code in zip(values, codes):
        decoded = struct.unpack("<f", struct.pack("<I", code << 16))[0]
        if not (decoded == value or math.isnan(decoded) and math.isnan(value)): sys.exit(9)
for r, o in zip(ref, out):
    spacing = 2.0 ** max(math.frexp(r)[1] - 8, -133)
    if not abs(o - r) / spacing <= 3: sys.exit(1)
"""
DIES_OF_NAN = READ + """
if any(map(math.isnan, read(sys.argv[1]))): sys.exit(3)
"""

if __name__ == "__main__":
    unittest.main()
