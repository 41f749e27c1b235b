#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: what one types by mistake, and files that are made to hurt.   usage: cast_misuse_test.py PROGRAM"""
import csv
import json
import math
import random
import struct
import unittest

from cast_folder import COLUMNS, NAME, ROWS, Folder
from files_test import npy, parse, run, safetensors


class Misuse(Folder):
    """What one types by mistake, and files that are made to hurt."""

    def values_of(self, name, source="o.safetensors"):
        return parse(self.path / source)[1][name]

    def shards(self, folder, tensors):
        """A file for each tensor."""
        for i, (name, (shape, values)) in enumerate(tensors.items()):
            self.write(f"{folder}/{i}.safetensors", {name: self.tensor(shape, values)})

    def decibels(self, reference, output):
        code, out, err = run("diff", reference, output, "--csv", cwd=self.path)
        self.assertIn(code, (0, 1), err)
        return {row["ref"].split(":")[-1]: float(row["sqnr_db"]) for row in csv.DictReader(out.splitlines())}

    def test_plans_and_figures_do_not_replace_inputs(self):
        before = (self.path / "m.safetensors").read_bytes()
        self.shards("model", {"w": ([4], [1, 2, 3, 4])})
        (self.path / "same.toml").symlink_to("m.safetensors")
        (self.path / "same.svg").symlink_to("m.safetensors")
        for words in (("choose", "m.safetensors", "-o", "m.safetensors"), ("choose", "model", "-o", "model/0.safetensors")):
            self.assertIn("is the input itself", self.refused(*words))
        self.assertIn("give the plan a name that ends in .toml", self.refused("choose", "m.safetensors", "-o", "plan.json"))
        self.assertIn("is the input itself", self.refused("sweep", "m.safetensors", "--svg", "m.safetensors"))
        self.assertIn("give the figure a name that ends in .svg", self.refused("sweep", "m.safetensors", "--svg", "figure.png"))
        for words in (("choose", "m.safetensors", "-o", "same.toml"), ("sweep", "m.safetensors", "--svg", "same.svg")):
            self.assertIn("is the input itself", self.refused(*words))
        self.assertEqual((self.path / "m.safetensors").read_bytes(), before)

    def test_files_without_tensors(self):
        self.write("none/a.safetensors", {})
        self.write("none/b.safetensors", {})
        for out in ("out", "o.safetensors"):
            self.assertEqual(self.refused("cast", "none", "--to", "bf16", "-o", out), "none: holds no tensors")

    def test_what_would_have_no_effect_is_refused(self):
        self.shards("model", {"w": ([4], [1, 2, 3, 4]), "v": ([4], [1, 2, 3, 4])})
        self.write("i.safetensors", {"w": self.tensor([4], [1, 2, 3, 4]), "ids": ("I64", [1], struct.pack("<q", 7))})
        self.assertIn("o.npy: an .npy holds one tensor without scales or a layout",
                      self.refused("cast", "m.safetensors", "--to", "bf16", "--layout", "nonsense", "-o", "o.npy"))
        for words in (("cast", "m.safetensors", "--to", "bf16", "-o", "o.safetensors"), ("census", "m.safetensors")):
            self.assertEqual(self.refused(*words, "--random-bits", "7"), "--random-bits: is of --rounding stochastic, and plays no part here")
            self.run_here(*words, "--random-bits", "7", "--rounding", "stochastic")
        (self.path / "two.toml").write_text("[[tensors]]\nmatch = '*'\nto = 'e4m3'\n\n[[tensors]]\nmatch = '*'\nto = 'bf16'\n")
        self.assertEqual(self.refused("cast", "m.safetensors", "--plan", "two.toml", "-o", "o2.safetensors"),
                         "two.toml:5: match = '*' has a table already, two.toml:1, which decides; remove one")
        self.assertEqual(self.refused("cast", "m.safetensors", "--to", "int2", "-o", "o2.safetensors"), "unknown format 'int2'; integers are int3 to int25")
        self.assertIn("names tensors of one", self.refused("cast", "model:w", "-o", "out", "--to", "bf16"))
        self.assertIn("names tensors of one", self.refused("cast", "model:*", "-o", "out", "--to", "bf16"))
        for scale in ("none", "row", "mx:floor"):
            self.assertIn("none of these tensors has a scale for all of it to share",
                          self.refused("cast", "model", "-o", "out", "--to", "e4m3", "--scale", scale, "--fused", "w,v"))
        (self.path / "plan.toml").write_text("[[tensors]]\nmatch = 'ids'\nto = 'e4m3'\n\n[[tensors]]\nmatch = '*'\nto = 'bf16'\n")
        self.assertIn("'ids' matches tensors that are copied as they are", self.refused("cast", "i.safetensors", "--plan", "plan.toml", "-o", "o2.safetensors"))
        self.assertFalse((self.path / "out").exists() or (self.path / "o2.safetensors").exists())

    def test_integers_are_shown_to_their_last_digit(self):
        for name, codec, values in (("int64", "q", [2**63 - 1, -2**63, 0, 3]), ("uint64", "Q", [2**64 - 1, 2**63, 1, 1]), ("int8", "b", [127, -128, 0, -1])):
            with self.subTest(name):
                dtype = {"int64": "I64", "uint64": "U64", "int8": "I8"}[name]
                less = [x - 1 if x > 0 else x for x in values]
                for file, numbers in (("a", values), ("b", less)):
                    self.write(f"{file}.safetensors", {"i": (dtype, [4], struct.pack(f"<4{codec}", *numbers))})
                row = next(csv.DictReader(run("info", "a.safetensors", "--csv", cwd=self.path)[1].splitlines()))
                self.assertEqual([row[key] for key in ("min", "max", "min_abs", "zero", "subnormal", "infinite", "nan")],
                                 [str(x) for x in (min(values), max(values), min(abs(x) for x in values if x), values.count(0), 0, 0, 0)])
                worst = run("diff", "a.safetensors:i", "b.safetensors:i", "--text", cwd=self.path)
                if name == "int8":
                    self.assertIn("ref_code 7f, out_code 7e", worst[1])
                    continue
                for x, y in zip(values, less):
                    if x != y:
                        self.assertRegex(worst[1], rf"{x % 2**64:016x} +{y % 2**64:016x} +{x} +{y}\b")

    def test_integers_are_compared_as_integers(self):
        big = 2**53
        for name, values in (("I64", struct.pack("<2q", big + 1, 2**40)), ("F64", struct.pack("<2d", big, 2**40 + 1000)), ("U64", struct.pack("<2Q", big + 1, 2**40)),
                             ("I32", struct.pack("<2i", 2**24 + 1, -7))):
            self.write(f"{name}.safetensors", {"i": (name, [2], values)})
        _, out, _ = run("diff", "I64.safetensors:i", "F64.safetensors:i", "--csv", cwd=self.path)
        row = next(csv.DictReader(out.splitlines()))
        self.assertEqual((row["equal"], row["max_abs_error"]), ("0", "1000"))
        self.assertEqual(run("diff", "I64.safetensors:i", "U64.safetensors:i", cwd=self.path)[0], 0)
        self.write("more.safetensors", {"i": ("I64", [2], struct.pack("<2q", big + 1, 2**40 + 1000))})
        code, out, _ = run("diff", "I64.safetensors:i", "more.safetensors:i", "--tolerance", "ulp=999", "--csv", cwd=self.path)
        row = next(csv.DictReader(out.splitlines()))
        self.assertEqual((code, row["dtype"], row["bias_ulp"]), (1, "int64", "500"))
        self.assertEqual(run("diff", "I64.safetensors:i", "more.safetensors:i", "--tolerance", "ulp=1000", cwd=self.path)[0], 0)
        self.write("other.safetensors", {"i": ("I32", [2], struct.pack("<2i", 2**24 + 2, -7))})
        self.assertIn("16777217", run("diff", "I32.safetensors:i", "other.safetensors:i", "--text", cwd=self.path)[1])

    def test_reasons_of_a_choice_are_so(self):
        self.write("n.safetensors", {"nan": self.tensor([4, 32], [float("nan")] + [0.1 * i for i in range(127)]), "all": self.tensor([4], [float("nan")] * 4),
                                     "odd": self.tensor([3], [1, 2, 3])})
        rows = {row["tensor"].partition(":")[2]: row for row in csv.DictReader(
            self.run_here("choose", "n.safetensors", "--to", "e4m3", "--scale", "none", "--sqnr", "25", "--csv")[0].splitlines())}
        self.assertEqual((rows["nan"]["format"], rows["all"]["reason"]), ("float8_e4m3fn", "it has no finite number"))
        rows = {row["tensor"].partition(":")[2]: row for row in csv.DictReader(
            self.run_here("choose", "n.safetensors:odd", "n.safetensors:nan", "--to", "e2m1", "--scale", "none,mx:floor", "--layout", "gpt-oss", "--sqnr", "12",
                          "--csv")[0].splitlines())}
        self.assertIn("codes would end within a byte", rows["odd"]["reason"])
        self.assertIn("lose its infinities or NaN", rows["nan"]["reason"])

    def test_shapes_without_elements_cost_nothing(self):
        header = json.dumps({name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]} for name, shape in
                             (("a", [2**40, 0]), ("b", [0, 2**40]), ("c", [0]), ("d", [3, 0, 5]))}).encode()
        (self.path / "e.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
        for to, scale in (("e4m3", "row"), ("e4m3", "128x128"), ("e4m3", "amax"), ("e2m1", "nvfp4"), ("e4m3", "mx:rceil"), ("int8", "row")):
            with self.subTest(to=to, scale=scale):
                self.run_here("census", "e.safetensors", "--to", to, "--scale", scale)
                if to != "int8":
                    self.run_here("cast", "e.safetensors", "--to", to, "--scale", scale, "-o", "o.safetensors")
                    self.assertEqual(sorted(parse(self.path / "o.safetensors")[1]), ["a", "b", "c", "d"])
        out, _ = self.run_here("choose", "e.safetensors", "--csv")
        self.assertEqual({row["reason"] for row in csv.DictReader(out.splitlines())}, {"it has no elements"})

    def test_sets_are_chosen_as_they_are_cast(self):
        drawn = random.Random(3)
        tensors = {f"l.{part}.weight": ([4, 64], [drawn.gauss(0, size) for _ in range(256)]) for part, size in
                   (("q_proj", 3), ("k_proj", 1), ("v_proj", 0.1))}
        self.shards("model", tensors)
        words = ("--to", "e2m1,e4m3", "--scale", "none,amax,nvfp4", "--sqnr", "12", "--fused", "q_proj,k_proj,v_proj")
        out, _ = self.run_here("choose", "model", *words, "--csv", "-o", "p.toml")
        row, = csv.DictReader(out.splitlines())
        self.assertEqual((row["tensor"], row["tensors"]), ("l.q_proj,k_proj,v_proj.weight", "3"))
        self.run_here("cast", "model", "--plan", "p.toml", "-o", "q")
        got = self.decibels("model", "q")
        self.assertAlmostEqual(min(got.values()), float(row["sqnr_db"]), 4)
        self.assertGreaterEqual(min(got.values()), 12)

    def test_tensors_of_one_name_have_one_rule(self):
        self.write("d/a.safetensors", {"w": self.tensor([4], [1, 2, 3, -1])})
        self.write("d/b.safetensors", {"w": self.tensor([4], [1e-3, 1, 1e3, 1.01])})
        out, _ = self.run_here("choose", "d", "--to", "e2m1,e4m3,bf16", "--sqnr", "30", "--below", "1%", "--csv", "-o", "p.toml")
        row, = csv.DictReader(out.splitlines())
        self.assertEqual((row["tensors"], row["format"]), ("2", "bfloat16"))

    def test_diff_of_a_tensor_finds_its_scales(self):
        self.run_here("cast", "m.safetensors", "--to", "e4m3", "--scale", "row", "-o", "o.safetensors")
        _, whole, _ = run("diff", "m.safetensors", "o.safetensors", "--csv", cwd=self.path)
        for there in (f"o.safetensors:{NAME}", "o.safetensors:*weight"):
            _, alone, err = run("diff", f"m.safetensors:{NAME}", there, "--csv", cwd=self.path)
            self.assertEqual(next(csv.DictReader(alone.splitlines()))["sqnr_db"], next(csv.DictReader(whole.splitlines()))["sqnr_db"])
            self.assertIn("codes under scales", err)

    def test_codes_end_with_a_byte(self):
        self.write("b.safetensors", {"odd": self.tensor([3], [1, 2, 3]), "scalar": self.tensor([], [1]), "even": self.tensor([4], [1, 2, 3, 4])})
        _, err = self.run_here("cast", "b.safetensors", "--to", "e2m1", "-o", "o.safetensors")
        header, _ = parse(self.path / "o.safetensors")
        self.assertEqual({name: entry["dtype"] for name, entry in header.items()}, {"odd": "F32", "scalar": "F32", "even": "F4"})
        self.assertIn("2 tensors (b.safetensors:odd, b.safetensors:scalar): their codes end within a byte", err)
        for to, more, wanted in (("e3m2", (), "to a multiple of 4, or write --codes to an .npy"),
                                 ("e2m1", ("--scale", "mx:even"), "to a multiple of 2, or take codes and scales from ulpscope.quantize() of Python")):
            wrong = self.refused("cast", "b.safetensors:odd", "--to", to, *more, "-o", "p.safetensors")
            self.assertIn("end within a byte, which readers of .safetensors refuse; pad the last extent with zeros " + wanted, wrong)
        self.run_here("cast", "b.safetensors:odd", "--to", "e3m2", "--codes", "-o", "p.npy")
        self.write("padded.safetensors", {"odd": self.tensor([4], [1, 2, 3, 0])})
        self.run_here("cast", "padded.safetensors:odd", "--to", "e2m1", "--scale", "mx:even", "-o", "p.safetensors")

    def test_a_format_that_is_missing_is_asked_for(self):
        self.write("b.safetensors", {"w": self.tensor([4], [1, 2, 3, 4])})
        self.assertEqual(self.refused("cast", "b.safetensors", "-o", "x.npy"), "give --to F")
        self.assertEqual(self.refused("cast", "b.safetensors", "-o", "x.safetensors"), "give --to F, or --plan PLAN.toml")

    def test_integers_of_64_bits_differ_by_one(self):
        self.write("a.safetensors", {"i": ("I64", [2], struct.pack("<2q", 2**53, 1)), "k": self.tensor([1], [1])})
        self.write("b.safetensors", {"i": ("I64", [2], struct.pack("<2q", 2**53 + 1, 1)), "k": self.tensor([1], [1])})
        for words in (("a.safetensors:i", "b.safetensors:i"), ("a.safetensors", "b.safetensors")):
            code, out, err = run("diff", *words, "--csv", cwd=self.path)
            row = next(csv.DictReader(out.splitlines()))
            self.assertEqual((code, row["differing"], float(row["max_abs_error"]), float(row["max_rel_error"])), (1, "1", 1, 2**-53), err)
            for tolerance, wanted in (("abs=0", 1), ("rel=0", 1), ("abs=0.5", 1), ("abs=1", 0)):
                self.assertEqual(run("diff", *words, "--tolerance", tolerance, cwd=self.path)[0], wanted, tolerance)
        values = (-2**63, 2**63 - 1, -1, 2**53 + 1), (2**63 - 1, -2**63, 2, 2**53 - 2)
        for dtype, form, sign in (("I64", "<4q", 0), ("U64", "<4Q", 2**63)):
            for name, numbers in zip("cd", values):
                self.write(name + ".safetensors", {"i": (dtype, [4], struct.pack(form, *(n + sign for n in numbers)))})
            row = next(csv.DictReader(run("diff", "c.safetensors:i", "d.safetensors:i", "--csv", cwd=self.path)[1].splitlines()))
            self.assertEqual((float(row["max_abs_error"]), float(row["mean_abs_error"])), (2**64, 2**63))  # 3 and -3 are lost there
            out = run("diff", "c.safetensors:i", "d.safetensors:i", "--text", cwd=self.path)[1]
            self.assertRegex(out, rf" {2**53 + 1 + sign} +{2**53 - 2 + sign} +-3\n")  # an ulp is 1

    def test_tensors_without_elements_in_every_layout(self):
        self.write("e.safetensors", {NAME: self.tensor([128, 128], [1] * 128 * 128), "none": self.tensor([0, 128], [])})
        for layout, rule in (("compressed-tensors", "amax"), ("deepseek", "128x128"), ("ulpscope", "amax")):
            out, err = self.run_here("cast", "e.safetensors", "--to", "e4m3", "--scale", rule, "--layout", layout, "-o", "o.safetensors")
            header, _ = parse(self.path / "o.safetensors")
            self.assertEqual((header["none"]["shape"], header["none"]["dtype"]), ([0, 128], "F8_E4M3" if layout == "ulpscope" else "F32"), layout)
            self.assertFalse([name for name in header if name.startswith("none") and name != "none"])

    def test_a_plan_is_of_what_can_be_written(self):
        self.write("odd.safetensors", {"a": self.tensor([3, 3], [1, 2, 3, 4, 6, 1, 2, 3, 4]), "b": self.tensor([2, 4], [1, 2, 3, 4] * 2)})
        out, _ = self.run_here("choose", "odd.safetensors", "--sqnr", "10", "--csv", "-o", "p.toml")
        self.assertEqual([row["format"] for row in csv.DictReader(out.splitlines())], ["float8_e4m3fn", "float4_e2m1fn"])
        self.run_here("cast", "odd.safetensors", "--plan", "p.toml", "-o", "o.safetensors")
        header, _ = parse(self.path / "o.safetensors")
        self.assertEqual([header[name]["dtype"] for name in "ab"], ["F8_E4M3", "F4"])

    def test_codes_are_not_taken_for_values(self):
        self.run_here("cast", "m.safetensors", "--to", "e4m3", "--scale", "row", "-o", "o.safetensors")
        for words in (("cast", "o.safetensors", "--to", "bf16", "-o", "p.safetensors"), ("choose", "o.safetensors")):
            self.assertIn(f"o.safetensors:{NAME}: is codes under scales, not values", self.refused(*words))
        self.run_here("cast", "o.safetensors", "--to", "bf16", "--copy", NAME + "*", "-o", "p.safetensors", wanted=0)
        _, err = self.run_here("census", "o.safetensors")
        self.assertIn("codes under scales, counted as they are", err)

    def test_what_an_index_names_is_there(self):
        self.write("model/a.safetensors", {"w": self.tensor([1], [1])})
        (self.path / "model/model.safetensors.index.json").write_text(json.dumps({"weight_map": {"w": "a.safetensors", "z": "a.safetensors"}}))
        self.assertIn("names tensor 'z' of model/a.safetensors, which does not hold it", self.refused("cast", "model", "--to", "e4m3", "-o", "o"))
        self.assertFalse((self.path / "o").exists())

    def test_folders_below_are_made(self):
        (self.path / "model/sub/deep").mkdir(parents=True)
        for name in ("a", "sub/b", "sub/deep/c"):
            self.write(f"model/{name}.safetensors", {name[-1]: self.tensor([1], [1])})
        index = {name[-1]: name + ".safetensors" for name in ("a", "sub/b", "sub/deep/c")}
        (self.path / "model/model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
        for out in ("o", "o", "here/o"):
            self.run_here("cast", "model", "--to", "bf16", "-o", out)
            self.assertEqual(sorted(str(path.relative_to(self.path / out)) for path in (self.path / out).rglob("*.safetensors")), sorted(index.values()))
        (self.path / "model/sub/deep/c.safetensors").write_bytes(b"none")
        self.refused("cast", "model", "--to", "bf16", "-o", "p")
        self.assertFalse((self.path / "p").exists())
        self.shards("plain", {"w": ([1], [1])})
        self.assertIn("the index of other files", self.refused("cast", "plain", "--to", "bf16", "-o", "o"))

    def test_what_is_chosen_can_be_cast_and_has_the_size_that_was_said(self):
        for to, scale in (("e3m1,e5m6,tf32", "none"), ("int4,e4m3", "row"), ("int12,bf16", "amax")):
            out, _ = self.run_here("choose", "m.safetensors", "--to", to, "--scale", scale, "--sqnr", "1", "--csv", "-o", "p.toml")
            row, = csv.DictReader(out.splitlines())
            self.run_here("cast", "m.safetensors", "--plan", "p.toml", "-o", "o.safetensors", wanted=0)
            size = sum(map(len, parse(self.path / "o.safetensors")[1].values()))
            self.assertAlmostEqual(float(row["bits_per_element"]) * ROWS * COLUMNS / 8, size, 3, to)

    def test_a_scale_that_cannot_be_stored_is_refused(self):
        for word in ("2^150", "2^127", "2^-128", "1e-39", "1e300"):
            self.assertEqual(self.refused("cast", "m.safetensors", "--to", "e4m3", "--scale", word, "-o", "o.safetensors"),
                             f"--scale '{word}': its reciprocal, which is stored, is no normal float32; give 2^-127 to 2^126")
            out, _ = self.run_here("choose", "m.safetensors", "--to", "e4m3", "--scale", word, "--sqnr", "1", "--csv")
            row, = csv.DictReader(out.splitlines())
            self.assertEqual((row["format"], row["reason"]), ("copy", "none of these formats keeps it: their scale would be stored as no normal float32"))
        (self.path / "p.toml").write_text('[[tensors]]\nmatch = "*"\nto = "e4m3"\nscale = "2^150"\n')
        self.assertIn("--scale '2^150'", self.refused("cast", "m.safetensors", "--plan", "p.toml", "-o", "o.safetensors"))
        for word in ("2^126", "2^-127"):
            self.run_here("cast", "m.safetensors", "--to", "fp32", "--scale", word, "-o", "o.safetensors")
            self.assertEqual(struct.unpack("<f", parse(self.path / "o.safetensors")[1][NAME + ".scale"])[0], 2.0 ** -int(word[2:]))

    def test_a_layout_is_asked_for_each_tensor(self):
        def numbers(rows, columns):
            return self.tensor([rows, columns], [1 + i % 7 for i in range(rows * columns)])

        self.write("s.safetensors", {"a.odd": numbers(2, 3), "a.few": numbers(4, 6), "a.sixteen": numbers(2, 48), "a.whole": numbers(2, 64), "root": numbers(2, 64)})
        fp4, fp8, bf16 = "float4_e2m1fn", "float8_e4m3fn", "bfloat16"
        for layout, wanted in (("gpt-oss", [bf16, bf16, bf16, fp4, fp4]), ("compressed-tensors", [fp8, fp4, fp4, fp4, fp4]), ("modelopt", [fp8, fp4, fp4, fp4, fp4]),
                               ("torchao", [fp8, fp8, fp4, fp4, bf16]), ("deepseek", [fp8] * 5), ("transformer-engine", [fp8] * 5), ("ulpscope", [fp4] * 5)):
            with self.subTest(layout):
                out, _ = self.run_here("choose", "s.safetensors", "--to", "e2m1,e4m3,bf16", "--scale", "none,amax,128x128,mx:floor,nvfp4", "--sqnr", "8", "--layout", layout,
                                       "--csv", "-o", "p.toml")
                formats = {row["tensor"].partition(":")[2]: row["format"] for row in csv.DictReader(out.splitlines())}
                self.assertEqual([formats[name] for name in ("a.odd", "a.few", "a.sixteen", "a.whole", "root")], wanted)
                self.run_here("cast", "s.safetensors", "--plan", "p.toml", "-o", "o.safetensors")
        out, _ = self.run_here("choose", "s.safetensors:root", "--to", "e4m3", "--scale", "amax", "--layout", "torchao", "--csv")
        self.assertIn("layout torchao has names MODULE.LEAF, and 'root' is none", out)

    def test_layouts_take_the_blocks_of_their_readers(self):
        self.write("s.safetensors", {"a.w": self.tensor([2, 24], [1] * 48)})
        for layout in ("compressed-tensors", "modelopt", "torchao"):
            self.assertIn(f"layout {layout} does not store float4_e2m1fn under nvfp4:16x16",
                          self.refused("cast", "s.safetensors", "--to", "e2m1", "--scale", "nvfp4:16x16", "--layout", layout, "-o", "o.safetensors"))
        for to, scale, block in (("e2m1", "nvfp4", 16), ("e2m1", "mx:floor", 32), ("e4m3", "mx:floor", 32)):
            self.assertIn(f"its rows of 24 elements are no multiple of {block}",
                          self.refused("cast", "s.safetensors", "--to", to, "--scale", scale, "--layout", "torchao", "-o", "o.safetensors"))

    def test_a_given_scale_is_stored_as_well(self):
        out, _ = self.run_here("choose", "m.safetensors", "--to", "e4m3", "--scale", "4", "--sqnr", "1", "--csv", "-o", "p.toml")
        row, = csv.DictReader(out.splitlines())
        self.run_here("cast", "m.safetensors", "--plan", "p.toml", "-o", "o.safetensors")
        size = sum(map(len, parse(self.path / "o.safetensors")[1].values()))
        self.assertAlmostEqual(float(row["bits_per_element"]) * ROWS * COLUMNS / 8, size, 6)

    def test_infinities_are_kept(self):
        self.write("i.safetensors", {"w": self.tensor([4], [1, 2, float("inf"), 4])})
        out, _ = self.run_here("choose", "i.safetensors", "--to", "e2m1,e4m3,e5m2", "--scale", "none,mx:rceil", "--sqnr", "5", "--csv")
        row, = csv.DictReader(out.splitlines())
        self.assertEqual((row["format"], row["scale"]), ("float8_e5m2", "none"))

    def test_words_that_name_nothing(self):
        for words, wanted in ((("choose", "m.safetensors", "--copy", "zzz"), "--copy 'zzz': matches the name of no tensor"),
                              (("choose", "m.safetensors", "--group", "(zz)"), "--group '(zz)': matches the name of no tensor"),
                              (("choose", "m.safetensors", "--fused", "aa,bb"), "--fused aa,bb: no tensor's name has a part of it"),
                              (("cast", "m.safetensors", "--to", "e4m3", "--fused", "aa,bb", "-o", "o.safetensors"), "no tensor's name has a part of --fused aa,bb"),
                              (("cast", "m.safetensors:z*", "--to", "e4m3", "-o", "o.safetensors"), "no tensor matches 'z*'"),
                              (("cast", "m.safetensors", "--plan", "/dev/zero", "-o", "o.safetensors"), "/dev/zero: ")):
            self.assertIn(wanted, self.refused(*words))
        (self.path / "p.toml").write_text("")
        self.assertEqual(self.refused("cast", "m.safetensors", "--plan", "p.toml", "-o", "o.safetensors"),
                         "p.toml: has no table [[tensors]]: nothing is to be cast")
        (self.path / "p.toml").write_text('[[tensors]]\nmatch = "*"\nto = "copy"\nscale = "row"\n')
        self.assertIn("p.toml:1: a tensor that stays as it is has no scale", self.refused("cast", "m.safetensors", "--plan", "p.toml", "-o", "o.safetensors"))
        self.run_here("cast", "m.safetensors:layers*", "--to", "e4m3", "-o", "o.safetensors")

    def test_integers_in_a_plan(self):
        self.write("i.safetensors", {"i": ("I64", [2], struct.pack("<2q", 1, 2)), "w": self.tensor([4], [1, 2, 3, 4])})
        (self.path / "p.toml").write_text('[[tensors]]\nmatch = "i"\nto = "copy"\n[[tensors]]\nmatch = "*"\nto = "e4m3"\n')
        self.run_here("cast", "i.safetensors", "--plan", "p.toml", "-o", "o.safetensors")
        _, err = self.run_here("choose", "i.safetensors")
        self.assertNotIn("--integers", err)

    def test_ten_thousand_tensors_with_a_rule_each(self):
        names = [f"t{i}" for i in range(10_000)]
        self.write("many.safetensors", {name: self.tensor([2], [1, 2]) for name in names})
        (self.path / "p.toml").write_text("".join(f'[[tensors]]\nmatch = "{name}"\nto = "e4m3"\n' for name in names))
        self.run_here("cast", "many.safetensors", "--plan", "p.toml", "-o", "o.safetensors")
        header, data = parse(self.path / "o.safetensors")
        self.assertEqual(set(data), set(names))
        self.assertEqual({entry["dtype"] for entry in header.values()}, {"F8_E4M3"})

    def test_arrays_have_the_names_of_their_files(self):
        (self.path / "both").mkdir()
        for name, values in (("first", [1, 2, 3, 4]), ("second", [5, 6, 7, 8])):
            (self.path / f"both/{name}.npy").write_bytes(npy("<f4", (2, 2), struct.pack("<4f", *values)))
        self.run_here("cast", "both", "--to", "bf16", "-o", "o.safetensors")
        _, data = parse(self.path / "o.safetensors")
        self.assertEqual({name: struct.unpack("<4H", codes)[0] for name, codes in data.items()}, {"first": 0x3F80, "second": 0x40A0})
        self.run_here("choose", "both", "--to", "e4m3,bf16", "--sqnr", "20", "-o", "p.toml")
        self.assertIn("match = 'first'", (self.path / "p.toml").read_text())
        self.assertEqual(len(self.decibels("both", "o.safetensors")), 2)


class CodesUnderScales(Folder):
    """Which tensors are codes, and in whose ulps they are compared."""

    def row(self, *words):
        code, out, err = run("diff", *words, "--csv", cwd=self.path)
        self.assertIn(code, (0, 1), err)
        return next(csv.DictReader(out.splitlines()))

    def test_codes_of_many_bits(self):
        for to, form in (("fp16", "e"), ("int16", "h")):
            self.run_here("cast", "m.safetensors", "--to", to, "--scale", "amax", "-o", "o.safetensors")
            header, data = parse(self.path / "o.safetensors")
            scale, = struct.unpack("<f", data[NAME + ".scale"])
            values = [code * scale for code in struct.unpack(f"<{ROWS * COLUMNS}{form}", data[NAME])]
            wanted = 10 * math.log10(sum(x * x for x in self.values) / sum((x - y) ** 2 for x, y in zip(self.values, values)))
            self.assertEqual(json.loads(header["__metadata__"]["ulpscope_codes"]), [NAME])
            for output in ("o.safetensors", f"o.safetensors:{NAME}", "o.safetensors:*weight"):
                self.assertAlmostEqual(float(self.row("m.safetensors", output)["sqnr_db"]), wanted, 6, (to, output))
            refusals = [("cast", f"o.safetensors:{NAME}", "--to", "bf16", "-o", "p.safetensors"), ("cast", "o.safetensors", "--to", "bf16", "-o", "p.safetensors"),
                        ("choose", f"o.safetensors:{NAME}")]
            for words in refusals:
                self.assertIn("is codes under scales, not values", self.refused(*words))
            self.run_here("cast", "o.safetensors", "--to", "bf16", "--copy", NAME + "*", "-o", "p.safetensors")
            self.assertAlmostEqual(float(self.row("m.safetensors", "p.safetensors")["sqnr_db"]), wanted, 6)

    def test_a_model_may_have_a_tensor_and_its_namesake_with_scale(self):
        values = struct.pack("<8e", *range(1, 9))
        for metadata in (None, {"ulpscope_codes": "[\"y\"]"}):
            self.write("a.safetensors", {"x": ("F16", [8], values), "x.scale": self.tensor([8], [3] * 8)}, metadata)
            self.run_here("cast", "a.safetensors", "--to", "bf16", "-o", "o.safetensors")
            header, _ = parse(self.path / "o.safetensors")
            self.assertEqual({name: entry["dtype"] for name, entry in header.items()}, {"x": "BF16", "x.scale": "BF16"})
            self.assertEqual(run("diff", "a.safetensors", "o.safetensors", cwd=self.path)[0], 0)
        for mark in ("x", "{}", "[1]", "[" * 200_000 + "]" * 200_000):
            self.write("a.safetensors", {"x": ("F16", [8], values)}, {"ulpscope_codes": mark})
            self.assertIn("ulpscope_codes, which is no list of names", self.refused("cast", "a.safetensors", "--to", "bf16", "-o", "o.safetensors"))

    def test_scales_that_a_pattern_leaves_out_are_found(self):
        self.write("two.safetensors", {"a.w": self.tensor([2, 64], self.values[:128]), "b.w": self.tensor([2, 64], self.values[128:256])})
        self.run_here("cast", "two.safetensors", "--to", "e4m3", "--scale", "amax", "-o", "o.safetensors")
        self.run_here("cast", "two.safetensors", "--to", "int8", "--scale", "amax", "-o", "i.safetensors")
        for output in ("o", "i"):
            whole = run("diff", "two.safetensors", f"{output}.safetensors", "--csv", cwd=self.path)[1].splitlines()[1:]
            some = run("diff", "two.safetensors:*.w", f"{output}.safetensors:*.w", "--csv", cwd=self.path)[1].splitlines()[1:]
            self.assertEqual((some, len(some)), (whole, 2))
        self.assertEqual(run("diff", "o.safetensors:*.scale", "o.safetensors:*.scale", cwd=self.path)[0], 0)
        for words in (("cast", "o.safetensors:*.w", "--to", "bf16", "-o", "p.safetensors"), ("cast", "i.safetensors:a.w", "--to", "bf16", "-o", "p.safetensors"),
                      ("choose", "o.safetensors:a.w"), ("choose", "two.safetensors", "o.safetensors:a.w")):
            self.assertIn("safetensors:a.w: is codes under scales, not values", self.refused(*words))
        self.run_here("cast", "o.safetensors:*.scale", "--to", "bf16", "-o", "p.safetensors")
        _, err = self.run_here("census", "o.safetensors:a.w")
        self.assertIn("codes under scales, counted as they are", err)
        (self.path / "shards").mkdir()
        header, data = parse(self.path / "o.safetensors")
        for name, entry in header.items():  # codes in one file, scales in another
            self.write(f"shards/{'scales' if name.endswith('scale') else 'codes'}-{name[0]}.safetensors", {name: (entry["dtype"], entry["shape"], data[name])})
        self.assertEqual(self.row("two.safetensors:*.w", "shards:*.w")["sqnr_db"], self.row("two.safetensors", "o.safetensors")["sqnr_db"])

    def test_ulps_do_not_depend_on_how_many_tensors_there_are(self):
        one, half = struct.pack("<4H", *[0x3F80] * 4), self.tensor([4], [1 + 2**-8] * 4)  # half an ulp of bfloat16
        more = {"more": self.tensor([1], [1])}
        for reference, output in ((("BF16", [4], one), half), (half, ("BF16", [4], one))):
            for others in ({}, more):
                self.write("a.safetensors", {"w": reference} | others)
                self.write("b.safetensors", {"w": output} | others)
                row = self.row("a.safetensors", "b.safetensors")
                self.assertEqual((row["dtype"], abs(float(row["bias_ulp"]))), ("bfloat16", 0.5))
                self.assertEqual(run("diff", "a.safetensors", "b.safetensors", "--tolerance", "ulp=0.5", cwd=self.path)[0], 0)
                self.assertEqual(run("diff", "a.safetensors", "b.safetensors", "--tolerance", "ulp=0.4", cwd=self.path)[0], 1)

    def test_tensors_of_a_dtype_that_is_not_known_are_compared_by_their_bytes(self):
        for others in ({}, {"w": self.tensor([1], [1])}):
            self.write("a.safetensors", {"c": ("C64", [2], bytes(range(16)))} | others)
            self.write("b.safetensors", {"c": ("C64", [2], bytes(range(1, 17)))} | others)
            code, _, err = run("diff", "a.safetensors", "a.safetensors", "--csv", cwd=self.path)
            self.assertEqual(code, 0, err)
            self.assertIn("the same byte for byte: 1 tensor (a.safetensors:c): dtype C64 is not known", err)
            code, _, err = run("diff", "a.safetensors", "b.safetensors", "--csv", cwd=self.path)
            self.assertEqual(code, 1)
            self.assertIn("unknown dtype", err)


if __name__ == "__main__":
    unittest.main()
