#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Blocks of emulation: one after the other, one within another, in other threads, and an optimizer's own state across them. Without
torch it is skipped by name (exit code 4).

usage: torch_blocks_test.py, with the package on PYTHONPATH"""
import sys
import threading
import unittest
import warnings

try:
    import torch
except ImportError:
    print("python_torch_blocks: skipped: no torch")
    sys.exit(4)
import ulpscope as us
import ulpscope.torch
from torch import nn

torch.set_num_threads(2)
OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-2),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-2, fused=True),
}
if hasattr(torch.optim, "Muon"):
    OPTIMIZERS["muon"] = lambda parameters: torch.optim.Muon([p for p in parameters if p.dim() == 2], lr=1e-2)


class Trained:
    """A layer and its optimizer, which step together."""

    def __init__(self, optimizer):
        torch.manual_seed(0)
        self.model, self.x, self.y = nn.Linear(16, 4), torch.randn(8, 16), torch.randint(0, 4, (8,))
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())

    def step(self, times=1):
        for _ in range(times):
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.model(self.x), self.y).backward()
            self.optimizer.step()

    @property
    def weight(self):
        return self.model.weight.detach().clone()


class Blocks(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("error")

    def trained(self, optimizer, steps_of_blocks, recipe="bf16_amp", reloaded=False):
        trained = Trained(optimizer)
        for steps in steps_of_blocks:
            with us.torch.emulate(recipe):
                trained.step(steps)
                state = trained.optimizer.state_dict()
            if reloaded:
                trained.optimizer = OPTIMIZERS[optimizer](trained.model.parameters())
                trained.optimizer.load_state_dict(state)
        return trained

    def test_moments_are_the_optimizers_own(self):
        for optimizer in OPTIMIZERS:
            with self.subTest(optimizer):
                whole = self.trained(optimizer, [4]).weight
                self.assertTrue(torch.equal(whole, self.trained(optimizer, [1, 1, 2]).weight))
                self.assertTrue(torch.equal(whole, self.trained(optimizer, [1, 1, 2], reloaded=True).weight))
                parted = Trained(optimizer)  # which moments are lost by in each block: they matter
                for _ in range(4):
                    parted.optimizer.state.clear()
                    with us.torch.emulate("bf16_amp"):
                        parted.step()
                self.assertFalse(torch.equal(whole, parted.weight))

    def test_torch_goes_on_from_a_block_and_a_block_from_torch(self):
        for optimizer in ("sgd", "adam", "adamw"):  # muon's iteration is rounded elsewhere
            with self.subTest(optimizer):
                torchs = Trained(optimizer)
                torchs.step(6)
                mixed = Trained(optimizer)
                block = us.torch.emulate("float32")
                block._plain = False  # torch's operations by the laboratory, in float32
                mixed.step(2)
                with block:
                    mixed.step(2)
                mixed.step(2)
                torch.testing.assert_close(mixed.weight, torchs.weight, rtol=1e-5, atol=1e-6)
                forgotten = Trained(optimizer)
                forgotten.step(2)
                forgotten.optimizer.state.clear()
                forgotten.step(4)
                self.assertGreater(float((forgotten.weight - torchs.weight).abs().max()), 1e-4)

    def test_names_of_torch(self):
        self.assertEqual(set(self.trained("adam", [1]).optimizer.state_dict()["state"][0]), {"step", "exp_avg", "exp_avg_sq"})
        self.assertEqual(set(self.trained("sgd", [1]).optimizer.state_dict()["state"][0]), {"momentum_buffer"})
        kahan = self.trained("sgd", [1], "bf16_kahan").optimizer.state_dict()["state"][0]
        self.assertEqual(set(kahan), {"momentum_buffer", "compensation"})

    def test_a_block_within_a_block_counts_alone(self):
        trained = Trained("adam")
        alone = {recipe: self.trained("adam", [1], recipe).weight for recipe in ("bf16_pure", "fp8_current")}
        torchs = Trained("adam")
        torchs.step()
        for inner, expected in (("float32", torchs.weight), ("fp8_current", alone["fp8_current"])):
            trained = Trained("adam")
            with us.torch.emulate("bf16_pure") as outer:
                with us.torch.emulate(inner) as run:
                    trained.step()
                self.assertEqual(len(outer.census()), 0)
                self.assertTrue(torch.equal(trained.weight, expected), inner)
                self.assertEqual(run.unknown, [])
        trained = Trained("adam")
        with us.torch.emulate("bf16_pure"):
            with us.torch.emulate("float32"):
                pass
            trained.step()
        self.assertTrue(torch.equal(trained.weight, alone["bf16_pure"]))

    def test_another_thread_is_said_not_to_be_emulated(self):
        trained, caught = Trained("adam"), []
        torchs = Trained("adam")
        torchs.step()

        def work():
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                trained.step(1)
            caught.extend(str(one.message) for one in found)

        with us.torch.emulate("bf16_pure") as run:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        self.assertEqual(run.unknown, ["another thread"])
        self.assertEqual(len([one for one in caught if "a block is for the thread that enters it" in one]), 1)
        self.assertTrue(torch.equal(trained.weight, torchs.weight))

    def test_bad_words(self):
        for call in (lambda: us.torch.emulate("bf16_amp", seed=-1), lambda: us.torch.emulate("bf16_amp", seed=None),
                     lambda: us.torch.emulate("bf16_amp", seed=1.5), lambda: us.torch.emulate("bf16_amp", seed=2**64)):
            with self.assertRaisesRegex(us.Error, r"^emulate: seed .*; give a whole number from 0 to \d+$"):
                call()
        with self.assertRaisesRegex(TypeError, "^emulate: None is no recipe's name or path$"):
            us.torch.emulate(None)


class Masked(unittest.TestCase):
    def test_a_row_that_is_masked_altogether_is_zero_as_in_torch(self):
        torch.manual_seed(0)
        for mask in (torch.tensor([[True, False, True], [False, False, False]]), torch.tensor([[0.0, 0, 0], [float("-inf")] * 3])):
            outs, gradients = [], []
            for emulated in False, True:
                torch.manual_seed(1)
                q, k, v = (torch.randn(1, 2, n, 8, requires_grad=True) for n in (2, 3, 3))
                block = us.torch.emulate("float32")
                block._plain = not emulated
                with block:
                    out = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
                    out.square().sum().backward()
                outs.append(out.detach())
                gradients.append([t.grad for t in (q, k, v)])
            self.assertEqual(float(outs[1][..., 1, :].abs().max()), 0)
            torch.testing.assert_close(*outs)
            torch.testing.assert_close(*gradients)

    def test_a_layer_of_attention_gives_what_torch_does(self):
        torch.manual_seed(0)
        layer, x = nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(1, 3, 8)
        mask = torch.tensor([[False, False, False], [True, True, True], [False, True, False]])
        for need_weights in False, True:
            expected = layer(x, x, x, attn_mask=mask, need_weights=need_weights)[0]
            block = us.torch.emulate("float32")
            block._plain = False
            with block:
                out = layer(x, x, x, attn_mask=mask, need_weights=need_weights)[0]
            torch.testing.assert_close(out, expected, equal_nan=True)

    def test_embeddings_are_asked_for_whole_numbers(self):
        with us.torch.emulate("bf16_amp"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaises((RuntimeError, TypeError)):
                nn.functional.embedding(torch.tensor([0.5]), torch.randn(3, 4, requires_grad=True))


if __name__ == "__main__":
    unittest.main()
