#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What census, diff and cast say of tensors that are easily taken for others: batches of matrices under tiles of 128 by 128, infinities
and NaN, codes that a format does not have, nothing at all.   usage: verdicts_test.py PROGRAM"""
import csv
import math
import random
import struct
import unittest

from files_test import Folder, npy, parse, run

INF, NAN = math.inf, math.nan


class Verdicts(Folder):
    def write(self, name, values, shape=None):
        (self.path / name).write_bytes(npy("<f4", shape or (len(values),), struct.pack(f"<{len(values)}f", *values)))

    def rows(self, *words, code=0):
        found, said, wrong = run(*words, "--csv", cwd=self.path)
        self.assertEqual(found, code, wrong)
        return list(csv.DictReader(said.splitlines()))

    def test_tiles_are_of_one_matrix_each(self):
        drawn = random.Random(1)
        shape, size = (2, 100, 256), 100 * 256
        values = [drawn.gauss(0, 1) * (1 if i < size else 1000) for i in range(2 * size)]
        self.write("moe.npy", values, shape)
        self.write("first.npy", values[:size], (100, 256))
        self.write("last.npy", values[size:], (100, 256))
        blocks, = self.rows("census", "moe.npy", "--to", "e4m3", "--scale", "128x128", "--blocks")
        self.assertEqual(blocks["blocks"], "4")
        alone = [self.rows("census", name, "--to", "e4m3", "--scale", "128x128")[0] for name in ("first.npy", "last.npy")]
        both, = self.rows("census", "moe.npy", "--to", "e4m3", "--scale", "128x128")
        for count in ("exact", "subnormal", "to_zero", "overflow"):
            self.assertEqual(int(both[count]), sum(int(row[count]) for row in alone))
        for layout, name in (("ulpscope", "moe.scale"), ("deepseek", "moe.weight_scale_inv")):
            code, _, wrong = run("cast", "moe.npy", "--to", "e4m3", "--scale", "128x128", "--layout", layout, "-o", "q.safetensors", cwd=self.path)
            if code != 0:
                continue  # a layout that wants other names
            header, _ = parse(self.path / "q.safetensors")
            scale = next(entry for key, entry in header.items() if "scale" in key and isinstance(entry, dict) and "shape" in entry)
            self.assertEqual(scale["shape"], [2, 1, 2])
            # Read back, it is what the census has counted.
            compared, = self.rows("diff", "moe.npy", "q.safetensors", code=1)
            self.assertAlmostEqual(float(compared["sqnr_db"]), float(both["sqnr_db"]), places=6)

    def test_integers_that_are_no_float32_are_not_rounded_before_they_are_judged(self):
        whole = lambda values: npy("<i4", (len(values),), struct.pack(f"<{len(values)}i", *values))
        (self.path / "x.npy").write_bytes(whole([16842753, 1, 2]))  # above the tie of two bfloat16
        (self.path / "even.npy").write_bytes(whole([16842752, 1, 2]))
        (self.path / "d.npy").write_bytes(npy("<u2", (3,), struct.pack("<3H", 0x4b81, 0x3f80, 0x4000)))
        words = ("--output", "d.npy", "--out", "bf16", "--output-dtype", "bf16")
        code, _, wrong = run("verify", "cast", "x.npy", *words, cwd=self.path)
        self.assertEqual(code, 2)
        self.assertIn("1 of its integers is no float32, in which inputs are judged: round them first", wrong)
        self.assertEqual(run("verify", "cast", "even.npy", *words, cwd=self.path)[0], 1)  # it rounds to even, 0x4b80

    def test_infinities_and_nan_that_a_format_does_not_have_are_a_bad_finding(self):
        self.write("t.npy", [1.0, INF, NAN, 1.5])
        for to, share in (("e4m3", "25"), ("e2m1", "50"), ("int8", "50"), ("fp16", None)):
            code, _, wrong = run("census", "t.npy", "--to", to, "-o", "r", cwd=self.path)
            self.assertEqual(code, 0, wrong)
            finding, = [row for row in csv.DictReader((self.path / "r/findings.csv").read_text().splitlines()) if "t.npy, " in row["where"] and row["what"] != "lost_at_best_scale"]
            if share is None:
                self.assertEqual(finding["severity"], "good")
                continue
            self.assertEqual((finding["severity"], finding["what"], finding["value"]), ("bad", "nonfinite%", share))
            self.assertIn("is infinite or NaN, which the format does not have", finding["sentence"])

    def test_a_whole_tensors_tolerance_forgives_no_infinity(self):
        for name, value in (("p", INF), ("m", -INF), ("n", NAN), ("f", 2.0)):
            self.write(f"{name}.npy", [1.0, 1.0, value, 1.0])
        for a in "pmnf":
            for b in "pmnf":
                expected = 0 if a == b else 1
                self.assertEqual(run("diff", f"{a}.npy", f"{b}.npy", "--tolerance", "frobenius=0.01", cwd=self.path)[0], expected, a + b)

    def test_what_is_equal_is_within_every_tolerance_and_has_the_cosine_1(self):
        self.write("empty.npy", [], (0, 3))
        self.write("t.npy", [0.1, 0.3, 0.7])
        for rule in ("frobenius=0.1", "ulp=0", "abs=0", "rel=0"):
            self.assertEqual(run("diff", "empty.npy", "empty.npy", "--tolerance", rule, cwd=self.path)[0], 0, rule)
        self.assertEqual(self.rows("diff", "t.npy", "t.npy")[0]["cosine"], "1")

    def test_codes_that_a_format_does_not_have_are_refused(self):
        (self.path / "packed.npy").write_bytes(npy("|u1", (3,), bytes([0x01, 0x21, 0x43])))
        (self.path / "codes.npy").write_bytes(npy("|u1", (3,), bytes([1, 7, 15])))
        for command in (("info",), ("census", "--to", "e2m1"), ("diff", "codes.npy")):
            code, out, wrong = run(*command, "packed.npy", "--dtype", "e2m1", cwd=self.path)
            self.assertEqual((code, out), (2, ""), command)
            self.assertIn("packed.npy: element 1 is 0x21, which is no code of float4_e2m1fn, of 4 bits", wrong)
        self.assertEqual(run("info", "codes.npy", "--dtype", "e2m1", cwd=self.path)[0], 0)
        (self.path / "wide.npy").write_bytes(npy("|u1", (1,), bytes([64])))
        self.assertEqual(run("info", "wide.npy", "--dtype", "e3m2", cwd=self.path)[0], 2)

    def test_a_block_saturates_where_its_census_overflows(self):
        words = ("census", "normal:0,1:64x1024", "--to", "e4m3")
        for scale in ("1x128", "row", "mx:floor"):
            blocks, = self.rows(*words, "--scale", scale, "--blocks")
            whole, = self.rows(*words, "--scale", scale)
            self.assertEqual(blocks["saturated"] == "0", whole["overflow"] == "0", scale)
            self.assertLessEqual(int(blocks["saturated"]), int(whole["overflow"]))

    def test_groups_see_the_names_of_arrays(self):
        for name in ("a.w1.npy", "b.w1.npy", "c.w2.npy"):
            self.write(name, [1.0, 2.0])
        rows = self.rows("census", "a.w1.npy", "b.w1.npy", "c.w2.npy", "--to", "e4m3", "--group", "(w[12])")
        self.assertEqual([(row["tensor"], row["count"]) for row in rows if row["tensor"].startswith("group:")], [("group:w1", "4"), ("group:w2", "2")])


if __name__ == "__main__":
    unittest.main()
