#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `ulpscope matmul`: products of small integers, which every engine gets right, facts about engines, files, error lines, the
same bytes for any thread count and SIMD path. usage: matmul_test.py PROGRAM"""
import csv
import hashlib
import io
import itertools
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from simd_paths import last_path
from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop(1))


def run(*words, cwd=None, env=None):
    done = subprocess.run([PROGRAM, "matmul", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, cwd=cwd, env={**os.environ, **(env or {})}, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


def rows(*words, cwd=None):
    code, out, err = run(*words, "--csv", cwd=cwd)
    assert code == 0, err
    return list(csv.DictReader(io.StringIO(out)))


def npy(path, shape, values, descr="<f4"):
    """Writes values in row-major order."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    kind = {"<f4": "f", "<f8": "d", "|u1": "B", "<i8": "q"}[descr]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}{kind}", *values))


def read_npy(path):
    """(dtype, shape, values)"""
    data = path.read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + size])  # a dictionary of literals
    kind, width = {"<f4": ("f", 4), "<f8": ("d", 8), "<u2": ("H", 2), "|u1": ("B", 1)}[header["descr"]]
    body = data[10 + size:]
    return header["descr"], header["shape"], list(struct.unpack(f"<{len(body) // width}{kind}", body))


class LongIntegers(unittest.TestCase):
    def test_those_that_no_double_is_count_as_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            npy(path / "a.npy", (1, 6), [2 ** 53 + 1, 2 ** 53 + 2, -2 ** 53 - 1, -2 ** 63, 2 ** 63 - 1, 0], "<i8")
            npy(path / "b.npy", (6, 1), [1, 2, 3, 2 ** 24 + 1, 2 ** 53, 2 ** 53 + 1], "<i8")
            for to, of_a, of_b in (("fp64", 3, 1), ("fp32", 4, 2)):
                row, = rows("a.npy", "b.npy", "--in", to, "--engine", "fma", "--against", "none", cwd=folder)
                self.assertEqual((row["changed_a"], row["changed_b"]), (str(of_a), str(of_b)), to)


