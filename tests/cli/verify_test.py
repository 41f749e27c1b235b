# SPDX-License-Identifier: Apache-2.0
"""`ulpscope verify matmul` as a kernel's CI calls it. usage: verify_test.py PROGRAM"""
import csv
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
A, B = "normal:0,1:24x512", "normal:0,1:512x40"


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


class Verify(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *words):
        return subprocess.run([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=self.folder, timeout=LIMIT)

    def product(self, name, *words):
        done = self.run_program("matmul", A, B, "--seed", "0,1", "--in", "bf16", "-o", name, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return name

    def verify(self, output, *words):
        return self.run_program("verify", "matmul", A, B, "--seed", "0,1", "--in", "bf16", "--output", output, *words)

    def expect_error(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_right_outputs_pass(self):
        for engine in ("fma", "pairwise", "sm_80", "sm_90", "exact"):
            output = self.product("d.npy", "--engine", engine, "--out", "bf16")
            done = self.verify(output, "--out", "bf16", "--json")
            self.assertEqual(done.returncode, 0, done.stdout)
            row = json.loads(done.stdout)["verify"][0]
            self.assertEqual(row["verdict"], "pass")
            self.assertEqual(row["equal"] + row["within"], 24 * 40)

    def test_a_short_accumulator_fails(self):
        output = self.product("d.npy", "--engine", "block:n=32,f=13,out=rz", "--out", "float32")
        self.assertEqual(self.verify(output).returncode, 1)

    def test_zeros_fail(self):
        done = self.run_program("cast", "uniform:0,0:24x40", "--to", "float32", "-o", "zero.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.verify("zero.npy").returncode, 1)

    def test_engine_to_the_bit(self):
        output = self.product("d.npy", "--engine", "sm_90")
        self.assertEqual(self.verify(output, "--against", "engine", "--engine", "sm_90").returncode, 0)
        self.assertEqual(self.verify(output, "--against", "engine", "--engine", "sm_80").returncode, 1)
        self.assertEqual(self.verify(output, "--against", "engine", "--engine", "sm_90", "--split-k", "4").returncode, 1)

    def test_baseline(self):
        coarse, fine = self.product("coarse.npy", "--engine", "sm_80"), self.product("fine.npy", "--engine", "exact")
        self.assertEqual(self.verify(fine, "--against", coarse).returncode, 0)
        self.assertEqual(self.verify(coarse, "--against", fine).returncode, 1)
        self.assertEqual(self.verify(coarse, "--against", fine, "--at-most", "1e4").returncode, 0)
        verdicts = [[row["verdict"] for row in csv.DictReader(self.verify(*words, "--csv").stdout.splitlines())]
                    for words in ((fine, "--against", coarse), (coarse, "--against", fine))]
        self.assertEqual(verdicts, [["pass", ""], ["fail", ""]])

    def test_a_baseline_against_which_zeros_would_pass_says_nothing(self):
        fine = self.product("fine.npy", "--engine", "exact")
        zero, other = (self.product(f"{a}.npy", "--engine", "exact", "--alpha", a) for a in ("0", "-1"))
        for output, baseline in ((zero, zero), (zero, other), (fine, other)):
            done = self.verify(output, "--against", baseline, "--text")
            self.assertEqual(done.returncode, 3)
            self.assertIn("VACUOUS: an output of zeros would pass: relative Frobenius error", done.stdout)
        self.assertEqual(self.verify(other, "--against", zero).returncode, 1)
        self.assertEqual(self.verify(fine, "--against", fine, "--at-most", "1e15").returncode, 3)

    def test_the_same_bytes_with_any_number_of_threads(self):
        output = self.product("d.npy", "--engine", "sm_90")
        for form in ("--json", "--csv", "--text"):
            self.assertEqual(self.verify(output, form, "--threads", 1).stdout, self.verify(output, form, "--threads", 3).stdout)

    def test_subnormal_inputs_are_kept_where_results_alone_are_flushed(self):
        rows, columns, depth, tiny = 4, 3, 8, 1e-39
        b = [1e9 + 1e8 * (i % 9) for i in range(depth * columns)]
        sums = [sum(b[k * columns + j] for k in range(depth)) * tiny for _ in range(rows) for j in range(columns)]
        for name, shape, values in (("a", (rows, depth), [tiny] * rows * depth), ("b", (depth, columns), b),
                                    ("groups", (1, depth, columns), b), ("d", (rows, columns), sums),
                                    ("zero", (rows, columns), [0] * len(sums))):
            (self.folder / f"{name}.npy").write_bytes(npy("<f4", shape, struct.pack(f"<{len(values)}f", *values)))
        (self.folder / "ends.npy").write_bytes(npy("<i8", (1,), struct.pack("<q", rows)))
        product, grouped = ("matmul", "a.npy", "b.npy"), ("grouped_matmul", "a.npy", "groups.npy", "--offsets", "ends.npy")
        for words in (product, grouped):
            for output, options, code in (("d", (), 0), ("d", ("--flush-subnormals",), 0), ("d", ("--subnormals-are-zero",), 1),
                                          ("zero", ("--flush-subnormals",), 1)):
                with self.subTest(words=words, output=output, options=options):
                    done = self.run_program("verify", *words, "--output", f"{output}.npy", *options)
                    self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def test_junit_and_saved_case(self):
        output = self.product("d.npy", "--engine", "sm_90")
        done = self.verify(output, "--against", "engine", "--engine", "fma", "--junit", "j.xml", "--save", "kept", "--csv")
        self.assertEqual(done.returncode, 1)
        suite = xml.parse(self.folder / "j.xml").getroot()
        self.assertEqual(suite.get("failures"), "1")
        self.assertIn("FAIL", suite.find(".//failure").get("message"))
        command = (self.folder / "kept" / "command.txt").read_text().split()
        again = self.run_program(*command[1:])
        self.assertEqual(again.returncode, 1)
        without_label = [line.split("output.npy")[-1].split("d.npy")[-1] for line in (done.stdout, again.stdout)]
        self.assertEqual(*without_label)

    def test_a_baseline_is_kept_with_a_saved_case(self):
        coarse, fine = self.product("coarse.npy", "--engine", "sm_80"), self.product("fine.npy", "--engine", "exact")
        self.assertEqual(self.verify(coarse, "--against", fine, "--save", "kept", "--csv").returncode, 1)
        command = (self.folder / "kept" / "command.txt").read_text().split()
        (self.folder / fine).unlink()
        self.assertEqual(command[command.index("--against") + 1], "kept/baseline.npy")
        again = self.run_program(*command[1:])
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_rules_stand_beside_a_baseline_as_beside_a_bound(self):
        coarse, fine = self.product("coarse.npy", "--engine", "sm_80"), self.product("fine.npy", "--engine", "exact")
        beside = [json.loads(self.verify(fine, "--against", against, "--rule", "cosine", "--json").stdout)["rules"]
                  for against in ("exact", coarse)]
        self.assertEqual(beside[0][0]["rule"], "cosine")
        self.assertEqual(*beside)
        self.assertIn("lets_through", self.verify(fine, "--against", coarse, "--rule", "cosine", "--text").stdout)

    def test_float32_inputs_that_could_be_rounded_to_tf32_are_a_weak_check(self):
        # 2^-24 K of the sum of |ab| is allowed; tf32 changes it by about 2^-11.7 of the root of the sum of (ab)^2.
        for k, said in ((256, None), (2048, "tf32"), (8192, "bfloat16")):
            words = [f"normal:0,1:8x{k}", f"normal:0,1:{k}x8", "--seed", "0,1"]
            made = self.run_program("matmul", *words, "--engine", "exact", "-o", "d.npy")
            self.assertEqual(made.returncode, 0, made.stderr)
            done = self.run_program("verify", "matmul", *words, "--output", "d.npy", "--text")
            self.assertEqual(done.returncode, 0, done.stdout)
            line = f"; a weak check: inputs rounded to {said} would pass too" if said else "a weak check"
            self.assertEqual(line in done.stdout, said is not None, done.stdout)
            for narrow in ("tf32:nearest", "bfloat16"):  # as is so where it is said
                self.run_program("matmul", *words, "--in", narrow, "--engine", "exact", "-o", "n.npy")
                code = self.run_program("verify", "matmul", *words, "--output", "n.npy").returncode
                self.assertEqual(code == 0, narrow == "tf32:nearest" and k >= 2048 or k >= 8192, (k, narrow))
        narrowed = self.run_program("verify", "matmul", *words, "--in", "bfloat16", "--output", "n.npy", "--text")
        self.assertNotIn("rounded to", narrowed.stdout)

    def test_integers_are_answered_with_the_sums_that_take_them(self):
        (self.folder / "i.npy").write_bytes(npy("|i1", "(2, 2)", bytes(4)))
        done = self.run_program("verify", "matmul", "i.npy", "i.npy", "--output", "i.npy")
        self.expect_error(done, 2, "i.npy: holds int8; --acc int32 sums integers, --dtype F says that these are codes")

    def test_norms_of_one_element_say_that_every_result_is_0(self):
        (self.folder / "l.npy").write_bytes(npy("<f4", "(2, 1)", struct.pack("<2f", 1, 2)))
        (self.folder / "l0.npy").write_bytes(npy("<f4", "(2, 1)", bytes(8)))
        done = self.run_program("verify", "layer_norm", "l.npy", "--output", "l0.npy", "--text")
        self.assertEqual(done.returncode, 3)
        self.assertIn("VACUOUS: an output of zeros would pass: every exact result is 0; give inputs whose results are not",
                      done.stdout)

    def test_what_overflows_within_the_bound_is_counted(self):
        # Partial sums of 60000 + 60000 leave float16; in another order they do not.
        x = struct.pack("<8e", 60000, 60000, -60000, -59000, 1, 2, 3, 4)
        (self.folder / "x.npy").write_bytes(npy("<f2", "(2, 4)", x))
        infinity, nan = float("inf"), float("nan")
        outputs = {"good": (1000, 10), "inf": (infinity, 10), "old": (1000, 10.0078125), "nan": (nan, nan)}
        for name, values in outputs.items():
            (self.folder / f"{name}.npy").write_bytes(npy("<f2", "(2,)", struct.pack("<2e", *values)))
        words = ("verify", "sum", "x.npy", "--acc", "fp16", "--output")
        verify = lambda output, *more: self.run_program(*words, output, *more)
        done = verify("inf.npy", "--json")
        self.assertEqual(done.returncode, 0, done.stdout)
        row = json.loads(done.stdout)["verify"][0]
        self.assertEqual((row["nonfinite_admitted"], row["within"], row["max_ulp_error"]), (1, 1, "inf"))
        self.assertIn("1 are infinite or NaN where the exact result is finite: admitted", done.stdout)
        self.assertEqual(verify("inf.npy", "--against", "old.npy").returncode, 1)
        self.assertEqual(verify("good.npy", "--against", "old.npy").returncode, 0)
        self.assertEqual(verify("nan.npy").returncode, 1)  # the second row cannot overflow

    def test_what_cannot_be_written_is_said_before_a_verdict(self):
        output = self.product("d.npy", "--engine", "sm_90")
        done = self.verify(output, "--junit", "/dev/full")
        self.expect_error(done, 2, "/dev/full: cannot be written")
        self.assertEqual(done.stdout, "")

    def test_a_failure_says_how_to_look_for_its_cause(self):
        output = self.product("d.npy", "--engine", "block:n=32,f=13,out=rz")
        for form in ("--text", "--csv"):
            done = self.verify(output, form)
            said = (done.stdout if form == "--text" else done.stderr).split("hat else may give these bits:")[1].split("\n")
            command = next(line for line in said if "explain" in line).split()
            self.assertEqual((done.returncode, command[:3]), (1, ["ulpscope", "explain", "matmul"]))
            explained = self.run_program(*command[1:], "--csv")
            self.assertIn("behaves as an accumulator that 32 products at a time are aligned to", explained.stderr)
        right = self.verify(self.product("e.npy", "--engine", "fma"), "--text")
        self.assertNotIn("explain", right.stdout + right.stderr)

    def test_a_result_without_extents_has_words(self):
        output = self.product("d.npy", "--engine", "sm_90")
        done = self.run_program("verify", "sum", A, "--axis", "all", "--output", output)
        self.expect_error(done, 2, "d.npy 24x40: the result of these inputs is a scalar")

    def test_scales_of_a_saved_case_are_kept_where_they_are_files_of_float32(self):
        done = self.run_program("cast", "uniform:1,2:24x4", "--to", "float32", "-o", "scales.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        scales = ("--scale-a", "scales.npy", "--scale-a", "0.5", "--scale-b", "3")
        output = self.product("d.npy", "--engine", "exact", *scales)
        self.assertEqual(self.verify(output, *scales).returncode, 0)
        done = self.verify(output, *scales, "--alpha", "0.5", "--csv", "--save", "kept")
        self.assertEqual(done.returncode, 1)
        for name in ("scales.npy", output):
            os.remove(self.folder / name)
        command = (self.folder / "kept" / "command.txt").read_text().split()
        self.assertEqual(command.count("0.5"), 2, command)
        again = self.run_program(*command[1:])
        self.assertEqual(again.returncode, 1, again.stderr)
        counts = [line.split(",")[3:] for line in (done.stdout.splitlines()[1], again.stdout.splitlines()[1])]
        self.assertEqual(*counts)

    def test_nan_never_passes(self):
        output = self.product("d.npy", "--engine", "exact")
        data = bytearray((self.folder / output).read_bytes())
        data[-4:] = b"\x00\x00\xc0\x7f"
        (self.folder / output).write_bytes(bytes(data))
        for against in (["--against", "exact"], ["--against", "engine", "--engine", "fma"], ["--against", output]):
            self.assertEqual(self.verify(output, *against).returncode, 1, against)

    def test_nan_is_shown_as_it_is_stored(self):
        self.assertEqual(self.run_program("cast", "uniform:1,1:4", "--to", "fp32", "-o", "x.npy").returncode, 0)
        done = self.run_program("cast", "x.npy", "--to", "e5m2", "--codes", "-o", "y.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        data = bytearray((self.folder / "y.npy").read_bytes())
        data[-4:-1] = b"\xff\x7d\xfe"  # NaN all of them (OFP8 1.0, table 1)
        (self.folder / "y.npy").write_bytes(bytes(data))
        done = self.run_program("verify", "cast", "x.npy", "--out", "e5m2", "--output", "y.npy", "--output-dtype", "e5m2", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([element["out_code"] for element in json.loads(done.stdout)["worst"]], ["ff", "7d", "fe"])

    def test_worthless_bounds_are_refused(self):
        a, b = "uniform:0,1:4x4096", "uniform:0,1:4096x4"
        done = self.run_program("matmul", a, b, "--engine", "exact", "--in", "fp16", "--out", "fp16", "-o", "d.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_program("verify", "matmul", a, b, "--in", "fp16", "--acc", "float16", "--output", "d.npy", "--text")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("VACUOUS", done.stdout)

    def test_an_output_of_integers_says_its_format(self):
        def written(name, kind, shape, values):
            text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
            text += " " * (-(len(text) + 11) % 64) + "\n"
            form = {"<u2": "H", "<i4": "i"}[kind]
            (self.folder / name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() +
                                             struct.pack(f"<{len(values)}{form}", *values))

        written("codes.npy", "<u2", (2, 2), [0x4000] * 4)  # 2 in bfloat16
        ones = ("uniform:1,1:2x2", "uniform:1,1:2x2", "--in", "bf16", "--output", "codes.npy")
        self.expect_error(self.run_program("verify", "matmul", *ones), 2, "codes.npy holds integers: say with --out which format the output has")
        (self.folder / "ends.csv").write_text("2\n")
        groups = ("uniform:1,1:2x2", "uniform:1,1:1x2x2", *ones[2:], "--offsets", "ends.csv")
        self.expect_error(self.run_program("verify", "grouped_matmul", *groups), 2, "codes.npy holds integers: say with --out")
        for said in (("--out", "bf16"), ("--output-dtype", "bf16")):
            for words in (("matmul", *ones), ("grouped_matmul", *groups)):
                self.assertEqual(self.run_program("verify", *words, *said).returncode, 0)
        written("sums.npy", "<i4", (2, 2), [2] * 4)
        self.assertEqual(self.run_program("verify", "matmul", *ones[:2], "--acc", "int32", "--output", "sums.npy").returncode, 0)

    def test_scaled_sums_of_integers_are_judged(self):
        a, b = ((1, 2, -3, 4), (100, -50, 25, 7)), ((5, -6), (7, 8), (9, 10), (-11, 12))
        scale_a, scale_b = (0.5, 0.25), (2.0, 0.125)
        exact = [[sum(x * row[j] for x, row in zip(line, b)) for j in range(2)] for line in a]
        floats = lambda values: struct.pack(f"<{len(values)}f", *values)
        files = {"a.npy": npy("|i1", "(2, 4)", struct.pack("<8b", *sum(a, ()))), "b.npy": npy("|i1", "(4, 2)", struct.pack("<8b", *sum(b, ()))),
                 "sa.npy": npy("<f4", "(2, 1)", floats(scale_a)), "sb.npy": npy("<f4", "(1, 2)", floats(scale_b)),
                 "s.npy": npy("<i8", "(2, 2)", struct.pack("<4q", *sum(exact, []))), "far.npy": npy("<i8", "(2, 2)", struct.pack("<4q", 1 << 40, 0, 0, 0))}
        for name, scales in (("d.npy", scale_a), ("next.npy", scale_a[::-1]), ("none.npy", (1, 1))):
            files[name] = npy("<f4", "(2, 2)", floats([exact[i][j] * scales[i] * scale_b[j] for i in range(2) for j in range(2)]))
        files["groups.npy"] = npy("|i1", "(1, 4, 2)", files["b.npy"][-8:])
        files["ends.csv"] = b"2\n"
        for name, data in files.items():
            (self.folder / name).write_bytes(data)
        integers = ("a.npy", "b.npy", "--acc", "int32")
        scaled = (*integers, "--scale-a", "sa.npy", "--scale-b", "sb.npy")
        grouped = ("a.npy", "groups.npy", *scaled[2:], "--offsets", "ends.csv")
        for output, code in (("d.npy", 0), ("next.npy", 1), ("none.npy", 1)):
            for words in (("matmul", *scaled), ("grouped_matmul", *grouped)):
                done = self.run_program("verify", *words, "--output", output, "--text")
                self.assertEqual(done.returncode, code, (words, output, done.stdout, done.stderr))
                self.assertIn("exact sums in int32, which wrap around beyond its range; then float32", done.stdout)
        self.assertEqual(self.run_program("verify", "matmul", *integers, "--output", "s.npy").returncode, 0)
        self.assertEqual(self.run_program("verify", "grouped_matmul", "a.npy", "groups.npy", *integers[2:], *grouped[-2:], "--output", "s.npy").returncode, 0)
        self.expect_error(self.run_program("verify", "matmul", *integers, "--output", "far.npy"), 2,
                          "far.npy: element 0;0 is 1099511627776, no number of int32, in which --acc int32 sums")
        self.expect_error(self.run_program("verify", "matmul", *scaled, "--out", "int32", "--output", "s.npy"), 2, "--out int32: scales")
        self.expect_error(self.run_program("verify", "matmul", *scaled, "--output", "s.npy"), 2, "s.npy holds integers: say with --out")
        self.expect_error(self.run_program("verify", "matmul", *scaled, "--in", "bf16", "--output", "d.npy"), 2, "--in: --acc int32")
        added = self.run_program("ledger", "record", "l.ledger", "matmul", *scaled, "--output", "d.npy", "--case", "w8a8")
        self.assertEqual(added.returncode, 0, added.stderr)
        for output, code in (("d.npy", 0), ("next.npy", 1)):
            done = self.run_program("ledger", "check", "l.ledger", "w8a8", "--output", output)
            self.assertEqual(done.returncode, code, (done.stdout, done.stderr))

    def test_bad_input(self):
        output = self.product("d.npy", "--engine", "exact")
        self.expect_error(self.verify("nowhere.npy"), 2, "nowhere.npy")
        self.expect_error(self.verify(output, "--out", "e4m3"), 2, "no number of float8_e4m3fn")
        self.expect_error(self.verify(output, "--against", "engine"), 2, "--engine")
        self.expect_error(self.verify(output, "--false-alarm", "2"), 2, "from 0 to 1")
        self.expect_error(self.verify(output, "--out-rounding", "rx"), 2, "nearest")
        self.expect_error(self.verify(output, "--engine", "fma", "--acc-rounding", "toward_zero"), 2, "--acc-rounding: is of sums without --engine")
        self.expect_error(self.verify(output, "--engine", "fma", "--reduction-order", "any"), 2, "--reduction-order: is of --against engine")
        self.expect_error(self.verify(output, "--acc-overflow", "saturate"), 2, "--acc-overflow: is of --acc int32")
        self.expect_error(self.verify(output, "--random-bits", "8"), 2, "--random-bits: is of --rounding stochastic")
        self.expect_error(self.verify(output, "--scale-dtype", "e8m0"), 2, "--scale-dtype: is of --scale-a and --scale-b")
        self.expect_error(self.run_program("verify", "sum", A, "--sum-depth", "0", "--output", output), 2, "--sum-depth: '0': give a whole number from 1")
        for option in (("--sum-depth", "4"), ("--acc-rounding", "toward_zero")):
            self.expect_error(self.run_program("verify", "elementwise", "exp", A, *option, "--output", output), 2, option[0])
        self.expect_error(self.run_program("verify", "matmul", A, A, "--output", output), 2, "512")
        self.expect_error(self.run_program("verify", "matmul", A, "normal:0,1:512x41", "--output", output), 2, "24x41")


unittest.main()
