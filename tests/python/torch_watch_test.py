#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looking on at a run of torch: it changes nothing, and what it counts and records is what was there. Without torch it is skipped
by name (exit code 4).

usage: torch_watch_test.py ULPSCOPE, with the package on PYTHONPATH"""
import csv
import io
import math
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

try:
    import torch
except ImportError:
    print("python_torch_watch: skipped: no torch")
    sys.exit(4)
import numpy as np
import ulpscope as us
from torch import nn

PROGRAM = os.path.abspath(sys.argv.pop(1))
torch.set_num_threads(2)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        self.encoder = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, activation="gelu")
        self.head = nn.Linear(32, 50)

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x)))


def program(*words):
    ran = subprocess.run([PROGRAM, *words, "--csv"], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return list(csv.DictReader(io.StringIO(ran.stdout)))


class Watched(unittest.TestCase):
    def run_of(self, watched, steps=5):
        torch.manual_seed(0)
        model, x, y = Model(), torch.randint(0, 50, (4, 8)), torch.randint(0, 50, (32,))
        own = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
        seen = us.torch.watch(model, every=2, weights="bf16", trace=True) if watched else None
        kept = {}
        for step in range(steps):
            own.zero_grad()
            loss = nn.functional.cross_entropy(model(x).reshape(-1, 50), y)
            loss.backward()
            amax = max(float(p.grad.abs().max()) for p in model.parameters())
            kept[step] = [model.head.weight.detach().numpy().copy(), model.head.weight.grad.numpy().copy()]
            own.step()
            kept[step] += [model.head.weight.detach().numpy().copy(), amax]
        if watched:
            seen.end()
        return loss.item(), kept, seen

    def test_it_changes_nothing(self):
        self.assertEqual(self.run_of(True)[0], self.run_of(False)[0])

    def test_counts_are_those_of_the_numbers(self):
        _, kept, seen = self.run_of(True)
        table = seen.table()
        self.assertEqual(sorted(set(table["step"])), [0, 2, 4])
        rows = {(r[0], r[1], r[2]): dict(zip(table.columns, r)) for r in table.rows}
        binades = {}
        for step, layer, place, exponent, count in seen.binades().rows:
            binades.setdefault((step, layer, place), {})[exponent] = count
        for step in (0, 2, 4):
            before, gradient, after, _ = kept[step]
            for place, values in (("weight", before), ("grad_weight", gradient)):
                row = rows[step, "head", place]
                self.assertEqual((row["count"], row["zeros"], row["nonfinite"]), (values.size, int((values == 0).sum()), 0))
                self.assertEqual(row["amax"], float(np.abs(values).max()))
                exponents, counts = np.unique(np.floor(np.log2(np.abs(values[values != 0]).astype(np.float64))), return_counts=True)
                self.assertEqual(binades[step, "head", place], dict(zip(exponents.astype(int).tolist(), counts.tolist())))
            below = 0
            for w, change in zip(before.ravel().astype(np.float64), (after - before).ravel()):
                ulp = 2.0 ** (np.floor(np.log2(abs(w))) - 7) if w else 0.0
                below += 0 < abs(float(change)) < ulp / 2
            row = rows[step, "head", "weight"]
            self.assertEqual((row["wanted"], row["below_half_ulp"]), (int((after != before).sum()), below))
            self.assertGreater(below, 0)
            self.assertIn((step, "encoder.linear1", "grad_output"), rows)
            self.assertIn((step, "encoder.linear1", "input"), rows)

    def test_layers_that_give_tuples_and_take_keywords(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm, self.attention, self.head = nn.LSTM(6, 8, batch_first=True), nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 3)

            def forward(self, x):
                y, _ = self.lstm(input=x)
                y, _ = self.attention(query=y, key=y, value=y)
                return self.head(input=y)

        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with us.torch.watch(model, every=1) as seen:
            model(torch.ones(2, 5, 6)).square().sum().backward()
            optimizer.step()
        counts = {(row[1], row[2]): row[3] for row in seen.table().rows}
        self.assertEqual(counts["lstm", "input"], 60)
        self.assertEqual(counts["lstm", "grad_output"], 80)
        self.assertEqual(counts["attention", "input"], 3 * 80)
        self.assertEqual(counts["attention", "grad_output"], 80)
        self.assertEqual(counts["head", "input"], 80)

    def test_gradients_of_a_closure_and_weights_that_two_layers_have(self):
        model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
        model[1].weight = model[0].weight
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        amax = []
        with us.torch.watch(model, every=1, trace=True) as seen:
            for k in range(3):
                def closure():
                    optimizer.zero_grad()
                    loss = (model(torch.ones(1, 4)) * (k + 1)).sum()
                    loss.backward()
                    return loss

                optimizer.step(closure)
                amax.append(float(model[0].weight.grad.abs().max()))
        self.assertEqual([row[1] for row in seen.trace().rows], amax)
        rows = [row for row in seen.table().rows if row[2] in ("weight", "grad_weight")]
        self.assertEqual([(row[0], row[1], row[2]) for row in rows], [(k, "0", place) for k in range(3) for place in ("weight", "grad_weight")])
        self.assertEqual([row[6] for row in rows if row[2] == "grad_weight"], amax)
        for bad in "2", 1.5, 0:
            with self.assertRaisesRegex(ValueError, "^watch: every .*; give a whole number from 1"):
                us.torch.watch(model, every=bad)
        with self.assertRaisesRegex(TypeError, "^watch: NoneType is no torch.nn.Module$"):
            us.torch.watch(None)

    def test_layers_that_are_not_seen_are_said_to_be(self):
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model.weight.grad = torch.ones(2, 3)
        with us.torch.watch(model, every=1) as seen:
            with self.assertWarnsRegex(UserWarning, "no layer was seen at work"):
                optimizer.step()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                optimizer.step()
        self.assertEqual({row[2] for row in seen.table().rows}, {"weight", "bias", "grad_weight"})

    def test_nonfinite_numbers_and_bad_words(self):
        layer = nn.Linear(2, 2)
        with us.torch.watch(layer, every=1) as seen:
            layer(torch.tensor([[1.0, float("nan")], [float("inf"), 0.0]]))
        row = dict(zip(seen.table().columns, seen.table().rows[0]))
        self.assertEqual((row["place"], row["nonfinite"], row["zeros"], row["amax"]), ("input", 2, 1, 1.0))
        with self.assertRaisesRegex(ValueError, "trace=True"):
            seen.trace()
        with self.assertRaisesRegex(us.Error, "bf17"):
            us.torch.watch(layer, weights="bf17")
        with self.assertRaisesRegex(ValueError, "every 0"):
            us.torch.watch(layer, every=0)

    def test_binades_of_all_kinds_of_numbers(self):
        layer = nn.Linear(1, 1)
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            exponents = {torch.float32: [-149, -127, -126, 0, 127], torch.float64: [-1074, -1022, 0, 1023]}.get(dtype, [-14, 0, 15])
            x = torch.tensor([1.5 * 2.0**e if e > exponents[0] else 2.0**e for e in exponents] + [0.0, -0.0], dtype=dtype)
            seen = us.torch.watch(layer, every=1)
            seen._count("", "input", x)
            self.assertEqual(seen.binades().rows, [[0, "", "input", e, 1] for e in exponents], dtype)
            self.assertEqual(seen.table()["zeros"], [2])
            seen.end()

    def test_a_trace_has_every_step(self):
        _, kept, seen = self.run_of(True)
        table = seen.trace()
        self.assertEqual((table["step"], table["found_inf"]), ([0, 1, 2, 3, 4], [0] * 5))
        for step, amax in enumerate(table["amax"]):
            self.assertGreaterEqual(amax, float(np.abs(kept[step][1]).max()))
        self.assertEqual(table["amax"], [kept[step][3] for step in range(5)])

    def test_the_program_replays_scalers_on_a_trace(self):
        """With steps that torch's scaler skipped, and one whose gradients are NaN; the scales are torch's own."""
        torch.manual_seed(0)
        layer = nn.Linear(3, 2)
        own = torch.optim.SGD(layer.parameters(), lr=1e-3)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
        bad, scales, expected = {0: math.inf, 3: math.nan, 6: -math.inf, 7: math.inf}, [], []
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.csv")
            with us.torch.watch(layer, every=3, scaler=scaler) as seen:
                for step in range(10):
                    own.zero_grad()
                    scaler.scale(layer(torch.randn(4, 3)).square().mean()).backward()
                    scales.append(scaler.get_scale())
                    if step in bad:
                        layer.weight.grad[1, 2] = bad[step]
                    scaler.unscale_(own)
                    expected.append(math.inf if step in bad else max(float(p.grad.abs().max()) for p in layer.parameters()))
                    scaler.step(own)
                    scaler.update()
            table = seen.trace(path)
            self.assertEqual(table["amax"], expected)
            self.assertEqual(table["found_inf"], [int(step in bad) for step in range(10)])
            rows = program("scale", path, "--scaler", "pytorch:init_scale=4,growth_interval=2")
            self.assertEqual([float(row["scale"]) for row in rows], scales)
            self.assertEqual([int(row["skipped"]) for row in rows], table["found_inf"])

    def test_a_nan_without_a_scaler_is_in_the_trace(self):
        layer = nn.Linear(2, 1)
        own = torch.optim.SGD(layer.parameters(), lr=1e-3)
        with us.torch.watch(layer, trace=True) as seen:
            for x in (1.0, float("nan"), float("inf")):
                own.zero_grad()
                layer(torch.tensor([[x, 1.0]])).sum().backward()
                own.step()
        self.assertEqual(seen.trace()["found_inf"], [0, 1, 1])
        self.assertTrue(math.isnan(seen.trace()["amax"][1]))

    def test_the_program_reads_what_is_recorded(self):
        torch.manual_seed(0)
        layer = nn.Linear(5, 3)
        own = torch.optim.SGD(layer.parameters(), lr=1e-3)
        kept = {}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gradients.safetensors")
            with us.torch.watch(layer, every=2, record=path):
                for step in range(5):
                    own.zero_grad()
                    layer(torch.randn(4, 5)).square().mean().mul(1e-5).backward()
                    kept[step] = layer.weight.grad.numpy().copy()
                    own.step()
                self.assertFalse(os.path.exists(path))
            self.assertEqual(os.listdir(folder), ["gradients.safetensors"])
            rows = program("census", path, "--to", "e4m3,fp16")
            self.assertEqual({row["tensor"].split(":")[-1] for row in rows}, {f"{s}/{n}" for s in (0, 2, 4) for n in ("weight", "bias")})
            for step in (0, 2, 4):
                mine = us.census(kept[step], to=["e4m3"])
                row = next(row for row in rows if row["tensor"].endswith(f"{step}/weight") and row["format"] == mine["format"][0])
                self.assertEqual(row["max_abs_error"], us._core.shortest(mine["max_abs_error"][0]))
            swept = program("sweep", path, "--to", "fp16", "--log2-scale", "0:2")
            self.assertEqual(len(swept), 6 * 3)
            replayed = program("scale", path, "--scaler", "static:2^4")
            self.assertEqual([row["step"] for row in replayed], ["0", "2", "4"])


if __name__ == "__main__":
    unittest.main()
