#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of many files as one input: folders, indices, patterns. usage: checkpoint_test.py PROGRAM"""
import csv
import json
import pathlib
import struct
import tempfile
import unittest

from files_test import npy, parse, run, safetensors

FLOATS = {"F32": (4, "f"), "I64": (8, "q")}


def tensor(dtype, *values):
    return dtype, [len(values)], struct.pack(f"<{len(values)}{FLOATS[dtype][1]}", *values)


FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
SHARDS = {FIRST: {"a.weight": tensor("F32", 1.5, 464), "b.weight": tensor("F32", 3), "ids": tensor("I64", 5, 6)},
          SECOND: {"a.bias": tensor("F32", 0.25), "c.weight": tensor("F32", 7)}}


class Checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.checkpoint = self.path / "llama"
        self.checkpoint.mkdir()
        for name, tensors in SHARDS.items():
            (self.checkpoint / name).write_bytes(safetensors(tensors, {"format": "pt"}))
        (self.checkpoint / "consolidated.safetensors").write_bytes(safetensors({"all": tensor("F32", 1)}))
        (self.checkpoint / "tokenizer.json").write_text("{}")
        self.index({name: file for file, tensors in SHARDS.items() for name in tensors})

    def index(self, weight_map, name="model.safetensors.index.json"):
        (self.checkpoint / name).write_text(json.dumps({"metadata": {"total_size": 40}, "weight_map": weight_map}))

    def rows(self, *words):
        code, out, err = run(*words, "--csv", cwd=self.path)
        self.assertEqual(code, 0, err)
        return list(csv.DictReader(out.splitlines()))

    def names(self, *words):
        return [row["tensor"].replace("llama/", "").replace(FIRST, "1").replace(SECOND, "2") for row in self.rows("info", *words)]

    def error(self, *words):
        code, out, err = run(*words, cwd=self.path)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        return err.removeprefix("ulpscope: ").rstrip("\n")

    def test_the_tensors_of_an_index_are_those_of_a_folder_that_has_one(self):
        wanted = ["1:a.weight", "1:b.weight", "1:ids", "2:a.bias", "2:c.weight"]
        for word in "llama", "llama/", "llama/model.safetensors.index.json":
            self.assertEqual([name.lstrip("/") for name in self.names(word)], wanted)
        self.index({"a.bias": SECOND})  # what is not in it is left out
        self.assertEqual(self.names("llama"), ["2:a.bias"])

    def test_without_an_index_all_its_files_are_meant(self):
        (self.checkpoint / "model.safetensors.index.json").unlink()
        self.assertEqual(self.names("llama"), ["consolidated.safetensors:all", "1:a.weight", "1:b.weight", "1:ids", "2:a.bias",
                                               "2:c.weight"])
        self.assertEqual(self.names("llama/model-*.safetensors"), ["1:a.weight", "1:b.weight", "1:ids", "2:a.bias", "2:c.weight"])

    def test_names_and_globs_choose_in_all_files(self):
        self.assertEqual(self.names("llama:c.weight"), ["2:c.weight"])
        self.assertEqual(self.names("llama:a.*"), ["1:a.weight", "2:a.bias"])
        self.assertEqual(self.names("llama/model.safetensors.index.json:*.weight"), ["1:a.weight", "1:b.weight", "2:c.weight"])
        self.assertEqual(self.names("llama/model-*.safetensors:a.bias"), ["2:a.bias"])
        self.assertEqual(self.error("info", "llama:d.weight"),
                         "llama: holds no tensor 'd.weight'; nearest of 5: a.weight, b.weight, c.weight")

    def test_of_several_checkpoints_one_tensor(self):
        for step in 1, 2:
            (self.path / f"step{step}.safetensors").write_bytes(
                safetensors({"w": tensor("F32", 2.0**step), "ids": tensor("I64", step)}))
        rows = self.rows("census", "step*.safetensors:w", "--to", "e4m3")
        self.assertEqual([(row["tensor"], float(row["max_abs_input"])) for row in rows],
                         [("step1.safetensors:w", 2), ("step2.safetensors:w", 4)])
        self.assertEqual(len(self.rows("census", "step*.safetensors:ids", "--to", "e4m3")), 2)  # named, so not left out
        self.assertEqual(self.error("cast", "step*.safetensors", "--to", "e4m3", "-o", "out.safetensors"),
                         "out.safetensors: two tensors would be named 'ids'")

    def test_commands_take_them(self):
        code, _, err = run("census", "llama", "--to", "e4m3", "--csv", cwd=self.path)
        self.assertEqual((code, err), (0, "left out: 1 integer tensor (llama/model-00001-of-00002.safetensors:ids); --integers "
                                          "includes them\n"))
        self.assertEqual(len(self.rows("census", "llama:ids", "--to", "e4m3")), 1)
        self.assertEqual(len(self.rows("sweep", "llama:*.weight", "--to", "e4m3", "--log2-scale", "0:0")), 3)
        code, _, err = run("cast", "llama", "--to", "e4m3", "-o", "out.safetensors", cwd=self.path)
        self.assertEqual(code, 0, err)
        header, data = parse(self.path / "out.safetensors")
        self.assertEqual(header.pop("__metadata__"), {"format": "pt"})
        self.assertEqual(set(header), {name for tensors in SHARDS.values() for name in tensors})
        self.assertEqual((data["a.weight"], data["ids"]), (bytes([0x3c, 0x7e]), SHARDS[FIRST]["ids"][2]))

    def test_tensors_of_some_dtypes(self):
        """The same option wherever inputs are opened. Codes under scales count by the dtype of the codes."""
        mixed = {"a": tensor("F32", 1, 2), "b": ("BF16", [2], bytes(4)), "c": tensor("I64", 3, 4), "d": ("F8_E4M3", [2], b"\x38\x40"), "d.scale": tensor("F32", 2)}
        (self.path / "m.safetensors").write_bytes(safetensors(mixed))

        def of(*words):
            return [row["tensor"].partition(":")[2] for row in self.rows(*words)]

        for words, wanted in (("fp32", ["a", "d.scale"]), ("bfloat16,e4m3", ["b", "d"]), ("BF16", ["b"]), ("int64", ["c"]), ("float32,int64", ["a", "c", "d.scale"])):
            self.assertEqual(of("info", "m.safetensors", "--only-dtype", words), wanted)
            self.assertEqual(of("census", "m.safetensors", "--to", "fp16", "--only-dtype", words), wanted)
            self.assertEqual(of("sweep", "m.safetensors", "--to", "fp16", "--log2-scale", "0:0", "--only-dtype", words), wanted)
        self.assertEqual(of("choose", "m.safetensors", "--to", "e4m3", "--scale", "none", "--only-dtype", "bf16"), ["b"])
        self.assertEqual(of("info", "m.safetensors", "llama", "--only-dtype", "int64"), ["c", "ids"])
        for command in (("info",), ("census", "--to", "fp16"), ("choose", "--to", "e4m3"), ("cast", "--to", "fp16", "-o", "x.safetensors")):
            for word in "e5m2", "f33", "fp32,e5m2":
                said = self.error(*command, "m.safetensors", "--only-dtype", word)
                self.assertEqual(said, f"--only-dtype {word.rpartition(',')[2]}: no tensor is of it; there are bfloat16 (1 tensor), "
                                       "float32 (2 tensors), float8_e4m3fn (1 tensor), int64 (1 tensor)")
        # cast copies the others, in a file and in a folder; an index keeps saying where all are
        for out, source, copied in (("o.safetensors", "m.safetensors", ("--copy", "*.scale")), ("out", "llama", ())):
            code, _, err = run("cast", source, "-o", out, "--to", "bf16", "--only-dtype", "fp32,int64", *copied, cwd=self.path)
            self.assertEqual(code, 0, err)
        header, data = parse(self.path / "o.safetensors")
        self.assertEqual({name: entry["dtype"] for name, entry in header.items()}, {"a": "BF16", "b": "BF16", "c": "BF16", "d": "F8_E4M3", "d.scale": "F32"})
        header, _ = parse(self.path / "out" / FIRST)
        self.assertEqual({name: header[name]["dtype"] for name in ("a.weight", "ids")}, {"a.weight": "BF16", "ids": "BF16"})

    def test_differences_of_some_dtypes(self):
        before = {"a": tensor("F32", 1, 2), "b": ("BF16", [2], bytes(4)), "d": ("F8_E4M3", [2], b"\x38\x40"), "d.scale": tensor("F32", 2)}
        after = {"a": tensor("F32", 1, 3), "b": tensor("F32", 0, 1), "d": tensor("F32", 2, 4), "new": ("BF16", [1], bytes(2)), "c": tensor("I64", 3)}
        (self.path / "x.safetensors").write_bytes(safetensors(before))
        (self.path / "y.safetensors").write_bytes(safetensors(after))

        def compared(word, wanted):
            code, out, err = run("diff", "x.safetensors", "y.safetensors", "--only-dtype", word, "--json", cwd=self.path)
            self.assertEqual(code, wanted, err)
            all = json.loads(out)
            return [row["ref"].partition(":")[2] for row in all["diff"]], [row["tensor"].partition(":")[2] for row in all["unmatched"]]

        self.assertEqual(compared("e4m3", 0), (["d"], []))
        self.assertEqual(compared("fp32", 1), (["a"], []))
        self.assertEqual(compared("bf16", 1), (["b"], ["new"]))
        self.assertEqual(self.error("diff", "x.safetensors", "y.safetensors", "--only-dtype", "int64"),
                         "--only-dtype int64: no tensor is of it; there are bfloat16 (1 tensor), float32 (1 tensor), float8_e4m3fn (1 tensor)")

    def test_a_folder_of_arrays(self):
        folder = self.path / "dump"
        folder.mkdir()
        for name in "a.weight", "b.weight":
            (folder / f"{name}.npy").write_bytes(npy("<f4", "(2,)", struct.pack("<2f", 1, 2)))
        self.assertEqual(self.names("dump"), ["dump/a.weight.npy", "dump/b.weight.npy"])
        self.assertEqual(self.names("dump:b.*"), ["dump/b.weight.npy"])

    def test_what_is_wrong_is_named(self):
        index = "llama/model.safetensors.index.json: "
        outside = "malformed index: tensor 'a' is in no file beside the index"
        for weight_map, wanted in (
                ({"a": "../secret.safetensors"}, outside), ({"a": "/etc/passwd"}, outside), ({"a": ""}, outside), ({"a": 3}, outside),
                ({"a": "b\0.safetensors"}, outside), ({"a": "sub/../../b.safetensors"}, outside),
                ({}, "names no tensor"), ([], "malformed index: it has no weight_map from tensors to files"),
                ({"a": "gone.safetensors"}, "names llama/gone.safetensors, which is not there"),
                ({"z": FIRST}, f"names tensor 'z' of llama/{FIRST}, which does not hold it"),
                ({"c.weight": FIRST}, f"names tensor 'c.weight' of llama/{FIRST}, which does not hold it")):
            self.index(weight_map)
            self.assertEqual(self.error("info", "llama"), index + wanted)
        (self.checkpoint / "model.safetensors.index.json").write_text('{"weight_map": ' + "[" * 100000)
        self.assertIn(index + "malformed index: ", self.error("info", "llama"))
        self.index({"a.bias": SECOND})
        self.index({"a.bias": SECOND}, "model.fp16.safetensors.index.json")
        self.assertEqual(self.error("info", "llama"), "llama: holds 2 indices; name one of llama/model.fp16.safetensors.index.json, "
                                                      "llama/model.safetensors.index.json")
        (self.path / "empty").mkdir()
        self.assertEqual(self.error("info", "empty"),
                         "empty: is a directory without tensor files, which end in .safetensors, .gguf, .npz or .npy")
        self.assertEqual(self.error("info", "none*.safetensors"), "none*.safetensors: no file matches")
        (self.checkpoint / FIRST).write_bytes(b"short")
        self.assertIn(FIRST, self.error("info", "llama/model-*.safetensors"))


if __name__ == "__main__":
    unittest.main()
