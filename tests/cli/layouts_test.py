#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layouts of cast: the list of them says what each stores, and what a file says of its tensors is kept, read and refused.
usage: layouts_test.py PROGRAM"""
import csv
import functools
import io
import json
import operator
import random
import struct
import unittest

from cast_folder import NAME, Folder, floats
from files_test import parse, run, safetensors

FORMATS = ("e4m3", "e5m2", "e2m1", "e3m2", "int8", "int4")
RULES = ("amax", "pow2", "row", "1x128", "128x128", "mx:floor", "nvfp4", "minmax", "minmax:row")


class Layouts(Folder):
    def listed(self):
        return list(csv.DictReader(io.StringIO(self.run_here("cast", "--layouts", "--csv")[0])))

    def test_the_list_names_codes_and_scales(self):
        rows = {(row["layout"], row["codes"]): tuple(row[key] for key in ("codes_of_4_bits", "scales", "tensor_scale", "zero_points")) for row in self.listed()}
        self.assertEqual(rows, {
            ("ulpscope", "NAME"): ("NAME (F4)", "NAME.scale", "NAME.global_scale (multiplies)", "NAME.zero_point"),
            ("compressed-tensors", "NAME"): ("NAME_packed (U8)", "NAME_scale", "NAME_global_scale (divides)", "NAME_zero_point"),
            ("modelopt", "NAME"): ("NAME (U8)", "NAME_scale", "NAME_scale_2 (multiplies)", ""),
            ("torchao", "MODULE._LEAF_qdata"): ("MODULE._LEAF_qdata (U8)", "MODULE._LEAF_scale", "MODULE._LEAF_per_tensor_scale (multiplies)", ""),
            ("deepseek", "NAME"): ("", "NAME_scale_inv", "", ""), ("gpt-oss", ""): ("NAME_blocks (U8)", "NAME_scales", "", ""),
            ("transformer-engine", "NAME._data"): ("", "NAME._scale_inv", "", ""),
            ("transformer-engine", "NAME._rowwise_data"): ("NAME._rowwise_data (U8)", "NAME._rowwise_scale_inv", "NAME._amax_rowwise (times 1/2688)", "")})

    def stored_pairs(self):
        """Formats and rules by layout, as the list has them."""
        stores = {}
        for row in self.listed():
            for part in row["stores"].split("; "):
                formats, _, rules = part.partition(": ")
                stores.setdefault(row["layout"], set()).update((to, rule) for to in formats.split(", ") for rule in rules.split(", "))
        del stores["ulpscope"]  # every pair
        return stores

    def test_a_layout_stores_what_the_list_says(self):
        self.write("m.safetensors", {NAME: self.tensor([128, 128], [1.0] * 128 ** 2)})
        for layout, pairs in self.stored_pairs().items():
            for to in FORMATS:
                for rule in RULES:
                    code, _, err = run("cast", "m.safetensors", "--to", to, "--scale", rule, "--layout", layout, "-o", "out.safetensors", cwd=self.path)
                    is_listed = (to, rule.removesuffix(":floor")) in pairs
                    self.assertEqual(code, 0 if is_listed else 2, (layout, to, rule, err))

    def test_choose_counts_what_a_layout_writes(self):
        shapes = {"a.w": [16, 32], "b.w": [128, 128], "c.w": [3, 32, 160]}
        sizes = {name: functools.reduce(operator.mul, shape) for name, shape in shapes.items()}
        self.write("m.safetensors", {name: self.tensor(shape, [(i * 37 % 101 - 50) / 50 for i in range(sizes[name])]) for name, shape in shapes.items()})
        of_ours = {("e4m3", "row"), ("e3m2", "1x128"), ("e4m3", "mx"), ("e2m1", "amax"), ("e2m1", "nvfp4"), ("int4", "row"), ("int8", "minmax:row")}
        for layout, pairs in {"ulpscope": of_ours, **self.stored_pairs()}.items():
            for to, rule in sorted(pairs):
                rule = rule + ":floor" if rule == "mx" else rule
                out, _ = self.run_here("choose", "m.safetensors", "--to", to, "--scale", rule, "--layout", layout, "--sqnr", "0", "--csv", "-o", "p.toml")
                bits = {row["tensor"].split(":")[1]: float(row["bits_per_element"]) for row in csv.DictReader(io.StringIO(out))}
                _, data = self.cast("--plan", "p.toml", out="o.safetensors")
                for name, size in sizes.items():
                    stem = name.replace(".", "._") if layout == "torchao" and name not in data else name
                    written = sum(len(some) for entry, some in data.items() if entry.startswith(stem))
                    self.assertAlmostEqual(bits[name] * size / 8, written, delta=1e-6, msg=(layout, name, to, rule))

    def test_int4_of_compressed_tensors_lies_eight_in_a_word(self):
        drawn = random.Random(3)
        rows, columns = 3, 256
        values = [drawn.gauss(0, 1) for _ in range(rows * columns)]
        self.write("m.safetensors", {NAME: self.tensor([rows, columns], values)})
        values = floats(struct.pack(f"<{len(values)}f", *values))
        for rule, block in (("row", columns), ("1x128", 128)):
            groups = columns // block
            header, data = self.cast("--to", "int4", "--scale", rule, "--layout", "compressed-tensors", out="o.safetensors")
            self.assert_entries(header, {NAME + "_packed": ("I32", [rows, columns // 8]), NAME + "_scale": ("F32", [rows, groups]), NAME + "_shape": ("I64", [2])})
            self.assertEqual(struct.unpack("<2q", data[NAME + "_shape"]), (rows, columns))
            words, scales = struct.unpack(f"<{rows * columns // 8}I", data[NAME + "_packed"]), floats(data[NAME + "_scale"])
            for group in range(rows * groups):
                whole = range(group * block, (group + 1) * block)
                codes = [(words[i // 8] >> 4 * (i % 8) & 15) - 8 for i in whole]
                self.assertEqual(max(map(abs, codes)), 7)
                self.assertAlmostEqual(scales[group] * 7, max(abs(values[i]) for i in whole), delta=1e-5)
                for i, code in zip(whole, codes):
                    self.assertLessEqual(abs(code * scales[group] - values[i]), scales[group] * 0.500001)
            _, err = self.run_here("diff", "m.safetensors", "o.safetensors", "--csv", wanted=1)
            self.assertIn("1 tensors compared, 0 of them equal; 0 without the like", err)
            out, _ = self.run_here("diff", "m.safetensors", "o.safetensors", "--json", wanted=1)
            census, = csv.DictReader(io.StringIO(self.run_here("census", "m.safetensors", "--to", "int4", "--scale", rule, "--policy", "saturating", "--csv")[0]))
            self.assertAlmostEqual(json.loads(out)["diff"][0]["sqnr_db"], float(census["sqnr_db"]), delta=1e-4)
            self.assertIn("is codes under scales", self.refused("cast", "o.safetensors", "--to", "bf16", "-o", "x.safetensors"))
            for extents in ((rows, columns - 1), (1, rows * columns)):  # of other codes: what is stored is compared as it is
                shape = data | {NAME + "_shape": struct.pack("<2q", *extents)}
                self.write("p.safetensors", {name: (entry["dtype"], entry["shape"], shape[name]) for name, entry in header.items()})
                _, err = self.run_here("diff", "m.safetensors", "p.safetensors", "--csv", wanted=1)
                self.assertIn("0 tensors compared", err)
            # Columns in groups of another order (GPTQ with activation ordering): as they are, too.
            entries = {name: (entry["dtype"], entry["shape"], data[name]) for name, entry in header.items()}
            self.write("p.safetensors", entries | {NAME + "_g_idx": ("I32", [columns], struct.pack(f"<{columns}i", *(i % groups for i in range(columns))))})
            _, err = self.run_here("diff", "m.safetensors", "p.safetensors", "--csv", wanted=1)
            self.assertIn("0 tensors compared", err)
        for shape, why in (([2, 20], "its rows of 20 elements are no multiple of 8"), ([16], "it is no matrix"), ([2, 2, 8], "it is no matrix")):
            self.write("n.safetensors", {NAME: self.tensor(shape, [1.0] * functools.reduce(operator.mul, shape))})
            self.assertEqual(self.refused("cast", "n.safetensors", "--to", "int4", "--scale", "row", "--layout", "compressed-tensors", "-o", "o.safetensors"),
                             f"n.safetensors:{NAME}: layout compressed-tensors does not store int4 under row: {why}")

    def cast_of(self, shape, *words, source="F32", bytes_of=4, metadata=None):
        count = 1
        for extent in shape:
            count *= extent
        (self.path / "m.safetensors").write_bytes(safetensors({NAME: (source, list(shape), bytes(bytes_of * count))}, metadata))
        return self.cast(*words)[0].get("__metadata__", {})

    def test_what_torchao_says_of_a_tensor(self):
        for words, elements, kind in ((("int8", "row"), None, "Int8Tensor"), (("e5m2", "amax"), None, "Float8Tensor"),
                                      (("e2m1", "mx:floor"), "float4_e2m1fn_x2", "MXTensor"), (("e4m3", "mx:floor"), "float8_e4m3fn", "MXTensor"),
                                      (("e5m2", "mx:floor"), "float8_e5m2", "MXTensor"), (("e2m1", "nvfp4"), None, "NVFP4Tensor")):
            said = json.loads(self.cast_of((2, 64), "--to", words[0], "--scale", words[1], "--layout", "torchao")[NAME])
            self.assertEqual((said["_type"], said["_data"].get("elem_dtype", {}).get("_data")), (kind, elements), words)
        for source, width, name in (("F64", 8, "float64"), ("F32", 4, "float32"), ("F16", 2, "float16"), ("BF16", 2, "bfloat16"), ("F8_E4M3", 1, "float32")):
            said = json.loads(self.cast_of((2, 64), "--to", "e4m3", "--scale", "amax", "--layout", "torchao", source=source, bytes_of=width)[NAME])
            self.assertEqual(said["_data"]["dtype"], {"_type": "torch.dtype", "_data": name})
        for rule, shape, block in (("amax", (3, 2, 64), [3, 2, 64]), ("row", (3, 2, 64), [1, 1, 64]), ("row", (64,), [64]), ("row", (), []), ("128x128", (3, 128, 128), [1, 128, 128])):
            said = json.loads(self.cast_of(shape, "--to", "e4m3", "--scale", rule, "--layout", "torchao")[NAME])
            self.assertEqual(said["_data"]["block_size"], block, rule)

    def test_torchao_keeps_what_else_a_file_says_and_replaces_what_is_said_of_its_tensors(self):
        said = self.cast_of((2, 64), "--to", "e4m3", "--scale", "amax", "--layout", "torchao", metadata={NAME: "old", "format": "pt"})
        self.assertEqual((said["format"], json.loads(said["tensor_names"]), json.loads(said[NAME])["_type"]), ("pt", [NAME], "Float8Tensor"))
        for name in (".weight", "weight.", "weight"):
            self.write("n.safetensors", {name: self.tensor([2], [1.0, 2.0])})
            self.assertEqual(self.refused("cast", "n.safetensors", "--to", "e4m3", "--scale", "amax", "--layout", "torchao", "-o", "o.safetensors"),
                             f"n.safetensors:{name}: layout torchao does not store float8_e4m3fn under amax: layout torchao has names MODULE.LEAF, and '{name}' is none")

    def test_a_rotation_and_wide_codes_that_a_file_names(self):
        metadata = self.cast_of((2, 64), "--to", "e4m3", "--scale", "amax", "--hadamard", "16")
        self.assertEqual(metadata, {"ulpscope_hadamard": "16"})
        self.assertEqual(self.cast_of((2, 64), "--to", "e4m3", "--scale", "amax", "--hadamard", "16", metadata={"format": "pt"}),
                         {"format": "pt", "ulpscope_hadamard": "16"})
        # Where nothing is rotated nothing is said of it any more.
        for metadata, rest in (({"ulpscope_hadamard": "16"}, {}), ({"ulpscope_hadamard": "16", "format": "pt"}, {"format": "pt"}), ({"format": "pt"}, {"format": "pt"})):
            self.assertEqual(self.cast_of((2, 64), "--to", "bf16", metadata=metadata), rest)
        (self.path / "w.safetensors").write_bytes(safetensors({NAME: self.tensor([1], [1.0])}, {"ulpscope_codes": "{}"}))
        self.assertEqual(self.refused("cast", "w.safetensors", "--to", "bf16", "-o", "o.safetensors"),
                         "w.safetensors: its __metadata__ has ulpscope_codes, which is no list of names")


if __name__ == "__main__":
    unittest.main()
