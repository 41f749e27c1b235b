#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ulpscope ledger` as an upgrade calls it: outputs that stay, move within and beyond their bound, inputs that changed, ledgers that
are damaged. Digests are made anew here. usage: ledger_test.py PROGRAM"""
import concurrent.futures
import csv
import hashlib
import io
import json
import os
import pathlib
import random as randoms
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

from npy_file import npy
from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
M, K, N = 4, 16, 3
A = [(7 * i) % 9 + 1 for i in range(M * K)]
B = [(5 * i) % 7 + 1 for i in range(K * N)]
D = [float(sum(A[i * K + k] * B[k * N + j] for k in range(K))) for i in range(M) for j in range(N)]  # exact in any order
ULP = 2.0**-15  # of float32 in [256, 512)


def bf16(values):
    """Codes of numbers that bfloat16 has."""
    return [struct.unpack("<I", struct.pack("<f", x))[0] >> 16 for x in values]


def sha256(header, kind, codes):
    return hashlib.sha256(header.encode() + b"\n" + struct.pack(f"<{len(codes)}{kind}", *codes)).hexdigest()


class Ledger(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        npy(self.folder / "a.npy", (M, K), A)
        npy(self.folder / "b.npy", (K, N), B)
        self.output("d.npy")

    def output(self, name, change=None):
        values = list(D)
        for at, value in (change or {}).items():
            values[at] = value
        npy(self.folder / name, (M, N), values)
        return name

    def run_program(self, *words):
        return subprocess.run([PROGRAM, "ledger", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder, timeout=LIMIT)

    def record(self, case="gemm", *more, output="d.npy", ledger="L", code=0, inputs=("a.npy", "b.npy")):
        done = self.run_program("record", ledger, "matmul", *inputs, "--in", "bf16", "--output", output, "--case", case, *more)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def check(self, *words, code, case="gemm", ledger="L"):
        done = self.run_program("check", ledger, case, *words)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def row(self, done):
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
        self.assertEqual(len(rows), 1)
        return rows[0]

    def refused(self, *words, code=2):
        done = self.run_program(*words)
        error = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout, error.count("\n")), (code, b"", 1), error)
        return error

    def lines(self, ledger="L"):
        return [json.loads(line) for line in (self.folder / ledger).read_bytes().decode().splitlines()]

    def test_an_entry_holds_digests_figures_and_what_was_declared(self):
        self.record("gemm", "--algorithm", "split 2", "--device", "H200", "--driver", "550.54", "--library", "12.4", "--tag",
                    "job=7", "--acc", "fp32", "--promote", "8")
        version, entry = self.lines()
        self.assertEqual(version, {"ulpscope_ledger": 1})
        self.assertEqual(entry["declared"], {"algorithm": "split 2", "device": "H200", "driver": "550.54", "job": "7", "library": "12.4"})
        self.assertEqual(entry["options"], {"acc": "float32", "in": "bfloat16,bfloat16", "out": "float32", "promote": "8"})
        self.assertEqual(entry["inputs"], [
            {"role": "A", "words": "a.npy", "format": "bfloat16", "shape": [M, K], "sha256": sha256(f"bfloat16 {M}x{K}", "H", bf16(A))},
            {"role": "B", "words": "b.npy", "format": "bfloat16", "shape": [K, N], "sha256": sha256(f"bfloat16 {K}x{N}", "H", bf16(B))}])
        self.assertEqual(entry["output"], {"role": "output", "words": "", "format": "float32", "shape": [M, N],
                                           "sha256": sha256(f"float32 {M}x{N}", "f", D)})
        self.assertEqual({key: entry["figures"][key] for key in ("verdict", "equal", "within", "beyond", "nonfinite")},
                         {"verdict": "pass", "equal": M * N, "within": 0, "beyond": 0, "nonfinite": 0})
        self.assertIn("float32", entry["bound"])

    def test_same_bytes_in_whatever_order_and_by_however_many_threads_cases_are_recorded(self):
        for case in ("b", "a", "c", "b"):
            self.record(case, "--threads", "1", ledger="one")
        for case in ("c", "b", "a"):
            self.record(case, "--threads", "2", ledger="two")
        self.assertEqual((self.folder / "one").read_bytes(), (self.folder / "two").read_bytes())
        self.assertEqual([entry["case"] for entry in self.lines("one")[1:]], ["a", "b", "c"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.npy", "b.npy", "d.npy", "one", "two"])

    def test_names_and_tags_may_hold_anything_that_is_utf_8(self):
        case = "tricky, \"quoted\" \\ and\nbroken \u00e9"
        self.record(case, "--tag", "note=a=b\n\"c\",d")
        self.assertEqual(self.lines()[1]["declared"], {"note": "a=b\n\"c\",d"})
        done = self.check("--output", "d.npy", "--csv", case=case, code=0)
        printed = case.replace("\n", "\\x0a")  # a line feed is shown, and the name as it is shown is known
        self.assertEqual(self.row(done)["case"], printed)
        self.assertEqual(self.row(self.check("--output", "d.npy", "--csv", case=printed, code=0))["case"], printed)
        self.assertEqual(self.check("--output", "d.npy", "--text", case=case, code=0).stdout.count(b"\n"), 3)
        shown = list(csv.DictReader(io.StringIO(self.run_program("show", "L", "--csv").stdout.decode(), newline="")))
        self.assertEqual((shown[0]["case"], shown[0]["tags"]), (printed, "note=a=b\\x0a\"c\",d"))
        before = (self.folder / "L").read_bytes()
        error = self.refused("record", "L", "matmul", "a.npy", "b.npy", "--in", "bf16", "--output", "d.npy", "--case", b"\xe9")
        self.assertIn("not UTF-8", error)
        self.assertEqual((self.folder / "L").read_bytes(), before)

    def test_same(self):
        self.record("gemm", "--keep-output")
        row = self.row(self.check("--output", "d.npy", code=0))
        self.assertEqual((row["status"], row["moved"], row["verdict"]), ("same", "0", "pass"))
        self.check("a.npy", "b.npy", "--output", "d.npy", "--strict", code=0)

    def test_storage_does_not_matter(self):
        one = [1.0] * (M * K)
        npy(self.folder / "one.npy", (M, K), one)
        npy(self.folder / "codes.npy", (M, K), bf16(one), "<u2")
        npy(self.folder / "eye.npy", (K, N), [1.0] * (K * N))
        npy(self.folder / "d32.npy", (M, N), [float(K)] * (M * N))
        npy(self.folder / "d16.npy", (M, N), bf16([float(K)] * (M * N)), "<u2")
        self.record("gemm", "--out", "bf16", output="d32.npy", inputs=("one.npy", "eye.npy"))
        self.check("--output", "d16.npy", "--output-dtype", "bf16", "--strict", code=0)
        self.record("coded", "--out", "bf16", "--dtype", "bf16,bf16", output="d16.npy", inputs=("codes.npy", "eye.npy"))
        first, second = self.lines()[1:]
        self.assertEqual(first["inputs"][0]["sha256"], second["inputs"][0]["sha256"])
        self.assertEqual(first["output"]["sha256"], second["output"]["sha256"])

    def test_what_is_digested_is_what_is_multiplied(self):
        npy(self.folder / "near.npy", (M, K), [x * (1 + 2.0**-10) for x in A])  # these go down to A in bfloat16, half an ulp of
        self.record("gemm", inputs=("near.npy", "b.npy"))                       # which is at least 2^-9 of a number
        self.assertEqual(self.lines()[1]["inputs"][0]["sha256"], sha256(f"bfloat16 {M}x{K}", "H", bf16(A)))
        self.check("a.npy", "b.npy", "--output", "d.npy", "--strict", code=0)

    def test_moved_within_the_bound(self):
        self.record("gemm", "--keep-output")
        self.output("e.npy", {2: D[2] + ULP, 7: D[7] - 3 * ULP})
        self.assertTrue(256 <= D[2] < 512 and 256 < D[7] < 512, D)
        done = self.check("--output", "e.npy", code=0)
        row = self.row(done)
        self.assertEqual([row[c] for c in ("status", "moved", "moved_nonfinite", "max_moved_ulp", "mean_moved_ulp", "verdict",
                                           "equal_before", "equal", "within", "beyond", "max_ulp_error_before", "max_ulp_error")],
                         ["moved", "2", "0", "3", "2", "pass", "12", "10", "2", "0", "0", "3"])
        self.assertIn(b"gemm: moved in 2 of 12 elements, by 2 ulp on the mean and 3 at most; within the bound", done.stderr)
        self.check("--output", "e.npy", "--strict", code=1)

    def test_without_the_output_only_figures_are_compared(self):
        self.record()
        self.assertFalse((self.folder / "L.outputs").exists())
        self.output("e.npy", {2: D[2] + ULP})
        done = self.check("--output", "e.npy", code=0)
        row = self.row(done)
        self.assertEqual([row[c] for c in ("status", "moved", "max_moved_ulp", "max_ulp_error")], ["moved", "", "", "1"])
        self.assertIn(b"by how many ulps is not known", done.stderr)

    def test_zeros_of_either_sign_and_nans(self):
        npy(self.folder / "z.npy", (M, K), [0] * (M * K))
        npy(self.folder / "zero.npy", (M, N), [0.0] * (M * N))
        npy(self.folder / "minus.npy", (M, N), [-0.0] + [0.0] * (M * N - 1))
        self.record("gemm", "--keep-output", output="zero.npy", inputs=("z.npy", "b.npy"), code=3)
        self.assertEqual(self.row(self.check("--output", "zero.npy", code=0))["status"], "same")
        row = self.row(self.check("--output", "minus.npy", code=3))  # whether it is right cannot be told
        self.assertEqual([row[c] for c in ("status", "moved", "max_moved_ulp", "verdict")], ["moved", "1", "0", "vacuous"])

    def test_moved_beyond_the_bound(self):
        self.record("gemm", "--keep-output")
        for value, nonfinite in ((D[5] * 1.01, "0"), (float("nan"), "1"), (float("inf"), "1")):
            self.output("e.npy", {5: value})
            done = self.check("--output", "e.npy", "--junit", "j.xml", code=1)
            row = self.row(done)
            self.assertEqual([row[c] for c in ("status", "moved", "moved_nonfinite", "verdict_before", "verdict")],
                             ["moved", "1", nonfinite, "pass", "fail"])
            self.assertIn(b"1 of 12 elements are BEYOND THE BOUND, before 0", done.stderr)
            self.assertEqual(xml.parse(self.folder / "j.xml").getroot().get("failures"), "1")

    def test_what_was_wrong_and_stays_so_is_still_wrong(self):
        self.output("e.npy", {5: float("nan")})
        self.record("gemm", output="e.npy", code=1)
        done = self.check("--output", "e.npy", code=1)
        self.assertEqual(self.row(done)["status"], "same")
        self.check("--output", "d.npy", code=0)

    def test_changed_inputs_are_not_compared(self):
        self.record("gemm", "--keep-output")
        npy(self.folder / "a.npy", (M, K), [A[0] + 1] + A[1:])
        done = self.check("--output", "d.npy", code=2)
        row = self.row(done)
        self.assertEqual((row["status"], row["moved"]), ("inputs_differ", ""))
        self.assertIn(b"gemm: inputs differ, nothing is compared: A: bfloat16 4x16 ", done.stderr)
        npy(self.folder / "again.npy", (M, K), A)
        self.check("again.npy", "b.npy", "--output", "d.npy", "--strict", code=0)

    def test_scales_c_and_factors_are_part_of_the_case(self):
        npy(self.folder / "c.npy", (N,), [1, 2, 3])
        npy(self.folder / "s.npy", (M, 1), [1, 2, 4, 8])
        npy(self.folder / "t.npy", (M, 1), [1, 2, 4, 4])
        values = [2 * 0.5 * 2.0**(i // N) * D[i] - (i % N + 1) for i in range(M * N)]
        npy(self.folder / "e.npy", (M, N), values)
        self.record("gemm", "--alpha", "2", "--beta", "-1", "--scale-a", "s.npy", "--scale-a", "0.5", output="e.npy",
                    inputs=("a.npy", "b.npy", "c.npy"))
        entry = self.lines()[1]
        self.assertEqual([i["role"] for i in entry["inputs"]], ["A", "B", "C", "scale_a", "scale_a_whole"])
        self.assertEqual(entry["figures"]["equal"], M * N)
        self.check("--output", "e.npy", "--strict", code=0)
        self.check("--output", "e.npy", "--scale-a", "t.npy", code=2)
        self.check("--output", "e.npy", "--scale-a", "s.npy", "--scale-a", "0.25", code=2)
        self.check("--output", "e.npy", "--scale-a", "s.npy", "--scale-a", "0.5", "--strict", code=0)

    def test_an_engine_and_its_bits(self):
        self.record("gemm", "--against", "engine", "--engine", "SM-90", "--keep-output")
        self.assertEqual(self.lines()[1]["options"]["engine"], "sm_90")
        self.check("--output", "d.npy", code=0)
        self.assertNotIn(b"describes itself", self.check("--output", "d.npy", "--csv", code=0).stderr)
        self.output("e.npy", {2: D[2] + ULP})
        self.check("--output", "e.npy", code=1)

    def test_an_engine_of_the_ledger_s_own_is_named(self):
        self.record("gemm", "--against", "engine", "--engine", "block:n=16,f=25,out=rz")
        for rendering in ("--csv", "--text"):
            self.assertIn(b"gemm: is judged by an engine that L describes itself (block:n=16,f=25,out=rz)\n",
                          self.check("--output", "d.npy", rendering, code=0).stderr)

    def test_a_manifest_of_many_cases(self):
        for case in ("one", "two", "three", "four"):
            self.record(case, "--keep-output")
        self.output("e.npy", {2: D[2] + ULP})
        npy(self.folder / "other.npy", (M, K), A[::-1])
        manifest = self.folder / "m.csv"
        manifest.write_text("case,output,A\none,d.npy,\ntwo,e.npy,a.npy\n")
        done = self.run_program("check", "L", "--manifest", "m.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
        self.assertEqual([(r["case"], r["status"]) for r in rows], [("one", "same"), ("two", "moved")])
        self.assertIn(b"not checked: four, three", done.stderr)
        self.assertEqual(self.run_program("check", "L", "--manifest", "m.csv", "--strict").returncode, 1)

        manifest.write_text("case,output,A,Q\none,d.npy,other.npy,\ntwo,none.npy,,\nthree,d.npy,,d.npy\nfive,d.npy,,\nfour,d.npy,,\n")
        done = self.run_program("check", "L", "--manifest", "m.csv", "--junit", "j.xml")
        self.assertEqual(done.returncode, 2, done.stderr)
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
        self.assertEqual([r["status"] for r in rows], ["inputs_differ", "unchecked", "unchecked", "unchecked", "same"])
        self.assertIn("m.csv: row 3: none.npy: no such file", rows[1]["problem"])
        self.assertIn("m.csv: row 4: input Q (d.npy): the case has A, B", rows[2]["problem"])
        self.assertIn("m.csv: row 5: unknown case 'five'; nearest: ", rows[3]["problem"])
        self.assertEqual(xml.parse(self.folder / "j.xml").getroot().get("failures"), "4")

        self.output("bad.npy", {2: 0.0})  # what is wrong is not hidden by what could not be checked
        manifest.write_text("case,output\nfive,d.npy\none,bad.npy\n")
        self.assertEqual(self.run_program("check", "L", "--manifest", "m.csv").returncode, 1)

        manifest.write_text("case,output\nfive,d.npy\ntwo,e.npy\n")
        self.assertEqual(self.run_program("check", "L", "--manifest", "m.csv").returncode, 2)
        self.assertEqual(self.run_program("check", "L", "--manifest", "m.csv", "--strict").returncode, 1)  # something moved

        manifest.write_text("case,output\ntwo,d.npy\n", encoding="utf-8-sig")  # a spreadsheet's
        self.assertEqual(self.run_program("check", "L", "--manifest", "m.csv", "--strict").returncode, 0)

        manifest.write_text("case,output\n")
        self.assertEqual(self.run_program("check", "L", "--manifest", "m.csv").returncode, 3)

    def test_a_manifest_of_many_unknown_cases_takes_no_time(self):
        self.record("known")
        version, entry = (self.folder / "L").read_text().splitlines()
        named = lambda i: entry.replace('"case":"known"', f'"case":"case-with-a-name-{i:05}"', 1)
        (self.folder / "L").write_text("\n".join([version, *map(named, range(2500))]) + "\n")
        (self.folder / "m.csv").write_text("case,output\n" + "".join(f"zase-with-a-nbme-{i:05},d.npy\n" for i in range(1500)))
        done = self.run_program("check", "L", "--manifest", "m.csv")
        self.assertEqual(done.returncode, 2, done.stderr)
        problems = [row["problem"] for row in csv.DictReader(io.StringIO(done.stdout.decode()))]
        self.assertEqual(problems[0], "m.csv: row 2: unknown case 'zase-with-a-nbme-00000'; nearest: " +
                         ", ".join(f"case-with-a-name-{i:05}" for i in range(3)))
        self.assertEqual(problems[-1], "m.csv: row 1501: unknown case 'zase-with-a-nbme-01499'")  # after seconds of comparing names

    def test_two_ledgers(self):
        for case in ("stays", "moves", "goes", "input"):
            self.record(case, "--keep-output", "--driver", "550")
        self.output("e.npy", {2: D[2] + ULP})
        npy(self.folder / "other.npy", (M, K), A[:-K] + A[:K])
        npy(self.folder / "f.npy", (M, N), D[:-N] + D[:N])
        self.record("stays", "--driver", "560", ledger="N")
        self.record("moves", "--keep-output", "--driver", "560", output="e.npy", ledger="N")
        self.record("comes", ledger="N")
        self.record("input", output="f.npy", inputs=("other.npy", "b.npy"), ledger="N")
        done = self.run_program("diff", "L", "N", "--csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {r["case"]: r for r in csv.DictReader(io.StringIO(done.stdout.decode()))}
        self.assertEqual({case: r["status"] for case, r in rows.items()},
                         {"comes": "added", "goes": "removed", "input": "inputs_differ", "moves": "moved", "stays": "same"})
        self.assertEqual((rows["moves"]["moved"], rows["moves"]["max_moved_ulp"]), ("1", "1"))
        self.assertEqual(rows["stays"]["changes"], "driver: 550 -> 560")
        self.assertEqual(self.run_program("diff", "L", "N", "--strict").returncode, 1)
        self.assertEqual(self.run_program("diff", "L", "L", "--strict").returncode, 0)
        self.output("bad.npy", {2: 0.0})
        self.record("moves", output="bad.npy", ledger="N", code=1)
        self.assertEqual(self.run_program("diff", "L", "N").returncode, 1)
        self.assertEqual(self.run_program("diff", "N", "L").returncode, 0)
        (self.folder / "empty").write_bytes(b"")
        self.record("input", ledger="I")
        self.record("input", output="f.npy", inputs=("other.npy", "b.npy"), ledger="J")
        for pair in (("L", "empty"), ("empty", "L"), ("I", "J")):  # all removed, all added, other inputs: nothing is compared
            self.assertEqual(self.run_program("diff", *pair).returncode, 3, pair)
            self.assertEqual(self.run_program("diff", *pair, "--strict").returncode, 1, pair)
        self.assertEqual(self.run_program("diff", "empty", "empty", "--strict").returncode, 3)

    def test_outputs_of_two_kinds_are_no_ulps_apart(self):
        values = [float(i % 3) for i in range(M * K)]  # whose sums are exact in either format
        npy(self.folder / "x.npy", (M, K), values)
        npy(self.folder / "rows.npy", (M,), [sum(values[i * K:(i + 1) * K]) for i in range(M)])
        npy(self.folder / "all.npy", (), [sum(values)])
        for ledger, axis, out, output in (("L", "last", "bf16", "rows.npy"), ("N", "last", "fp16", "rows.npy"),
                                          ("C", "all", "bf16", "all.npy")):
            done = self.run_program("record", ledger, "sum", "x.npy", "--axis", axis, "--out", out, "--output", output,
                                    "--case", "sum", "--keep-output")
            self.assertEqual(done.returncode, 0, done.stderr)
        for other, kind in (("N", b"float16 4"), ("C", b"bfloat16 scalar")):
            done = self.run_program("diff", "L", other, "--text")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"as outputs are not of one kind: bfloat16 4 -> " + kind + b"; within the bound", done.stdout)

    def test_kept_outputs_come_and_go_with_their_entries(self):
        kept = lambda: sorted(os.listdir(self.folder / "L.outputs"))
        self.output("e.npy", {2: D[2] + ULP})
        self.record("one", "--keep-output")
        first = kept()
        self.assertEqual(first, [self.lines()[1]["output"]["sha256"] + ".npy"])
        self.record("two", "--keep-output")
        self.assertEqual(kept(), first)
        self.record("one", "--keep-output", output="e.npy")
        self.assertEqual(len(kept()), 2)
        self.record("two", "--keep-output", output="e.npy")
        self.assertEqual(len(kept()), 1)
        (path,) = (self.folder / "L.outputs").iterdir()
        path.write_bytes(path.read_bytes()[:-1] + b"\x00")
        self.assertIn("is not the output that it is named after", self.refused("check", "L", "one", "--output", "d.npy"))

    def test_an_empty_ledger_checks_nothing(self):
        (self.folder / "L").write_bytes(b'{"ulpscope_ledger":1}\n')
        self.assertIn("holds no case", self.refused("check", "L", "gemm", "--output", "d.npy", code=3))

    def test_bad_input_is_one_line_and_changes_nothing(self):
        self.record("gemm-64")
        before = (self.folder / "L").read_bytes()
        verify = ("record", "L", "matmul", "a.npy", "b.npy", "--in", "bf16", "--output", "d.npy")
        expected = {
            ("check", "none", "gemm", "--output", "d.npy"): "none: no such file; `ulpscope ledger record` begins a ledger",
            ("check", ".", "gemm", "--output", "d.npy"): ".: is a directory, not a file",
            ("check", "L", "gem-64", "--output", "d.npy"): "unknown case 'gem-64'; nearest: gemm-64",
            ("check", "L", "gemm-64"): "give a CASE and its --output, or a --manifest",
            ("check", "L", "gemm-64", "--output", "e.npy"): "e.npy: no such file",
            ("check", "L", "gemm-64", "--output", "a.npy"): "a.npy 4x16: the result of these inputs is 4x3",
            ("check", "L", "gemm-64", "a.npy", "b.npy", "d.npy", "--output", "d.npy"): "inputs: 3; the case has A, B",
            ("check", "L", "gemm-64", "a", "b", "c", "d", "--output", "d.npy"): "",
            ("check", "L", "gemm-64", "--output", "d.npy", "--manifest", "m.csv"): "--manifest m.csv: names cases",
            ("check", "L", "--manifest", "m.csv"): "m.csv: no such file; it is a CSV file",
            (*verify,): "--case is required",
            (*verify, "--case", ""): "--case: '': give a word",
            (*verify, "--case", "x", "--tag", "alone"): "--tag 'alone': give KEY=VALUE",
            (*verify, "--case", "x", "--tag", "a=1", "--tag", "a=2"): "--tag 'a=2': a is given twice",
            (*verify, "--case", "x", "--driver", "1", "--tag", "driver=2"): "--tag 'driver=2': driver is given twice",
            (*verify, "--case", "x", "--against", "d.npy"): "--against d.npy: a ledger judges against exact or engine",
            ("record", "no/such/L", *verify[2:], "--case", "x"): "no/such/L: cannot be written: no/such: No such file",
            ("show", "a.npy"): "a.npy: line 1: is no JSON",
        }
        for words, start in expected.items():
            error = self.refused(*words)
            self.assertTrue(error.startswith("ulpscope: " + start), (words, error))
        self.assertEqual((self.folder / "L").read_bytes(), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["L", "a.npy", "b.npy", "d.npy"])

    def test_a_damaged_ledger_is_neither_used_nor_overwritten(self):
        self.record("one")
        self.record("two")
        whole = (self.folder / "L").read_bytes()
        for damaged, line in ((whole[:-20], 3), (whole + whole.splitlines(True)[1], 4), (b"<<<<<<< HEAD\n" + whole, 1),
                              (whole.replace(b'"equal":12', b'"equal":11', 1), 2),
                              (whole.replace(b'"acc":"float32"', b'"acc":"float32","acc":"float16"', 1), 2)):
            (self.folder / "L").write_bytes(damaged)
            for words in (("show", "L"), ("check", "L", "one", "--output", "d.npy"), ("diff", "L", "L"),
                          ("record", "L", "matmul", "a.npy", "b.npy", "--in", "bf16", "--output", "d.npy", "--case", "x")):
                self.assertTrue(self.refused(*words).startswith(f"ulpscope: L: line {line}: "))
            self.assertEqual((self.folder / "L").read_bytes(), damaged)
        (self.folder / "L").write_bytes(whole.replace(b'"acc":', b'"accu":', 1))
        self.assertIn("options", self.refused("check", "L", "one", "--output", "d.npy"))
        for was, wrong in ((b'"acc":', b'"accu":'), (b'"out":"float32"', b'"out":"float99"'), (b'"matmul"', b'"matmull"')):
            (self.folder / "L").write_bytes(whole.replace(was, wrong, 1))
            self.assertTrue(self.refused("check", "L", "one", "--output", "d.npy").endswith(" (case one of L)\n"), wrong)

    def test_figures_that_were_changed_by_hand_are_told(self):
        self.record()
        text = (self.folder / "L").read_bytes()
        (self.folder / "L").write_bytes(text.replace(b'"equal":12,"within":0', b'"equal":11,"within":1'))
        self.assertIn(b"its figures are not those recorded", self.check("--output", "d.npy", "--text", code=0).stdout)

    def test_cases_recorded_at_once_are_all_kept(self):
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda i: self.record(f"case-{i:02}"), range(12)))
        self.assertEqual([entry["case"] for entry in self.lines()[1:]], [f"case-{i:02}" for i in range(12)])

    def test_what_overflows_within_the_bound_and_did_not_fails(self):
        # 3e38 + 3e38 leaves float32; in another order no sum does, and 1e38 + 1 + 2 + 3 has no such order.
        npy(self.folder / "p.npy", (2, 4), [3e38, -3e38, 3e38, -2e38, 1e38, 1, 2, 3])
        npy(self.folder / "q.npy", (4, 1), [1] * 4)
        for name, first in (("fine.npy", 1e38), ("inf.npy", float("inf"))):
            npy(self.folder / name, (2, 1), [first, 1e38])
        record = lambda output, case: self.run_program("record", "O", "matmul", "p.npy", "q.npy", "--output", output, "--case", case)
        self.assertEqual(record("fine.npy", "finite").returncode, 0)
        self.assertEqual(record("inf.npy", "known").returncode, 0)
        self.assertNotIn("nonfinite_admitted", (self.folder / "O").read_text().splitlines()[1])
        self.assertEqual(self.row(self.check("--output", "inf.npy", case="known", ledger="O", code=0))["nonfinite_admitted"], "1")
        done = self.check("--output", "inf.npy", "--text", "--junit", "j.xml", case="finite", ledger="O", code=1)
        self.assertIn(b"1 of 2 elements are INFINITE OR NaN where the exact result is finite, before 0: the bound admits that", done.stdout)
        self.assertIn(b"; nothing is beyond the bound; 1 overflowed within it", done.stdout)
        self.assertIn("failure", (self.folder / "j.xml").read_text())
        self.check("--output", "fine.npy", case="known", ledger="O", code=0)

    def test_wrong_odds_are_recorded_and_fail(self):
        random, fractions = randoms.Random(1), [37 * i % 65536 for i in range(2000)]
        npy(self.folder / "x.npy", (2000,), [1 + k * 2 ** -23 for k in fractions])  # between 1 and 1 + 2^-7 of bfloat16
        npy(self.folder / "cut.npy", (2000,), [1] * 2000)
        npy(self.folder / "right.npy", (2000,), [1 + (random.random() < k / 65536) * 2 ** -7 for k in fractions])
        words = ("--out", "bf16", "--out-rounding", "stochastic")
        for name, code in (("right", 0), ("cut", 1)):
            self.assertEqual(self.run_program("record", "S", "cast", "x.npy", "--output", name + ".npy", "--case", name, *words).returncode, code)
        self.assertEqual(self.run_program("show", "S").returncode, 0)
        self.assertIn(b"ODDS OF ITS ROUNDING ARE WRONG", self.check("--output", "cut.npy", "--text", case="right", ledger="S", code=1).stdout)

    def test_renderings(self):
        self.record()
        self.assertEqual(json.loads(self.check("--output", "d.npy", "--json", code=0).stdout)[0]["status"], "same")
        self.assertEqual(self.check("--output", "d.npy", "--text", code=0).stdout.decode(),
                         "gemm: same\n\n1 case: 1 same; nothing is beyond the bound\n")
        self.output("e.npy", {2: D[2] + ULP})
        text = self.check("--output", "e.npy", "--text", code=0).stdout.decode().splitlines()
        self.assertEqual([line.split()[:4] for line in text if line.startswith(("when", "before", "now"))],
                         [["when", "equal", "within", "max_ulp_error"], ["before", "12", "0", "0"], ["now", "11", "1", "1"]])
        self.assertEqual(self.check("--output", "d.npy", "--csv", code=0).stdout.decode().splitlines()[0],
                         "case,status,moved,moved_nonfinite,max_moved_ulp,mean_moved_ulp,verdict_before,verdict,equal_before,equal,"
                         "within_before,within,beyond_before,beyond,nonfinite_before,nonfinite,max_ulp_error_before,max_ulp_error,"
                         "bias_ulp_before,bias_ulp,rel_frobenius_error_before,rel_frobenius_error,max_of_bound_before,max_of_bound,"
                         "changes,problem,nonfinite_admitted_before,nonfinite_admitted")
        self.assertEqual(self.run_program("show", "L", "--text").stdout.decode().splitlines()[0][:32], "operation matmul, verdict pass, ")
        self.assertNotIn(b"driver", self.run_program("show", "L", "--text").stdout)
        (self.folder / "empty").write_bytes(b"")
        self.assertEqual(self.run_program("show", "empty", "--text").returncode, 0)
        shown = self.run_program("show", "L", "--csv").stdout.decode().splitlines()[0]
        self.assertEqual(shown, "case,operation,verdict,inputs,dtype,shape,acc,engine,promote,split_k,algorithm,device,driver,library,"
                                "tags,count,equal,within,beyond,nonfinite,max_ulp_error,bias_ulp,rel_frobenius_error,max_of_bound,"
                                "output_sha256,bound,nonfinite_admitted")


unittest.main()
