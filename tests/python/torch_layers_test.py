#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers and optimizers of torch under emulation: what is computed, what is named, what is refused. Without torch it is skipped by
name (exit code 4).

usage: torch_layers_test.py, with the package on PYTHONPATH"""
import copy
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

try:
    import torch
except ImportError:
    print("python_torch_layers: skipped: no torch")
    sys.exit(4)
import numpy as np
import ulpscope as us
from torch import nn

torch.set_num_threads(2)


def forced(recipe="float32", **options):
    """Float32 through the emulation, too."""
    block = us.torch.emulate(recipe, **options)
    block._plain = False
    return block


def bf16(x):
    return us.round(np.asarray(x, np.float32), "bf16")


class Layers(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("error")
        torch.manual_seed(4)

    def both(self, module, *inputs, after=lambda out: out):
        """Outputs and all gradients, of torch and of the emulation in float32, are alike."""
        results = []
        for emulated in (False, True):
            model = copy.deepcopy(module)
            given = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
            if emulated:
                with forced() as run:
                    out = after(model(*given))
                    out.square().sum().backward()
                self.assertEqual(run.unknown, [])
                self.assertGreater(len(run.census()), 0)
            else:
                out = after(model(*given))
                out.square().sum().backward()
            results.append([out.detach(), *(x.grad for x in given if x.is_floating_point()), *(p.grad for p in model.parameters()),
                            *model.buffers()])  # fmt: skip
        for theirs, ours in zip(*results):
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)

    def test_recurrent_layers(self):
        x = torch.randn(3, 5, 6)
        for module in (
            nn.LSTM(6, 4, batch_first=True), nn.LSTM(6, 4), nn.LSTM(6, 4, num_layers=2, bidirectional=True, batch_first=True),
            nn.LSTM(6, 4, bias=False), nn.GRU(6, 4, batch_first=True), nn.GRU(6, 4, num_layers=2, bidirectional=True),
            nn.RNN(6, 4, batch_first=True), nn.RNN(6, 4, nonlinearity="relu", bidirectional=True),
        ):  # fmt: skip
            with self.subTest(str(module)):
                self.both(module, x, after=lambda out: out[0])
                last = (lambda out: torch.cat(out[1], -1)) if isinstance(module, nn.LSTM) else lambda out: out[1]
                self.both(module, x, after=last)

    def test_states_that_are_given(self):
        lstm, x = nn.LSTM(6, 4, batch_first=True), torch.randn(3, 5, 6)

        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = lstm

            def forward(self, x):
                first, states = self.lstm(x)
                return self.lstm(x.flip(1), states)[0] + first

        self.both(Twice(), x)

    def test_norms_with_their_statistics(self):
        x = torch.randn(4, 6, 5, 3) * 3 + 1
        for module in (nn.BatchNorm2d(6), nn.BatchNorm2d(6, momentum=0.3), nn.BatchNorm2d(6, affine=False), nn.GroupNorm(3, 6),
                       nn.InstanceNorm2d(6, affine=True)):  # fmt: skip
            with self.subTest(str(module)):
                self.both(module, x)
        norm = nn.BatchNorm1d(6)
        x = torch.randn(8, 6) * 0.3 + 5
        with us.torch.emulate("bf16_pure") as run:
            for _ in range(120):
                norm(x)
        self.assertTrue(np.array_equal(norm.running_mean, bf16(norm.running_mean)))
        self.assertIn("statistics_stagnation", run.findings()["finding"])
        norm.eval()
        with us.torch.emulate("bf16_amp") as run, torch.no_grad():
            y = norm(torch.randn(8, 6))
        self.assertEqual((run.unknown, y.shape), ([], (8, 6)))

    def test_attention_with_masks(self):
        x = torch.randn(2, 5, 8)
        padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
        for masks in ({}, {"key_padding_mask": padding}, {"key_padding_mask": padding * -3.0, "attn_mask": torch.randn(5, 5)},
                      {"key_padding_mask": padding, "attn_mask": torch.ones(5, 5).triu(1).bool()}):  # fmt: skip
            module = nn.MultiheadAttention(8, 2, batch_first=True)
            self.both(_WithMasks(module, masks), x)
        other = nn.MultiheadAttention(8, 2, kdim=6, vdim=4, batch_first=True)
        self.both(_Across(other), x, torch.randn(2, 7, 6), torch.randn(2, 7, 4))

    def test_products_of_attention_have_names_of_their_own(self):
        model = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True))
        model.eval()
        with us.torch.emulate("fp8_current") as run, torch.no_grad():
            model(torch.randn(2, 3, 8))
        table = run.census()
        found = {layer for layer, operation in zip(table["layer"], table["operation"]) if operation == "linear"}
        self.assertEqual(found, {"0.self_attn.in_proj", "0.self_attn.out_proj", "0.linear1", "0.linear2"})
        self.assertEqual(run.unknown, [])


class _WithMasks(nn.Module):
    def __init__(self, module, masks):
        super().__init__()
        self.module, self.masks = module, masks

    def forward(self, x):
        return self.module(x, x, x, **self.masks)[0]


class _Across(_WithMasks):
    def __init__(self, module):
        super().__init__(module, {})

    def forward(self, q, k, v):
        return self.module(q, k, v, need_weights=False)[0]


class Gradients(unittest.TestCase):
    def test_of_a_value_that_is_used_often_are_added_in_its_format(self):
        """Rounded at each addition: with 1 + 2^-8 + 2^-8 that is 1, while float32, rounded at the end, gives 1 + 2^-7."""
        x = torch.tensor([1.0])
        weight = nn.Parameter(torch.tensor([1.0]))
        with us.torch.emulate("bf16_pure"):
            y = x * weight
            parts = [y * 2.0**-8, y * 2.0**-8, y * 1.0]  # gradients come from the last one first
            torch.stack(parts).sum().backward()
        self.assertEqual(weight.grad.item(), 1.0)
        weight.grad = None
        with us.torch.emulate("bf16_pure"):
            torch.stack([x * weight * 2.0**-8, x * weight * 2.0**-8, x * weight]).sum().backward()
        self.assertEqual(weight.grad.item(), 1.0)

    def test_of_several_batches_are_added_in_the_format_of_gradients(self):
        weight = nn.Parameter(torch.tensor([1.0]))
        with us.torch.emulate("bf16_pure"):
            for factor in (1.0, 2.0**-8, 2.0**-8):
                (torch.tensor([factor]) * weight).sum().backward()
        self.assertEqual(weight.grad.item(), 1.0)

    def test_weights_are_those_of_the_recipe_from_the_first_step_and_stay_the_users(self):
        layer = nn.Linear(1, 1)
        with torch.no_grad():
            layer.weight.fill_(1.0), layer.bias.fill_(1 + 2.0**-12)
        with us.torch.emulate("bf16_pure") as run:
            self.assertEqual(layer(torch.tensor([[2.0]])).item(), 3.0)
        self.assertEqual(layer.bias.item(), 1 + 2.0**-12)
        self.assertEqual(set(run.census()["format"]), {"bfloat16"})
        self.assertFalse(hasattr(layer.bias, "_ulpscope_format"))


class NamedAndRefused(unittest.TestCase):
    def named(self, function, recipe="bf16_amp"):
        with warnings.catch_warnings(record=True) as told, us.torch.emulate(recipe) as run:
            warnings.simplefilter("always")
            function()
            function()
        mine = [str(one.message) for one in told if "emulate" in str(one.message)]
        self.assertEqual(len(mine), len(run.unknown))
        return run.unknown

    def test_products_that_run_unseen(self):
        x = torch.randn(3, 4, requires_grad=True)

        class Hidden(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return torch.ops.aten.mm(x, torch.ones(4, 2))

            @staticmethod
            def backward(ctx, g):
                return torch.ops.aten.mm(g, torch.ones(2, 4))

        self.assertEqual(self.named(lambda: Hidden.apply(x).sum().backward()), ["aten.mm"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(nn.Linear(4, 2), torch.randn(3, 4))
        self.assertEqual(len([name for name in self.named(lambda: traced(x)) if name.startswith("aten.")]), 1)
        self.assertEqual(self.named(lambda: nn.Linear(4, 2)(x)), [])

    def test_arguments_that_are_not_known(self):
        image, kernel = torch.randn(1, 1, 6, 6), torch.randn(1, 1, 2, 2, requires_grad=True)
        self.assertIn("conv2d", self.named(lambda: nn.functional.conv2d(image, kernel, dilation=2)))

    def test_compiled_models_run_uncompiled(self):
        warnings.filterwarnings("ignore", message="Using .torch.compile")
        model, x = nn.Sequential(nn.Linear(4, 3), nn.GELU()), torch.randn(2, 4)
        with us.torch.emulate("fp8_current"):
            plain = model(x)
        with us.torch.emulate("fp8_current") as run:
            compiled = torch.compile(model, backend="eager")(x)
        self.assertIn("0", run.census()["layer"])
        self.assertTrue(torch.equal(plain, compiled))
        self.assertEqual(run.unknown, [])

    def stepped(self, optimizer, recipe="bf16_amp", **more):
        torch.manual_seed(0)
        layer = nn.Linear(4, 3)
        own = optimizer(layer.parameters(), lr=1e-2, **more)
        with us.torch.emulate(recipe) as run:
            layer(torch.ones(2, 4)).square().sum().backward()
            own.step()
        return layer.weight.detach().clone(), run.unknown

    def test_optimizers_in_all_their_ways(self):
        plain = self.stepped(torch.optim.Adam)
        for way in ({"foreach": True}, {"foreach": False}, {"fused": True}):
            self.assertTrue(torch.equal(self.stepped(torch.optim.Adam, **way)[0], plain[0]), way)
        decoupled = self.stepped(torch.optim.AdamW, weight_decay=0.1)[0]
        self.assertFalse(torch.equal(decoupled, self.stepped(torch.optim.Adam, weight_decay=0.1)[0]))
        up, down = self.stepped(torch.optim.SGD, maximize=True)[0], self.stepped(torch.optim.SGD)[0]
        np.testing.assert_allclose((up + down) / 2, nn_weight(), rtol=1e-6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(self.stepped(torch.optim.Adam, amsgrad=True)[1], ["Adam with amsgrad"])
            self.assertEqual(self.stepped(torch.optim.RMSprop)[1], ["RMSprop"])
        for optimizer, more in ((torch.optim.Adam, {"amsgrad": True}), (torch.optim.RMSprop, {})):
            with self.assertRaisesRegex(us.Error, "stores weights in bfloat16; there are Adam"):
                self.stepped(optimizer, "bf16_pure", **more)

    def test_muon_is_torchs(self):
        if not hasattr(torch.optim, "Muon"):
            self.skipTest("no torch.optim.Muon")
        weights = []
        for emulated in (False, True):
            torch.manual_seed(0)
            weight = nn.Parameter(torch.randn(6, 4))
            own, target = torch.optim.Muon([weight], lr=0.1), torch.randn(6, 4)
            block = forced("float32") if emulated else us.torch.emulate("float32")
            with block:
                for _ in range(3):
                    own.zero_grad()
                    (weight - target).square().sum().backward()
                    own.step()
            weights.append(weight.detach().clone())
        np.testing.assert_allclose(weights[1], weights[0], atol=2e-2)  # its iteration is computed in bfloat16, in another order

    def test_a_fused_optimizer_under_a_scaler_skips(self):
        for fused in (False, True):
            layer = nn.Linear(2, 2)
            before = layer.weight.detach().clone()
            own = torch.optim.SGD(layer.parameters(), lr=0.5, fused=fused)
            scaler = torch.amp.GradScaler("cpu", init_scale=2.0**30)
            with us.torch.emulate("fp16_amp"):
                for step in range(2):
                    own.zero_grad()
                    scaler.scale(layer(torch.ones(1, 2)).sum()).backward()
                    scaler.step(own)
                    scaler.update(2.0**3 if step == 0 else None)
                    if step == 0:
                        self.assertTrue(torch.equal(layer.weight, before), fused)
            self.assertTrue(torch.equal(layer.weight, before - 0.5), fused)

    def test_refused_in_one_line(self):
        layer = nn.Linear(2, 2)
        own = torch.optim.SGD(layer.parameters(), lr=0.1)

        def closed():
            with us.torch.emulate("bf16_amp"):
                own.step(lambda: layer(torch.ones(1, 2)).sum())

        def narrow():
            with us.torch.emulate("bf16_amp"):
                nn.Linear(2, 2, dtype=torch.bfloat16)(torch.ones(1, 2, dtype=torch.bfloat16))

        def twice():
            with us.torch.emulate("bf16_amp"):
                x = torch.ones(1, 2, requires_grad=True)
                torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)

        def not_wide():
            with us.torch.emulate("float64"):
                nn.Linear(2, 2)(torch.ones(1, 2))

        for fails, words in ((closed, "closure"), (twice, "create_graph"), (narrow, "weight weight is bfloat16"), (not_wide, r"is float32; under float64 .* call double\(\)"),
                             (lambda: us.torch.emulate("bf16_amp", record="x", places=["gradient"]), "gradients, input"),
                             (lambda: us.torch.emulate("bf16_amp", every=0), "every 0")):  # fmt: skip
            with self.assertRaisesRegex(us.Error, words) as raised:
                fails()
            self.assertNotIn("\n", str(raised.exception))


def nn_weight():
    torch.manual_seed(0)
    return nn.Linear(4, 3).weight.detach()


class Ends(unittest.TestCase):
    def test_a_program_that_ends_with_its_graph_says_nothing(self):
        code = """import torch, ulpscope as us
