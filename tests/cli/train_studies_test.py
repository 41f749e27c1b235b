#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Studies of `ulpscope train` that cannot be run, each refused in its words, and the times of a step's products by how operands are scaled.

usage: train_studies_test.py PROGRAM"""
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from npy_file import npy
from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
DIGITS = '[data]\ntable = "digits"\n'
NORMAL = '[data]\ntable = "normal"\n'
FILES = '[data]\ninputs = "x.npy"\ntargets = "t.npy"\n'
RUN = '[run]\nsteps = 1\nrecipes = ["float32"]\nseeds = [0]\n'
MLP = '[model]\nkind = "mlp"\n'
GAN = '[model]\nkind = "gan"\nwidths = [2, 8, 2]\ndiscriminator_widths = [2, 8, 1]\n'
SIZES = "sizes are whole numbers from 1 to 16777216"
NO_LAYER = 'a layer is a word, such as "relu", or one with sizes, such as {linear = [64, 10]}'


def layers(words):
    return f'[model]\nkind = "layers"\nlayers = {words}\n'


# A study, and what is said of it behind the file's name.
REFUSED = [(layers(words) + DIGITS + RUN, f"3: {what}") for words, what in (
    ("[3]", NO_LAYER), ("[[1]]", NO_LAYER), ("[{}]", NO_LAYER), ("[{linear = [1, 2], relu = []}]", NO_LAYER),
    ('[{linear = "a"}]', f"linear: {SIZES}"), ("[{linear = [1.5, 2]}]", f"linear: {SIZES}"), ("[{linear = [0, 1]}]", f"linear: {SIZES}"),
    ("[{linear = [16777217, 2]}]", f"linear: {SIZES}"), ("[{linear = [1, 2, 3]}]", "linear has 2 sizes, not 3"),
    ("[{conv = [1, 2]}]", "conv has 3 or 4 sizes, not 2"), ("[{conv = [1, 2, 3, 4, 5]}]", "conv has 3 or 4 sizes, not 5"),
    ("[{relu = 1}]", "relu has 0 sizes, not 1"), ("[]", "[model] layers: give a list of layers"),
    ('"relu"', "[model] layers: give a list of layers"))] + [
    (GAN.replace("8, 1]", "8, 2]") + NORMAL + RUN, "1: [model] discriminator_widths: begin with the generator's last width, end with 1"),
    (GAN.replace("[2, 8, 1", "[3, 8, 1") + NORMAL + RUN, "1: [model] discriminator_widths: begin with the generator's last width, end with 1"),
    (GAN + DIGITS + RUN, '2: [model] kind: "gan" takes inputs or table "normal", and no accumulate'),
    (GAN + NORMAL + RUN + "accumulate = 2\n", '2: [model] kind: "gan" takes inputs or table "normal", and no accumulate'),
    (MLP + NORMAL + RUN, '4: [data] table: "normal" is for [model] kind "gan"'),
    (GAN + "[optimizer]\ngenerator = 3\n" + NORMAL + RUN, "6: write [optimizer.generator]"),
    (MLP + "[optimizer.generator]\nlr = 0.1\n" + DIGITS + RUN, '3: [optimizer.generator]: only [model] kind "gan" has two optimizers'),
    (MLP + '[data]\ninputs = "x.npy"\n' + RUN, '3: [data] targets: give them with inputs; only loss "sum" and kind "gan" need none'),
    (MLP + DIGITS + 'targets = "t.npy"\n' + RUN, '5: [data] targets: give them with inputs; only loss "sum" and kind "gan" need none'),
    (MLP + DIGITS + RUN + "reload_at = 1\n", "9: [run] reload_at and reload_loses go together"),
    (MLP + DIGITS + RUN + 'reload_loses = ["moments"]\n', "5: [run] reload_at and reload_loses go together"),
    ("model = 3\n" + DIGITS + RUN, "1: model: write [model]"),
    ("expect = 3\n" + MLP + DIGITS + RUN, '1: expect: give "diverges", or leave it away'),
    ('expect = "no"\n' + MLP + DIGITS + RUN, '1: expect: give "diverges", or leave it away'),
    (MLP + DIGITS + RUN.replace("float32", "bf16_amp") + 'evaluate = ["float64"]\n',
     "7: [run] recipes: 'bf16_amp' trains in float32, whose weights cannot be evaluated under 'float64'; leave one of them out"),
    (MLP + "[optimizer]\nnesterov = true\n" + DIGITS + RUN, "3: [optimizer] nesterov: needs momentum, and no dampening"),
    (MLP + "[optimizer]\nnesterov = true\nmomentum = 0.9\ndampening = 0.1\n" + DIGITS + RUN,
     "3: [optimizer] nesterov: needs momentum, and no dampening"),
    (MLP + "[optimizer]\nbetas = [0.9, 2]\n" + DIGITS + RUN, "3: [optimizer] betas: '2': give a number from 0 to 1"),
    (MLP + '[optimizer]\nbetas = [0.9, "x"]\n' + DIGITS + RUN, "3: [optimizer] betas: 'x': give a number from 0 to 1"),
    (MLP + DIGITS + RUN + 'clip_norm = "x"\n', "9: clip_norm: give a number"),
    (MLP + DIGITS + RUN + "clip_norm = inf\n", "9: clip_norm: 'inf': give a finite number of at least 0")]
# What those lack that are refused.
RIGHT = (MLP + DIGITS + RUN.replace("float32", "float64") + 'evaluate = ["float64"]\n', MLP + DIGITS + RUN + 'evaluate = ["float32"]\n',
         MLP + "[optimizer]\nnesterov = true\nmomentum = 0.9\n" + DIGITS + RUN, MLP + '[optimizer]\nkind = "muon"\nnesterov = true\n' + DIGITS + RUN,
         MLP + DIGITS + RUN + "clip_norm = 0.5\n", MLP + DIGITS + RUN + 'reload_at = 1\nreload_loses = ["moments"]\n', GAN + NORMAL + RUN,
         'expect = "diverges"\n' + MLP + DIGITS + RUN)

# How operands are scaled, their format, and the library's word for it (cublasLtMatmulMatrixScale_t).
SCALES = (("none", "bfloat16", "SCALAR_32F"), ("2", "float8_e4m3fn", "SCALAR_32F"), ("pow2", "float8_e4m3fn", "SCALAR_32F"),
          ("amax", "float8_e4m3fn", "SCALAR_32F"), ("row", "float8_e4m3fn", "OUTER_VEC_32F"), ("1x128", "float8_e4m3fn", "VEC128_32F"),
          ("128x128", "float8_e4m3fn", "BLK128x128_32F"), ("nvfp4", "float4_e2m1fn", "VEC16_UE4M3"),
          ("nvfp4:16x16", "float4_e2m1fn", "VEC16_UE4M3"), *((f"mx:{rule}", "float8_e4m3fn", "VEC32_UE8M0") for rule in ("floor", "ceil", "rceil", "even")))
PLACES = ("input", "weight", "output", "grad_output", "grad_input", "grad_weight", "accumulate")
COLUMNS = "format,fast_accumulation,m,n,k,median_us,scale_mode_a,scale_mode_b\n"


class Studies(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        npy(self.path / "x.npy", (4, 6), [(i * 7 % 11 - 5) / 4 for i in range(24)])
        npy(self.path / "t.npy", (4, 5), [(i * 5 % 7 - 3) / 4 for i in range(20)])

    def train(self, study, *words):
        (self.path / "s.toml").write_text(study)
        return subprocess.run([PROGRAM, "train", "s.toml", "--csv", *words], capture_output=True, text=True, cwd=self.path, timeout=LIMIT)

    def refused(self, study, message, *words):
        done = self.train(study, *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"ulpscope: {message}\n"), study)

    def test_what_is_refused(self):
        for study, what in REFUSED:
            with self.subTest(study):
                self.refused(study, f"s.toml:{what}", "--dry-run")

    def test_what_is_right(self):
        for study in RIGHT:
            done = self.train(study, "--dry-run")
            self.assertEqual((done.returncode, done.stderr), (0, ""), study)

    def test_keys_without_effect_are_named(self):
        done = self.train(GAN + FILES + RUN, "--dry-run")
        self.assertIn("s.toml:7: [data] targets has no effect with this loss and data\n", done.stderr)
        done = self.train(MLP.replace("mlp", "mlp\"\nwidths = [6, 5]\nactivation = \"relu") + FILES + '[loss]\nkind = "sum"\n' + RUN, "--dry-run")
        self.assertEqual((done.returncode, done.stderr), (0, "s.toml:7: [data] targets has no effect with this loss and data\n"))

    def test_what_a_recipe_does_not_name_stays_as_it_is(self):
        linear = '[[rule]]\noperations = ["linear"]\n' + "".join(f'{place} = "bfloat16"\n' for place in PLACES[:-1]) + 'accumulate = "float32"\n'
        losses = []
        for others in ("", '[[rule]]\noperations = ["tanh", "mse"]\ninput = "keep"\noutput = "keep"\n'):
            (self.path / "r.toml").write_text(others + linear)
            done = self.train(layers('[{linear = [6, 5]}, "tanh"]') + FILES + '[loss]\nkind = "mse"\n' + RUN.replace("float32", "r.toml"))
            self.assertEqual(done.returncode, 0, done.stderr)
            losses.append(done.stdout)
        self.assertEqual(losses[0], losses[1])

    def times(self, rows, scaling="none", operands="bfloat16", model="[{linear = [6, 5]}]", target="t"):
        """What the two products of one layer, of 4 x 6 x 5 each, take, and the share of them that has a time."""
        rules = "".join(f'{place} = "float32"\n' for place in PLACES)
        rules += '[[rule]]\noperations = ["linear"]\n' + "".join(f'{place} = "{operands}"\n' for place in ("input", "weight", "grad_output"))
        (self.path / "r.toml").write_text(f'[[rule]]\n{rules}scaling = "{scaling}"\n')
        (self.path / "c.csv").write_text(COLUMNS + "".join(f"{row}\n" for row in rows))
        done = self.train(layers(model) + FILES.replace("t.npy", f"{target}.npy") + '[loss]\nkind = "mse"\n' + RUN.replace("float32", "r.toml") +
                          'product_times = "c.csv"\n')
        self.assertEqual(done.returncode, 0, done.stderr)
        row, = csv.DictReader(io.StringIO(done.stdout))
        return row["product_us"], row["product_us_covers"]

    def test_a_product_takes_the_time_of_its_scales(self):
        modes = list(dict.fromkeys(mode for *_, mode in SCALES))
        for scaling, operands, mode in SCALES:
            rows = [f"{operands},no,1,1,1,{1 + at},{of_mode},{of_mode}" for at, of_mode in enumerate(modes)]
            self.assertEqual(self.times(rows, scaling, operands), (str(240 * (1 + modes.index(mode))), "1"), scaling)

    def test_both_operands_have_the_row_s_formats_and_scales(self):
        scalar, outer = "SCALAR_32F", "OUTER_VEC_32F"
        for formats, a, b in (('"bfloat16,float16"', scalar, scalar), ('"float16,bfloat16"', scalar, scalar), ("bfloat16", outer, scalar),
                              ("bfloat16", scalar, outer)):
            self.assertEqual(self.times([f"{formats},no,1,1,1,1,{a},{b}"]), ("", "0"))

    def test_without_products_nothing_is_covered(self):
        self.assertEqual(self.times(["bfloat16,no,1,1,1,1,SCALAR_32F,SCALAR_32F"], model="[{rms_norm = 6}]", target="x"), ("", "0"))

    def test_a_time_is_a_positive_number(self):
        for word in ("x", "1x", "0", "-1", "inf", "1e999"):
            (self.path / "c.csv").write_text(f"{COLUMNS}bfloat16,no,1,1,1,{word},SCALAR_32F,SCALAR_32F\n")
            self.refused(MLP + DIGITS + RUN + 'product_times = "c.csv"\n', f"c.csv: row 1: median_us '{word}' is no positive number")


if __name__ == "__main__":
    unittest.main()
