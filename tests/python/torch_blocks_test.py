#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Blocks of emulation: one after the other, one within another, in other threads, and an optimizer's own state across them. Without
torch it is skipped by name (exit code 4).

usage: torch_blocks_test.py, with the package on PYTHONPATH"""
import sys
import tempfile
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

    def test_a_block_is_entered_once_at_a_time(self):
        block, model = us.torch.emulate("bf16_pure"), nn.Linear(2, 2)
        with block:
            with self.assertRaisesRegex(us.Error, "^emulate: the block is entered already"), block:
                pass
            model(torch.ones(1, 2))
        self.assertEqual(len(torch.nn.modules.module._global_forward_pre_hooks), 0)
        x = torch.randn(1, 2)
        with block:
            inside = model(x)
        self.assertFalse(torch.equal(inside, model(x)))

    def test_a_recording_is_written_once(self):
        with tempfile.TemporaryDirectory() as folder:
            block = us.torch.emulate("bf16_amp", record=folder + "/g.safetensors")
            with block:
                Trained("adam").step()
            with self.assertRaisesRegex(us.Error, "^emulate: record: .*g.safetensors was written by this block before"), block:
                pass

    def test_an_optimizer_that_raises_ends_its_step(self):
        class Raises(torch.optim.SGD):
            def step(self, closure=None):
                raise ZeroDivisionError("of mine")

        trained, x = Trained("adam"), torch.randn(8, 16)
        optimizer = Raises(trained.model.parameters(), lr=1.0)
        with us.torch.emulate("bf16_amp") as run, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = trained.model(x)
            with self.assertRaises(ZeroDivisionError):
                optimizer.step()
            self.assertTrue(torch.equal(trained.model(x), expected))
        self.assertEqual((run.unknown, run._busy), (["Raises"], 0))

    def test_gradients_of_a_closure_are_those_of_its_step(self):
        layer = nn.Linear(4, 1, bias=False)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/g.safetensors"
            with us.torch.emulate("float32", record=path):
                for k in range(3):
                    def closure():
                        optimizer.zero_grad()
                        loss = (layer(torch.ones(1, 4)) * (k + 1)).sum()
                        loss.backward()
                        return loss

                    optimizer.step(closure)
            table = us.census(path, to="fp16")
            self.assertEqual((table["tensor"], table["max_abs_input"]), ([f"{path}:{k}/weight" for k in range(3)], [1, 2, 3]))

    def test_bad_words(self):
        for call in (lambda: us.torch.emulate("bf16_amp", seed=-1), lambda: us.torch.emulate("bf16_amp", seed=None),
                     lambda: us.torch.emulate("bf16_amp", seed=1.5), lambda: us.torch.emulate("bf16_amp", seed=2**64)):
            with self.assertRaisesRegex(us.Error, r"^emulate: seed .*; give a whole number from 0 to \d+$"):
                call()
        with self.assertRaisesRegex(TypeError, "^emulate: None is no recipe's name or path$"):
            us.torch.emulate(None)


class Backward(unittest.TestCase):
    """What is computed while gradients are."""

    def setUp(self):
        warnings.simplefilter("error")

    def gradient(self, recipe, call):
        torch.manual_seed(0)
        model = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.GELU(), nn.Softmax(-1))
        x, v = torch.randn(2, 8, 16)
        x.requires_grad_()
        with us.torch.emulate(recipe) as run:
            call(model, x, v)
        return [x.grad, *(p.grad for p in model.parameters())], run

    def same(self, a, b):
        return all(torch.equal(x, y) for x, y in zip(a, b))

    def test_checkpoints_are_computed_again_as_they_were(self):
        from torch.utils.checkpoint import checkpoint

        for recipe in "bf16_pure", "fp8_current", "mxfp8":
            plain, _ = self.gradient(recipe, lambda model, x, v: model(x).backward(v))
            for reentrant in True, False:
                again, run = self.gradient(recipe, lambda model, x, v: checkpoint(model, x, use_reentrant=reentrant).backward(v))
                self.assertEqual(run.unknown, [])
                self.assertTrue(self.same(plain, again), (recipe, reentrant))
        self.assertFalse(self.same(plain, self.gradient("float32", lambda model, x, v: model(x).backward(v))[0]))

    def test_every_way_to_ask_for_gradients(self):
        plain, _ = self.gradient("bf16_pure", lambda model, x, v: model(x).backward(v))

        def by_grad(model, x, v):
            wanted = [x, *model.parameters()]
            for p, gradient in zip(wanted, torch.autograd.grad([model(x)], wanted, grad_outputs=[v])):
                p.grad = gradient

        def in_parts(model, x, v):
            y = model(x)
            y.backward(gradient=v, retain_graph=True, inputs=[x])
            torch.autograd.backward([y], [v], inputs=list(model.parameters()))

        self.assertTrue(self.same(plain, self.gradient("bf16_pure", in_parts)[0]))
        self.assertTrue(torch.equal(plain[0], self.gradient("bf16_pure", by_grad)[0][0]))

    def test_functions_of_ones_own_and_hooks_are_seen(self):
        class Own(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * torch.tanh(x)

        x = torch.randn(8, 8, requires_grad=True)
        with us.torch.emulate("bf16_pure") as run, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = Own.apply(x)
            y.register_hook(lambda g: torch.sinh(g))
            y.backward(torch.ones(8, 8))
        self.assertIn("sinh", run.unknown)
        self.assertIn("tanh", run.census()["operation"])

    def test_nothing_at_all(self):
        for call in (lambda m, x: m(x).sum(), lambda m, x: nn.functional.linear(x, m.weight).sum(), lambda m, x: m(x).softmax(-1).mean(0).sum(),
                     lambda m, x: torch.zeros(3, 4).index_add(0, torch.zeros(0, dtype=torch.long), m(x)).sum()):
            found = []
            for recipe in "float32", "bf16_pure":
                torch.manual_seed(0)
                layer = nn.Linear(4, 4)
                with us.torch.emulate(recipe), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    loss = call(layer, torch.zeros(0, 4))
                    loss.backward()
                found.append([p.grad for p in layer.parameters()])
            for plain, emulated in zip(*found):
                self.assertEqual(plain is None, emulated is None)
                if plain is not None:
                    torch.testing.assert_close(emulated, plain, equal_nan=True)

    def test_a_row_of_padding_is_not_trained(self):
        for padding in -1, 0, 4:
            gradients = []
            for recipe in "float32", "bf16_pure":
                torch.manual_seed(0)
                table = torch.randn(5, 4, requires_grad=True)
                with us.torch.emulate(recipe) as run:
                    nn.functional.embedding(torch.tensor([[4, 1], [0, 1]]), table, padding_idx=padding).sum().backward()
                gradients.append(table.grad)
                self.assertEqual(run.unknown, [])
            self.assertTrue(torch.equal(*gradients), padding)

    def test_what_nobody_knows_is_named_without_gradients_too(self):
        model = nn.Sequential(nn.Linear(10, 16), nn.ELU(), nn.Linear(16, 3))
        with us.torch.emulate("bf16_pure") as run, torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model(torch.randn(8, 10)).abs()
        self.assertEqual(run.unknown, ["elu", "abs"])

    def test_a_softmax_of_another_type_is_torchs(self):
        x = torch.randn(2, 3)
        with us.torch.emulate("bf16_pure") as run, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for softmax in (lambda dtype: torch.softmax(x, -1, dtype), lambda dtype: x.softmax(-1, dtype), lambda dtype: nn.functional.softmax(x, -1, dtype=dtype)):
                self.assertEqual(softmax(torch.float64).dtype, torch.float64)
                self.assertTrue(torch.equal(softmax(torch.float32), softmax(None)))
        self.assertEqual(run.unknown, ["softmax"])

    def test_weights_that_the_user_changes_are_said_to_be_torchs(self):
        layer = nn.Linear(4, 4)
        with us.torch.emulate("bf16_pure") as run, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer(torch.ones(2, 4)).sum().backward()
            with torch.no_grad():
                layer.weight.sub_(layer.weight.grad)
        self.assertEqual(run.unknown, ["sub_"])


class Tensorfloat(unittest.TestCase):
    def test_operands_are_cut_as_by_the_tensor_core(self):
        torch.manual_seed(0)
        x, w = torch.randn(16, 64), torch.randn(32, 64)
        with us.torch.emulate("tf32"):
            out = nn.functional.linear(x, w)
        for word, same in (("tf32", True), ("tf32:nearest", False)):
            self.assertEqual(torch.equal(us.matmul(x, w, transpose_b=True, in_=word, engine="sm_80"), out), same, word)


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
