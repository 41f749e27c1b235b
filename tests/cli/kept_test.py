#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cast keeps of a checkpoint, and what it says of the rest: NaN and infinities, metadata, indices, names.
usage: kept_test.py PROGRAM"""
import json
import struct
import unittest

from cast_folder import Folder, floats
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


if __name__ == "__main__":
    unittest.main()
