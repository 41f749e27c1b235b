#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program as scripts do: facts, error lines, exit codes, the same bytes for any thread count. usage: cli_test.py PROGRAM"""
import csv
import hashlib
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from emulation import not_emulated
from simd_paths import last_path
from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop(1))


def run(*words, stdin="", cwd=None, env=None):
    done = subprocess.run([PROGRAM, *words], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                          env={**os.environ, **(env or {})}, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


def rows(*words):
    code, out, err = run(*words, "--csv")
    assert code == 0, err
    return list(csv.DictReader(io.StringIO(out)))


def npy(descr, shape, data, fortran=False):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


class Facts(unittest.TestCase):
    def test_round_states_the_facts_of_e4m3(self):
        got = [(r["code"], r["value"], r["class"]) for r in rows("round", "464", "465", "0.0009765625", "--to", "e4m3")]
        self.assertEqual(got, [("7e", "448", "rounded"), ("7f", "nan", "overflow"), ("00", "0", "to_zero")])

    def test_a_decimal_is_rounded_once(self):
        self.assertEqual(rows("round", "464.00000000000000001", "--to", "e4m3")[0]["class"], "overflow")
        self.assertEqual(rows("round", "463.99999999999999999", "--to", "e4m3")[0]["value"], "448")
        self.assertEqual(rows("round", "1.00048828125000000000000001", "--to", "fp16")[0]["code"], "3c01")
        self.assertEqual(rows("round", "1.00048828125", "--to", "fp16")[0]["code"], "3c00")
        self.assertEqual(rows("round", "0x1.00200000000000000000000001p0", "--to", "fp16")[0]["code"], "3c01")
        tie = "9007199254740993"  # 2^53 + 1
        self.assertEqual(rows("round", tie, "--to", "fp64")[0]["value"], "9007199254740992")
        self.assertEqual(rows("round", tie + ".0000000001", "--to", "fp64")[0]["value"], "9007199254740994")
        self.assertEqual(rows("round", "1e999999999999", "-1e-999999999999", "--to", "fp64")[0]["class"], "overflow")

    def test_negative_values_need_no_dashes(self):
        got = rows("round", "-5", "-.5", "-inf", "-0x1p3", "--to", "e5m2", "--policy", "saturating")
        self.assertEqual([r["value"] for r in got], ["-5", "-0.5", "-57344", "-8"])

    def test_codes_are_values(self):
        self.assertEqual(rows("round", "code:7e", "--to", "e4m3")[0]["value"], "448")

    def test_names_are_read_in_any_case_and_spelling(self):
        for word in ("E4M3", "Float8-E4M3FN", "e4m3fn"):
            self.assertEqual(rows("round", "1", "--to", word, "--rounding", "RZ")[0]["format"], "float8_e4m3fn")

    def test_formats_computes_the_published_table(self):
        # name: exponent bits, fraction bits, bias, max finite, min normal, min subnormal, infinity
        stated = {"float32": (8, 23, 127, (2 - 2**-23) * 2.0**127, 2.0**-126, 2.0**-149, True),
                  "tf32": (8, 10, 127, (2 - 2**-10) * 2.0**127, 2.0**-126, 2.0**-136, True),
                  "float16": (5, 10, 15, 65504, 2**-14, 2**-24, True),
                  "bfloat16": (8, 7, 127, 3.3895313892515355e38, 2.0**-126, 2.0**-133, True),
                  "float8_e5m2": (5, 2, 15, 57344, 2**-14, 2**-16, True),
                  "float8_e4m3fn": (4, 3, 7, 448, 2**-6, 2**-9, False),
                  "float8_e4m3": (4, 3, 7, 240, 2**-6, 2**-9, True),
                  "float8_e3m4": (3, 4, 3, 15.5, 2**-2, 2**-6, True),
                  "float8_e4m3fnuz": (4, 3, 8, 240, 2**-7, 2**-10, False),
                  "float8_e5m2fnuz": (5, 2, 16, 57344, 2**-15, 2**-17, False),
                  "float8_e4m3b11fnuz": (4, 3, 11, 30, 2**-10, 2**-13, False),
                  "binary8p3se": (5, 2, 16, 49152, 2**-15, 2**-17, True),
                  "binary8p3ue": (6, 2, 32, 1.25 * 2**31, 2**-31, 2**-33, True),
                  "binary8p3uf": (6, 2, 32, 1.5 * 2**31, 2**-31, 2**-33, False),
                  "binary8p4se": (4, 3, 8, 224, 2**-7, 2**-10, True),
                  "binary8p4ue": (5, 3, 16, 53248, 2**-15, 2**-18, True),
                  "binary8p4uf": (5, 3, 16, 57344, 2**-15, 2**-18, False),
                  "binary8p7sf": (1, 6, 1, 127 / 64, 1, 2**-6, False),
                  "binary8p8uf": (1, 7, 1, 127 / 64, 1, 2**-7, False),
                  "float6_e3m2fn": (3, 2, 3, 28, 2**-2, 2**-4, False),
                  "float6_e2m3fn": (2, 3, 1, 7.5, 1, 2**-3, False),
                  "float4_e2m1fn": (2, 1, 1, 6, 1, 2**-1, False)}
        table = {r["name"]: r for r in rows("formats")}
        self.assertEqual(set(table) - set(stated), {"float64", "float8_e8m0fnu", "binary8p1se", "binary8p1ue"})
        for name, (e, m, bias, largest, normal, subnormal, infinity) in stated.items():
            r = table[name]
            got = (int(r["exponent_bits"]), int(r["fraction_bits"]), int(r["bias"]), float(r["max_finite"]),
                   float(r["min_normal"]), float(r["min_subnormal"]), r["has_inf"] == "true")
            self.assertEqual(got, (e, m, bias, largest, normal, subnormal, infinity), name)
        self.assertEqual(table["float8_e8m0fnu"]["nan_codes"], "ff")
        self.assertEqual(table["float8_e4m3fnuz"]["nan_codes"], "80")
        self.assertEqual((table["binary8p3se"]["nan_codes"], table["binary8p3ue"]["nan_codes"]), ("80", "ff"))
        self.assertEqual(table["float8_e5m2"]["nan_codes"], "7d-7f fd-ff")
        self.assertEqual(table["float4_e2m1fn"]["nan_codes"], "")

    def test_codes_lists_every_code(self):
        listed = rows("formats", "e2m1", "--codes")
        self.assertEqual([r["value"] for r in listed[:8]], ["0", "0.5", "1", "1.5", "2", "3", "4", "6"])
        self.assertEqual(len(listed), 16)


class Tables(unittest.TestCase):
    CENSUS = ("tensor,format,rounding,policy,scale,count,nan,infinite,zero,exact,rounded,subnormal,to_zero,overflow,"
              "max_abs_error,mean_abs_error,rms_error,mean_signed_error,max_rel_error,mean_rel_error,max_ulp_error,sqnr_db,"
              "sqnr_saturating_db,max_abs_input,min_abs_input")

    def test_columns_are_the_published_ones(self):
        self.assertEqual(run("census", "normal:0,1:10")[1].splitlines()[0], self.CENSUS)
        self.assertEqual(run("sweep", "normal:0,1:10")[1].splitlines()[0],
                         self.CENSUS.replace("policy,scale,", "policy,log2_scale,"))
        self.assertEqual(run("round", "1")[1].splitlines()[0], "input,format,rounding,policy,code,value,error_ulp,class")

    def test_classes_add_up(self):
        names = ("nan", "infinite", "zero", "exact", "rounded", "subnormal", "to_zero", "overflow")
        for r in rows("sweep", "studentt:1:10000", "--to", "e4m3,e8m0,e2m1,e3m0finite"):
            self.assertEqual(sum(int(r[n]) for n in names), int(r["count"]))

    def test_mx_and_nvfp4_have_formats_of_their_own(self):
        for scale, own in (("nvfp4", "e2m1"), ("nvfp4:16x16", "e2m1"), ("mx:even", "e5m2,e4m3,e3m2,e2m3,e2m1,int8"),  # OCP MX 1.0, table 1
                           ("row", "fp16,bf16,e4m3,e5m2")):
            code, out, err = run("census", "normal:0,1:32x64", "--to", own, "--scale", scale, "--csv")
            self.assertEqual((len(out.splitlines()), err), (1 + len(own.split(",")), ""), scale)
        others = "fp16,bf16,e4m3,e5m2"  # who names them gets them, and a line that says what they are not
        for scale, name, not_of in (("nvfp4", "NVFP4", "float16, bfloat16, float8_e4m3fn, float8_e5m2"), ("mx:floor", "MX", "float16, bfloat16")):
            for more in ([], ["--blocks"]):
                code, out, err = run("census", "normal:0,1:32x64", "--scale", scale, "--to", others, "--csv", *more)
                self.assertEqual((code, len(out.splitlines()), err.count("\n")), (0, 5, 1), err)
                self.assertTrue(err.endswith(f"; what {not_of} holds under its scales is no {name}\n"), err)
        with tempfile.TemporaryDirectory() as folder:
            code, _, err = run("cast", "normal:0,1:32x64", "--to", "e4m3", "--scale", "nvfp4", "-o", "o.safetensors", cwd=folder)
            self.assertEqual((code, err.count("is no NVFP4")), (0, 1), err)
            code, _, err = run("cast", "normal:0,1:32x64", "--to", "e2m1", "--scale", "nvfp4", "-o", "o.safetensors", cwd=folder)
            self.assertEqual((code, err.count("is no NVFP4")), (0, 0), err)
            path = pathlib.Path(folder) / "plan.toml"
            path.write_text("[[tensors]]\nmatch = '*'\nto = 'float16'\nscale = 'mx:even'\n")
            code, _, err = run("cast", "normal:0,1:32x64", "--plan", "plan.toml", "-o", "o.safetensors", cwd=folder)
            self.assertEqual((code, err.count("what float16 holds under its scales is no MX")), (0, 1), err)

    def test_the_same_bytes_for_any_thread_count(self):
        for command in (["census", "lognormal:-9,5:300000"], ["census", "normal:0,1:512x512", "--scale", "128x128"],
                        ["sweep", "studentt:2:200000", "--rounding", "stochastic"]):
            one = run(*command, "--threads", "1")[1]
            self.assertEqual(one, run(*command, "--threads", "2")[1])
            self.assertEqual(one, run(*command, "--threads", "5")[1])

    def test_the_same_bytes_without_vectors(self):
        for command in (["census", "studentt:1:100000", "--to", "e4m3,bf16"], ["sweep", "lognormal:-9,5:100000", "--rounding", "rp"]):
            self.assertEqual(run(*command)[1], run(*command, env={"ULPSCOPE_SIMD": last_path(PROGRAM)})[1])

    def test_the_same_bytes_for_many_tensors_at_once(self):
        words = [f"normal:0,{k}:{100 * k}" for k in range(1, 40)]
        one = run("census", *words, "--threads", "1")[1]
        self.assertEqual(one, run("census", *words, "--threads", "3")[1])
        self.assertEqual(one.splitlines()[1:], [row for word in words for row in run("census", word)[1].splitlines()[1:]])

    def test_an_unknown_simd_path_is_bad_usage(self):
        code, out, err = run("census", "normal:0,1:10", env={"ULPSCOPE_SIMD": "sse9"})
        self.assertEqual((code, out, err.count("\n")), (2, "", 1))
        self.assertIn(last_path(PROGRAM), err)

    def test_known_bytes(self):
        # Any compiler, machine and thread count gives these; a change here is a change of results.
        out = run("census", "normal:0,1:100000", "lognormal:-6,3:100000", "studentt:3:99999", "laplace:0,2:70000",
                  "uniform:-1,1:70001", "--to", "fp16,bf16,e4m3,e5m2,e2m1,e5m7", "--csv")[1]
        self.assertEqual(hashlib.sha256(out.encode()).hexdigest(), GOLDEN)

    def test_renderings(self):
        self.assertEqual(json.loads(run("round", "1", "--to", "e4m3", "--json")[1])[0]["code"], "38")
        self.assertIn("use 2^", run("sweep", "normal:0,0.001:100", "--text")[1])

    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = run("sweep", "normal:0,1e-6:1000", "-o", "report", cwd=folder)
            self.assertEqual((code, out), (0, ""), err)
            report = pathlib.Path(folder) / "report"
            manifest = json.loads((report / "manifest.json").read_text())
            self.assertEqual(sorted(p.name for p in report.iterdir()),
                             ["census.csv", "exponents.csv", "findings.csv", "heat_map.svg", "index.html", "loss_scales.csv", "manifest.json", "sweep.csv",
                              "tensor-1_exponents.svg", "tensor-1_scales.svg"])
            self.assertIn(hashlib.sha256((report / "sweep.csv").read_bytes()).hexdigest(), json.dumps(manifest))
            self.assertIn("becomes 0", (report / "index.html").read_text())
            best = run("sweep", "normal:0,1e-6:1000", "--best", "--csv")
            self.assertEqual((best[0], best[1].encode()), (0, (report / "loss_scales.csv").read_bytes()))
            for option, expected in (("--best", 2), ("--csv", 0), ("--json", 0), ("--text", 0)):
                code, out, err = run("sweep", "normal:0,1e-6:1000", "-o", "report", option, cwd=folder)
                self.assertEqual((code, out, "no table is printed" in err), (expected, "", expected == 0), (option, err))
            before = {p.name: p.read_bytes() for p in report.iterdir()}
            self.assertEqual(run("sweep", "normal:0,1e-6:1000", "-o", "report", "--threads", "2", cwd=folder)[0], 0)
            self.assertEqual(before["sweep.csv"], (report / "sweep.csv").read_bytes())


    @not_emulated(PROGRAM, "eighty tensors at thirty-five scales take minutes")
    def test_the_standard_report_is_less_than_a_megabyte_and_the_same_for_any_thread_count(self):
        root = pathlib.Path(__file__).parents[2]
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report"
            subprocess.run([root / "reports/standard-report", PROGRAM, report], check=True, stderr=subprocess.DEVNULL, timeout=LIMIT)
            first = {p.name: p.read_bytes() for p in report.iterdir()}
            self.assertLess(len(first["index.html"]), 1_000_000)
            words = json.loads(first["manifest.json"])["arguments"]
            self.assertEqual(run(*words, "--threads", "1", cwd=root)[0], 0)
            again = {p.name: p.read_bytes() for p in report.iterdir()}
            for name in ("manifest.json", "index.html"):  # these name the command
                again.pop(name), first.pop(name)
            self.assertEqual(again, first)


class Accumulation(unittest.TestCase):
    SMALL = ("accumulation", "--k", "64:256", "--shape", "4x4")
    COLUMNS = ("engine,evidence,in,acc,promote,distribution,k,elements,nonfinite,max_abs_error,mean_abs_error,rms_error,"
               "mean_signed_error,max_rel_error,mean_rel_error,mean_signed_rel_error,rel_frobenius_error,"
               "max_componentwise_error,componentwise_bound,input_rel_frobenius_error,rms_exact")

    def test_columns_are_the_published_ones(self):
        self.assertEqual(run(*self.SMALL, "--csv")[1].splitlines()[0], self.COLUMNS)

    def test_every_combination_asked_for_is_a_row(self):
        got = rows(*self.SMALL, "--engine", "sm_90", "fma", "--in", "e4m3,e5m2", "--promote", "0,64",
                   "--distribution", "normal:0,1", "uniform:0,1")
        self.assertEqual(len({tuple(r.values())[:7] for r in got}), 2 * 2 * 2 * 2 * 3)

    def test_engines_that_are_only_published_say_so(self):
        evidence = {(r["engine"], r["evidence"]) for r in rows(*self.SMALL)}
        self.assertIn(("sm_100", "published"), evidence)
        self.assertIn(("sm_90", "device"), evidence)
        self.assertIn(("sm_80", "recordings"), evidence)
        self.assertIn(("fma", "definition"), evidence)

    def test_the_same_bytes_for_any_thread_count_and_simd_path(self):
        want = run(*self.SMALL, "--csv")[1]
        self.assertEqual(run(*self.SMALL, "--csv", "--threads", "1")[1], want)
        self.assertEqual(run(*self.SMALL, "--csv", env={"ULPSCOPE_SIMD": last_path(PROGRAM)})[1], want)

    def test_the_seed_draws_other_operands(self):
        self.assertNotEqual(run(*self.SMALL, "--csv")[1], run(*self.SMALL, "--csv", "--seed", "1")[1])

    def test_report(self):
        with tempfile.TemporaryDirectory() as scratch:
            self.assertEqual(run(*self.SMALL, "-o", "report", cwd=scratch)[0], 0)
            report = pathlib.Path(scratch, "report")
            self.assertEqual(sorted(p.name for p in report.iterdir()),
                             ["accumulation.csv", "findings.csv", "float16_accumulators.svg", "float32_accumulators.svg",
                              "index.html", "manifest.json", "narrow_inputs.svg"])
            self.assertEqual((report / "accumulation.csv").read_text(), run(*self.SMALL, "--csv")[1])
            page = (report / "index.html").read_text()
            self.assertIn("ulpscope accumulation --k 64:256 --shape 4x4 -o report", page)
            self.assertIn("promoted every 128", page)

    def test_a_page_of_one_product_has_sentences_of_numbers(self):
        for engine, promote in (("exact", "0"), ("sm_100", "0,32")):  # promoted or not, the second errs by nothing
            with tempfile.TemporaryDirectory() as scratch:
                words = ("accumulation", "--engine", engine, "--in", "e4m3", "--k", "64", "--shape", "1x1", "--promote", promote)
                self.assertEqual(run(*words, "-o", "report", cwd=scratch)[0], 0)
                self.assertNotRegex(pathlib.Path(scratch, "report", "index.html").read_text(), r"<li>[^<]*\bnan\b")

    def test_bad_input_is_one_line_and_exit_2(self):
        for words, expected in (
                (["--engine", "sm_91"], "nearest: sm_90"), (["--engine", "sm_80", "--in", "e4m3"], "does not multiply"),
                (["--engine", "sm_90", "--in", "e4m3", "--promote", "100"], "multiple"), (["--in", "e4m4x"], "nearest"),
                (["--in", "e2m1"], "name one with --engine"), (["--promote", "128"], "need an --engine"),
                (["--engine", "fma", "--in", "fp64"], "significand bits"), (["--engine", "fma", "--acc", "fp64"], "float32 and float16"),
                (["--k", "64:32"], "LO is above HI"), (["--k", "x"], "64:65536"), (["--shape", "32"], "MxN"),
                (["--distribution", "normal"], "normal"), (["--engine", "block:n=4"], "n and f"), (["extra"], "extra")):
            code, out, err = run("accumulation", *words)
            with self.subTest(words):
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
                self.assertIn(expected, err)


class Files(unittest.TestCase):
    def test_cast_and_diff_agree_with_round(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "a.npy").write_bytes(npy("<f4", (4,), struct.pack("<4f", 464, 465, -1.06, 0)))
            self.assertEqual(run("cast", "a.npy", "--to", "e4m3", "--codes", "-o", "c.npy", cwd=folder)[0], 0)
            self.assertEqual((path / "c.npy").read_bytes()[-4:], bytes([0x7e, 0x7f, 0xb8, 0]))
            self.assertEqual(run("cast", "a.npy", "--to", "e4m3", "-o", "v.npy", cwd=folder)[0], 0)
            self.assertEqual(run("cast", "a.npy", "--to", "e4m3", "-o", "v.safetensors", cwd=folder)[0], 0)
            self.assertEqual(run("diff", "v.npy", "v.safetensors", cwd=folder)[0], 0)
            self.assertEqual(run("diff", "v.npy", "c.npy", "--dtype", "e4m3", cwd=folder)[0], 0)
            code, out, _ = run("diff", "a.npy", "v.npy", cwd=folder)
            self.assertEqual(code, 1)
            self.assertEqual(run("diff", "a.npy", "v.npy", "--tolerance", "ulp=1e300", cwd=folder)[0], 1)  # NaN for 465
            self.assertEqual(sorted(os.listdir(folder)), ["a.npy", "c.npy", "v.npy", "v.safetensors"])

    def test_diff_takes_a_format_for_each_side(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "b.npy").write_bytes(npy("<V2", (3,), struct.pack("<3H", 0x3F80, 0x4000, 0x4049)))  # 1, 2, 3.140625
            (path / "q.npy").write_bytes(npy("|V1", (3,), bytes([0x38, 0x40, 0x45])))  # of e4m3 1, 2, 3.25
            code, out, err = run("diff", "b.npy", "q.npy", "--dtype", "bf16,e4m3", "--csv", cwd=folder)
            row, = csv.DictReader(io.StringIO(out))
            self.assertEqual((code, row["dtype"], row["equal"], row["max_abs_error"]), (1, "float8_e4m3fn", "2", "0.109375"), err)
            code, out, _ = run("diff", "q.npy", "b.npy", "--dtype", "e4m3,bf16", "--json", cwd=folder)
            self.assertEqual([(w["ref_code"], w["out_code"]) for w in json.loads(out)["worst"]], [("45", "4049")])
            for dtype in ([], ["--dtype", "bf16"]):
                code, _, err = run("diff", "b.npy", "q.npy", *dtype, cwd=folder)
                self.assertEqual((code, err.count("\n")), (2, 1))
                self.assertIn("; F,F for REF and OUT", err)
                self.assertNotIn("--output", err)
            self.assertEqual(run("diff", "b.npy", "q.npy", "--dtype", "bf16,e4m3,e5m2", cwd=folder)[::2],
                             (2, "ulpscope: --dtype: give one format, or one each for REF and OUT\n"))
            for words, option in ((("cast", "q.npy", "--dtype", "e4m3", "--output", "q.npy"), "--output-dtype"),
                                  (("matmul", "normal:0,1:4x4", "normal:0,1:4x4", "--output", "q.npy"), "--output-dtype")):
                self.assertIn(f"; add {option} e4m3 or {option} e5m2\n", run("verify", *words, cwd=folder)[2])
            self.assertIn("; add --scale-dtype e4m3 or --scale-dtype e5m2\n",
                          run("matmul", "normal:0,1:4x4", "normal:0,1:4x4", "--engine", "fma", "--in", "bf16", "--scale-a", "q.npy", "-o", "d.npy", cwd=folder)[2])

    def test_diff_shows_nans_as_they_are_stored(self):
        e5m2, float32 = [0xFF, 0x7D, 0xFE], [0x7FC00000, 0xFFC00000, 0x7F800001]  # all are NaN (OFP8 1.0, table 1; IEEE 754, 3.4)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            for name, descr, form, one, nans in (("8", "|u1", "B", 0x3C, e5m2), ("32", "<f4", "I", 0x3F800000, float32)):
                (path / f"a{name}.npy").write_bytes(npy(descr, (3,), struct.pack(f"<3{form}", *[one] * 3)))
                (path / f"b{name}.npy").write_bytes(npy(descr, (3,), struct.pack(f"<3{form}", *nans)))
            for name, nans, dtype in (("8", ["ff", "7d", "fe"], ["--dtype", "e5m2"]), ("32", ["7fc00000", "ffc00000", "7f800001"], [])):
                for before, after, column in (("a", "b", "out_code"), ("b", "a", "ref_code")):
                    _, out, err = run("diff", f"{before}{name}.npy", f"{after}{name}.npy", *dtype, "--json", cwd=folder)
                    self.assertEqual([element[column] for element in json.loads(out)["worst"]], nans, err)

    def test_probe_finds_the_numbers_of_an_engine_of_ones_own(self):
        got = {r["feature"]: r["result"] for r in rows("probe", "--engine", "block:n=12,f=20,out=rn,cut=rm", "--in", "bf16")}
        expected = {"step_products": "12", "fraction_bits": "20", "rounding": "nearest_even", "cut": "downward",
                    "summation": "12 products and c aligned", "disagreements": "0"}
        self.assertEqual({k: got[k] for k in expected}, expected)

    def test_probe_finds_a_least_exponent_or_what_it_is_at_most(self):
        for operands in ("fp16", "bf16"):
            for words, result in (("", "at most -"), (",least=-40", "-40")):
                got = {r["feature"]: r["result"] for r in rows("probe", "--engine", "block:n=12,f=17,out=rz" + words, "--in", operands)}
                self.assertTrue(got["least_exponent"].startswith(result), got)
                self.assertEqual((got["fraction_bits"], got["disagreements"]), ("17", "0"))

    def test_the_roundings_named_for_a_block_engine_are_those_it_takes(self):
        named = run("probe", "--engine", "block:n=4,f=9,out=odd")[2].split("give one of ")[1].split()
        for word in named:
            self.assertEqual(run("matmul", "uniform:0,1:2x4", "uniform:0,1:4x2", "--in", "fp16", "--engine",
                                 f"block:n=4,f=9,out={word.strip(',')}")[0], 0, word)

    def test_the_first_row_of_a_probe_is_the_question_between_the_models(self):
        for engine, operands, answer in (("sm_70", "fp16", "02800001"), ("sm_80", "bf16", "39820200"), ("sm_90", "tf32", "39804008")):
            first = rows("probe", "--engine", engine, "--in", operands, "--acc", "float32")[0]
            self.assertEqual((first["feature"], first["result"]), ("zero_operand", "no exponent"))
            self.assertIn(f"gives {answer}; ", first["evidence"])
            self.assertTrue(first["evidence"].endswith("(MMA-Sim)"))

    def test_the_nan_code_of_engines_that_nobody_asked_is_unknown(self):
        for words, column in ((("--engine", "cdna1"), "result"), (("--device", "emulated:cdna1"), "model")):
            codes = {r[column] for r in rows("probe", *words, "--in", "bf16") if r["feature"] == "nan_code"}
            self.assertEqual(codes, {"unknown"})

    def test_probe_tables_are_the_same_every_time(self):
        words = ("probe", "--engine", "sm_89", "--in", "e4m3,e5m2", "--acc", "float32", "--csv")
        self.assertEqual(run(*words), run(*words))
        self.assertEqual(run(*words)[1].splitlines()[0], "engine,a,b,accumulator,scales,feature,result,evidence")
        self.assertEqual({(r["a"], r["b"]) for r in rows(*words[:-1])}, {("float8_e4m3fn", "float8_e5m2")})

    def test_probe_and_engines_refuse_what_is_not_there(self):
        expected = {
            ("probe", "--engine", "sm_8"): "unknown engine 'sm_8'; nearest: sm_80",
            ("engines", "sm_8"): "unknown engine 'sm_8'; nearest: sm_80",
            ("engines", "block:n=4"): "engine block:n=4: is what its words say",
            ("probe", "--engine", "sm_80", "--in", "e4m3"): "engine sm_80 does not multiply float8_e4m3fn by float8_e4m3fn",
            ("probe", "--engine", "sm_80", "--in", "fp16,bf16"): "engine sm_80 does not multiply float16 by bfloat16",
            ("probe", "--engine", "sm_70", "--acc", "float64"): "engine sm_70 does not multiply float16 by float16 into float64",
            ("probe", "--engine", "fma", "--acc", "e4m3"): "--acc float8_e4m3fn: give float32, float16 or float64",
            ("probe", "--engine", "fma", "--in", "e8m0"): "--in float8_e8m0fnu: operands have a sign and a zero",
            ("probe", "--engine", "block:n=4"): "engine block: n and f must be given",
            ("probe", "--engine", "block:n=4,f=9,out=ru"): "engine block: out=ru: give one of nearest_even, nearest_away, toward_zero, "
                                                           "upward, downward, to_odd, rn, ",
            ("probe", "--engine", "block:n=4,f=9,cut=odd"): "engine block: cut=odd: give one of toward_zero, downward, rz, rm",
            ("probe", "--engine", "block:n=4,f=9,cut=up"): "engine block: cut=up: give one of toward_zero, downward, rz, rm",
            ("probe",): "name what to probe: --engine E",
        }
        for words, message in expected.items():
            code, out, err = run(*words)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), words)
            self.assertIn(message, err)
        code, out, err = run("probe", "--device", "cuda:0")
        self.assertEqual((code, out, err.count("\n")), (4, "", 1))

    def test_engines_lists_the_modes_with_their_evidence(self):
        table = rows("engines")
        modes = {(r["engine"], r["operands"], r["accumulator"]): r for r in table}
        volta = modes["sm_70", "float16", "float32"]
        self.assertEqual((volta["products"], volta["fraction_bits"], volta["rounding"], volta["evidence"], volta["source"]),
                         ("4", "23", "toward_zero", "recordings", "V100"))
        self.assertEqual({r["evidence"] for r in rows("engines", "cdna3", "sm_120")}, {"published"})
        self.assertEqual({r["nan_code"] for r in rows("engines", "cdna1", "cdna2", "cdna3")}, {"unknown"})
        self.assertEqual((volta["nan_code"], modes["sm_70", "float16", "float16"]["nan_code"]), ("7fffffff", "7fff"))
        self.assertEqual(modes["avx512_bf16", "bfloat16", "float32"]["nan_code"], "the operand's, or ffc00000")
        self.assertEqual({r["source"] for r in rows("engines", "cdna1")}, {"arXiv 2511.10909v2, MATLAB-tensor-core MI100"})
        self.assertNotIn("arXiv 2511.10909", {r["source"] for r in table})  # of what version?
        self.assertEqual(len(rows("engines", "sm_70", "sm_75")), 4)

    def test_units_without_a_model_are_listed_as_unknown(self):
        unknown = [r for r in rows("engines") if r["evidence"] == "unknown"]
        self.assertLessEqual({"cdna4", "rdna3", "rdna4", "tpu", "apple_gpu"}, {r["engine"] for r in unknown})
        for row in unknown:
            self.assertEqual((row["products"], row["rounding"], row["fraction_bits"], row["nan_code"]), ("", "", "", "unknown"))
            self.assertEqual(rows("engines", row["engine"]), [row])
            code, out, err = run("probe", "--engine", row["engine"])
            self.assertEqual((code, out, err.count("\n")), (2, "", 1))
            self.assertIn("nothing is published that says its bits", err)

    def test_errors_are_one_line_and_exit_2(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "v1.npy").write_bytes(npy("|V1", (2,), b"ab"))
            (path / "cut.npy").write_bytes(npy("<f4", (2,), b"abcd"))
            (path / "x.pt").write_bytes(b"x")
            (path / "x.txt").write_bytes(b"x")
            (path / "empty.csv").write_bytes(b"")
            (path / "ragged.csv").write_bytes(b"1,2\n3\n")
            (path / "s.safetensors").write_bytes(struct.pack("<Q", 1000) + b"{}")
            (path / "foreign").mkdir()
            (path / "foreign" / "mine.txt").write_bytes(b"x")
            expected = {
                ("census", "missing.npy"): "missing.npy: no such file",
                ("census", "v1.npy"): "v1.npy: dtype |V1 does not say which 8-bit format; add --dtype e4m3 or --dtype e5m2",
                ("census", "cut.npy"): "cut.npy: the header promises 8 bytes of data, the file holds 4",
                ("census", "x.pt"): "x.pt: is a PyTorch pickle; convert it: python3 -c",
                ("census", "x.txt"): "x.txt: the name ends in none of .npy .npz .safetensors .gguf .onnx .csv",
                ("census", "empty.csv"): "empty.csv: is empty",
                ("census", "ragged.csv"): "ragged.csv: row 2 has 1 fields, the first row 2",
                ("census", "s.safetensors"): "s.safetensors: the header's length 1000 does not fit the file of 10 bytes",
                ("census", "normal:0:3"): "normal:0:3: 1 parameter",
                ("census", "normal:0,1:3", "--to", "e4m9x"): "unknown format 'e4m9x'; nearest: e4m3",
                ("census", "normal:0,1:3", "-o", ""): "-o: '': give a word",
                ("census", "normal:0,1:3", "--to", "e4m3,"): "--to 'e4m3,': there is nothing before or after a comma",
                ("census", "normal:0,1:3", "--to=e4m3,,e5m2"): "--to 'e4m3,,e5m2': there is nothing before or after a comma",
                ("matmul", "normal:0,1:2x2", "normal:0,1:2x2", "--seed", ",1"): "--seed ',1': there is nothing before",
                ("census", "normal:0,1:3", "--to", "fp8"): "format 'fp8' is one of several formats: give e4m3 or e5m2",
                ("cast", "normal:0,1:3", "--to", "nvfp4", "-o", "x.npy"): "format 'nvfp4' is a format in blocks",
                ("census", "normal:0,1:3", "--rounding", "nearest"): "unknown rounding mode 'nearest'; nearest: ",
                ("census", "normal:0,1:3", "--scale", "-1"): "--scale '-1': give a positive number, 2^K or one of none, amax",
                ("census", "normal:0,1:3", "-o", "foreign"): "foreign",
                ("sweep", "normal:0,1:3", "normal:0,1:4", "--svg", "w.svg"): "--svg draws one tensor; there are 2",
                ("sweep", "normal:0,1:3", "--svg", "w.svg", "-o", "r"): "-o and --svg: give one of them",
                ("sweep", "normal:0,1:3", "--svg", "w.svg", "--rows", "3"): "--svg w.svg: the figure shows every row",
                ("sweep", "normal:0,1:3", "--log2-scale", "3:1"): "--log2-scale '3:1': LO is above HI",
                ("round", "abc"): "'abc' is not a number",
                ("round", "code:100", "--to", "e4m3"): "code:100: is not a code of float8_e4m3fn, which has 8 bits",
                ("round", "1", "--random-bits", "40"): "--random-bits: '40': give a whole number from 1 to 32",
                ("formats", "fp64", "--codes"): "--codes lists formats of 16 bits or fewer",
                ("diff", "normal:0,1:4096x512", "normal:0,1:512x4096"): "normal:0,1:4096x512 4096x512, normal:0,1:512x4096 512x4096: shapes differ",
                ("cast", "normal:0,1:3", "--to", "e4m3", "-o", "no/such/dir.npy"): "no/such/dir.npy: cannot be written",
                ("nonsense",): "", ("census",): "", ("census", "normal:0,1:3", "--nonsense"): "", ("info", "."): ".",
            }
            for words, start in expected.items():
                code, out, err = run(*words, cwd=folder)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), (words, err))
                self.assertTrue(err.startswith("ulpscope: " + start), (words, err))

    def test_a_full_disk_is_an_error_and_a_closed_pipe_is_not(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "formats"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        done = subprocess.run(["bash", "-c", f"{PROGRAM} formats bf16 --codes | head -1; exit ${{PIPESTATUS[0]}}"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, b""))


GOLDEN = "fbef76851b5acf1ca8e5a3708cdaa6eb4d39f88a80ba636f749e44b0132f6f77"
unittest.main()