class Integers(unittest.TestCase):
    """Sums of small integers are exact in any order, so that only shapes and factors can go wrong."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def multiply(self, *words):
        code, out, err = run(*words, "--in", "fp16", "-o", "d.npy", cwd=self.path)
        self.assertEqual((code, out), (0, ""), err)
        self.assertIn("d.npy: ", err)
        return read_npy(self.path / "d.npy")[1:]

    def test_batches_transposes_c_alpha_and_beta(self):
        m, n, k, p, q = 3, 4, 40, 2, 3
        a = [(7 * i) % 9 - 4 for i in range(p * k * m)]     # p batches of (k, m)
        b = [(5 * i) % 7 - 3 for i in range(q * n * k)]     # q batches of (n, k)
        c = [i - 2 for i in range(n)]                       # one row, for all
        npy(self.path / "a.npy", (p, 1, k, m), a)
        npy(self.path / "b.npy", (q, n, k), b)
        npy(self.path / "c.npy", (n,), c)
        sums = {at: sum(a[(at[0] * k + x) * m + at[2]] * b[(at[1] * n + at[3]) * k + x] for x in range(k))
                for at in itertools.product(range(p), range(q), range(m), range(n))}
        for engine in ("sm_70", "sm_80", "sm_90", "cdna1", "cdna3", "fma", "pairwise", "exact", "block:n=8,f=24,out=rz"):
            words = ("a.npy", "b.npy", "c.npy", "--transpose-a", "--transpose-b", "--engine", engine)
            self.assertEqual(self.multiply(*words), ((p, q, m, n), [x + c[at[3]] for at, x in sums.items()]), engine)
            self.assertEqual(self.multiply(*words, "--alpha", "2", "--beta", "-0.5"),
                             ((p, q, m, n), [2 * x - 0.5 * c[at[3]] for at, x in sums.items()]), engine)
            self.assertEqual(self.multiply(*words[:2], *words[3:], "--split-k", "3", "--alpha", "0.5"),
                             ((p, q, m, n), [0.5 * x for x in sums.values()]), engine)

    def test_vectors(self):
        npy(self.path / "v.npy", (3,), [1, 2, 3])
        npy(self.path / "m.npy", (3, 2), [1, 0, 0, 1, 1, 1])
        self.assertEqual(self.multiply("v.npy", "v.npy", "--engine", "sm_80"), ((), [14]))
        self.assertEqual(self.multiply("v.npy", "m.npy", "--engine", "sm_80"), ((2,), [4, 5]))
        self.assertEqual(self.multiply("m.npy", "v.npy", "--transpose-a", "--engine", "sm_80"), ((2,), [4, 5]))

    def test_scales(self):
        npy(self.path / "a.npy", (2, 256), [1] * 512)
        npy(self.path / "b.npy", (256, 2), [1] * 512)
        npy(self.path / "row.npy", (2, 1), [2, 3])
        npy(self.path / "blocks.npy", (2, 2), [1, 2, 3, 4])
        both = ("a.npy", "b.npy", "--engine", "sm_90")
        self.assertEqual(self.multiply(*both, "--scale-a", "row.npy", "--scale-b", "0.5")[1], [256, 256, 384, 384])
        self.assertEqual(self.multiply(*both, "--scale-a", "blocks.npy")[1], [384, 384, 896, 896])
        self.assertEqual(self.multiply(*both, "--scale-b", "blocks.npy", "--scale-b", "0x1p-1")[1], [256, 384, 256, 384])
        npy(self.path / "bt.npy", (2, 256), [1] * 512)
        self.assertEqual(self.multiply("a.npy", "bt.npy", "--transpose-b", "--engine", "sm_90", "--scale-b", "blocks.npy")[1],
                         [384, 896, 384, 896])
        npy(self.path / "batch.npy", (2, 1, 256), [1] * 512)
        npy(self.path / "each.npy", (2, 1, 2), [1, 2, 3, 4])
        self.assertEqual(self.multiply("batch.npy", "b.npy", "--engine", "sm_90", "--scale-a", "each.npy"),
                         ((2, 1, 2), [384, 384, 896, 896]))
        npy(self.path / "mx.npy", (2, 8), [127 + i % 2 for i in range(16)], "|u1")
        mx = ("a.npy", "b.npy", "--engine", "sm_100", "--in", "e4m3", "--scale-a", "mx.npy", "--scale-dtype", "e8m0")
        self.assertEqual([r["scaled_by"] for r in rows(*mx, cwd=self.path)], ["engine"])
        self.assertEqual([r["scale_a"] for r in rows(*mx, cwd=self.path)], ["mx"])
        self.assertEqual(rows(*mx, cwd=self.path)[0]["max"], "384")


class Facts(unittest.TestCase):
    def test_fp8_sums_of_ones_stop_at_2_to_14_unless_promoted(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            for k in (16383, 16384, 20000):
                npy(path / "a.npy", (1, k), [1] * k)
                words = ("a.npy", "a.npy", "--transpose-b", "--engine", "sm_90", "--in", "e4m3")
                self.assertEqual(rows(*words, cwd=folder)[0]["max"], str(min(k, 16384)))
                self.assertEqual(rows(*words, "--promote", "128", cwd=folder)[0]["max"], str(k))

    def test_fp8_on_sm_90_loses_seven_percent_over_4096_products(self):
        inputs = ("uniform:0,1:32x4096", "uniform:0,1:4096x32", "--seed", "0,1", "--in", "e4m3", "--engine", "sm_90")
        self.assertAlmostEqual(float(rows(*inputs)[0]["mean_signed_rel_error"]), -0.066, delta=0.001)
        self.assertLess(abs(float(rows(*inputs, "--promote", "128")[0]["mean_signed_rel_error"])), 0.001)

    def test_exact_has_no_error_against_itself(self):
        got = rows("normal:0,1:20x300", "laplace:0,1:300x20", "--engine", "exact", "--engine", "fma", "--in", "bf16")
        self.assertEqual([(r["engine"], r["against"]) for r in got], [("exact", "exact"), ("fma", "exact")])
        self.assertEqual((got[0]["equal"], got[0]["max_ulp_error"], got[0]["sqnr_db"]), ("400", "0", "inf"))
        self.assertNotEqual(got[1]["equal"], "400")

    def test_tf32_is_cut_unless_it_is_to_be_rounded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            npy(path / "a.npy", (1,), [1 + 1.5 * 2**-11])
            npy(path / "one.npy", (1,), [1])
            words = ("a.npy", "one.npy", "--engine", "sm_80", "--in")
            self.assertEqual(float(rows(*words, "tf32", cwd=folder)[0]["max"]), 1)
            self.assertEqual(float(rows(*words, "tf32:nearest", cwd=folder)[0]["max"]), 1 + 2**-10)
            self.assertEqual(float(rows(*words, "tf32:nearest,tf32", cwd=folder)[0]["max"]), 1 + 2**-10)
            self.assertEqual(float(rows(*words, "tf32:nearest_away", cwd=folder)[0]["max"]), 1 + 2**-10)
            npy(path / "a.npy", (1,), [1 + 2**-11])  # a tie
            self.assertEqual(float(rows(*words, "tf32:nearest", cwd=folder)[0]["max"]), 1)
            self.assertEqual(float(rows(*words, "tf32:nearest_away", cwd=folder)[0]["max"]), 1 + 2**-10)
            self.assertIn("only tf32 has such words", run(*words, "fp16:nearest_away", cwd=folder)[2])

    def test_published_engines_say_so_wherever_they_are_named(self):
        words = ("normal:0,1:4x32", "laplace:0,1:32x4", "--in", "fp16", "--engine", "sm_80", "--engine", "sm_75")
        got = rows(*words, "--against", "cdna3")
        self.assertEqual([(r["evidence"], r["against_evidence"]) for r in got],
                         [("recordings", "published"), ("published", "published")])
        code, out, err = run(*words, "--against", "sm_120", "--text")
        self.assertEqual(code, 0)
        self.assertIn("against sm_120, against_evidence published", out)
        self.assertIn("published", next(line for line in out.splitlines() if line.startswith("sm_75")))
        self.assertEqual(sorted(line.split(":")[0] for line in err.splitlines()), ["engine sm_120", "engine sm_75"])

    def test_an_accumulator_that_the_engine_has_is_the_default(self):
        got = rows("normal:0,1:4x32", "laplace:0,1:32x4", "--in", "fp16", "--engine", "fp16_chain")[0]
        self.assertEqual((got["acc"], got["out"]), ("float16", "float16"))

    def test_inputs_that_overflow_are_told(self):
        words = ("normal:0,1000:4x32", "laplace:0,1:32x4", "--in", "e4m3", "--engine", "sm_90")
        code, out, err = run(*words)
        self.assertEqual((code, "beyond float8_e4m3fn" in err), (0, True))
        self.assertEqual(run(*words, "--policy", "saturating")[2], "")


class SplitProducts(unittest.TestCase):
    WORDS = ("3xtf32", "bf16x3", "bf16x6", "BF16x9", "bf16x9:engine=sm_80,k=16", "tf32x3:k=13,join=2.0.1",
             "tf32x1", "bf16x1", "f32x1", "ozaki1:slices=4", "ozaki2:moduli=8")

    def engines(self):
        return [word for engine in self.WORDS for word in ("--engine", engine)]

    def test_small_integers_are_exact_and_words_come_back(self):
        for row in rows("normal:3,0:4x24", "normal:5,0:24x6", "--in", "float32", *self.engines()):
            self.assertEqual((row["equal"], row["min"], row["max"]), ("24", "360", "360"), row["engine"])
            self.assertEqual(row["evidence"], "published")
        self.assertEqual([row["engine"] for row in rows("normal:3,0:4x24", "normal:5,0:24x6", "--in", "float32", *self.engines())],
                         [word.lower() for word in self.WORDS])

    def test_floats_beyond_bfloat16_are_infinite_in_its_parts_alone(self):
        for row in rows("normal:3.4e38,0:2x1", "normal:0.5,0:1x3", "--in", "float32", *self.engines()):
            self.assertEqual(row["infinite"], "6" if row["engine"].startswith("bf16") else "0", row["engine"])

    def test_verify_takes_their_bound_and_their_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            operands = ("normal:0,1:8x64", "normal:0,1:64x8", "--seed", "1,2", "--in", "float32")
            for engine, output in (("bf16x9", "nine.npy"), ("bf16x3", "three.npy")):
                self.assertEqual(run(*operands, "--engine", engine, "-o", output, cwd=folder)[0], 0)

            def verify(output, *words):
                return subprocess.run([PROGRAM, "verify", "matmul", *operands, "--output", output, *words], cwd=folder,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT).returncode

            nine = ("--engine", "bf16x9:engine=exact")
            self.assertEqual(verify("nine.npy", "--engine", "bf16x9", "--against", "engine"), 0)
            self.assertEqual(verify("three.npy", "--engine", "bf16x9", "--against", "engine"), 1)
            self.assertEqual(verify("nine.npy", "--engine", "bf16x9"), 0)
            self.assertEqual(verify("three.npy", *nine), 1)  # exact sums leave no room for what three products leave out
            self.assertEqual(verify("three.npy", "--engine", "bf16x3"), 0)

    def test_errors_are_one_line_and_exit_2(self):
        for words, part in (
                (("--engine", "bf16x4"), "unknown engine 'bf16x4'"), (("--engine", "bf16x9:join=0"), "say k"),
                (("--engine", "ozaki1"), "say slices"), (("--engine", "bf16x9", "--promote", "16"), "takes no scales, --promote"),
                (("--engine", "bf16x9", "--acc", "float16"), "multiplies operands that float32 holds"),
                (("--engine", "bf16x9", "--scale-a", "2"), "takes no scales"), (("--engine", "3xtf32:engine=sm_70"), "does not multiply tf32")):
            code, out, err = run("normal:3,0:4x24", "normal:5,0:24x6", "--in", "float32", *words)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertIn(part, err)


class Tables(unittest.TestCase):
    HEADER = ("engine,evidence,against,against_evidence,in_a,in_b,acc,out,batch,m,n,k,alpha,beta,promote,split_k,scale_a,scale_b,"
              "scaled_by,changed_a,changed_b,min,max,nan,infinite,count,equal,differing,differing_codes,beyond_1_ulp,beyond_2_ulp,"
              "beyond_10_ulp,beyond_100_ulp,nonfinite_one_side,max_ulp_error,bias_ulp,max_abs_error,mean_abs_error,max_rel_error,"
              "mean_rel_error,mean_signed_rel_error,rel_frobenius_error,cosine,sqnr_db")
    WORDS = ("studentt:2:3x70x130", "lognormal:0,2:130x50", "--in", "bf16", "--engine", "sm_80", "--engine", "cdna2", "--engine",
             "amx_bf16", "--engine", "fma", "--against", "exact", "--against", "sm_90")

    def test_columns_are_the_published_ones(self):
        self.assertEqual(run(*self.WORDS)[1].splitlines()[0], self.HEADER)

    def test_partial_sums_say_what_an_accumulator_must_hold(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            npy(path / "a.npy", (2, 3), [100, 200, -250, 1, 1, 1])
            npy(path / "b.npy", (3, 1), [100, 200, 100])
            npy(path / "c.npy", (2, 1), [-20000, 70])
            of = lambda *words: [(float(row["max_partial_sum"]), float(row["max_log2_scale"]))
                                 for row in rows(*words, "--in", "fp16", "--acc", "fp16", "--engine", "fp16_chain", "--partial-sums", cwd=folder)]
            self.assertEqual(of("a.npy", "b.npy"), [(50000, 0)])  # 10000, 50000, 25000
            self.assertEqual(of("a.npy", "b.npy", "c.npy"), [(30000, 1)])  # from -20000: -10000, 30000, 5000
            self.assertEqual(of("a.npy", "b.npy", "c.npy", "--beta", "1"), [(50000, 0)])
            npy(path / "d.npy", (2, 1), [-60000, 70])
            self.assertEqual(of("a.npy", "b.npy", "d.npy"), [(60000, 0)])  # C itself, then -50000, -10000, -35000
            self.assertEqual(of("a.npy", "b.npy", "--promote", "1"), [(40000, 0)])  # 10000, 40000, 25000
            self.assertEqual(of("a.npy", "b.npy", "--against", "none"), [(50000, 0)])
            self.assertIn("\npartial sums up to 50000, the accumulator's numbers to 65504: A may be multiplied by 2^0\n",
                          run("a.npy", "b.npy", "--in", "fp16", "--acc", "fp16", "--engine", "fp16_chain", "--partial-sums", "--text", cwd=folder)[1])
            for words in (("--scale-a", "2"), ("--split-k", "2")):
                code, out, err = run("a.npy", "b.npy", "--in", "fp16", "--engine", "fma", "--partial-sums", *words, cwd=folder)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)

    def test_known_bytes(self):
        # Any compiler, machine, thread count and SIMD path gives these; a change here is a change of results.
        one = run(*self.WORDS, "--threads", "1")[1]
        self.assertEqual(one, run(*self.WORDS, "--threads", "2")[1])
        self.assertEqual(one, run(*self.WORDS, env={"ULPSCOPE_SIMD": last_path(PROGRAM)})[1])
        self.assertEqual(hashlib.sha256(one.encode()).hexdigest(), GOLDEN)

    def test_every_rendering_leaves_standard_output_to_the_table(self):
        self.assertEqual(len(json.loads(run(*self.WORDS, "--json")[1])), 8)
        text = run(*self.WORDS, "--text")[1]
        self.assertIn("D  3x70x50, K = 130, accumulator float32, out float32", text)
        without = run(*self.WORDS[:6], "--against", "none", "--text")[1]
        self.assertNotIn("against", without)


class Files(unittest.TestCase):
    def test_the_file_holds_what_was_computed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            words = ("normal:0,1:3x5x64", "laplace:0,1:64x7", "--engine", "sm_90", "--in", "e4m3")
            for out, descr, more in (("bf16", "<f4", ()), ("bf16", "<u2", ("--codes",)), ("e4m3", "|u1", ("--codes",))):
                code, text, err = run(*words, "--out", out, "-o", "d.npy", *more, cwd=folder)
                self.assertEqual((code, text, err.count("\n")), (0, "", 1), err)
                self.assertEqual(read_npy(path / "d.npy")[:2], (descr, (3, 5, 7)))
            self.assertEqual(run(*words, "--out", "bf16", "-o", "v.npy", cwd=folder)[0], 0)
            self.assertEqual(run(*words, "--out", "bf16", "-o", "c.npy", "--codes", cwd=folder)[0], 0)
            values, codes = read_npy(path / "v.npy")[2], read_npy(path / "c.npy")[2]
            self.assertEqual([struct.pack("<f", x) for x in values], [struct.pack("<I", c << 16) for c in codes])
            self.assertEqual(run(*words, "--out", "bf16", "-o", "d.safetensors", cwd=folder)[0], 0)
            self.assertEqual((path / "d.safetensors").read_bytes()[-210:], (path / "c.npy").read_bytes()[-210:])
            self.assertEqual(sorted(os.listdir(folder)), ["c.npy", "d.npy", "d.safetensors", "v.npy"])

    def test_float64_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            npy(path / "a.npy", (2,), [1, 2.0**-40], "<f8")
            self.assertEqual(run("a.npy", "a.npy", "--engine", "sm_80", "-o", "d.npy", cwd=folder)[0], 0)
            self.assertEqual(read_npy(path / "d.npy"), ("<f8", (), [1 + 2.0**-80]))

    def test_a_beta_of_zero_does_not_read_c(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            npy(path / "c.npy", (4, 3), [float("nan")] * 12)
            operands = ("normal:0,1:4x64", "normal:0,1:64x3", "--seed", "0,1", "--in", "bf16")
            for engine in ("sm_90", "exact", "bf16x9"):
                for name, more in (("with", ["--beta", "0"]), ("without", [])):
                    c = ["c.npy"] if more else []
                    self.assertEqual(run(*operands[:2], *c, *operands[2:], *more, "--alpha", "3", "--engine", engine, "-o", f"{name}.npy", cwd=folder)[0], 0)
                self.assertEqual((path / "with.npy").read_bytes(), (path / "without.npy").read_bytes(), engine)
            words = (*operands[:2], "c.npy", *operands[2:], "--beta", "0", "--alpha", "3")
            done = subprocess.run([PROGRAM, "verify", "matmul", *words, "--output", "with.npy"], cwd=folder, capture_output=True, timeout=LIMIT)
            self.assertEqual(done.returncode, 0)
            npy(path / "c.npy", (4, 2), [0.0] * 8)
            self.assertEqual(run(*words, "--engine", "sm_90", cwd=folder)[::2],
                             (2, "ulpscope: C c.npy: shape 4x2 does not fit 4x3; from the last on, extents must be equal, or 1\n"))

    def test_codes_are_named_for_each_input(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            npy(path / "a.npy", (2,), [0x38, 0x7E], "|u1")  # 1 and 448 in e4m3
            npy(path / "b.npy", (2,), [0x3C, 0x40], "|u1")  # 1 and 2 in e5m2
            words = ("a.npy", "b.npy", "--engine", "sm_90")
            self.assertEqual(rows(*words, "--dtype", "e4m3,e5m2", cwd=folder)[0]["max"], "897")
            self.assertEqual(rows(*words, "--in", "e5m2", "--dtype", "e4m3,e5m2", cwd=folder)[0]["max"], "897")
            self.assertEqual(run(*words, cwd=folder)[::2], (2, "ulpscope: a.npy: holds uint8; --dtype F says that these are codes, "
                                                              "--in F rounds them\n"))
            npy(path / "x.npy", (2,), [1, 2])
            self.assertEqual(rows("x.npy", "b.npy", *words[2:], "--in", "e5m2", "--dtype", "e5m2", cwd=folder)[0]["max"], "5")
            for given in (("x.npy", "x.npy", "--in", "e4m3", "--dtype", "e4m3"), ("x.npy", "b.npy", "--in", "e4m3", "--dtype", "e4m3,bf16")):
                self.assertEqual(run(*given, *words[2:], cwd=folder)[::2],
                                 (2, f"ulpscope: --dtype {given[-1].replace(',', ', ')}: x.npy holds float32, no codes of it; leave --dtype out\n"))

    def test_blocks_that_may_be_others_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            npy(path / "a.npy", (2, 100), [1] * 200)
            npy(path / "b.npy", (100, 3), [1] * 300)
            npy(path / "four.npy", (1, 4), [1, 2, 4, 8])
            npy(path / "seven.npy", (7, 1), [1] * 7)
            words = ("a.npy", "b.npy", "--in", "fp16", "--engine", "fma", "--scale-a", "four.npy", "--scale-b", "seven.npy")
            told = "--scale-a: 4 scales along K = 100 are taken for blocks of 32, the last one shorter; blocks of 25 fit too\n"
            code, out, err = run(*words, "--against", "none", "--csv", cwd=folder)
            self.assertEqual((code, err), (0, told))
            self.assertEqual([row["scale_a"] for row in csv.DictReader(io.StringIO(out))], ["allx32"])
            self.assertEqual(run(*words, "-o", "d.npy", cwd=folder)[0], 0)
            self.assertEqual(read_npy(path / "d.npy")[2], [32 + 64 + 128 + 32] * 6)
            verify = subprocess.run([PROGRAM, "verify", "matmul", *words, "--against", "engine", "--output", "d.npy"], capture_output=True, text=True,
                                    cwd=folder, timeout=LIMIT)
            self.assertEqual(verify.returncode, 0, verify.stderr)
            self.assertTrue(verify.stderr.startswith(told), verify.stderr)

    def test_errors_are_one_line_and_exit_2(self):
        a, b = "normal:0,1:8x100", "laplace:0,1:100x8"
        pair = (a, b, "--in", "fp16", "--engine")
        expected = {
            (a, b, "--in", "fp16"): "--engine is required",
            (*pair, "sm_91"): "unknown engine 'sm_91'; nearest: sm_90",
            (a, b, "--engine", "cdna3", "--in", "e4m3"): "engine cdna3 does not multiply float8_e4m3fn by float8_e4m3fn into float32; it has float16",
            (*pair, "block:n=16"): "engine block: n and f must be given",
            (*pair, "sm_90", "--acc", "bf16"): "--acc bf16: give float32, float16 or float64",
            (*pair, "fp16_chain", "--acc", "fp32"): "engine fp16_chain does not multiply float16 by float16 into float32; it has any",
            (*pair, "sm_90", "--out", "e4m9x"): "unknown format 'e4m9x'; nearest: e4m3",
            (*pair, "sm_90", "--out", "fp64"): "out float64: ",
            (*pair, "sm_90", "--against", "nothing"): "unknown engine 'nothing'; nearest: ",
            (*pair, "sm_90", "--promote", "100"): "promote 100: the engine takes 16 products in a step; give a multiple",
            (*pair, "sm_90", "--split-k", "0"): "--split-k: '0': give a whole number from 1 to",
            (*pair, "sm_90", "--split-k", "101"): "--split-k 101: K is 100, so give 1 to 100",
            (*pair, "sm_90", "--beta", "1"): "--beta: is the factor of C",
            (*pair, "sm_90", "--alpha", "1e39"): "--alpha 1e+39: sums are multiplied in float32, where this is infinite; give",
            (a, b, "uniform:1,1:1", *pair[2:], "sm_90", "--beta", "-1e-46"): "--beta -1e-46: sums are multiplied in float32, where this is 0; give",
            (a, b, "--engine", "sm_90", "--in", "fp16:nearest"): "--in fp16:nearest: only tf32 has such words",
            (a, b, "--engine", "sm_90", "--in", "fp16,fp16,fp16"): "--in: 3 words; give one format, or one for A and one for B",
            (*pair, "sm_90", "--seed", "1,2,3,4"): "--seed: 4 words",
            (*pair, "sm_90", "--scale-a", "normal:0,1:7x3"): "normal:0,1:7x3 (7x3): does not fit normal:0,1:8x100 (8x100); scales",
            (*pair, "sm_90", "--scale-a", "nowhere.npy"): "nowhere.npy: no such file",
            (*pair, "sm_90", "--scale-a", "uniform:1,2:8x4", "--scale-dtype", "e8m0"): "uniform:1,2:8x4: element 0 is no number of float8_e8m0fnu",
            (*pair, "sm_90", "--scale-dtype", "e8m0"): "--scale-dtype: is of --scale-a and --scale-b, which are not there",
            (*pair, "sm_90", "--scale-a", "2", "--scale-a", "uniform:0,1:2"): "uniform:0,1:2: the second --scale-a is one number",
            (*pair, "sm_90", "--transpose-a"): f"{a} (8x100, transposed) by {b} (100x8): A has 8 columns, B has 100 rows",
            (a, "normal:0,1:101x8", *pair[2:], "sm_90"): f"{a} (8x100) by normal:0,1:101x8 (101x8): A has 100 columns",
            (a, b, "normal:0,1:7", *pair[2:], "sm_90"): "C normal:0,1:7: shape 7 does not fit 8x8",
            (a, "missing.npy", *pair[2:], "sm_90"): "missing.npy: no such file",
            (*pair, "sm_90", "--codes"): "--codes: is about the file",
            (*pair, "sm_90", "-o", "d.txt"): "d.txt: the name ends in neither .npy nor .safetensors",
            (*pair, "sm_90", "-o", "no/such/d.npy"): "-o no/such/d.npy: cannot be written: there is no folder no/such",
            (*pair, "sm_90", "--engine", "fma", "-o", "d.npy"): "-o d.npy: writes the D of one engine",
            (*pair, "sm_90", "--threads", "-1"): "", (a,): "", (*pair, "sm_90", "--nonsense"): "",
        }
        with tempfile.TemporaryDirectory() as folder:
            for words, start in expected.items():
                code, out, err = run(*words, cwd=folder)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), (words, err))
                self.assertTrue(err.startswith("ulpscope: " + start), (words, err))
            self.assertEqual(os.listdir(folder), [])

    def test_the_output_is_no_input(self):
        with tempfile.TemporaryDirectory() as folder:
            npy(pathlib.Path(folder) / "a.npy", (1,), [1])
            code, _, err = run("a.npy", "a.npy", "--engine", "fma", "-o", "./a.npy", cwd=folder)
            self.assertEqual((code, err), (2, "ulpscope: ./a.npy: is the input itself, a.npy; choose another name\n"))

    def test_hardware_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = run("normal:0,1:8x8", "laplace:0,1:8x8", "--in", "fp16", "--engine", "sm_90", "--device", "cuda:99", "-o",
                                 "d.npy", cwd=folder)
            self.assertEqual((code, out, err.count("\n"), os.listdir(folder)), (4, "", 1, []))

    def test_help_shows_an_example(self):
        self.assertIn("Example: ulpscope matmul", run("--help")[1])


class Devices(unittest.TestCase):
    """An emulated device takes the way of a real one."""

    operands = ("normal:0,1:9x200", "laplace:0,1:200x7", "--seed", "0,1")

    def compared(self, engine, *words, operands=None):
        table = rows(*(operands or self.operands), "--engine", engine, *words)
        return {(r["engine"], r["against"]): r for r in table}

    def test_whatever_surrounds_the_chains_is_that_of_the_engine(self):
        cases = (("--in", "fp16"), ("--in", "bf16"), ("--in", "tf32"), ("--in", "e4m3,e5m2"), ("--in", "fp16", "--acc", "float16"),
                 ("--in", "float64"), ("--in", "fp16", "--promote", "64"), ("--in", "fp16", "--split-k", "3", "--out", "bf16"),
                 ("--in", "fp16", "--alpha", "0.5", "--promote", "32"), ("--in", "e4m3", "--scale-a", "0.3", "--scale-b", "7"))
        for words in cases:
            table = self.compared("sm_90", "--device", "emulated:sm_90", *words)
            beside = table["sm_90", "emulated:sm_90"]
            self.assertEqual((beside["differing"], beside["differing_codes"], beside["count"]), ("0", "0", "63"), words)
            self.assertEqual(beside["against_evidence"], "hardware")
            exact, of_device = table["sm_90", "exact"], table["emulated:sm_90", "exact"]
            self.assertEqual(of_device["evidence"], "hardware")
            self.assertEqual({k: v for k, v in exact.items() if k not in ("engine", "evidence", "scaled_by")},
                             {k: v for k, v in of_device.items() if k not in ("engine", "evidence", "scaled_by")}, words)

    def test_c_starts_the_chain_and_beta_takes_it_out(self):
        operands = (*self.operands[:2], "normal:0,9:9x7", *self.operands[2:])
        for words in ((), ("--beta", "0.25"), ("--promote", "32")):
            table = self.compared("sm_90", "--device", "emulated:sm_90", "--in", "fp16", *words, operands=operands)
            self.assertEqual(table["sm_90", "emulated:sm_90"]["differing_codes"], "0", words)

    def test_another_engine_differs_from_the_device(self):
        table = self.compared("sm_70", "--device", "emulated:sm_90", "--in", "fp16")
        self.assertGreater(int(table["sm_70", "emulated:sm_90"]["differing_codes"]), 0)

    def test_the_instruction_is_the_one_of_the_engine_or_the_one_named(self):
        words = ("--in", "e4m3", "--device", "emulated:sm_90")
        chosen = self.compared("sm_90", *words)["sm_90", "emulated:sm_90"]
        self.assertEqual(chosen["differing_codes"], "0")
        named = self.compared("sm_90", *words, "--instruction", "mma.sync")["sm_90", "emulated:sm_90"]
        self.assertGreater(int(named["differing_codes"]), 0)

    def test_what_the_device_does_not_multiply(self):
        for words, message in ((("--in", "e2m1"), "emulated:sm_90 does not multiply float4_e2m1fn x float4_e2m1fn into float32; it has "),
                               (("--in", "fp16", "--instruction", "x"), "emulated:sm_90 (x) does not multiply ")):
            code, out, err = run(*self.operands, "--engine", "fma", "--device", "emulated:sm_90", *words)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertIn(message, err)
        code, out, err = run(*self.operands, "--engine", "fma", "--instruction", "wgmma")
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        self.assertIn("--instruction: --device is missing", err)


GOLDEN = "0b1b07335482e7003c0d8d72d663fe06bd5561800a289c5846bd6ab31c1a4d31"
unittest.main()