layer = torch.nn.Linear(8, 8)
with us.torch.emulate("bf16_amp") as run:
    loss = layer(torch.ones(2, 8)).sum()
print(run)"""
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual((out.stdout, out.stderr), ("<bf16_amp: 0 steps, 0 findings>\n", ""))


class Recorded(unittest.TestCase):
    def test_operands_and_results_of_products(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        own = torch.optim.SGD(model.parameters(), lr=0.1)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.safetensors")
            places = ["gradients", "input", "weight", "output", "grad_output", "grad_input", "grad_weight"]
            with us.torch.emulate("fp8_current", record=path, places=places, every=2):
                for step in range(3):
                    own.zero_grad()
                    x = torch.randn(5, 4)
                    weight = model[2].weight.detach().clone()
                    model(x).square().sum().backward()
                    own.step()
            rows = us.census(path, to=["e4m3"])["tensor"]
            names = {name.split(":")[-1] for name in rows}
            layer = lambda s, i: {f"{s}/{i}/{p}" for p in places[1:]} | {f"{s}/{i}.weight", f"{s}/{i}.bias"}  # noqa: E731
            self.assertEqual(names, layer(0, 0) - {"0/0/grad_input"} | layer(2, 0) - {"2/0/grad_input"} | layer(0, 2) | layer(2, 2))
            kept = us.round(weight, "float32")
            mine = us.census(kept.numpy(), to=["e4m3"]).rows[0][1:]
            theirs = next(row for row in us.census(path, to=["e4m3"]).rows if row[0].endswith("2/2/weight"))[1:]
            self.assertEqual(mine, theirs)
            self.assertEqual(len(us.sweep(path, to="fp16", log2_scale=range(2))), 2 * len(names))


if __name__ == "__main__":
    unittest.main()
