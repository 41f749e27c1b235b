#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors quantized, by --to, --scale and --layout: what lies in the files, read back by rules written here from the formats' definitions,
and what `census --blocks` says of their blocks. usage: cast_test.py PROGRAM"""
import csv
import math
import re
import struct
import unittest

from cast_folder import COLUMNS, E2M1, E4M3, NAME, ROWS, Folder, decoded, float32, floats, nearest, nibbles
from files_test import run


class Layouts(Folder):
    def test_one_scale_and_one_a_row(self):
        amax = [max(map(abs, row)) for row in self.rows()]
        for rule, shape, multipliers in (("amax", [], [float32(448 / max(amax))] * ROWS), ("row", [ROWS, 1], [float32(448 / a) for a in amax])):
            header, data = self.cast("--to", "e4m3", "--scale", rule)
            self.assert_entries(header, {NAME: ("F8_E4M3", [ROWS, COLUMNS]), NAME + ".scale": ("F32", shape)})
            scales = floats(data[NAME + ".scale"])
            self.assertEqual(scales, [float32(1 / m) for m in (multipliers if shape else multipliers[:1])])
            for i, code in enumerate(data[NAME]):
                product = float32(self.values[i] * multipliers[i // COLUMNS])
                self.assertEqual(code, nearest(E4M3, product) | (product < 0) << 7, i)
        for layout, wanted in (
                ("compressed-tensors", {NAME: ("F8_E4M3", [ROWS, COLUMNS]), NAME + "_scale": ("F32", [1])}),
                ("modelopt", {NAME: ("F8_E4M3", [ROWS, COLUMNS]), NAME + "_scale": ("F32", [])}),
                ("transformer-engine", {NAME + "._data": ("F8_E4M3", [ROWS, COLUMNS]), NAME + "._scale_inv": ("F32", [1])})):
            self.assert_entries(self.cast("--to", "e4m3", "--scale", "amax", "--layout", layout)[0], wanted)

    def test_transformer_engine_pads_scales_of_blocks(self):
        """MXFP8Tensor and NVFP4Tensor: rows of scales up to a multiple of 128, blocks of a row of 4 (get_scale_shape()); NVFP4 keeps the amax."""
        values = (self.values * 12)[:32 * COLUMNS]
        self.write("m.safetensors", {NAME: self.tensor([32, COLUMNS], values)})
        for to, rule, length, width, dtype in (("e4m3", "mx:rceil", 32, 8, "U8"), ("e2m1", "nvfp4", 16, 12, "F8_E4M3")):
            _, plain = self.cast("--to", to, "--scale", rule)
            header, data = self.cast("--to", to, "--scale", rule, "--layout", "transformer-engine")
            codes, wanted = NAME + "._rowwise_data", {NAME + "._rowwise_scale_inv": (dtype, [128, width])}
            wanted[codes] = ("F8_E4M3", [32, COLUMNS]) if to == "e4m3" else ("U8", [32, COLUMNS // 2])
            if rule == "nvfp4":
                wanted[NAME + "._amax_rowwise"] = ("F32", [1])
                self.assertEqual(floats(data[NAME + "._amax_rowwise"]), [max(map(abs, values))])
            self.assert_entries(header, wanted)
            self.assertEqual(data[codes], plain[NAME])
            scales, blocks = plain[NAME + ".scale"], COLUMNS // length
            self.assertEqual(data[NAME + "._rowwise_scale_inv"],
                             b"".join(scales[i:i + blocks] + bytes(width - blocks) for i in range(0, len(scales), blocks)) + bytes((128 - 32) * width))
            code, out, _ = run("diff", "m.safetensors", "out.safetensors", "--csv", cwd=self.path)
            compared, = csv.DictReader(out.splitlines())
            self.assertEqual((code, compared["ref"]), (1, f"m.safetensors:{NAME}"))
            self.assertAlmostEqual(float(compared["sqnr_db"]), float(self.census(to, rule)[1]["sqnr_db"]), delta=1e-4)
            if rule != "nvfp4":  # TransformerEngine's own bytes: not to be told from two codes of 4 bits under as many padded scales
                self.write("m.safetensors", {NAME: self.tensor([32, 32], values[:32 * 32])})
                header, data = self.cast("--to", to, "--scale", rule, "--layout", "transformer-engine")
                self.write("bytes.safetensors", {name: ("U8", header[name]["shape"], entry) for name, entry in data.items()})
                said = run("diff", "m.safetensors", "bytes.safetensors", "--csv", cwd=self.path)[2]
                self.assertRegex(said, f"bytes.safetensors:{re.escape(codes)} +added")
                self.write("m.safetensors", {NAME: self.tensor([32, COLUMNS], values)})
        self.write("m.safetensors", {NAME: self.tensor([2, 64], [1.0] * 128)})
        self.assertIn("its 2 rows are no multiple of 16", self.refused("cast", "m.safetensors", "--to", "e2m1", "--scale", "nvfp4", "--layout", "transformer-engine", "-o", "x.safetensors"))
        self.assertIn("it stores e4m3, e5m2: amax, pow2; e4m3, e5m2: mx; e2m1: nvfp4",
                      self.refused("cast", "m.safetensors", "--to", "e4m3", "--scale", "row", "--layout", "transformer-engine", "-o", "x.safetensors"))

    def test_blocks_of_128_by_128(self):
        header, data = self.cast("--to", "e4m3", "--scale", "128x128", "--layout", "deepseek")
        self.assert_entries(header, {NAME: ("F8_E4M3", [ROWS, COLUMNS]), NAME + "_scale_inv": ("F32", [1, 2])})
        blocks = [[x for row in self.rows() for x in row[:128]], [x for row in self.rows() for x in row[128:]]]
        wanted = [float32(1 / float32(448 / max(map(abs, block)))) for block in blocks]
        self.assertEqual(floats(data[NAME + "_scale_inv"]), wanted)

    def test_int8_in_rows(self):
        header, data = self.cast("--to", "int8", "--scale", "row", "--layout", "compressed-tensors")
        self.assert_entries(header, {NAME: ("I8", [ROWS, COLUMNS]), NAME + "_scale": ("F32", [ROWS, 1])})
        for i, code in enumerate(struct.unpack(f"<{ROWS * COLUMNS}b", data[NAME])):
            multiplier = float32(127 / max(map(abs, self.rows()[i // COLUMNS])))
            product = float32(self.values[i] * multiplier)
            self.assertEqual(code, max(-127, min(127, round(product))), i)  # Python rounds ties to even

    def mx_exponents(self):
        """rceil: the least power of two that brings the block's largest magnitude to 6 or below."""
        for row in self.rows():
            for block in range(0, COLUMNS, 32):
                yield math.ceil(math.log2(float32(max(map(abs, row[block:block + 32])) * float32(1 / 6))))

    def test_mxfp4_in_three_layouts(self):
        exponents = list(self.mx_exponents())
        scales = bytes(exponent + 127 for exponent in exponents)
        codes = []
        for i, x in enumerate(self.values):
            scaled = x / 2.0 ** exponents[i // 32]
            codes.append(nearest(E2M1, scaled) | (x < 0) << 3)
        for layout, name, of_codes, of_scales in (
                ("ulpscope", NAME, ("F4", [ROWS, COLUMNS]), (".scale", "F8_E8M0")),
                ("compressed-tensors", NAME + "_packed", ("U8", [ROWS, COLUMNS // 2]), ("_scale", "U8")),
                ("gpt-oss", NAME + "_blocks", ("U8", [ROWS, COLUMNS // 32, 16]), ("_scales", "U8"))):
            header, data = self.cast("--to", "e2m1", "--scale", "mx:rceil", "--layout", layout)
            self.assert_entries(header, {name: of_codes, NAME + of_scales[0]: (of_scales[1], [ROWS, COLUMNS // 32])})
            self.assertEqual(data[NAME + of_scales[0]], scales)
            self.assertEqual(nibbles(data[name]), codes)

    def test_nvfp4_in_three_layouts(self):
        amax = max(map(abs, self.values))
        tensor_scale = float32(448 * 6 / amax)
        for layout, ending, (packed, dtype, shape), second, shape_of_one in (
                ("ulpscope", ".scale", ("", "F4", COLUMNS), (".global_scale", float32(1 / tensor_scale)), []),
                ("compressed-tensors", "_scale", ("_packed", "U8", COLUMNS // 2), ("_global_scale", tensor_scale), [1]),
                ("modelopt", "_scale", ("", "U8", COLUMNS // 2), ("_scale_2", float32(1 / tensor_scale)), [])):
            header, data = self.cast("--to", "e2m1", "--scale", "nvfp4", "--layout", layout)
            self.assert_entries(header, {NAME + packed: (dtype, [ROWS, shape]), NAME + ending: ("F8_E4M3", [ROWS, COLUMNS // 16]),
                                         NAME + second[0]: ("F32", shape_of_one)})
            self.assertEqual(floats(data[NAME + second[0]]), [second[1]])
            scales = [decoded(E4M3, code, 8) for code in data[NAME + ending]]
            for block, scale in enumerate(scales):
                largest = max(map(abs, self.values[16 * block:16 * block + 16]))
                self.assertEqual(scale, E4M3[nearest(E4M3, float32(largest * float32(tensor_scale * float32(1 / 6))))])
            for i, code in enumerate(nibbles(data[NAME + packed])):
                exact = self.values[i] * tensor_scale / scales[i // 16]
                # The product with the reciprocal is rounded twice: only at a tie can that be another code.
                self.assertLessEqual(abs(abs(decoded(E2M1, code, 4)) - min(abs(exact), 6)),
                                     abs(E2M1[nearest(E2M1, exact)] - min(abs(exact), 6)) * (1 + 1e-5) + 1e-6, i)

    def test_three_dimensions(self):
        self.write("e.safetensors", {"experts": self.tensor([2, 2, 64], self.values[:256])})
        header, _ = self.cast("--to", "e2m1", "--scale", "mx:floor", "--layout", "gpt-oss", source="e.safetensors")
        self.assert_entries(header, {"experts_blocks": ("U8", [2, 2, 2, 16]), "experts_scales": ("U8", [2, 2, 2])})
        header, _ = self.cast("--to", "e4m3", "--scale", "row", source="e.safetensors")
        self.assert_entries(header, {"experts": ("F8_E4M3", [2, 2, 64]), "experts.scale": ("F32", [2, 2, 1])})

    def test_blocks_of_zeros_and_infinities(self):
        values = [0.0, -0.0] * 8 + [1e-30] * 16 + [1000.0] * 16 + [float("inf")] + [1.0] * 31
        self.write("z.safetensors", {"w": self.tensor([1, 80], values)})
        _, data = self.cast("--to", "e2m1", "--scale", "nvfp4", source="z.safetensors")
        self.assertEqual(data["w.scale"][1], data["w.scale"][0])  # too small for e4m3
        self.assertEqual(nibbles(data["w"])[:32], [0, 8] * 8 + [0] * 16)  # zeros, and not the 6 that a division by 0 gives
        _, data = self.cast("--to", "e4m3", "--scale", "mx:rceil", source="z.safetensors")
        self.assertEqual(data["w.scale"][1:2], b"\xff")  # a NaN for the block with the infinity

    def test_all_that_is_written_is_read_back(self):
        for to, rule, layout in (("e4m3", "amax", "ulpscope"), ("e4m3", "row", "compressed-tensors"), ("e4m3", "128x128", "deepseek"),
                                 ("e5m2", "pow2", "transformer-engine"), ("int8", "row", "compressed-tensors"),
                                 ("e2m1", "mx:even", "gpt-oss"), ("e2m1", "mx:floor", "compressed-tensors"), ("e4m3", "mx:ceil", "compressed-tensors"),
                                 ("e2m1", "nvfp4", "modelopt"), ("e2m1", "nvfp4", "compressed-tensors"), ("e2m1", "nvfp4", "ulpscope"),
                                 ("e2m1", "nvfp4:16x16", "ulpscope"), ("int4", "1x128", "ulpscope"), ("e4m3", "0.5", "ulpscope")):
            self.write("two.safetensors", {NAME: self.tensor([ROWS, COLUMNS], self.values), "other": self.tensor([2], [1, 2])})
            self.cast("--to", to, "--scale", rule, "--layout", layout, "--copy", "other", source="two.safetensors")
            code, out, err = run("diff", "two.safetensors", "out.safetensors", "--csv", cwd=self.path)
            self.assertEqual(code, 1)
            self.assertIn("out.safetensors: 1 tensor is codes under scales", err)
            compared = {row["ref"]: row for row in csv.DictReader(out.splitlines())}
            _, out = self.census(to, rule)
            wanted = float(out["sqnr_db"])
            got = float(compared[f"two.safetensors:{NAME}"]["sqnr_db"])
            self.assertAlmostEqual(got, wanted, delta=1e-4, msg=(to, rule, layout))  # float32 scales are divided by there
            self.assertEqual(compared["two.safetensors:other"]["differing"], "0")

    def census(self, to, rule, *more):
        out, err = self.run_here("census", f"m.safetensors:{NAME}", "--to", to, "--scale", rule, "--policy", "saturating", "--csv", *more)
        return err, next(csv.DictReader(out.splitlines()))


class Blocks(Folder):
    """census --blocks beside what lies in the files that cast writes."""

    def blocks(self, to, scale, *more):
        out, err = self.run_here("census", "m.safetensors", "--to", to, "--scale", scale, "--blocks", "--csv", *more)
        return list(csv.DictReader(out.splitlines()))

    def decoded(self, to, rule):
        """Values by rows, stored scales, and the second one."""
        _, data = self.cast("--to", to, "--scale", rule, source="m.safetensors")
        if to == "e4m3":
            codes = [decoded(E4M3, code, 8) for code in data[NAME]]
        else:
            codes = [decoded(E2M1, code, 4) for code in nibbles(data[NAME])]
        raw = data[NAME + ".scale"]
        if rule == "nvfp4":
            return codes, [decoded(E4M3, code, 8) for code in raw], floats(data[NAME + ".global_scale"])[0]
        return codes, [2.0 ** (code - 127) for code in raw] if rule.startswith("mx") else floats(raw), 1.0

    def test_they_are_those_of_the_files(self):
        self.values[:32] = [0.0] * 32  # two blocks of 16, one of 32
        self.values[32:64] = [1e-30] * 31 + [0.5]  # one of which the small ones vanish
        self.values[64:80] = [1e-9] * 16  # and one too small for any nvfp4 scale
        self.write("m.safetensors", {NAME: self.tensor([ROWS, COLUMNS], self.values)})
        values = [float32(x) for x in self.values]
        for to, rule, columns, rows in (("e4m3", "row", COLUMNS, 1), ("e4m3", "1x128", 128, 1), ("e4m3", "128x128", 128, 128),
                                        ("e4m3", "mx:floor", 32, 1), ("e2m1", "mx:floor", 32, 1), ("e2m1", "mx:rceil", 32, 1), ("e2m1", "nvfp4", 16, 1)):
            codes, scales, second = self.decoded(to, rule)
            row, = self.blocks(to, rule)
            per_row = -(-COLUMNS // columns)
            # Where it is one block, its extents are the tensor's.
            self.assertEqual(row["block"], f"{rows}x{columns}")
            blocks = {}
            for i, x in enumerate(values):
                blocks.setdefault(i // COLUMNS // rows * per_row + i % COLUMNS // columns, []).append((x, codes[i]))
            counts = dict.fromkeys(("blocks", "zero", "nonfinite", "with_to_zero", "all_to_zero"), 0)
            sqnr = []
            for block, elements in sorted(blocks.items()):
                scale = scales[block] * second
                counts["blocks"] += 1
                counts["zero"] += all(x == 0 for x, _ in elements)
                counts["with_to_zero"] += any(x != 0 and code * scale == 0 for x, code in elements)
                counts["all_to_zero"] += any(x != 0 for x, _ in elements) and all(code * scale == 0 for _, code in elements)
                signal, noise = sum(x * x for x, _ in elements), sum((x - code * scale) ** 2 for x, code in elements)
                if signal:
                    sqnr.append((10 * math.log10(signal / noise) if noise else math.inf, block))
            for column, count in counts.items():
                self.assertEqual(int(row[column]), count, (rule, column))
            ranked = sorted(decibels for decibels, _ in sqnr)
            at = lambda numbers, share: numbers[max(math.ceil(share * len(numbers)), 1) - 1]  # noqa: E731
            for column, share in (("min", 0), ("p1", 0.01), ("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("max", 1)):
                got, wanted = float(row[f"sqnr_{column}_db"]), at(ranked, share)
                self.assertTrue(got == wanted or abs(got - wanted) < 1e-4, (rule, column, got, wanted))
            for column, share in (("min", 0), ("p1", 0.01), ("p50", 0.5), ("p99", 0.99), ("max", 1)):
                self.assertEqual(float(row[f"scale_{column}"]), at(sorted(scales), share), (rule, column))
            worst = min(sqnr, key=lambda one: one[0])[1]
            self.assertEqual(row["worst_block"], f"{worst // per_row};{worst % per_row}")

    def test_an_overflow_to_nan_is_the_worst_of_errors(self):
        self.values[:32] = [1.9375] * 32  # 496 of at most 448 under the block's scale
        self.write("m.safetensors", {NAME: self.tensor([ROWS, COLUMNS], self.values)})
        for policy in ("saturating", "nonsaturating"):
            row, = self.blocks("e4m3", "mx:floor", "--policy", policy)
            quantiles = [float(row[f"sqnr_{column}_db"]) for column in ("min", "p1", "p10", "p50", "p90", "max")]
            self.assertEqual(quantiles, sorted(quantiles), policy)
            self.assertEqual((int(row["saturated"]) > 0, quantiles[0] == -math.inf), (True, policy == "nonsaturating"))

    def test_where_no_block_has_an_error_none_is_worst(self):
        self.write("m.safetensors", {NAME: self.tensor([ROWS, COLUMNS], [0.0] * (ROWS * COLUMNS))})
        row, = self.blocks("e4m3", "row")
        self.assertEqual((row["blocks"], row["sqnr_min_db"], row["worst_block"]), (str(ROWS), "nan", ""))

    def test_groups_are_as_one_tensor_of_all_their_rows(self):
        """A tensor cut by rows between blocks, and in a group again: its row of all blocks."""
        for to, rule in (("e2m1", "mx:floor"), ("e4m3", "1x128"), ("e4m3", "row")):
            self.write("m.safetensors", {NAME: self.tensor([ROWS, COLUMNS], self.values)})
            whole, = self.blocks(to, rule)
            self.write("m.safetensors", {f"l.{i}.w": self.tensor([1, COLUMNS], row) for i, row in enumerate(self.rows())})
            *each, group, every = self.blocks(to, rule, "--group", "^l", "--all-tensors")
            self.assertEqual(([row["tensor"] for row in each], group["tensor"], every["tensor"]),
                             ([f"m.safetensors:l.{i}.w" for i in range(ROWS)], "group:l", "all"))
            row, _, column = whole.pop("worst_block").partition(";")
            whole.pop("tensor")
            for together in group, every:
                self.assertEqual(together.pop("worst_block"), f"m.safetensors:l.{row}.w 0;{column}")
                together.pop("tensor")
                self.assertEqual(together, whole)
        self.write("m.safetensors", {"a": self.tensor([1, 64], [1.0] * 64), "b": self.tensor([1, 96], [1.0] * 96)})
        self.assertEqual([row["block"] for row in self.blocks("e4m3", "row", "--all-tensors")], ["1x64", "1x96", "mixed"])

    def test_saturated_blocks(self):
        block = lambda largest: [1.0] * 31 + [largest]  # noqa: E731
        self.write("m.safetensors", {NAME: self.tensor([2, 64], block(6) + block(6.5) + block(7.5) + block(8))})
        row, = self.blocks("e2m1", "mx:floor")  # under 2^0 the largest is 6, which 6.5 is rounded to; under 2^1 12
        self.assertEqual((row["blocks"], row["saturated"]), ("4", "1"))
        self.assertEqual(self.blocks("e2m1", "mx:rceil")[0]["saturated"], "0")

    def test_infinities_and_nans(self):
        self.write("m.safetensors", {NAME: self.tensor([1, 96], [1.0] * 32 + [float("inf")] + [1.0] * 31 + [float("nan")] * 32)})
        for rule in "mx:rceil", "1x128":
            row, = self.blocks("e4m3", rule)
            self.assertEqual(row["nonfinite"], "2" if rule == "mx:rceil" else "1")
        self.write("m.safetensors", {NAME: self.tensor([0, 64], [])})
        row, = self.blocks("e4m3", "mx:rceil")
        self.assertEqual((row["sqnr_p50_db"], row["saturated"]), ("nan", "0"))

    def test_an_infinity_is_seen_in_what_it_does_to_its_block(self):
        # Under the scale 1 of an infinite amax (Transformer Engine) 2^-11 becomes 0: the error is all of the signal, 0 dB.
        hurt, good, none = [2.0 ** -11] * 127 + [math.inf], [1.0] * 128, [math.inf, math.nan] * 64
        self.write("m.safetensors", {NAME: self.tensor([3, 128], hurt + good + none)})
        row, = self.blocks("e4m3", "1x128")
        self.assertEqual((row["sqnr_min_db"], row["sqnr_max_db"], row["worst_block"], row["nonfinite"]), ("0", "inf", "0;0", "2"))
        self.write("m.safetensors", {NAME: self.tensor([2, 128], good + hurt)})
        for rule in ("1x128", "mx:floor"):  # of MX the scale is NaN, and so is all of the block: -inf in both
            row, = self.blocks("e4m3", rule)
            self.write("one.safetensors", {NAME: self.tensor([1, 32], hurt[-32:])})
            out, _ = self.run_here("census", "one.safetensors", "--to", "e4m3", "--scale", rule, "--csv")
            self.assertEqual(row["sqnr_min_db"], next(csv.DictReader(out.splitlines()))["sqnr_db"])
            self.assertEqual(row["worst_block"], "1;0" if rule == "1x128" else "1;3")
        self.write("m.safetensors", {NAME: self.tensor([1, 128], none)})
        self.assertEqual([self.blocks("e4m3", "1x128")[0][column] for column in ("sqnr_min_db", "worst_block")], ["nan", ""])

    def test_a_report_and_a_study_of_blocks(self):
        words = ("census", "m.safetensors", "normal:0,1:8x64", "--to", "e2m1", "--scale", "nvfp4", "--blocks")
        out, _ = self.run_here(*words, "--csv")
        self.run_here(*words, "-o", "report")
        self.assertEqual(sorted(p.name for p in (self.path / "report").iterdir()),
                         ["blocks.csv", "blocks_sqnr.svg", "findings.csv", "index.html", "manifest.json"])
        self.assertEqual((self.path / "report/blocks.csv").read_text(), out)
        row = list(csv.DictReader(out.splitlines()))[1]
        said = (self.path / "report/findings.csv").read_text()
        self.assertIn(f"normal:0,1:8x64 in float4_e2m1fn: {row['with_to_zero']} of 32 blocks lose a number to zero; the worst, {row['worst_block']}, has ", said)
        self.run_here("report", "check", "report")
        (self.path / "s.toml").write_text('[[study]]\nname = "x"\nkind = "census"\ninputs = ["m.safetensors", "normal:0,1:8x64"]\nto = ["e2m1"]\n'
                                          'scale = "nvfp4"\nblocks = true\n')
        self.run_here("run", "s.toml", "-o", "study")
        self.assertEqual((self.path / "study/x.csv").read_text(), out)
        self.assertTrue((self.path / "study/x_sqnr.svg").exists())

    def test_threads_and_what_is_wrong(self):
        self.assertEqual(self.blocks("e2m1", "nvfp4", "--threads", "1"), self.blocks("e2m1", "nvfp4", "--threads", "2"))
        for words, wanted in ((("--scale", "amax"), "--blocks: --scale amax has one scale for a tensor"), ((), "--blocks: --scale none has one scale"),
                              (("--scale", "row", "-o", "out", "--rows", "1"), "for tables that are printed"), (("--scale", "row", "--group", "x"), "matches the name of no tensor"),
                              (("--scale", "row", "--where", "x > 3"), "unknown column")):
            self.assertIn(wanted, self.refused("census", "m.safetensors", "--to", "e4m3", "--blocks", *words))


if __name__ == "__main__":
    unittest.main()
