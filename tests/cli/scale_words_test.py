#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scales at their edges: words, magnitudes that are powers of two, tiny, huge and infinite; and plans.   usage: scale_words_test.py PROGRAM"""
import csv
import struct
import unittest

from cast_folder import Folder, floats
from files_test import safetensors

NAME = "a.weight"


class ScaleWords(Folder):
    def stored(self, values, to, rule, ending=".scale", dtype="F32"):
        """Bytes of the scales of one row."""
        data = struct.pack(f"<{len(values)}{'f' if dtype == 'F32' else 'd'}", *values)
        (self.path / "m.safetensors").write_bytes(safetensors({NAME: (dtype, [1, len(values)], data)}))
        return self.cast("--to", to, "--scale", rule)[1][NAME + ending]

    def test_scales_of_rows_and_blocks(self):
        for rule, wanted in (("row:pow2", 1 / 128), ("pow2", 1 / 128)):  # 448 / 3 is 149.3
            self.assertEqual(floats(self.stored([1.0, 3.0], "e4m3", rule)), [wanted])
        for rule, amax, exponent in (("mx:ceil", 8.0, -5), ("mx:ceil", 9.0, -4), ("mx:floor", 9.0, -5), ("mx:rceil", 448.0, 0), ("mx:rceil", 2.0**-149, -127),
                                     ("mx:even", 15.5, -4)):
            self.assertEqual(self.stored([amax] + [0.0] * 31, "e4m3", rule), bytes([exponent + 127]), (rule, amax))

    def test_a_tensor_without_a_usable_magnitude_has_the_scale_1(self):
        for dtype, amax, scale in (("F32", 0.0, 1.0), ("F64", 1e300, 1.0), ("F32", 2688.0, 1.0), ("F32", 1344.0, 0.5)):
            self.assertEqual(floats(self.stored([amax] + [0.0] * 15, "e2m1", "nvfp4", ".global_scale", dtype)), [scale], amax)

    def test_the_least_scale_is_the_least_of_float32(self):
        """The greatest number of the format, 448 2^-33, over 3e38 is less; 3e38 2^-149 is beyond the former, and 2^-149 becomes 0."""
        self.write("m.safetensors", {NAME: self.tensor([2], [3e38, 1.0])})
        row, = csv.DictReader(self.run_here("census", "m.safetensors", "--to", "e4m3b40", "--scale", "amax", "--csv")[0].splitlines())
        self.assertEqual((row["overflow"], row["to_zero"]), ("1", "1"))

    def test_words_that_are_no_scale(self):
        for word in ("inf", "nan", "0", "-1", "1x", "1e999", "0x", "0x1.8p3x", "0xinf", "2^", "2^x", "2^3x", "2^2000", "2^-2000", "2^99999999999"):
            said = self.refused("census", "normal:0,1:4", "--to", "e4m3", "--scale", word)
            self.assertTrue(said.startswith(f"--scale '{word}': give a positive number, 2^K or one of none, amax, "), said)
        rows = []
        for word in ("12", "0x1.8p3", "0X18p-1", "1.2e1"):
            row, = csv.DictReader(self.run_here("census", "normal:0,1:64", "--to", "e4m3", "--scale", word, "--csv")[0].splitlines())
            self.assertEqual(row.pop("scale"), word)
            rows.append(row)
        self.assertEqual(rows[1:], rows[:-1])

    def plan(self, text, wanted=0):
        (self.path / "p.toml").write_text(text)
        return self.run_here("cast", "m.safetensors", "--plan", "p.toml", "-o", "out.safetensors", wanted=wanted)

    def test_plans(self):
        rule = '[[tensors]]\nmatch = "{}"\nto = "e4m3"\nscale = "amax"\n'
        self.write("m.safetensors", {name: self.tensor([2], [1.0, 2.0]) for name in ("a1", "a2", "b1")})
        for pattern, casts in (("a?", ["a1", "a2"]), ("[ab]1", ["a1", "b1"]), ("*", ["a1", "a2", "b1"]), ("a1", ["a1"]), ("\\\\\\\\a1", [])):
            if not casts:
                self.assertIn("no tensor matches", self.plan(rule.format(pattern), 2)[1])
                continue
            self.plan(rule.format(pattern))
            header = self.cast("--plan", "p.toml")[0]
            self.assertEqual(sorted(name for name, entry in header.items() if entry["dtype"] == "F8_E4M3"), casts)
        self.assertEqual(self.plan("tensors = [1]\n", 2)[1], "ulpscope: p.toml:1: tensors: give tables, [[tensors]]\n")
        for word in ("a", "a,", "a,b.c"):
            self.assertEqual(self.refused("cast", "m.safetensors", "--to", "e4m3", "--scale", "amax", "--fused", word, "-o", "o.safetensors"),
                             f"--fused '{word}': give parts of names with commas between them, as q_proj,k_proj,v_proj")

    def test_of_two_sets_the_first_decides(self):
        # c.a.w and c.b.w share a scale by the first set, though c is in the second.
        self.write("m.safetensors", {name: self.tensor([2], values) for name, values in (("c.a.w", [1.0, 1.0]), ("c.b.w", [4.0, 1.0]), ("d.b.w", [8.0, 1.0]), ("a.d.w", [2.0, 1.0]))})
        data = self.cast("--to", "e4m3", "--scale", "amax", "--fused", "a,b", "--fused", "c,d")[1]
        self.assertEqual([floats(data[name + ".scale"]) for name in ("c.a.w", "c.b.w", "d.b.w", "a.d.w")],
                         [floats(struct.pack("<f", amax / 448)) for amax in (4, 4, 8, 2)])

    def test_names_with_wildcards_are_matched_as_they_are(self):
        names = ["a*", "a?", "a[b]", "a\\b", "ab"]
        self.write("m.safetensors", {name: self.tensor([32], [1.0] * 32) for name in names})
        self.run_here("choose", "m.safetensors", "--to", "e4m3", "--scale", "amax", "--sqnr", "10", "-o", "plan.toml")
        plan = (self.path / "plan.toml").read_text()
        for pattern in ("a\\*", "a\\?", "a\\[b]", "a\\\\b", "ab"):
            self.assertIn(f"match = '{pattern}'", plan)
        header = self.cast("--plan", "plan.toml")[0]
        self.assertEqual({header[name]["dtype"] for name in names}, {"F8_E4M3"})


if __name__ == "__main__":
    unittest.main()
