#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints quantized in folders and by plans, the plans that `choose` writes, and what `diff` says of two checkpoints.
usage: cast_checkpoints_test.py PROGRAM"""
import csv
import json
import math
import random
import struct
import unittest

from cast_folder import NAME, Folder, float32, floats, nearest
from files_test import parse, run


SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


class Checkpoints(Folder):
    def setUp(self):
        super().setUp()
        part = lambda name: {f"layers.{i}.self_attn.{name}.weight": self.tensor([1, 32], [(i + 1) * x for x in self.values[:32]]) for i in range(2)}  # noqa: E731
        first, second = part("q_proj") | part("k_proj"), part("v_proj") | part("o_proj")
        for tensors in first, second:
            for i, (name, (dtype, shape, data)) in enumerate(tensors.items()):
                tensors[name] = dtype, shape, struct.pack("<32f", *(x * (i + 1) for x in floats(data)))
        second["layers.0.norm.weight"] = self.tensor([4], [1, 1, 1, 1])
        second["ids"] = "I64", [2], struct.pack("<2q", 1, 2)
        self.tensors = first | second
        for name, tensors in zip(SHARDS, (first, second)):
            self.write(f"model/{name}", tensors, {"format": "pt"})
        self.index = {name: SHARDS[name in second] for name in self.tensors}
        (self.path / "model/model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": self.index}))

    def test_shards_index_metadata_and_what_is_copied(self):
        self.cast("--to", "e4m3", "--scale", "row", "--layout", "compressed-tensors", "--copy", "*norm*", source="model", out="out")
        self.assertEqual(sorted(path.name for path in (self.path / "out").iterdir()), [*SHARDS, "model.safetensors.index.json"])
        index = json.loads((self.path / "out/model.safetensors.index.json").read_text())
        total, found = 0, {}
        for name in SHARDS:
            header, data = parse(self.path / "out" / name)
            self.assertEqual(header.pop("__metadata__"), {"format": "pt"})
            total += sum(map(len, data.values()))
            found |= {tensor: name for tensor in header}
        self.assertEqual(index, {"metadata": {"total_size": total}, "weight_map": found})
        wanted = set(self.index) | {name + "_scale" for name in self.index if "proj" in name}
        self.assertEqual(set(found), wanted)
        self.assertEqual({name: found[name] for name in self.index}, self.index)
        self.assertEqual(data["layers.0.norm.weight"], struct.pack("<4f", 1, 1, 1, 1))
        self.assertEqual(data["ids"], struct.pack("<2q", 1, 2))
        self.assertIn("8 tensors as float8_e4m3fn under row\n", self.remarks)
        self.assertIn("copied as they are: 1 tensor (model/model-00002-of-00002.safetensors:layers.0.norm.weight)", self.remarks)
        code, out, err = run("diff", "model", "out", "--csv", cwd=self.path)
        self.assertEqual((code, out.count("\n")), (1, 11), err)
        self.assertIn("8 tensors are codes under scales", err)

    def test_a_list_of_files_is_what_a_pattern_of_them_is(self):
        files = [f"model/{name}" for name in SHARDS]
        words = ("--to", "e4m3", "--scale", "row", "--copy", "*norm*")
        written = lambda out: {path.name: path.read_bytes() for path in (self.path / out).iterdir()}  # noqa: E731
        _, remarks = self.run_here("cast", "model/*.safetensors", *words, "-o", "pattern")
        for i, (order, more) in enumerate(((files, ()), (files[::-1], ()), (files, ("--resume",)))):
            self.assertEqual(self.run_here("cast", *order, *words, *more, "-o", f"list{i}")[1], remarks)
            self.assertEqual(written(f"list{i}"), written("pattern"))
        for inputs, out in ((["model/*.safetensors"], "pattern.safetensors"), (files, "list.safetensors")):
            self.run_here("cast", *inputs, *words, "-o", out)
        self.assertEqual((self.path / "list.safetensors").read_bytes(), (self.path / "pattern.safetensors").read_bytes())
        self.assertEqual(parse(self.path / "list.safetensors")[0]["__metadata__"], {"format": "pt"})
        before = written("model")
        self.write("more/x.safetensors", {"w": self.tensor([1], [1])})
        for inputs, out, wanted in (
                (files, "model", f"{files[0]}: is the input itself"), (files, files[1], f"{files[1]}: is the input itself"),
                (files, "o.npy", "2 inputs: holds 10 tensors; name one"),
                (["model", files[0]], "x", "model: is a checkpoint, and one of 2 inputs; give it alone, or files of one checkpoint"),
                ([files[0], files[0]], "x", f"x/{SHARDS[0]}: would be written twice"),
                ([files[0], files[0]], "x.safetensors", "two tensors would be named"),
                ([files[0], "more/x.safetensors"], "x", "the files of 2 inputs lie in several folders"),
                ([files[0], f"{files[1]}:ids"], "x", f"{files[1]}:ids names tensors of one"),
                ([files[0], "normal:0,1:4"], "x", "a folder is written of .safetensors files, and normal:0,1:4 is none")):
            self.assertIn(wanted, self.refused("cast", *inputs, "--to", "e4m3", "-o", out))
        self.assertIn("2 inputs: no tensor matches 'x*'", self.refused("cast", *files, "--to", "e4m3", "--copy", "x*", "-o", "x"))
        self.assertEqual(written("model"), before)
        self.assertFalse((self.path / "x").exists())

    def test_codes_and_scales_in_files_of_a_list(self):
        """Codes in one file and their scales in another are no numbers, however the files are named."""
        self.cast("--to", "e4m3", "--scale", "row", out="q.safetensors")
        header, data = parse(self.path / "q.safetensors")
        entry = lambda name: (header[name]["dtype"], header[name]["shape"], data[name])  # noqa: E731
        self.write("q/1.safetensors", {NAME: entry(NAME), "w": self.tensor([2, 32], self.values[:64])})
        self.write("q/2.safetensors", {name: entry(name) for name in header if name not in (NAME, "__metadata__")})
        for inputs in (["q/*.safetensors"], ["q/1.safetensors", "q/2.safetensors"], ["q/2.safetensors", "q/1.safetensors"]):
            for words in (("--to", "bf16"), ("--to", "e4m3", "--scale", "row")):
                self.assertIn(f"{NAME}: is codes under scales, not values", self.refused("cast", *inputs, *words, "-o", "x"))
            self.assertIn("holds codes under scales that were not rotated",
                          self.refused("cast", *inputs, "--to", "e4m3", "--hadamard", "32", "--scale", "1x128", "--copy", "layers*", "-o", "x"))
            self.assertIn("codes under scales, not values", self.refused("choose", *inputs, "--to", "e4m3", "--sqnr", "20"))
        self.assertFalse((self.path / "x").exists())

    def test_files_in_place_of_a_pattern_are_told(self):
        files = [f"model/{name}" for name in SHARDS]
        self.assertEqual(self.refused("diff", *files, *files), f"{files[0]} is an input more than `ulpscope diff` takes; a pattern of file names "
                         "stands in quotes, or the shell puts the files in its place; see `ulpscope diff --help`")
        self.assertIn("The following argument was not expected: c", self.refused("diff", *files, "c"))

    def test_sets_share_the_scale_of_the_tensor(self):
        self.cast("--to", "e2m1", "--scale", "nvfp4", "--copy", "*norm*", "--fused", "q_proj,k_proj,v_proj", source="model", out="out")
        scales = {}
        for name in SHARDS:
            scales |= {tensor: floats(data)[0] for tensor, data in parse(self.path / "out" / name)[1].items() if tensor.endswith(".global_scale")}
        amax = {name: max(map(abs, floats(self.tensors[name][2]))) for name in self.tensors if "proj" in name}
        for name, largest in amax.items():
            layer, module = name.split(".")[1], name.split(".")[3]
            if module != "o_proj":
                largest = max(amax[f"layers.{layer}.self_attn.{other}.weight"] for other in ("q_proj", "k_proj", "v_proj"))
            self.assertEqual(scales[name + ".global_scale"], float32(1 / float32(448 * 6 / largest)), name)

    def test_a_folder_appears_whole_or_not_at_all(self):
        raw = (self.path / "model" / SHARDS[1]).read_bytes()
        (self.path / "model" / SHARDS[1]).write_bytes(raw[:-4])
        self.refused("cast", "model", "--to", "e4m3", "-o", "out")
        self.assertFalse((self.path / "out").exists())
        (self.path / "model" / SHARDS[1]).write_bytes(raw)
        code, _, err = run("cast", "model", "--to", "e4m3", "-o", "out", cwd=self.path, limit=300)
        self.assertEqual(code, 2, err)
        self.assertFalse((self.path / "out").exists())

    def test_no_file_of_the_input_is_written_over(self):
        model, index = self.path / "model", "model/model.safetensors.index.json"
        (self.path / "same").symlink_to(model)
        (self.path / "out").mkdir()
        (self.path / "out" / SHARDS[1]).hardlink_to(model / SHARDS[1])
        before = {path.name: path.read_bytes() for path in model.iterdir()}
        for source, out, named in (("model/*.safetensors", "model", f"model/{SHARDS[0]}"), (index, "model", f"model/{SHARDS[0]}"),
                                   ("model", "model", "model"), ("model", "same", "same"), ("model", "out", f"out/{SHARDS[1]}"),
                                   ("model", f"model/{SHARDS[1]}", f"model/{SHARDS[1]}"), ("m.safetensors", "m.safetensors", "m.safetensors"),
                                   (f"m.safetensors:{NAME}", "m.safetensors", "m.safetensors")):
            self.assertRegex(self.refused("cast", source, "--to", "e4m3", "-o", out), f"^{named}: is the input itself(, .*)?; choose another name$")
            self.assertEqual({path.name: path.read_bytes() for path in model.iterdir()}, before, (source, out))
        self.assertEqual([path.name for path in (self.path / "out").iterdir()], [SHARDS[1]])

    def test_a_link_in_the_folder_is_not_followed(self):
        (self.path / "out").mkdir()
        (self.path / "victim").write_text("mine")
        (self.path / "out" / SHARDS[0]).symlink_to(self.path / "victim")
        self.assertIn("link", self.refused("cast", "model", "--to", "e4m3", "-o", "out"))
        self.assertEqual((self.path / "victim").read_text(), "mine")
        self.assertEqual([path.name for path in (self.path / "out").iterdir()], [SHARDS[0]])

    def test_a_plan_decides(self):
        (self.path / "plan.toml").write_text(
            'layout = "compressed-tensors"\nfused = ["q_proj,k_proj"]\n'
            '[[tensors]]\nmatch = "layers.0.*norm*"\nto = "copy"\nreason = "small"\n'
            '[[tensors]]\nmatch = "layers.0.*"\nto = "e4m3"\nscale = "amax"\n'
            '[[tensors]]\nmatch = "*.o_proj.weight"\nto = "bf16"\n')
        self.cast("--plan", "plan.toml", source="model", out="out.safetensors")
        header, data = parse(self.path / "out.safetensors")
        header.pop("__metadata__")
        dtypes = {name: entry["dtype"] for name, entry in header.items()}
        wanted = {name: "F32" for name in self.tensors if "proj" in name}
        for module in ("q_proj", "k_proj", "v_proj", "o_proj"):
            name = f"layers.0.self_attn.{module}.weight"
            wanted |= {name: "F8_E4M3", name + "_scale": "F32"}
        wanted |= {"layers.1.self_attn.o_proj.weight": "BF16", "layers.0.norm.weight": "F32", "ids": "I64"}
        self.assertEqual(dtypes, wanted)
        scale = lambda module: data[f"layers.0.self_attn.{module}.weight_scale"]  # noqa: E731
        self.assertEqual(scale("q_proj"), scale("k_proj"))
        self.assertNotEqual(scale("q_proj"), scale("v_proj"))
        self.cast("--plan", "plan.toml", "--copy", "*v_proj*", "--layout", "modelopt", source="model", out="out.safetensors")
        self.assertEqual(parse(self.path / "out.safetensors")[0]["layers.0.self_attn.v_proj.weight"]["dtype"], "F32")

    def test_stochastic_rounding_is_the_same_in_a_file_and_in_a_folder(self):
        words = ("--to", "e4m3", "--scale", "row", "--rounding", "stochastic", "--seed", "7")
        self.cast(*words, source="model", out="one.safetensors")
        self.cast(*words, source="model", out="out")
        one = parse(self.path / "one.safetensors")[1]
        for name in SHARDS:
            for tensor, data in parse(self.path / "out" / name)[1].items():
                self.assertEqual(data, one[tensor], tensor)

    def test_what_is_wrong_is_told_in_one_line(self):
        def plan(text):
            (self.path / "p.toml").write_text(text)
            return self.refused("cast", "model", "--plan", "p.toml", "-o", "out")

        table = '[[tensors]]\nmatch = "*"\nto = "e4m3"\n'
        self.assertEqual(plan("layout = 'ulpscope'\n"), "p.toml: has no table [[tensors]]: nothing is to be cast")
        self.assertIn("p.toml:4: unknown key 'sclae'", plan(table + 'sclae = "row"\n'))
        self.assertIn("p.toml:3: ", plan(table.replace("e4m3", "q4m3")))
        self.assertIn("p.toml:4: ", plan(table + 'scale = "rows"\n'))
        self.assertIn("p.toml:1: to is missing", plan('[[tensors]]\nmatch = "*"\n'))
        self.assertIn("unknown layout 'vllm'", plan('layout = "vllm"\n' + table))
        self.assertIn("'q_proj': give parts of names", plan('fused = ["q_proj"]\n' + table))
        self.assertIn("p.toml:1: tensors: give tables", plan("tensors = 3\n"))
        self.assertIn("no tensor matches 'layer.*'; nearest of 10: ", plan(table.replace('"*"', '"layer.*"')))
        for words, wanted in (
                (("model", "-o", "out"), "give --to F, or --plan PLAN.toml"),
                (("model", "--to", "e4m3"), "-o OUT is missing"),
                (("--to", "e4m3", "-o", "out"), "IN is missing"),
                (("model", "--to", "e4m3", "--plan", "p.toml", "-o", "out"), "leave out --to and --scale"),
                (("model", "--to", "e4m3", "-o", "model"), "is the input itself"),
                (("model", "--to", "e4m3", "--codes", "-o", "out"), "--codes is for an .npy"),
                (("m.safetensors", "--to", "e4m3", "-o", "out"), "the name ends in neither .npy nor .safetensors; a folder is written of a checkpoint"),
                (("m.safetensors", "--to", "e4m3", "--scale", "row", "-o", "o.npy"), "an .npy holds one tensor without scales"),
                (("model", "--to", "e2m1", "--scale", "nvfp4", "--layout", "deepseek", "-o", "out"),
                 "layout deepseek does not store float4_e2m1fn under nvfp4; it stores e4m3: 128x128"),
                (("model", "--to", "e2m1", "--scale", "mx:rceil", "--layout", "gpt-oss", "-o", "out"),
                 "its rows of 4 elements are no multiple of 32")):
            self.assertIn(wanted, self.refused("cast", *words))
        self.assertFalse((self.path / "out").exists())

    def test_two_files_of_different_folders_are_no_folder(self):
        self.write("more/x.safetensors", {"w": self.tensor([1], [1])})
        self.assertIn("lie in several folders", self.refused("cast", "m*/*.safetensors", "--to", "e4m3", "-o", "out"))


class Choose(Folder):
    CANDIDATES = [(to, scale, bits) for to, bits in (("float4_e2m1fn", 4), ("float8_e4m3fn", 8), ("bfloat16", 16))
                  for scale in ("none", "amax", "row", "mx:rceil") if not (bits == 16 and scale in ("row", "mx:rceil"))]

    def setUp(self):
        super().setUp()
        drawn = random.Random(2)
        self.made = {
            "a.weight": (4, 64, [drawn.gauss(0, 1) for _ in range(256)]),
            "b.weight": (4, 64, [drawn.gauss(0, 1) * 10.0 ** (-3 * (i // 64)) for i in range(256)]),
            "a.bias": (1, 64, [2.0 ** drawn.randint(-2, 2) for _ in range(64)]),
            "c.weight": (2, 64, [drawn.gauss(0, 1) * 1e-6 for _ in range(128)]),
            "z.bias": (1, 8, [0.0] * 8)}
        self.write("c.safetensors", {name: self.tensor([rows, columns], values) for name, (rows, columns, values) in self.made.items()})

    def measured(self, name):
        """(format, scale) -> decibels, share lost, bits, as census says and arithmetic."""
        rows, columns, values = self.made[name]
        found = {}
        for to, scale, bits in self.CANDIDATES:
            policy = "saturating" if scale.startswith("mx") else "nonsaturating"
            out, _ = self.run_here("census", f"c.safetensors:{name}", "--to", to, "--scale", scale, "--policy", policy, "--csv")
            row = next(csv.DictReader(out.splitlines()))
            nonzero = sum(value != 0 for value in values)
            scales = {"none": 0, "amax": 32, "row": 32 * rows, "mx:rceil": 8 * rows * -(-columns // 32)}[scale]
            lost = (int(row["to_zero"]) + int(row["overflow"])) / nonzero if nonzero else 0
            found[to, scale] = float(row["sqnr_db"]), lost, bits + scales / len(values)
        return found

    def choose(self, *words):
        out, err = self.run_here("choose", "c.safetensors", "--to", "e2m1,e4m3,bf16", "--scale", "none,amax,row,mx:rceil", *words, "--csv")
        return list(csv.DictReader(out.splitlines())), err

    def test_the_narrowest_that_keeps_what_is_asked(self):
        measured = {name: self.measured(name) for name in self.made}
        chosen = set()
        for sqnr, below in ((30, 1), (30, 0.001), (18, 1), (50, 1), (18, 0), (300, 1)):
            rows, _ = self.choose("--sqnr", str(sqnr), "--below", str(below))
            self.assertEqual([row["tensor"] for row in rows], [f"c.safetensors:{name}" for name in self.made])
            for row, name in zip(rows, self.made):
                keep = [(bits, -decibels) for decibels, lost, bits in measured[name].values() if decibels >= sqnr and lost <= below]
                if not keep:
                    self.assertEqual((row["format"], row["bits_per_element"], row["sqnr_db"]), ("copy", "32", "inf"))
                    self.assertIn(f"none reaches {sqnr} dB", row["reason"])
                    continue
                bits, decibels = min(keep)
                self.assertEqual((float(row["bits_per_element"]), float(row["sqnr_db"])), (bits, -decibels), (name, sqnr, below))
                self.assertEqual(measured[name][row["format"], row["scale"]][2], bits)
                self.assertEqual(float(row["lost_share"]), measured[name][row["format"], row["scale"]][1])
                chosen.add((row["format"], row["scale"]))
        self.assertGreater(len(chosen), 4)

    def test_a_copy_loses_nothing_and_says_so(self):
        self.write("s.safetensors", {"w": self.tensor([4], [1e6, 1e-6, 1.0, 1.5])})
        out, _ = self.run_here("choose", "s.safetensors", "--to", "e4m3", "--scale", "none", "--csv", "-o", "p.toml")
        row, = csv.DictReader(out.splitlines())
        self.assertEqual((row["format"], row["lost_share"]), ("copy", "0"))
        self.assertTrue(row["reason"].endswith("dB, in which 25% overflow and 25% become zero"), row["reason"])
        self.assertNotIn("as stored", (self.path / "p.toml").read_text())

    def test_text_has_the_reason(self):
        out, _ = self.run_here("choose", "m.safetensors", "--to", "e4m3,bf16", "--scale", "none", "--sqnr", "100", "--text")
        self.assertIn("none reaches 100 dB", out)
        self.assertNotIn("the nearest is", out)

    def test_groups_are_decided_together(self):
        measured = {name: self.measured(name) for name in self.made}
        rows, _ = self.choose("--group", r"\.(weight|bias)$", "--sqnr", "18")
        self.assertEqual([(row["tensor"], row["tensors"]) for row in rows], [("group:weight", "3"), ("group:bias", "2")])
        for row, members in zip(rows, (("a.weight", "b.weight", "c.weight"), ("a.bias", "z.bias"))):
            keep = []
            for pair in measured["a.weight"]:
                if min(measured[name][pair][0] for name in members) < 18:
                    continue
                sizes = [len(self.made[name][2]) for name in members]
                bits = sum(measured[name][pair][2] * size for name, size in zip(members, sizes)) / sum(sizes)
                keep.append((bits, pair))
            bits, pair = min(keep)
            self.assertEqual((row["format"], row["scale"]), pair)
            self.assertAlmostEqual(float(row["bits_per_element"]), bits)
            self.assertEqual(float(row["sqnr_db"]), min(measured[name][pair][0] for name in members))

    def test_the_plan_casts_as_it_was_chosen(self):
        rows, _ = self.choose("--sqnr", "25", "--copy", "c.*", "-o", "plan.toml")
        self.cast("--plan", "plan.toml", source="c.safetensors")
        code, out, err = run("diff", "c.safetensors", "out.safetensors", "--csv", cwd=self.path)
        compared = {row["ref"]: float(row["sqnr_db"]) for row in csv.DictReader(out.splitlines())}
        for row in rows:
            if row["tensor"].endswith("z.bias"):
                continue
            got = compared[row["tensor"]]
            self.assertAlmostEqual(got if got == math.inf else round(got, 3), float(row["sqnr_db"]) if got == math.inf else round(float(row["sqnr_db"]), 3))
        self.assertEqual(compared["c.safetensors:c.weight"], math.inf)
        self.assertIn('reason = \'--copy\'', (self.path / "plan.toml").read_text())
        text = (self.path / "plan.toml").read_text()
        self.assertTrue(text.startswith("# ulpscope choose c.safetensors"), text)

    def test_names_with_wildcards_in_them(self):
        self.write("w.safetensors", {"a[0]*": self.tensor([2], [1, 2]), "a0": self.tensor([2], [1.1, 2.2])})
        self.run_here("choose", "w.safetensors", "--to", "e4m3,fp16", "--scale", "none", "--sqnr", "60", "-o", "plan.toml", "--csv")
        self.cast("--plan", "plan.toml", source="w.safetensors")
        header, _ = parse(self.path / "out.safetensors")
        self.assertEqual({name: entry["dtype"] for name, entry in header.items()}, {"a[0]*": "F8_E4M3", "a0": "F16"})

    def test_layouts_limit_the_choice(self):
        rows, _ = self.choose("--sqnr", "10", "--layout", "gpt-oss")
        self.assertLessEqual({(row["format"], row["scale"]) for row in rows},
                             {("float4_e2m1fn", "mx:rceil"), ("float4_e2m1fn", "none"), ("float8_e4m3fn", "none"), ("bfloat16", "none")})

    def test_what_is_wrong_is_told_in_one_line(self):
        for words, wanted in ((("--below", "2"), "'2': give a share, as 0.1% or 0.001"), (("--below", "101%"), "give a share"),
                              (("--below", "x"), "give a share"), (("--group", "(a"), "is no regular expression"),
                              (("--sqnr", "-1"), "--sqnr"), (("--layout", "x"), "unknown layout"), (("--scale", "rows"), "--scale"),
                              (("--to", "e9m9"), "e9m9"), (("--fused", "a"), "give parts of names")):
            self.assertIn(wanted, self.refused("choose", "c.safetensors", *words))
        self.assertIn("too much work", self.refused("choose", "c.safetensors", "--group", "(.*)*(.*)*(.*)*(.*)*x$"))

    def test_infinities_and_nans(self):
        self.write("n.safetensors", {"n": self.tensor([3], [float("nan")] * 3), "i": self.tensor([2], [float("inf"), 1])})
        out, _ = self.run_here("choose", "n.safetensors", "--csv")
        rows = {row["tensor"].split(":")[1]: row for row in csv.DictReader(out.splitlines())}
        self.assertEqual(rows["n"]["format"], "copy")


class Diff(Folder):
    def diff(self, *words):
        code, out, err = run("diff", *words, cwd=self.path)
        return code, out, err

    def test_tensors_are_found_by_name_and_the_worst_comes_first(self):
        w = self.values[:4]
        self.write("a.safetensors", {"x": self.tensor([4], w), "y": self.tensor([4], w), "gone": self.tensor([4], [9, 8, 7, 6]),
                                     "old": self.tensor([2, 2], [1, 2, 3, 4]), "s": self.tensor([4], w)})
        self.write("b.safetensors", {"y": self.tensor([4], [x * 1.5 for x in w]), "x": self.tensor([4], [x * (1 + 2**-20) for x in w]),
                                     "new": self.tensor([2, 2], [1, 2, 3, 4]), "s": self.tensor([2, 2], w), "more": self.tensor([1], [1])})
        code, out, err = self.diff("a.safetensors", "b.safetensors", "--json")
        self.assertEqual(code, 1, err)
        tables = json.loads(out)
        self.assertEqual([row["ref"].split(":")[1] for row in tables["diff"]], ["y", "x", "old"])
        self.assertEqual([row["out"].split(":")[1] for row in tables["diff"]], ["y", "x", "new"])
        self.assertEqual([(row["tensor"], row["problem"], row["note"]) for row in tables["unmatched"]],
                         [("a.safetensors:s", "shape", "4, then 2x2"), ("a.safetensors:old", "renamed", "b.safetensors:new"),
                          ("a.safetensors:gone", "missing", ""), ("b.safetensors:more", "added", "")])
        self.assertIn("3 tensors compared, 1 of them equal; 1 renamed, 3 without the like on the other side", err)
        self.assertEqual(self.diff("a.safetensors", "a.safetensors")[0], 0)
        code, _, err = self.diff("a.safetensors", "b.safetensors", "--tolerance", "rel=1")
        self.assertEqual(code, 1)  # what is missing is within no tolerance
        self.write("c.safetensors", {"x": self.tensor([4], w), "y": self.tensor([4], [x * 1.001 for x in w])})
        self.write("d.safetensors", {"x": self.tensor([4], w), "y": self.tensor([4], w)})
        self.assertEqual(self.diff("c.safetensors", "d.safetensors", "--tolerance", "rel=1e-2")[0], 0)
        self.assertEqual(self.diff("c.safetensors", "d.safetensors", "--tolerance", "rel=1e-4")[0], 1)

    def test_an_infinity_of_the_other_sign_is_worse_than_any_error(self):
        inf = float("inf")
        self.write("a.safetensors", {"s": self.tensor([2], [1, inf]), "w": self.tensor([2], [1, inf])})
        self.write("b.safetensors", {"s": self.tensor([2], [1.5, inf]), "w": self.tensor([2], [1, -inf])})
        _, out, _ = self.diff("a.safetensors", "b.safetensors", "--json")
        self.assertEqual([(row["ref"], row["nonfinite_one_side"], row["nonfinite_unlike"]) for row in json.loads(out)["diff"]],
                         [("a.safetensors:w", 0, 1), ("a.safetensors:s", 0, 0)])

    def test_two_of_the_same_contents_are_not_guessed(self):
        w = [1.0, 2.0]
        self.write("a.safetensors", {"old": self.tensor([2], w), "k": self.tensor([1], [1])})
        self.write("b.safetensors", {"n1": self.tensor([2], w), "n2": self.tensor([2], w), "k": self.tensor([1], [1])})
        _, out, _ = self.diff("a.safetensors", "b.safetensors", "--json")
        self.assertEqual([row["problem"] for row in json.loads(out)["unmatched"]], ["missing", "added", "added"])

    def test_tensors_without_elements_and_of_one(self):
        self.write("a.safetensors", {"e": self.tensor([0, 32], []), "f": self.tensor([32, 0], []), "g": self.tensor([0], []),
                                     "s": self.tensor([], [0.5]), "w": self.tensor([2, 32], [0.5] * 64)})
        for to, scale in (("e4m3", "amax"), ("e4m3", "row"), ("e4m3", "128x128"), ("e4m3", "mx:floor"), ("e2m1", "nvfp4"), ("int8", "row")):
            with self.subTest(to=to, scale=scale):
                self.run_here("cast", "a.safetensors", "--to", to, "--scale", scale, "-o", "b.safetensors")
                _, out, err = self.diff("a.safetensors", "b.safetensors", "--json")
                self.assertIn("5 tensors compared, ", err)
                self.assertEqual(json.loads(out)["unmatched"], [])
        data = (self.path / "b.safetensors").read_bytes()  # of int8 rows
        size = int.from_bytes(data[:8], "little")
        begin, end = json.loads(data[8:8 + size])["f.scale"]["data_offsets"]
        self.assertEqual(struct.unpack("<32f", data[8 + size + begin:8 + size + end]), (1.0,) * 32)

    def test_a_checkpoint_of_one_tensor_has_a_name(self):
        for folder, name, values in (("a", "w", [1, 2]), ("b", "v", [1, 2]), ("c", "w", [1, 2]), ("d", "v", [1, 3])):
            self.write(f"{folder}/m.safetensors", {name: self.tensor([2], values)})
        for reference, output, problems in (("a", "b", ["renamed"]), ("a", "c", []), ("a", "d", ["missing", "added"]), ("a", "b/*.safetensors", ["renamed"])):
            code, out, _ = self.diff(reference, output, "--json")
            self.assertEqual((code, [row["problem"] for row in json.loads(out)["unmatched"]]), (1 if problems else 0, problems))
        # Tensors that are named, and files of one, are two tensors.
        for words in (("a:w", "b:v"), ("a/m.safetensors", "b/m.safetensors")):
            self.assertEqual(self.diff(*words)[0], 0)

    def test_of_signed_zeros_and_nans(self):
        self.write("a.safetensors", {"old": self.tensor([2], [0.0, float("nan")]), "k": self.tensor([1], [1])})
        self.write("b.safetensors", {"new": self.tensor([2], [-0.0, float("nan")]), "k": self.tensor([1], [1])})
        _, out, _ = self.diff("a.safetensors", "b.safetensors", "--json")
        self.assertEqual([row["problem"] for row in json.loads(out)["unmatched"]], ["missing", "added"])


if __name__ == "__main__":
    unittest.main()
