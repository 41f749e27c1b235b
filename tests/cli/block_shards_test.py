#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`census --blocks` in shards and with --resume: what `merge` makes of their parts is, byte for byte, what one undivided run writes; parts whose
blocks contradict each other are refused. usage: block_shards_test.py PROGRAM"""
import csv
import json
import random
import shutil
import struct
import unittest

from files_test import safetensors
from seals import sealed_json
from shards_model import Model, floats


class Blocks(Model):
    """census --blocks: rows of blocks, of which a part has those that begin in it."""
    RULES = (("e4m3", "row"), ("e4m3", "1x128:divide"), ("e4m3,e5m2", "128x128"), ("e2m1,int8", "mx:floor"), ("e4m3", "mx:even"), ("e2m1", "nvfp4"), ("e2m1", "nvfp4:16x16"),
             ("int8", "minmax:row"), ("int4", "minmax:1x128"))

    def draw(self, drawn):
        """A model of odd shapes: rows that are longer than parts, blocks that end within a row, matrices of matrices."""
        kinds = {"F32": "f", "F64": "d", "F16": "e"}
        tensors = {}
        for name, shape in (("row", [1, 150_000]), ("rows", [3, 90_001]), ("wide", [17, 20_011]), ("flat", [200_003]), ("high", [70_001, 3]), ("many", [5, 33, 1001]),
                            ("small", [2, 31]), ("none", [0, 16]), ("one", [])):
            count = 1
            for extent in shape:
                count *= extent
            values = [0.0] * count
            scale = 2.0 ** drawn.randint(-12, 3)
            for _ in range(count // 3):
                values[drawn.randrange(count)] = drawn.gauss(0, scale)
            at = drawn.randrange(count + 1) // 2
            values[at:at + count // 7] = [drawn.choice((1.0, -1.0)) * 2.0 ** drawn.randint(-20, 3) for _ in range(len(values[at:at + count // 7]))]
            if drawn.random() < 0.4:
                for special in (float("nan"), float("inf"), -0.0):
                    if count:
                        values[drawn.randrange(count)] = special
            kind = drawn.choice(("F32", "F32", "F64", "F16", "BF16", "zero"))
            if kind == "BF16":
                data = b"".join(struct.pack("<f", value)[2:] for value in values)
            else:
                data = floats(kinds.get(kind, "f"), [0.0] * count if kind == "zero" else values)
            tensors[f"{name}.{drawn.randint(0, 1)}.w"] = ("F32" if kind == "zero" else kind, shape, data)
        tensors["ids"] = ("I64", [2], bytes(16))
        return tensors

    def setUp(self):
        super().setUp()
        for name in ("whole", "parts"):
            (self.folder / name / "model").unlink()
            (self.folder / name / "model").mkdir()

    def write(self, tensors):
        for name in ("whole", "parts"):
            (self.folder / name / "model/x.safetensors").write_bytes(safetensors(tensors))

    def test_the_bytes_are_those_of_an_undivided_run(self):
        drawn = random.Random(6)
        for number, (to, scale) in enumerate(self.RULES):
            more = drawn.choice(((), ("--all-tensors",), ("--group", r"\.(\d)"), ("--group", r"\.(\d)", "--all-tensors"), ("--integers",)))
            more += ("--rounding", "stochastic", "--seed", "3") if number % 3 == 0 else ()
            with self.subTest(to=to, scale=scale, more=more):
                self.setUp()
                self.write(self.draw(drawn))
                words = ("--to", to, "--scale", scale, "--blocks", *more)
                wanted = self.whole("census", *words)
                for count in drawn.sample(range(1, 6), 2):
                    self.shard("census", count, *words)
                    self.assertEqual(self.merged(f"p{count}"), wanted, count)

    def test_magnitudes_found_by_a_first_pass_change_no_byte(self):
        drawn = random.Random(7)
        self.write(self.draw(drawn))
        for scale in ("nvfp4", "nvfp4:16x16"):
            words = ("--to", "e2m1", "--scale", scale, "--blocks")
            wanted = self.whole("census", *words)
            for index in range(3):
                self.program("parts", "census", "model", *words, "--pass", "amax", "--shard", f"{index}/3", "-o", f"{scale}/A/{index}")
            for index in range(4):
                self.program("parts", "census", "model", *words, "--amax", f"{scale}/A", "--shard", f"{index}/4", "-o", f"{scale}/B/{index}")
            self.assertEqual(self.merged(f"{scale}/B"), wanted)
            self.program("parts", "census", "model", *words, "--shard", "1/4", "-o", f"{scale}/C")
            self.assertEqual((self.folder / f"parts/{scale}/C/part.json").read_bytes(), (self.folder / f"parts/{scale}/B/1/part.json").read_bytes())
            shutil.rmtree(self.folder / "whole/R")

    def test_quantiles_of_more_different_numbers_than_are_held(self):
        drawn = random.Random(8)
        values = [drawn.gauss(0, 1) for _ in range(80_000 * 16)]  # as many blocks of nvfp4, none like another
        values[16 * 70_000] = 1e4
        self.write({"x": ("F32", [160, 8000], floats("f", values))})
        words = ("--to", "e2m1", "--scale", "nvfp4", "--blocks", "--all-tensors")
        wanted = self.whole("census", *words)
        self.shard("census", 3, *words)
        self.assertEqual(self.merged("p3"), wanted)
        sizes = [(self.folder / f"parts/p3/{index}/part.json").stat().st_size for index in range(3)]
        self.assertLess(max(sizes), 1_000_000)
        of_tensor, of_all = csv.DictReader(wanted["blocks.csv"].decode().splitlines())
        self.assertEqual(of_tensor | {"tensor": "all", "worst_block": of_all["worst_block"]}, of_all)

    def test_a_part_holds_the_blocks_that_begin_in_it(self):
        self.write({"x": ("F32", [3, 60_000], floats("f", [1.0] * 180_000)), "y": ("F32", [130, 1000], floats("f", [1.0] * 130_000))})
        self.shard("census", 3, "--to", "e4m3", "--scale", "128x128", "--blocks")
        parts = [json.loads((self.folder / f"parts/p3/{index}/part.json").read_text()) for index in range(3)]
        # Chunks of 65536 elements: 180000 + 130000 in thirds end behind 131072 of x and 65536 of y. Of x all 469 tiles begin in the first row.
        self.assertEqual([part["ranges"] for part in parts], [[[0, 0, 131072]], [[0, 131072, 48928], [1, 0, 65536]], [[1, 65536, 64464]]])
        self.assertEqual([[(of["blocks"][0]["first"], of["blocks"][0]["counts"][0]) for of in part["parts"]] for part in parts], [[(0, 469)], [(469, 0), (0, 8)], [(8, 8)]])

    def test_other_requests_are_refused(self):
        self.write({"x": ("F32", [300, 700], floats("f", [1.0] * 210_000))})
        words = ("--to", "e4m3", "--scale", "row")
        for name, more in (("blocks", ("--blocks",)), ("elements", ())):
            for index in range(2):
                self.program("parts", "census", "model", *words, *more, "--shard", f"{index}/2", "-o", f"{name}/{index}")
        self.assertIn("elements/1/part.json: asks something else than blocks/0/part.json", self.refused("merge", "blocks/0", "elements/1", "-o", "R"))
        self.assertIn("are in no part", self.refused("merge", "blocks/0", "-o", "R"))
        self.assertIn("that another part has, too", self.refused("merge", "blocks/0", "blocks/1", "blocks/1", "-o", "R"))
        self.assertIn("has one scale for a tensor", self.refused("census", "model", "--to", "e4m3", "--scale", "amax", "--blocks", "--shard", "0/2", "-o", "x"))
        parts = {name: json.loads((self.folder / f"parts/{name}/0/part.json").read_text()) for name in ("blocks", "elements")}
        place = self.folder / "parts/blocks/0/part.json"
        place.write_text(sealed_json(parts["blocks"] | {"parts": parts["elements"]["parts"]}))
        self.assertIn("has not the sums of model/x.safetensors:x that it was asked for", self.refused("merge", "blocks", "-o", "R"))
        place.write_text(sealed_json(parts["blocks"] | {"request": parts["elements"]["request"]}))
        self.assertIn("asks something else", self.refused("merge", "blocks", "-o", "R"))
        (self.folder / "parts/blocks/1/part.json").unlink()
        self.program("parts", "census", "model", *words, "--blocks", "--shard", "0/1", "-o", "all")
        place = self.folder / "parts/all/part.json"
        whole = json.loads(place.read_text())
        place.write_text(sealed_json(whole | {"request": parts["elements"]["request"]}))
        self.assertIn("has not the sums of model/x.safetensors:x that it was asked for", self.refused("merge", "all", "-o", "R"))
        for blocks in (whole["parts"][0]["blocks"] * 2, []):
            place.write_text(sealed_json(whole | {"parts": [whole["parts"][0] | {"blocks": blocks}]}))
            self.assertIn("has not the blocks of model/x.safetensors:x that it was asked for", self.refused("merge", "all", "-o", "R"))
        self.assertFalse((self.folder / "parts/R").exists())

    def test_what_cannot_be_so_of_the_blocks_is_refused(self):
        drawn = random.Random(9)
        values = [drawn.gauss(0, 1) for _ in range(140_000)]
        values[:128] = [0.0] * 128
        values[140 * 16] = float("inf")
        self.write({"x": ("F32", [140, 1000], floats("f", values))})
        self.shard("census", 2, "--to", "e2m1", "--scale", "nvfp4", "--blocks")
        place = self.folder / "parts/p2/1/part.json"
        text = place.read_text()

        def refused(change, said):
            part = json.loads(text)
            change(part["parts"][0]["blocks"][0], part["parts"][0])
            place.write_text(sealed_json(part))
            self.assertEqual("p2/1/part.json: " + said, self.refused("merge", "p2", "-o", "R"))

        blocks = json.loads(text)["parts"][0]["blocks"][0]
        all_blocks = blocks["counts"][0]
        label = "model/x.safetensors:x"
        add_up, none, too_many = (f"{label} has {what}" for what in ("counts of blocks that do not add up", "a worst block that is none of its own", "more blocks than elements"))
        for place_of, count, said in ((0, 0, add_up), (0, all_blocks - 1, add_up), (0, all_blocks + 1, add_up), (0, 10**6, too_many), (1, 1, add_up),
                                      (2, all_blocks + 1, add_up), (3, all_blocks + 1, add_up), (4, all_blocks + 1, add_up), (5, blocks["counts"][4] + 1, add_up),
                                      (1, 2**64 - 1, add_up)):
            refused(lambda of, _: of["counts"].__setitem__(place_of, count), said)
        for worst in (blocks["first"] - 1, blocks["first"] + all_blocks, 2**64 - 1):
            refused(lambda of, _: of.update(worst=worst), none)
        refused(lambda of, _: of.update(first=2**63), too_many)
        refused(lambda of, _: of.update(first=of["first"] - 1), f"has blocks of {label} that do not follow those of the part before")
        refused(lambda of, _: of.update(decibels=""), add_up)
        refused(lambda of, _: of.update(scales=of["scales"] + " 1"), add_up)
        for spread in ("0", "0 ", "x", "0 8000000000000000", "40 8000000000000000 8000000000000000", "0 8000000000000001 8000000000000000", "0 8000000000000000 8000000000000001",
                       "0 8000000000000000 8000000000000000 0", "0 8000000000000000 8000000000000000*1", "0 8000000000000000 8000000000000000*", "0 8000000000000000 fff1000000000000",
                       "0 8000000000000000 8000000000000000 ffffffffffffffff", "0 8000000000000000 8000000000000000*ffffffffffffffff 1", "0 8000000000000000 8000000000000000\0",
                       "1 8000000000000000 8000000000000000 1", "0 8000000000000000 8000000000000000 ", "0 1 1", "0 -1 8000000000000000"):
            refused(lambda of, _: of.update(scales=spread), "'" + spread[:40].replace("\0", "\\x00") + "' is no count of numbers")
        refused(lambda _, of: of.pop("amax"), f"{label} has exponents that do not add up to its elements")
        refused(lambda _, of: of.update(scales=["1.5p+9"]), f"has other scales for {label}: it read other numbers")
        place.write_text(text)
        first = self.folder / "parts/p2/0/part.json"  # which holds the infinity
        part = json.loads(first.read_text())
        part["parts"][0]["amax"] = "1p+3"
        first.write_text(sealed_json(part))
        self.assertEqual(f"p2/0/part.json: has a scale for {label} that does not follow from its numbers", self.refused("merge", "p2", "-o", "R"))
        self.assertFalse((self.folder / "parts/R").exists())


if __name__ == "__main__":
    unittest.main()
