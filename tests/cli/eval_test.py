#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `ulpscope eval` as scripts and people do: bad lines, slow writers, closed pipes. What it computes is judged elsewhere
(eval_test.cpp). usage: eval_test.py PROGRAM"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop(1))
ADD = ("--op", "add", "--format", "float16")


def run(stdin, *words, program=PROGRAM):
    done = subprocess.run([program, "eval", *words], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Lines(unittest.TestCase):
    def test_result_lines_are_testfloats(self):
        known = {("add",): (b"3C00 1000\n", "3C00 1000 3C00 01\n"), ("div",): (b"3C00 8000\n", "3C00 8000 FC00 08\n"),
                 ("sqrt",): (b"C000\n", "C000 7FFF 10\n"), ("fma",): (b"7BFF 7BFF 0000\n", "7BFF 7BFF 0000 7C00 05\n"),
                 ("le",): (b"3C00 3C00\n", "3C00 3C00 1 00\n"), ("lt",): (b"3C00 7E00\n", "3C00 7E00 0 10\n"),
                 ("eq",): (b"3C00 7E00\n", "3C00 7E00 0 00\n"), ("mul", "--tininess", "before"): (b"0400 3BFF\n", "0400 3BFF 0400 03\n"),
                 ("mul", "--tininess", "AFTER"): (b"0400 3BFF\n", "0400 3BFF 0400 03\n"),
                 ("Round-To-Int",): (b"3E00\n", "3E00 4000 00\n"), ("convert", "--from", "e4m3"): (b"7e\n", "7E 5F00 00\n")}
        for words, (line, result) in known.items():
            self.assertEqual(run(line, "--format", "fp16", "--op", *words), (0, result, ""), words)

    def test_a_code_takes_its_formats_digits(self):
        for name, digits in (("e2m1", 1), ("e2m2", 2), ("e3m4", 2), ("e4m4", 3), ("tf32", 5), ("float32", 8), ("float64", 16)):
            self.assertEqual(run(b"0 1\n", "--op", "lt", "--format", name)[1], f"{0:0{digits}X} {1:0{digits}X} 1 00\n", name)
            self.assertEqual(run(b"0\n", "--op", "sqrt", "--format", name)[1], f"{0:0{digits}X} {0:0{digits}X} 00\n", name)

    def test_spacing_case_and_line_ends_are_free(self):
        for text in (b"abcd 3c00\n", b"ABCD 3C00", b"aBcD 3c00\r\n", b" \tABCD \t 3C00\t \n", b"ABCD 3C00 \r\n", b"ABCD 3C00\r"):
            self.assertEqual(run(text, "--op", "lt", "--format", "fp16"), (0, "ABCD 3C00 1 00\n", ""), text)

    def test_no_lines_give_no_lines(self):
        self.assertEqual(run(b"", *ADD), (0, "", ""))

    def test_line_i_rounds_as_element_i_of_cast(self):
        codes = [(i * 40503) & 0x7bff for i in range(70000)]  # finite; more text than one read returns
        with tempfile.TemporaryDirectory() as folder:
            header = f"{{'descr': '<f2', 'fortran_order': False, 'shape': ({len(codes)},), }}"
            header += " " * (-(len(header) + 11) % 64) + "\n"
            data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(codes)}H", *codes)
            (pathlib.Path(folder) / "in.npy").write_bytes(data)
            for options in ("--rounding stochastic", "--rounding stochastic --seed 7 --random-bits 5", "--rounding upward"):
                subprocess.run([PROGRAM, "cast", "in.npy", "--to", "e4m3", "--codes", "-o", "out.npy", *options.split()], cwd=folder,
                               check=True, timeout=LIMIT)
                cast = (pathlib.Path(folder) / "out.npy").read_bytes()[-len(codes):]
                code, out, err = run("".join(f"{c:04X}\n" for c in codes).encode(), "--op", "convert", "--from", "fp16", "--format",
                                     "e4m3", *options.split())
                self.assertEqual((code, err), (0, ""))
                got = [int(line.split()[1], 16) for line in out.splitlines()]
                self.assertEqual(len(got), len(codes))
                differing = [(i, g, c) for i, (g, c) in enumerate(zip(got, cast)) if g != c]
                self.assertEqual(differing[:3], [], options)

    def test_lines_may_be_cut_anywhere(self):
        line, count = b"3C00 \t 3C00 \r\n", 60000
        self.assertTrue(run(line * count, *ADD)[1] == "3C00 3C00 4000 00\n" * count)
        with subprocess.Popen([PROGRAM, "eval", *ADD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            for i in range(0, 5 * len(line)):
                program.stdin.write(line[i % len(line):][:1])
                program.stdin.flush()
            self.assertEqual(program.communicate(timeout=LIMIT)[0], b"3C00 3C00 4000 00\n" * 5)

    def test_answers_come_before_more_input(self):
        with subprocess.Popen([PROGRAM, "eval", *ADD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            for _ in range(3):
                program.stdin.write(b"3C00 3C00\n3C")
                program.stdin.flush()
                self.assertEqual(program.stdout.readline(), b"3C00 3C00 4000 00\n")
                program.stdin.write(b"00 0\n")
                program.stdin.flush()
                self.assertEqual(program.stdout.readline(), b"3C00 0000 3C00 00\n")
            program.communicate(timeout=LIMIT)


class Refusals(unittest.TestCase):
    def test_a_bad_line_is_named_and_ends_the_run(self):
        takes = "add takes 2 codes of float16 on each line, e.g. 3C00 3C00"
        bad = {b"": "is empty; " + takes,
               b" \t": "is empty; " + takes,
               b"\r": "is empty; " + takes,
               b"3C00": "has 1 field; " + takes,
               b"3C00 3C00 4000 00": "has 4 fields; " + takes + "; have the operands alone generated, without results, as by "
                                     "`testfloat_gen -level 1 f16 2`",
               b"3C00 3C0G": "'3C0G' is not hexadecimal; write a code of float16 in hexadecimal digits alone, e.g. 3C00",
               b"0x3C00 3C00": "'0x3C00' is not hexadecimal; write a code of float16 in hexadecimal digits alone, e.g. 3C00",
               b"+1 -1": "'+1' is not hexadecimal; write a code of float16 in hexadecimal digits alone, e.g. 3C00",
               b"3C00,3C00 1": "'3C00,3C00' is not hexadecimal; write a code of float16 in hexadecimal digits alone, e.g. 3C00",
               b"3C00 \xff\x1b[": "'\\xFF\\x1B[' is not hexadecimal; write a code of float16 in hexadecimal digits alone, e.g. 3C00",
               b"1\r 1": "'1\\x0D' is not hexadecimal; write a code of float16 in hexadecimal digits alone, e.g. 3C00",
               b"1 03C00": "'03C00' has 5 digits; a code of float16 has 4, e.g. 3C00",
               b"1 " + b"0" * 60: "'" + "0" * 40 + "...' has 60 digits; a code of float16 has 4, e.g. 3C00",
               b"3C00\0 3C00": "holds a NUL byte; " + takes,
               b"1 1" + b" " * 4093: "has more than 4095 bytes; " + takes,
               b"A" * 1000000: "has more than 4095 bytes; " + takes}
        for line, message in bad.items():
            for after in (b"\n3C00 3C00\n", b"\n", b""):
                if line + after == b"":
                    continue
                got = run(b"3C00 3C00\n" * 2 + line + after, *ADD)
                self.assertEqual(got, (2, "3C00 3C00 4000 00\n" * 2, f"ulpscope: standard input, line 3: {message}\n"), line[:50])
        self.assertEqual(run(b"1 1" + b" " * 4092 + b"\n", *ADD)[0], 0)

    def test_a_code_beyond_the_format_is_refused(self):
        for name, line, message in (("tf32", b"7FFFF 80000", "'80000' is beyond the 19 bits of tf32; its codes end at 7FFFF"),
                                    ("e2m3", b"40 0", "'40' is beyond the 6 bits of float6_e2m3fn; its codes end at 3F"),
                                    ("float64", b"0 00000000000000001", "'00000000000000001' has 17 digits; a code of float64 has 16, "
                                                                        "e.g. 3FF0000000000000")):
            self.assertEqual(run(line, "--op", "add", "--format", name), (2, "", f"ulpscope: standard input, line 1: {message}\n"))

    def test_the_advice_fits_the_operation(self):
        for op, gen in (("fma", "f64 3"), ("sqrt", "f64"), ("le", "f64 2")):
            self.assertIn(f"`testfloat_gen -level 1 {gen}`", run(b"0 0 0 0 0 0\n", "--op", op, "--format", "float64")[2])
        self.assertIn("`testfloat_gen -level 1 f32 2`", run(b"0 0 0 0 0 0\n", "--op", "add", "--format", "fp32")[2])

    def test_the_line_number_counts_every_read(self):
        code, out, err = run(b"3C00 3C00\n" * 100000 + b"oops\n", *ADD)
        self.assertEqual((code, len(out)), (2, 18 * 100000))
        self.assertTrue(err.startswith("ulpscope: standard input, line 100001: has 1 field"), err)

    def test_usage_errors_are_one_line_and_exit_2(self):
        expected = {("--op", "plus", "--format", "fp16"): "unknown operation 'plus'; there are add, sub, ",
                    ("--op", "add", "--format", "fp17"): "unknown format 'fp17'; nearest: fp16",
                    ("--op", "convert", "--format", "fp16"): "--op convert: add --from F, the format of the operands",
                    ("--op", "convert", "--format", "fp16", "--from", "fp17"): "unknown format 'fp17'; nearest: fp16",
                    (*ADD, "--from", "e4m3"): "--from e4m3: only --op convert has operands of another format; leave --from out",
                    (*ADD, "--tininess", "during"): "--tininess 'during': give after or before",
                    (*ADD, "--rounding", "nearest"): "unknown rounding mode 'nearest'; nearest: ",
                    ("--op", "add"): "--format is required", ("--format", "fp16"): "--op is required", (*ADD, "extra"): ""}
        for words, start in expected.items():
            code, out, err = run(b"3C00 3C00\n", *words)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), (words, err))
            self.assertTrue(err.startswith("ulpscope: " + start), (words, err))

    def test_what_cannot_be_read_or_written_is_said(self):
        folder = os.open("/", os.O_RDONLY)
        done = subprocess.run([PROGRAM, "eval", *ADD], stdin=folder, stderr=subprocess.PIPE, timeout=LIMIT)
        os.close(folder)
        self.assertEqual((done.returncode, done.stderr), (2, b"ulpscope: standard input cannot be read: Is a directory\n"))
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "eval", *ADD], input=b"3C00 3C00\n", stdout=full, stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr), (2, b"ulpscope: standard output cannot be written: No space left on device\n"))

    def test_a_closed_pipe_ends_the_run_quietly(self):
        script = f"yes 3C00 3C00 | '{PROGRAM}' eval --op add --format fp16 | head -1; exit ${{PIPESTATUS[1]}}"
        done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, b"3C00 3C00 4000 00\n"))
        self.assertNotIn(b"ulpscope", done.stderr)


unittest.main()
