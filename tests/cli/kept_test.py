#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cast keeps of a checkpoint, and what it says of the rest: NaN and infinities, metadata, indices, names.
usage: kept_test.py PROGRAM"""
import json
import struct
import unittest

from cast_folder import Folder
from files_test import npy, parse, run, safetensors

NAN, INF = float("nan"), float("inf")
LOST = "became finite numbers, for their codes have no others: "


class NotFinite(Folder):
    """NaN and infinities of formats that have none."""

    def lost(self, *words, source="m.safetensors", out="o.safetensors"):
        """The line that says what became finite; empty where there is none."""
        self.cast(*words, source=source, out=out)
        lines = [line for line in self.remarks.splitlines() if line.startswith(LOST)]
        self.assertLessEqual(len(lines), 1)
        return lines[0].removeprefix(LOST) if lines else ""

    def setUp(self):
        super().setUp()
        self.write("m.safetensors", {"x": self.tensor([3, 32], [NAN, 1.0, NAN, INF] + [0.5] * 28 + [-INF, INF] + [2.0] * 62),
                                     "y": self.tensor([32], [1.0] * 31 + [INF]), "z": self.tensor([32], [1.0] * 32)})

    def test_what_has_a_code_is_no_loss(self):
        for to, scale in (("bf16", "none"), ("e5m2", "none"), ("e4m3", "none"), ("e4m3", "row"), ("e5m2", "row"), ("e5m2", "amax")):
            self.assertEqual(self.lost("--to", to, "--scale", scale), "", (to, scale))

    def test_what_has_none_is_named(self):
        all_of_it = "2 NaN and 3 infinities of m.safetensors:x; 1 infinity of m.safetensors:y"
        for to, scale in (("int8", "row"), ("int8", "amax"), ("int4", "minmax:row"), ("e2m1", "nvfp4"), ("e2m1", "none"), ("e2m1", "row"), ("e3m2", "none")):
            self.assertEqual(self.lost("--to", to, "--scale", scale), all_of_it, (to, scale))
        _, data = parse(self.path / "o.safetensors")
        self.assertEqual(len(data["x"]), 72)
        # The scale of a block of MX with an infinity is NaN, and so is all of the block.
        self.write("n.safetensors", {"x": self.tensor([64], [NAN, 1.0, NAN] + [0.5] * 29 + [INF] * 32)})
        self.assertEqual(self.lost("--to", "e2m1", "--scale", "mx:floor", source="n.safetensors"), "2 NaN of n.safetensors:x")
        self.assertEqual(self.lost("--to", "e4m3", "--scale", "mx:floor", source="n.safetensors"), "")

    def test_infinities_that_were_asked_to_saturate_are_not(self):
        self.assertEqual(self.lost("--to", "int8", "--scale", "row", "--policy", "saturating"), "2 NaN of m.safetensors:x")
        self.assertEqual(self.lost("--to", "e4m3", "--policy", "saturating"), "")

    def test_of_sixteen_and_sixty_four_bits_and_of_many_tensors(self):
        halves = struct.pack("<32H", 0x7e00, 0x7c00, *[0x3c00] * 30)
        self.write("h.safetensors", {"h": ("F16", [32], halves), "d": ("F64", [2], struct.pack("<2d", 1.0, NAN)),
                                     **{f"t{i}": self.tensor([2], [1.0, INF]) for i in range(3)}})
        self.assertEqual(self.lost("--to", "int8", "--scale", "amax", source="h.safetensors"),
                         "1 NaN and 1 infinity of h.safetensors:h; 1 NaN of h.safetensors:d; 1 infinity of h.safetensors:t0; and some of 2 more tensors")

    def test_of_an_npy(self):
        (self.path / "x.npy").write_bytes(npy("<f4", "(4,)", struct.pack("<4f", 1.0, NAN, INF, -INF)))
        for words in (("int8", "--codes"), ("e2m1", "--codes"), ("e2m1",)):
            self.assertEqual(self.lost("--to", *words, source="x.npy", out="o.npy"), "1 NaN and 2 infinities of x.npy")
        self.assertEqual(self.lost("--to", "bf16", source="x.npy", out="o.npy"), "")

    def test_of_a_folder_that_is_gone_on_with(self):
        for i in range(2):
            self.write(f"ck/{i}.safetensors", {f"x{i}": self.tensor([64], [NAN] * (i + 1) + [1.0] * (63 - i)), f"f{i}": self.tensor([4], [1.0] * 4)})
        words = ("--to", "int8", "--scale", "row")
        whole = "1 NaN of ck/0.safetensors:x0; 2 NaN of ck/1.safetensors:x1"
        self.assertEqual(self.lost(*words, source="ck", out="whole"), whole)
        # A file of the output that cannot take its place ends the cast when all are kept.
        (self.path / "out" / "1.safetensors").mkdir(parents=True)
        self.assertNotEqual(run("cast", "ck", *words, "-o", "out", "--resume", cwd=self.path)[0], 0)
        self.assertTrue((self.path / "out.partial" / "0.safetensors").exists())
        (self.path / "out" / "1.safetensors").rmdir()
        self.assertEqual(self.lost(*words, "--resume", source="ck", out="out"), whole)


class Metadata(Folder):
    """What files and indices say of themselves."""

    def metadata(self, *inputs, words=("--to", "bf16")):
        _, self.remarks = self.run_here("cast", *inputs, *words, "-o", "o.safetensors")
        return parse(self.path / "o.safetensors")[0].get("__metadata__")

    def setUp(self):
        super().setUp()
        self.write("md/x.safetensors", {"a": self.tensor([2], [1.0, 2.0])}, {"format": "pt", "step": "1", "who": "x"})
        self.write("md/y.safetensors", {"b": self.tensor([2], [3.0, 4.0])}, {"format": "pt", "step": "2", "license": "mit"})
        self.write("md/z.safetensors", {"c": self.tensor([2], [3.0, 4.0])})

    def test_of_files_what_none_contradicts(self):
        merged = {"format": "pt", "who": "x", "license": "mit"}
        lost = "left out of __metadata__, for the files say different things: 'step'\n"
        for inputs in (("md",), ("md/*.safetensors",), ("md/x.safetensors", "md/y.safetensors", "md/z.safetensors"), ("md:*",)):
            self.assertEqual(self.metadata(*inputs), merged, inputs)
            self.assertEqual(self.remarks.count(lost), 1, self.remarks)
        many = {f"k{i}": "1" for i in range(5)}
        self.write("md/x.safetensors", {"a": self.tensor([2], [1.0, 2.0])}, many)
        self.write("md/y.safetensors", {"b": self.tensor([2], [1.0, 2.0])}, {key: "2" for key in many})
        self.assertIsNone(self.metadata("md"))
        self.assertIn("different things: 'k0', 'k1', 'k2' and 2 more\n", self.remarks)

    def test_of_a_tensor_those_of_its_file(self):
        self.assertEqual(self.metadata("md:a"), {"format": "pt", "step": "1", "who": "x"})
        self.assertEqual(self.remarks, "")
        self.assertEqual(self.metadata("md:[ac]"), {"format": "pt", "step": "1", "who": "x"})
        self.assertIsNone(self.metadata("md:c"))

    def test_what_is_said_of_tensors_is_said_anew(self):
        self.write("w/1.safetensors", {"m.p": self.tensor([32], [1.0] * 32)}, {"tensor_names": "[\"m.p\"]", "ulpscope_codes": "[\"m.p\"]"})
        self.write("w/2.safetensors", {"m.q": self.tensor([32], [1.0] * 32)}, {"tensor_names": "[\"m.q\"]"})
        said = self.metadata("w", words=("--to", "e4m3", "--scale", "amax", "--layout", "torchao"))
        self.assertEqual((json.loads(said["tensor_names"]), "ulpscope_codes" in said, "left out" in self.remarks), (["m.p", "m.q"], False, False))

    def index(self, entries, tensors, folder="md"):
        (self.path / folder / "model.safetensors.index.json").write_text(json.dumps({**entries, "weight_map": tensors}))

    def written_index(self):
        _, self.remarks = self.run_here("cast", "md", "--to", "bf16", "-o", "out")
        return json.loads((self.path / "out/model.safetensors.index.json").read_text())

    def test_an_index_keeps_its_entries(self):
        tensors = {"a": "x.safetensors", "b": "y.safetensors"}
        self.index({"metadata": {"total_size": 999, "total_parameters": 4, "by": {"who": ["me"]}}, "note": "kept"}, tensors)
        self.assertEqual(self.written_index(), {"metadata": {"total_size": 8, "total_parameters": 4, "by": {"who": ["me"]}}, "note": "kept", "weight_map": tensors})
        for metadata in ({"metadata": None}, {}):
            self.index(metadata, tensors)
            self.assertEqual(self.written_index(), {"metadata": {"total_size": 8}, "weight_map": tensors})

    def test_what_an_index_does_not_list_is_named(self):
        self.index({}, {"a": "x.safetensors", "b": "y.safetensors"})
        self.write("md/y.safetensors", {"b": self.tensor([2], [3.0, 4.0]), "old": self.tensor([1], [5.0]), "older": self.tensor([1], [6.0])})
        line = "left out: 2 tensors (md/y.safetensors:old, md/y.safetensors:older), which the index does not list"
        self.written_index()
        self.assertEqual(self.remarks.splitlines(), [line])
        for words in (("cast", "md", "--to", "bf16", "-o", "o.safetensors"), ("census", "md"), ("sweep", "md"), ("info", "md"), ("choose", "md"), ("diff", "md", "md"),
                      ("census", "md:*", "-o", "report"), ("census", "md/model.safetensors.index.json")):
            _, err = self.run_here(*words)
            self.assertEqual(err.splitlines().count(line), 1, (words, err))
        _, err = self.run_here("info", "md:b")
        self.assertEqual(err, "")
        for name in ("old", "ol[d]"):
            self.assertEqual(self.refused("info", "md:" + name), "md/model.safetensors.index.json: does not list 'old'; md/y.safetensors:old reads it")
        self.assertIn("holds no tensor 'new'", self.refused("info", "md:new"))


class EmptyName(Folder):
    """A tensor may be named by the empty word."""

    def setUp(self):
        super().setUp()
        self.write("en/a.safetensors", {"": self.tensor([2, 32], [i / 64 for i in range(64)]), "tensor": self.tensor([32], [2.0] * 32)}, {"format": "pt"})

    def test_it_stays_empty(self):
        header, _ = self.cast("--to", "e4m3", "--scale", "row", source="en", out="o.safetensors")
        self.assertEqual(set(header), {"", ".scale", "tensor", "tensor.scale", "__metadata__"})
        self.run_here("cast", "en", "--to", "bf16", "-o", "out")
        self.assertEqual(set(parse(self.path / "out/a.safetensors")[0]), {"", "tensor", "__metadata__"})
        self.assertEqual(self.cast("--to", "bf16", source="en:", out="o.safetensors")[0].keys() - {"__metadata__"}, {""})

    def test_choose_and_diff_tell_the_two_apart(self):
        out, _ = self.run_here("choose", "en", "--to", "e2m1,e4m3", "--scale", "none,row", "--sqnr", "25", "--csv", "-o", "p.toml")
        self.assertEqual([line.split(",")[0] for line in out.splitlines()[1:]], ["en/a.safetensors:", "en/a.safetensors:tensor"])
        header, _ = self.cast("--plan", "p.toml", source="en", out="o.safetensors")
        self.assertEqual((header[""]["dtype"], header["tensor"]["dtype"]), ("F8_E4M3", "F4"))
        out, err = self.run_here("diff", "en", "en", "--csv")
        self.assertEqual([line.split(",")[0] for line in out.splitlines()[1:]], ["en/a.safetensors:", "en/a.safetensors:tensor"])
        _, err = self.run_here("diff", "en", "o.safetensors", "--csv", wanted=1)
        self.assertIn("2 tensors compared, 1 of them equal; 0 without the like", err)


if __name__ == "__main__":
    unittest.main()
