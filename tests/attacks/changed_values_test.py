#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of ours that are JSON, each value changed to others in turn: what is not taken is refused in one line, and never ends a process.
At each place one value in ten is tried; in one of five with --more.
usage: changed_values_test.py PROGRAM [--more]"""
import copy
import json
import shutil
import struct
import sys
import unittest

from attack import PROGRAM, Attack
from emulation import not_emulated
from seals import sealed, sealed_json, unsealed

SHARE = 5 if "--more" in sys.argv and (sys.argv.remove("--more") or True) else 10
VALUES = (None, True, -1, 1.5, 99, 2**62, 10**30, "", "x", "-inf", "nan", "0 0", "zz 3", "1 99999", "1 2x", "7" * 10_001 + " 0", [], [0, 0, 0], {}, {"x": 1})


def places(value, above=()):
    """Paths to every value; of a list to those in its first and last element."""
    yield above
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*above, key))
    elif isinstance(value, list):
        for index in sorted({0, len(value) - 1} if value else ()):
            yield from places(value[index], (*above, index))


def changed(whole, place, value):
    """A copy with one value changed; the value `places` stands for leaving it out."""
    if not place:
        return value
    other = copy.deepcopy(whole)
    inner = other
    for key in place[:-1]:
        inner = inner[key]
    if value is places:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return other


@not_emulated(PROGRAM, "some thousand runs take an hour")
class ChangedValues(Attack):
    def run_well(self, *words, codes=(0,)):
        code, _, err = self.run_here(*words, memory=None)
        self.assertIn(code, codes, (words, err))

    def check(self, whole, write, *commands, codes=(0,)):
        """The exit codes of each command with what `write` makes of each change; `codes` are those of a file that is taken."""
        seen = {code: 0 for code in (2, *codes)}
        for number, place in enumerate(places(whole)):
            for value in VALUES[number % SHARE::SHARE] + ((places,) if place else ()):
                write(changed(whole, place, value))
                for words in commands:
                    code, out, err = self.run_here(*words, memory=None)
                    self.assertIn(code, seen, (place, value, words, err))
                    seen[code] += 1
                    if code == 2:
                        lines = 2 if words[:2] == ("report", "check") else 1  # that of the command which it starts, and its own
                        self.assertEqual(out if lines == 1 else "", "", (place, value, words))
                        self.assertTrue(1 <= err.count("ulpscope: ") <= lines, (place, value, words, err))
                    self.harmless(err)
                    for made in ("R", "R.partial"):
                        shutil.rmtree(self.path / made, ignore_errors=True)
        self.assertGreater(seen[2], 50 // SHARE)
        return seen

    def json_at(self, name):
        return json.loads((self.path / name).read_text()), lambda changed: self.write(name, sealed_json(changed, indent=1))

    def other_versions(self, name, *keys):
        """Of the second part, whose first is whole again."""
        whole, write = self.json_at(name)
        write(whole)
        for part, text in self.parts.items():
            self.write(part, text)
        for key in keys:
            write(whole | {key: "other"})
            self.assertIn("is of version ", self.refused("merge", "P0", "P1", "-o", "R"))
        write(whole)
        self.run_well("merge", "P0", "P1", "-o", "R")

    def keep_parts(self):
        self.parts = {name: (self.path / name).read_text() for name in ("P0/part.json", "P1/part.json")}

    def test_parts_of_tensors(self):
        self.write("x.csv", "1,2\n-3,1e-9\n")
        for index in "01":  # one has the file, and the beginning of the other
            self.run_well("census", "x.csv", "normal:0,1:70000", "--to", "e4m3", "--shard", f"{index}/2", "-o", "P" + index)
        self.keep_parts()
        self.check(*self.json_at("P0/part.json"), ("merge", "P0", "P1", "-o", "R"))
        self.other_versions("P1/part.json", "version")

    def test_parts_whose_sums_are_kept_by_chunk(self):
        self.run_well("sweep", "normal:0,1:100", "--to", "e4m3", "--log2-scale", "0:1", "--rounding", "stochastic", "--shard", "0/1", "-o", "P")
        self.check(*self.json_at("P/part.json"), ("merge", "P", "-o", "R"))

    def test_parts_of_a_study(self):
        self.write("study.toml", '[[study]]\nkind = "census"\ninputs = ["normal:0,1:50"]\nto = ["e4m3"]\nseed = [1, 2]\n')
        for index in "01":
            self.run_well("run", "study.toml", "--shard", f"{index}/2", "-o", "P" + index)
        self.keep_parts()
        self.check(*self.json_at("P0/part.json"), ("merge", "P0", "P1", "-o", "R"))
        self.other_versions("P1/part.json", "version", "commit")
        text = (self.path / "P1/part.json").read_text()
        self.write("P0/part.json", text[:-10])
        self.assertIn("P0/part.json: is damaged", self.refused("merge", "P0", "P1", "-o", "R"))
        self.write("P0/part.json", sealed(unsealed(text)[:-10]))
        self.assertIn("is no part of a study file: is no JSON", self.refused("merge", "P0", "P1", "-o", "R"))

    def test_parts_of_a_training(self):
        self.write("t.toml", '[model]\nkind = "layers"\nlayers = [{linear = [2, 1]}]\n[data]\ninputs = "normal:0,1:4x2"\n[loss]\nkind = "sum"\n'
                             '[optimizer]\nlr = 1e-3\n[run]\nsteps = 2\nseeds = [0, 1]\n')
        for index in "01":
            self.run_well("train", "t.toml", "--record", "weights", "--record", "gradients", "--shard", f"{index}/2", "-o", "P" + index)
        self.keep_parts()
        self.check(*self.json_at("P0/part.json"), ("merge", "P0", "P1", "-o", "R"), codes=(0, 1))
        self.other_versions("P1/part.json", "version", "commit")

    def test_ledgers(self):
        self.run_well("matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--engine", "exact", "-o", "d.npy")
        self.run_well("ledger", "record", "L", "matmul", "normal:0,1:4x8", "normal:0,1:8x3", "--in", "bf16", "--output", "d.npy", "--keep-output", "--case",
                      "c")
        self.run_well("ledger", "check", "L", "c", "--output", "d.npy")
        head, *lines = (self.path / "L").read_text().splitlines()
        self.assertGreaterEqual(len(lines), 1)

        def write(entry):
            self.write("L", "\n".join([head, *lines[:-1], json.dumps(entry)]) + "\n")

        self.check(json.loads(lines[-1]), write, ("ledger", "show", "L"), ("ledger", "diff", "L", "L"), codes=(0, 1))

    def test_the_manifest_of_a_report(self):
        self.run_well("census", "normal:0,1:50", "--to", "e4m3", "-o", "report")
        shutil.copytree(self.path / "report", self.path / "kept")
        whole, _ = self.json_at("report/manifest.json")

        def write(manifest):
            shutil.rmtree(self.path / "report")
            shutil.copytree(self.path / "kept", self.path / "report")
            self.write("report/manifest.json", json.dumps(manifest))

        self.check(whole, write, ("report", "check", "report"), ("census", "normal:0,1:50", "--to", "e4m3", "-o", "report"), codes=(0, 1))

    def test_the_header_of_safetensors(self):
        whole = {"__metadata__": {"a": "b"}, "w": {"dtype": "F8_E4M3", "shape": [2, 3], "data_offsets": [0, 6]},
                 "v": {"dtype": "F32", "shape": [1], "data_offsets": [6, 10]}}

        def write(header):
            text = json.dumps(header).encode()
            self.write("x.safetensors", struct.pack("<Q", len(text)) + text + bytes(10))

        self.check(whole, write, ("census", "x.safetensors", "--to", "e4m3", "--csv"))

    def test_the_index_of_a_checkpoint(self):
        text = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        self.write("a.safetensors", struct.pack("<Q", len(text)) + text + bytes(4))
        whole = {"metadata": {"total_size": 4}, "weight_map": {"w": "a.safetensors"}}
        self.check(whole, lambda index: self.write("x.safetensors.index.json", json.dumps(index)),
                   ("census", "x.safetensors.index.json", "--to", "e4m3", "--csv"))


unittest.main()
