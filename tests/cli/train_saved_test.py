#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a training run keeps from step to step: which layers compute in wider formats and for how long, and the runs that are done, as
they lie on disk beside a report that is not: read again, and refused where they say nonsense behind their digest.

usage: train_saved_test.py PROGRAM"""
import csv
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
PLACES = ("input", "weight", "output", "grad_output", "grad_input", "grad_weight", "accumulate")
MOVING = ('[dynamic]\nwider = "float32"\nleast_sqnr_db = 31\nmost_lost = 1\nevery = 1\nback_after = 2\n[[rule]]\n' +
          "".join(f'{place} = "float32"\n' for place in PLACES) +
          '[[rule]]\noperations = ["linear"]\ninput = "e4m3"\nweight = "e4m3"\ngrad_output = "e4m3"\nscaling = "current"\n')
STUDY = ('[model]\nkind = "mlp"\n[data]\ntable = "digits"\nbatch = 8\n[optimizer]\nlr = 0.1\n[run]\nsteps = {steps}\nrecipes = {recipes}\n'
         "seeds = [0]\n")
GAN = ('[model]\nkind = "gan"\nwidths = [2, 8, 2]\ndiscriminator_widths = [2, 8, 1]\n[data]\ntable = "normal"\nsamples = 64\nbatch = 8\n'
       '[scaler]\nkind = "pytorch:init_scale=2^40"\n[run]\nsteps = 3\nrecipes = ["fp16_amp"]\nseeds = [0]\n')


class Saved:
    """A saved run: numbers by name, and words."""

    def __init__(self, path):
        data = path.read_bytes()
        size, = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + size])
        self.words = header.pop("__metadata__")
        self.numbers = {}
        for name, entry in header.items():
            assert entry["dtype"] == "F64", entry
            begin, end = entry["data_offsets"]
            self.numbers[name] = list(struct.unpack(f"<{(end - begin) // 8}d", data[8 + size + begin:8 + size + end]))

    def digest(self):
        text = b""
        for name, values in sorted(self.numbers.items()):
            for part in (name.encode(), str(len(values)).encode()):
                text += b"%d " % len(part) + part
            text += struct.pack(f"<{len(values)}d", *values)
        for name, word in sorted(self.words.items()):
            if isinstance(word, str) and name not in ("kind", "sha256"):
                text += b"".join(b"%d " % len(part) + part for part in (name.encode(), word.encode()))
        return hashlib.sha256(text).hexdigest()

    def write(self, path):
        header, data = {"__metadata__": {**self.words, "sha256": self.digest()}}, b""
        for name, values in self.numbers.items():
            codes = struct.pack(f"<{len(values)}d", *values)
            header[name] = {"dtype": "F64", "shape": [len(values)], "data_offsets": [len(data), len(data) + len(codes)]}
            data += codes
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Training(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        (self.path / "moving.toml").write_text(MOVING)

    def study(self, steps, recipes):
        (self.path / "s.toml").write_text(STUDY.format(steps=steps, recipes=json.dumps(recipes)))

    def train(self, *words, code=0):
        done = subprocess.run([PROGRAM, "train", "s.toml", *words], capture_output=True, text=True, cwd=self.path, timeout=LIMIT)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def rows(self, name):
        return list(csv.DictReader((self.path / name).read_text().splitlines()))

    def contents(self, folder):
        return {path.name: path.read_bytes() for path in (self.path / folder).rglob("*") if path.is_file()}

    def test_a_layer_that_fails_at_once_stays_away_twice_as_long(self):
        self.study(60, ["moving.toml"])
        self.train("-o", "out")
        left, returned, stays, doubled, usual = {}, {}, {}, 0, 0
        for row in self.rows("out/findings.csv"):
            layer, step = row["layer"], int(row["step"])
            if row["finding"] == "moved_wider":
                at_once = layer in returned and step == returned[layer] + 1
                doubled, usual = doubled + at_once, usual + (layer in returned and not at_once)
                stays[layer] = 2 * stays[layer] if at_once else 2
                left[layer] = step
            elif row["finding"] == "moved_back":
                self.assertEqual(step, left[layer] + stays[layer])
                returned[layer] = step
        self.assertTrue(doubled > 0 and usual > 0, (doubled, usual))

    def test_a_layer_that_fails_never_stays(self):
        self.study(1, ["moving.toml"])
        self.train("-o", "out")
        self.assertEqual(self.rows("out/findings.csv"), [])

    def test_states_of_scalers_are_read_again(self):
        self.study(400, ["fp8_delayed", "float32"])
        text = (self.path / "s.toml").read_text()
        scaler = "deepspeed:initial_scale_power=4,hysteresis=1"
        (self.path / "s.toml").write_text(text + f'[scaler]\nkind = "{scaler}"\n')
        path = self.one_of_two_is_done("fp8_delayed")
        place = f"{path.parent.name}/{path.name}: scaler"

        def set_scale(*values):
            return lambda run: run.numbers.update({"scaler/cur_scale": list(values)})

        self.refused(path, set_scale(-1), f"{place} {scaler}: cur_scale: -1: is a scale: give a number of at least 0; remove it to begin anew")
        self.refused(path, set_scale(1, 2), f"{place} {scaler}: a state of another scaler; remove it to begin anew")

        def goes_on(run):
            run.numbers["run"][:] = 399, run.numbers["run"][1], 0
            run.numbers["delayed/0/input/amax_history"][0] = 1e300

        self.refused(path, goes_on,
                     "layer 0: recipe fp8_delayed: linear: scaler te_delayed: amax_history: 1e+300: is an amax in float32, which ends below")

    def test_skipped_steps_of_both_parts_and_a_run_that_diverges_are_saved(self):
        (self.path / "s.toml").write_text(GAN)
        self.train("-o", "gan")
        self.assertEqual([row["skipped"] for row in self.rows("gan/curves.csv")], ["1", "1", "1"])
        self.study(3, ["float32"])
        (self.path / "s.toml").write_text((self.path / "s.toml").read_text().replace("lr = 0.1", "lr = 1e30"))
        self.train("-o", "out", code=1)
        row, = self.rows("out/summary.csv")
        self.assertEqual(row["diverged"], "1")

    def one_of_two_is_done(self, recipe):
        """Ends a training behind its first run, and gives the file of that."""
        process = subprocess.Popen([PROGRAM, "train", "s.toml", "-o", "out"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.path)
        end = time.monotonic() + LIMIT
        while not (kept := list(self.path.glob(f"out.*/{recipe}*.safetensors"))) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        process.kill()
        self.assertEqual(process.wait(LIMIT), -9, "it was done before it was ended")
        path, = kept
        return path

    def refused(self, path, change, what):
        good, run = path.read_bytes(), Saved(path)
        change(run)
        run.write(path)
        done = self.train("-o", "out", "--resume", code=2)
        self.assertEqual(done.stderr.splitlines()[-1], f"ulpscope: {what}")
        path.write_bytes(good)

    def test_runs_that_are_done_are_read_again(self):
        self.study(400, ["moving.toml", "float32"])
        self.train("-o", "whole")
        path = self.one_of_two_is_done("moving")
        self.assertIn("dynamic/0", Saved(path).numbers)

        def refused(change, what):
            self.refused(path, change, f"{path.parent.name}/{path.name}: {what}; remove it to begin anew")

        refused(lambda run: run.numbers["dynamic/0"].pop(), "state of layer 0: four numbers, not 3")
        refused(lambda run: run.words.pop("places"), "a saved run without places")
        places = json.loads(Saved(path).words["places"])
        refused(lambda run: run.words.update(places=json.dumps([[*places[0][:3], "e9m9x"], *places[1:]])), "a saved run of format e9m9x")
        refused(lambda run: run.words.update(more=3), "malformed safetensors header: __metadata__ is no map from words to words")
        study = (self.path / "s.toml").read_text()
        (self.path / "s.toml").write_text(study.replace("steps = 400", "steps = 401"))
        done = self.train("-o", "out", "--resume", code=2)
        self.assertIn(" there, '", done.stderr.splitlines()[-1])
        (self.path / "s.toml").write_text(study)
        self.train("-o", "out", "--resume")
        whole, out = self.contents("whole"), self.contents("out")
        self.assertEqual({name: data for name, data in out.items() if name.endswith(".csv")},
                         {name: data for name, data in whole.items() if name.endswith(".csv")})


if __name__ == "__main__":
    unittest.main()
