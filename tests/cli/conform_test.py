#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `ulpscope conform` on converters with planted faults: each must be named. usage: conform_test.py PROGRAM LIBRARY"""
import csv
import io
import json
import math
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from time_limit import LIMIT

LIBRARY = os.path.abspath(sys.argv.pop(2))
PROGRAM = os.path.abspath(sys.argv.pop(1))
HALF = ("--from", "fp16", "--to", "e5m2")
SINGLE = ("--from", "fp32", "--to", "e4m3", "--range", "0x3f800000:0x3fc00000")  # 1 to 1.5


def run(*words, cwd=None):
    done = subprocess.run([PROGRAM, "conform", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, cwd=cwd, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


def until(holds):
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def check(symbol, *words):
    """(exit code, rows, sentence)"""
    code, out, err = run("--library", LIBRARY, "--symbol", symbol, *words, "--csv")
    return code, list(csv.DictReader(io.StringIO(out))), err


class Faults(unittest.TestCase):
    def only(self, symbol, fault, explanation, *words):
        code, rows, sentence = check(symbol, *words)
        self.assertEqual(code, 1, sentence)
        self.assertEqual([(r["class"], r["explanation"]) for r in rows], [(fault, explanation)], sentence)
        self.assertEqual(rows[0]["count"], rows[0]["mismatches"])
        if explanation:
            self.assertEqual(rows[0]["otherwise"], "0", sentence)
        return rows[0]

    def test_a_right_converter_passes(self):
        code, rows, sentence = check("right", *HALF, "--nan", "sign")
        self.assertEqual((code, rows[0]["class"], rows[0]["compared"], rows[0]["mismatches"]), (0, "none", "65536", "0"), sentence)
        self.assertEqual(check("right_e4m3", "--from", "fp16", "--to", "e4m3", "--nan", "sign")[0], 0)
        self.assertEqual(check("single_right", *SINGLE)[0], 0)
        self.assertEqual(check("scalar", *HALF, "--signature", "scalar")[0], 0)
        self.assertEqual(check("scalar_of_float", *SINGLE, "--signature", "scalar_float")[0], 0)
        self.assertEqual(check("square_root", "--from", "fp16", "--op", "sqrt")[0], 0)

    def test_functions_of_every_half(self):
        def of_half_turns(x):  # the sine of pi x, by what is exact: x less the nearest whole number
            near = round(x)
            return math.copysign(0, x) if x == near else (-1 if near % 2 else 1) * math.sin(math.pi * (x - near))

        def half(function, x):
            try:
                return struct.pack("<e", function(x))
            except OverflowError:
                return struct.pack("<e", math.inf)
            except ValueError:  # poles, and what is no argument
                return struct.pack("<e", math.copysign(math.inf, x) if function == math.atanh and abs(x) == 1 else math.nan)

        functions = {"acos": math.acos, "acosh": math.acosh, "asin": math.asin, "asinh": math.asinh, "atanh": math.atanh,
                     "erfc": math.erfc, "exp10": lambda x: 10.0 ** x, "sinpi": of_half_turns}
        with tempfile.TemporaryDirectory() as folder:
            for name, function in functions.items():
                numbers = struct.unpack("<65536e", struct.pack("<65536H", *range(65536)))
                codes = b"".join(half(function, x) if math.isfinite(x) or name != "sinpi" else b"\x00\x7e" for x in numbers)
                pathlib.Path(folder, "dump").write_bytes(codes)
                code, out, err = run("--dump", "dump", "--from", "fp16", "--op", name, "--csv", cwd=folder)
                self.assertEqual(code, 0, name + out + err)
                pathlib.Path(folder, "dump").write_bytes(codes[:2 * 0x3800] + b"\x34\x12" + codes[2 * 0x3801:])  # of 1/2
                self.assertEqual(run("--dump", "dump", "--from", "fp16", "--op", name, cwd=folder)[0], 1)

    def test_scattered_results_are_counted_by_what_they_are(self):
        # From 1 on 65536 floats are 1 in e4m3, 0x38; upward they are 0x39, but for the first, which is 1 itself.
        words = ("--dump", "dump", "--from", "fp32", "--to", "e4m3", "--range", "0x3f800000:0x3f810000", "--csv")
        codes = bytes((i * 2654435761 >> 13) % 256 for i in range(1 << 16))
        nans = codes.count(0x7f) + codes.count(0xff)
        self.assertNotEqual(codes[0], 0x39)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "dump").write_bytes(codes)
            for ulp, right, upward in ((0, {0x38}, codes.count(0x39)), (2, {0x36, 0x37, 0x38, 0x39, 0x3a}, 0)):
                rows = list(csv.DictReader(io.StringIO(run(*words, "--ulp", str(ulp), cwd=folder)[1])))
                wrong = sum(code not in right for code in codes)
                counts = {"other": wrong - nans - upward, "nan": nans, "off_by_one": upward}
                self.assertEqual({r["class"]: int(r["count"]) for r in rows}, {k: v for k, v in counts.items() if v})
                first = next(i for i, code in enumerate(codes) if code not in right and code & 0x7f != 0x7f and (ulp or code != 0x39))
                self.assertEqual(rows[0]["input"], f"{0x3f800000 + first:08x}")

    def test_truncation(self):
        row = self.only("truncates", "rounding_mode", "toward_zero", *HALF)
        # 64512 codes are finite; of 256 codes between two neighbours of e5m2 the upper 127 or, with the tie, 128 round up.
        self.assertGreater(int(row["count"]), 30000)

    def test_ties_away(self):
        self.only("ties_away", "tie", "nearest_away", *HALF)

    def test_ties_that_no_rounding_mode_sends_so(self):
        # A tie has one bit more than the two of e5m2's fractions: its half's last seven bits are zero, the eighth is one.
        ties = [x for x in range(0x7c00) if x % 256 == 128]
        row = self.only("ties_to_zero", "tie", "ties toward zero", *HALF)
        self.assertEqual(int(row["count"]), 2 * sum(x // 256 % 2 for x in ties))
        row = self.only("ties_to_odd", "tie", "ties to odd", *HALF)
        self.assertEqual(int(row["count"]), 2 * len(ties))
        code, rows, sentence = check("ties_to_zero", *HALF, "--range", "0x3d80:0x3d90")
        self.assertEqual([(r["inputs"], r["class"], r["count"], r["expected"], r["got"]) for r in rows],
                         [("0x3d80:0x3d90", "tie", "1", "3e", "3d")], sentence)

    def test_saturation(self):
        self.only("saturates", "overflow", "saturating", *HALF)
        self.only("saturates_e4m3", "overflow", "saturating", "--from", "fp16", "--to", "e4m3")
        self.only("right_e4m3", "overflow", "nonsaturating", "--from", "fp16", "--to", "e4m3", "--policy", "saturating")

    def test_no_tolerance_takes_a_number_for_infinity(self):
        self.only("saturates", "overflow", "saturating", *HALF, "--ulp", "1")
        self.only("right", "overflow", "nonsaturating", *HALF, "--policy", "saturating", "--ulp", "1")

    def test_what_few_overflows_fit_is_no_cause(self):
        # 448 for what is between the tie 464 and 480, 63 steps of 1/4 and the other sign; up to 466 that is what cutting to bfloat16 gives.
        row = self.only("saturates_early", "overflow", "", "--from", "fp16", "--to", "e4m3")
        self.assertEqual(row["count"], "126")

    def test_a_wrong_sign_is_no_overflow(self):
        code, rows, sentence = check("loses_sign", "--from", "fp16", "--to", "e4m3", "--range", "0xdec0:0xdec1")  # -432, a tie
        self.assertEqual([(r["class"], r["expected"], r["got"]) for r in rows], [("other", "fe", "7e")], sentence)
        code, rows, sentence = check("loses_sign", "--from", "fp16", "--to", "e4m3")
        self.assertEqual([(r["class"], r["explanation"]) for r in rows], [("other", ""), ("negative_zero", "")], sentence)
        beyond = ("--from", "fp16", "--to", "e4m3", "--policy", "saturating", "--range", "0xf000:0xf001")  # -8192
        self.assertEqual(check("loses_sign", *beyond)[1][0]["class"], "overflow")

    def test_flush(self):
        row = self.only("flushes", "flush", "flush_subnormals", *HALF)
        self.assertEqual(row["expected"], "01")

    def test_nan_sign(self):
        self.assertEqual(check("loses_nan_sign", *HALF)[0], 0)  # any NaN is as good, unless
        row = self.only("loses_nan_sign", "nan_sign", "", *HALF, "--nan", "sign")
        self.assertEqual(row["count"], "1023")
        self.assertEqual((row["input"], row["expected"], row["got"]), ("fc01", "ff", "7f"))

    def test_nan(self):
        row = self.only("nan_to_zero", "nan", "", *HALF)
        self.assertEqual((row["count"], row["got_value"]), ("2046", "0"))

    def test_negative_zero(self):
        row = self.only("loses_zero_sign", "negative_zero", "", *HALF)
        self.assertEqual((row["input"], row["expected"], row["got"]), ("8000", "80", "00"))

    def test_double_rounding(self):
        self.only("through_half", "double_rounding", "through float16", *SINGLE)
        self.only("through_brain", "double_rounding", "through bfloat16", *SINGLE)
        self.only("through_cut_brain", "double_rounding", "through bfloat16 (toward_zero)", *SINGLE)

    def test_one_wrong_result_is_off_by_one(self):
        row = self.only("wrong_once", "off_by_one", "", *HALF)
        self.assertEqual((row["count"], row["input"], row["expected"], row["got"]), ("1", "3c01", "3c", "3d"))
        self.assertEqual(check("wrong_once", *HALF, "--ulp", "1")[0], 0)
        self.only("two_codes_off", "other", "", *HALF, "--ulp", "1")

    def test_two_faults_are_told_apart(self):
        code, rows, sentence = check("truncates_and_loses_nan_sign", *HALF, "--nan", "sign")
        self.assertEqual([(r["class"], r["explanation"]) for r in rows],
                         [("rounding_mode", "toward_zero"), ("nan_sign", "")], sentence)

    def test_functions(self):
        self.only("square_root_cut", "rounding_mode", "toward_zero", "--from", "fp16", "--op", "sqrt")
        self.assertEqual(check("square_root_cut", "--from", "fp16", "--op", "sqrt", "--ulp", "1")[0], 0)
        self.assertEqual(check("square_root", "--from", "fp16", "--op", "rcp")[0], 1)

    def test_float64_is_a_sample_and_finds_double_rounding(self):
        words = ("--from", "fp64", "--to", "fp16")
        code, rows, sentence = check("double_right", *words)
        self.assertEqual((code, rows[0]["inputs"]), (0, "sample"), sentence)
        self.only("double_through_single", "double_rounding", "through float32", *words)

    def test_the_floating_point_environment_is_kept(self):
        self.assertEqual(check("spoils_environment", *SINGLE)[0], 0)

    def test_presets_prescribe_every_bit_of_a_nan(self):
        self.assertEqual(check("loses_nan_sign", *HALF, "--preset", "cuda_nosat")[0], 0)
        self.only("right", "nan_sign", "", *HALF, "--preset", "cuda_nosat")
        self.assertEqual(check("right", *HALF, "--preset", "pytorch")[0], 0)
        self.only("right", "nan", "", *HALF, "--preset", "ml_dtypes")  # 0x7e, not 0x7f
        code, out, _ = run("--list-presets", "--csv")
        self.assertEqual(code, 0)
        self.assertTrue(all(r["source"] for r in csv.DictReader(io.StringIO(out))))


class Numbers(unittest.TestCase):
    def test_threads_change_no_byte_and_shards_add_up(self):
        words = ("--library", LIBRARY, "--symbol", "truncates", *HALF, "--json")
        one = run(*words, "--threads", "1", "--subject-threads", "1")
        self.assertEqual(one, run(*words, "--threads", "3"))
        total = int(json.loads(one[1])["conform"][0]["mismatches"])
        parts = [check("truncates", *HALF, "--range", r)[1][0]["mismatches"] for r in ("0:0x4000", "0x4000:50000", "50000:65536")]
        self.assertEqual(sum(map(int, parts)), total)

    def test_nothing_compared_is_vacuous(self):
        self.assertEqual(check("right", *HALF, "--range", "5:5")[0], 3)
        self.assertEqual(check("right", "--from", "fp16", "--to", "e2m1", "--range", "0x7c01:0x8000")[0], 3)  # only NaN

    def test_dumps_and_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            self.assertEqual(run("--from", "fp16", "--to", "fp16", "--write-inputs", "in.bin", cwd=folder)[0], 0)
            self.assertEqual((path / "in.bin").read_bytes(), struct.pack("<65536H", *range(65536)))
            same = ("--from", "fp16", "--to", "fp16")
            self.assertEqual(run("--dump", "in.bin", *same, cwd=folder)[0], 0)
            code, _, err = run("--dump", "in.bin", *HALF, cwd=folder)
            self.assertEqual((code, err.count("\n")), (2, 1))
            header = "{'descr': '<u2', 'fortran_order': False, 'shape': (65536,), }"
            header += " " * (-(len(header) + 11) % 64) + "\n"
            (path / "in.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                                          + (path / "in.bin").read_bytes())
            self.assertEqual(run("--dump", "in.npy", *same, cwd=folder)[0], 0)
            code, _, err = run("--dump", "in.npy", "--from", "fp16", "--to", "fp16", "--range", "0:9", cwd=folder)
            self.assertEqual((code, err), (2, "ulpscope: in.npy: has 65536 elements; there are 9 results of float16 in words of 2 bytes\n"))
        self.assertEqual(run("--program", "cat", *same)[0], 0)
        self.assertEqual(run("--program", "cat", "--from", "fp64", "--to", "fp64")[0], 0)  # a sample of both
        code, _, err = run("--program", "sh -c 'kill -9 $$'", *same)
        self.assertEqual((code, err.count("ulpscope: ")), (2, 1))  # the shell says `Killed` before
        self.assertIn("and was killed by signal 9\n", err)
        self.assertEqual(run("--program", "cat", "--from", "fp32", "--to", "fp32", "--range", "0:5000000", "--nan", "any")[0], 0)
        slurp = f"{sys.executable} -c 'import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())'"
        self.assertEqual(run("--program", slurp, "--from", "fp32", "--to", "fp32", "--range", "0:5000000")[0], 0)


class FirstMismatches(unittest.TestCase):
    """Wrong results are said at once on standard error, and classified at the end."""

    def test_they_are_known_while_the_program_is_still_converting(self):
        with tempfile.TemporaryDirectory() as folder:
            seen = pathlib.Path(folder) / "seen"
            converter = pathlib.Path(folder) / "converter.py"
            # From 100 on results are one too large. After 4096 of 65536 it waits until somebody has seen that.
            converter.write_text(f"""import pathlib, struct, sys, time
results = [x + (x >= 100) for x in range(65536)]
results[-1] = 0x7c00
def write(part):
    sys.stdout.buffer.write(struct.pack(f"<{{len(part)}}H", *part))
    sys.stdout.buffer.flush()
write(results[:4096])
while not pathlib.Path({str(seen)!r}).exists():
    time.sleep(0.01)
write(results[4096:])
""")
            command = [PROGRAM, "conform", "--program", f"{sys.executable} {converter}", "--from", "fp16", "--to", "fp16", "--csv",
                       "--timeout", str(LIMIT / 2)]
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                first = process.stderr.readline()
                seen.touch()
                rest, out = process.stderr.read(), process.stdout.read()
        number, next_one = 100 * 2**-24, 101 * 2**-24  # subnormal
        self.assertEqual(first, f"wrong: 0064 ({number!r}) became 0065 ({next_one!r}), right is 0064 ({number!r})\n")
        self.assertEqual([line.split()[1] for line in rest.splitlines()[:-1]], ["0065", "0066", "0067", "0068"])
        self.assertEqual(process.returncode, 1)
        self.assertTrue(out.startswith("subject,operation,"))

    def test_of_libraries_and_dumps_too(self):
        first = [f"wrong: 3f8{x:05x} " for x in range(0x80001, 0x80006)]
        cut = ("--library", LIBRARY, "--symbol", "through_half", *SINGLE)
        code, out, err = run(*cut, "--json")
        self.assertEqual((code, [line[:16] for line in err.splitlines()[:-1]]), (1, first))
        self.assertEqual(len(json.loads(out)["examples"]), 3)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "zeros").write_bytes(bytes(65536))
            code, out, err = run("--dump", "zeros", *HALF, "--text", cwd=folder)
        self.assertEqual((code, err.count("\nwrong: ")), (1, 4), err)
        self.assertNotIn("wrong: ", out)
        self.assertEqual(run("--library", LIBRARY, "--symbol", "right", *HALF, "--text")[2], "")


class Errors(unittest.TestCase):
    def refused(self, part, *words):
        code, out, err = run(*words)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        self.assertIn(part, err)

    def test_programs_that_do_not_answer(self):
        big = ("--from", "fp32", "--to", "fp32", "--range", "0:5000000")
        self.refused("wrote 0 of 20000000 bytes", "--program", "true", *big)
        self.refused("exited with code 3", "--program", "exit 3", *big)
        self.refused("wrote 1000 of", "--program", "head -c 1000", *big)
        self.refused("wrote more than the 20000000 bytes", "--program", "cat; echo more", *big)
        self.refused("killed by signal 9", "--program", "kill -9 $$", *big)
        self.refused("wrote every result, but exited with code 4", "--program", "cat; exit 4", *big)
        self.refused("closed its output", "--program", "exec >&-; exec sleep 1000", *big)
        self.refused("exited with code 127", "--program", "/nonexistent/converter 2>/dev/null", *big)

    def test_libraries_that_are_not_there(self):
        self.refused("cannot be loaded", "--library", "missing.so", "--symbol", "f", *HALF)
        self.refused("has no function missing", "--library", LIBRARY, "--symbol", "missing", *HALF)
        self.refused(":crashes: crashed", "--library", LIBRARY, "--symbol", "crashes", *HALF)
        with tempfile.TemporaryDirectory() as folder:
            name = folder + "/l\n::error::planted\x1b[31m.so"
            os.symlink(LIBRARY, name)
            self.refused(r"l\x0a::error::planted\x1b[31m.so:crashes: crashed", "--library", name, "--symbol", "crashes", *HALF)
        self.refused("scalar_float takes", "--library", LIBRARY, "--symbol", "right", "--signature", "scalar_float", *HALF)

    def test_a_library_that_ends_the_process_has_not_passed(self):
        for name in ("exits", "exits_at_once"):
            for threads in ("1", "2"):
                self.refused(f":{name}: has ended the process, with exit code 0", "--library", LIBRARY, "--symbol", name, *HALF,
                             "--subject-threads", threads)

        self.refused(":exits_with_five: has ended the process, with exit code 5", "--library", LIBRARY, "--symbol", "exits_with_five", *HALF)
        code, out, err = run("--library", LIBRARY, "--symbol", "is_killed", *HALF)
        self.assertEqual((code, out), (-signal.SIGUSR1, ""))
        self.assertIn(f":is_killed: its process was ended by signal {signal.SIGUSR1:d}", err)

    def test_the_exit_code_is_that_of_the_verdict(self):
        for name, expected in (("right", 0), ("ties_away", 1)):
            command = [PROGRAM, "conform", "--library", LIBRARY, "--symbol", name, *HALF]
            for how in ("", "exits", "crashes"):
                done = subprocess.run(command, capture_output=True, timeout=LIMIT,
                                      env={**os.environ, **({"CONFORM_SUBJECT_ENDS": how} if how else {})})
                self.assertEqual(done.returncode, expected, (name, how, done.stderr))
                self.assertTrue(done.stdout)
            done = subprocess.run(command, capture_output=True, timeout=LIMIT,
                                  preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
            self.assertEqual(done.returncode, expected, done.stderr)
        self.assertEqual(run("--library", LIBRARY, "--symbol", "closes_descriptors", *("--from", "fp16", "--to", "fp16"))[0], 0)

    def test_a_library_that_stands_still_ends_with_the_command(self):
        for ended_by in (signal.SIGTERM, signal.SIGKILL):
            command = subprocess.Popen([PROGRAM, "conform", "--library", LIBRARY, "--symbol", "stands_still", *HALF])
            self.addCleanup(command.kill)
            children = pathlib.Path(f"/proc/{command.pid}/task/{command.pid}/children")
            until(lambda: children.read_text().split())
            child = pathlib.Path("/proc", children.read_text().split()[0])
            command.send_signal(ended_by)
            self.assertEqual(command.wait(LIMIT), -ended_by)
            until(lambda: not child.exists() or ") Z " in (child / "stat").read_text())

    def test_bad_words(self):
        subject = ("--library", LIBRARY, "--symbol", "right")
        self.refused("give one of --library", *HALF)
        self.refused("--from F is missing", *subject)
        self.refused("--to F is missing", *subject, "--from", "fp16")
        self.refused("unknown operation", *subject, "--from", "fp16", "--op", "gamma")
        self.refused("unknown preset", *subject, *HALF, "--preset", "jax")
        self.refused("nothing is known of its float8_e3m4", *subject, "--from", "fp16", "--to", "e3m4", "--preset", "cuda")
        self.refused("--preset says", *subject, *HALF, "--preset", "cuda", "--policy", "saturating")
        self.refused("--range 9:3", *subject, *HALF, "--range", "9:3")
        self.refused("--range 0:65537", *subject, *HALF, "--range", "0:65537")
        self.refused("--range 1", *subject, *HALF, "--range", "1")
        self.refused("stochastic", *subject, *HALF, "--rounding", "stochastic")
        self.refused("--nan maybe", *subject, *HALF, "--nan", "maybe")
        self.refused("--ulp 123: float8_e5m2 has 123 numbers above zero", *subject, *HALF, "--ulp", "123")
        self.assertEqual(run(*subject, *HALF, "--ulp", "122")[0], 0)


if __name__ == "__main__":
    unittest.main()
