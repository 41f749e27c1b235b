#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of torch under a recipe. Without torch it is skipped by name (exit code 4).

usage: torch_test.py, with the package on PYTHONPATH"""
import pathlib
import subprocess
import sys
import unittest
import warnings

try:
    import torch
except ImportError:
    print("python_torch: skipped: no torch")
    sys.exit(4)
import numpy as np
import ulpscope as us
import ulpscope.torch
from torch import nn

torch.set_num_threads(2)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(32, 50)

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x)))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, stride=1), nn.SiLU(),
            nn.Flatten(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 50),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


def transformer():
    torch.manual_seed(0)
    return Transformer(), torch.randint(0, 50, (4, 8)), torch.randint(0, 50, (32,))


def images():
    torch.manual_seed(0)
    return Images(), torch.randn(32, 1, 8, 8), torch.randint(0, 50, (32,))


def losses(made, recipe, optimizer, steps=4, forced=False):
    """Losses, final weights and the run; `forced`: float32 through the emulation, too."""
    model, x, y = made()
    own = optimizer(model.parameters())
    block, all_losses = us.torch.emulate(recipe), []
    block._plain = block._plain and not forced
    with block as run:
        for _ in range(steps):
            own.zero_grad()
            loss = nn.functional.cross_entropy(model(x).reshape(-1, 50), y)
            loss.backward()
            own.step()
            all_losses.append(loss.item())
    return all_losses, [p.detach().clone() for p in model.parameters()], run


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-2),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-2),
}


class Emulated(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("error")

    def test_float32_is_torch_itself(self):
        for made in (transformer, images):
            model, x, y = made()
            own = OPTIMIZERS["adamw"](model.parameters())
            expected = []
            for _ in range(4):
                own.zero_grad()
                loss = nn.functional.cross_entropy(model(x).reshape(-1, 50), y)
                loss.backward()
                own.step()
                expected.append(loss.item())
            self.assertEqual(losses(made, "float32", OPTIMIZERS["adamw"])[0], expected)

    def test_in_float32_the_emulation_computes_what_torch_does(self):
        for made in (transformer, images):
            for name, optimizer in OPTIMIZERS.items():
                plain, weights, _ = losses(made, "float32", optimizer)
                ours, our_weights, run = losses(made, "float32", optimizer, forced=True)
                self.assertEqual(run.unknown, [], name)
                np.testing.assert_allclose(ours, plain, rtol=2e-6)
                self.assertNotEqual(ours[0], 0)
                if name != "sgd":  # Adam makes whole steps of gradients that are zero but for rounding: those of the keys' biases
                    continue
                for a, b in zip(our_weights, weights):
                    np.testing.assert_allclose(a, b, atol=2e-6)

    def test_every_function_and_its_gradients(self):
        F = nn.functional
        torch.manual_seed(2)
        x, y, w = torch.rand(3, 4, 6) + 0.5, torch.randn(3, 6, 5), torch.randn(6)
        one_of_six, image, kernel = torch.tensor([1, 5, 0, 2]), torch.randn(2, 3, 6, 6), torch.randn(4, 3, 3, 3)
        functions = [
            lambda x, y, w: x + w, lambda x, y, w: x + 2, lambda x, y, w: 2 + x, lambda x, y, w: x - w, lambda x, y, w: w - x,
            lambda x, y, w: x - 3, lambda x, y, w: 3 - x, lambda x, y, w: x * w, lambda x, y, w: 0.3 * x, lambda x, y, w: x / w,
            lambda x, y, w: x / 3, lambda x, y, w: 3 / x, lambda x, y, w: (x * 1).add_(w), lambda x, y, w: torch.mul(x, x),
            lambda x, y, w: x.exp(), lambda x, y, w: x.log(), lambda x, y, w: x.sqrt(), lambda x, y, w: torch.square(x),
            lambda x, y, w: F.relu(x - 1), lambda x, y, w: torch.sigmoid(x), lambda x, y, w: x.tanh(), lambda x, y, w: F.gelu(x),
            lambda x, y, w: F.silu(x), lambda x, y, w: x.sum(), lambda x, y, w: x.mean(1), lambda x, y, w: x.sum(-1, keepdim=True),
            lambda x, y, w: x.softmax(-1), lambda x, y, w: F.log_softmax(x, 1), lambda x, y, w: F.layer_norm(x, (6,), w, w),
            lambda x, y, w: F.layer_norm(x, (6,)), lambda x, y, w: F.rms_norm(x, (6,), w, 1e-5), lambda x, y, w: x @ y,
            lambda x, y, w: x @ w, lambda x, y, w: w @ y, lambda x, y, w: x @ y[0], lambda x, y, w: x[0] @ y,
            lambda x, y, w: torch.addmm(y[0, 0], x[0], y[0]), lambda x, y, w: F.linear(x, y[0].t()),
            lambda x, y, w: F.linear(w, y[0].t(), y[0, 0]), lambda x, y, w: F.conv2d(image, kernel * w[0], stride=2, padding=1),
            lambda x, y, w: F.max_pool2d(image * w[0], 3), lambda x, y, w: F.embedding(one_of_six, y[0]),
            lambda x, y, w: F.scaled_dot_product_attention(x, x, x * w), lambda x, y, w: F.mse_loss(x, x * w),
            lambda x, y, w: F.scaled_dot_product_attention(x, x, x * w, is_causal=True),
            lambda x, y, w: F.scaled_dot_product_attention(x, x, x, attn_mask=w[:4]),
            lambda x, y, w: torch.baddbmm(y[:, :4], x, y, beta=0.5, alpha=2), lambda x, y, w: torch.addbmm(y[0, :4], x, y, beta=0),
            lambda x, y, w: torch.mv(y[0].t(), w), lambda x, y, w: torch.dot(w, w), lambda x, y, w: torch.addmv(w[:4], x[0], w),
            lambda x, y, w: torch.einsum("bij,bjk->bik", x, y), lambda x, y, w: torch.einsum("bij,bjk->ik", x, y),
            lambda x, y, w: torch.einsum("bij,j->ib", x, w), lambda x, y, w: torch.einsum("bij,bjk,j", x, y, w),
            lambda x, y, w: torch.einsum("i,j->ij", w, w), lambda x, y, w: torch.einsum("bij->jb", x), lambda x, y, w: -x,
            lambda x, y, w: x**2, lambda x, y, w: x.pow(0.5), lambda x, y, w: x.mean((0, 2)), lambda x, y, w: x.sum((0, 1), keepdim=True),
            lambda x, y, w: F.conv2d(image, kernel * w[0], padding=(2, 1)), lambda x, y, w: F.conv1d(x, y[0, :4, :3].reshape(1, 4, 3), padding=1),
            lambda x, y, w: F.conv2d(torch.cat([image, image], 1), kernel * w[0], y[0, 0, :4], groups=2),
            lambda x, y, w: F.batch_norm(y, None, None, w, w, training=True), lambda x, y, w: F.group_norm(x, 2, w[:4], w[:4]),
            lambda x, y, w: F.group_norm(y, 3), lambda x, y, w: F.instance_norm(x), lambda x, y, w: F.adaptive_avg_pool2d(image * w[0], 1),
            lambda x, y, w: F.cross_entropy(x * w[0], one_of_six[:3, None].expand(3, 6) % 4),
            lambda x, y, w: F.cross_entropy(x[0] * w, one_of_six, ignore_index=5),
            lambda x, y, w: F.scaled_dot_product_attention(x[:, None], x[:, None, :, :], x[:, None] * w, attn_mask=torch.eye(4).bool()),
            lambda x, y, w: F.cross_entropy(x[0] * w, one_of_six), lambda x, y, w: F.binary_cross_entropy_with_logits(x * w, x / 2),
        ]  # fmt: skip
        for i, function in enumerate(functions):
            both = []
            for forced in (False, True):
                leaves = [t.clone().requires_grad_() for t in (x, y, w)]
                block = us.torch.emulate("float32")
                block._plain = not forced
                with block as run:
                    out = function(*leaves)
                self.assertEqual(run.unknown, [], i)
                torch.manual_seed(i)
                out.backward(torch.randn(out.shape))
                both.append([out.detach(), *(t.grad for t in leaves)])
                self.assertEqual(len(run.census()) > 0, forced, i)
            for plain, ours in zip(*both):
                self.assertEqual(plain is None, ours is None, i)
                if plain is not None:
                    self.assertEqual(plain.shape, ours.shape, i)
                    np.testing.assert_allclose(ours, plain, rtol=3e-5, atol=3e-6, err_msg=str(i))

    def test_every_recipe_runs_and_repeats_its_bits(self):
        for recipe in us.recipes():
            if recipe in ("float32", "float64"):
                continue
            first = losses(transformer, recipe, OPTIMIZERS["adamw"], 2)
            again = losses(transformer, recipe, OPTIMIZERS["adamw"], 2)
            self.assertEqual(first[0], again[0], recipe)
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(first[1], again[1])), recipe)
            self.assertEqual(first[2].unknown, [])
        with self.assertRaisesRegex(us.Error, "fp8_deepseek"):
            us.torch.emulate("fp8_deepsek")

    def test_a_product_is_the_engines(self):
        torch.manual_seed(1)
        layer, x = nn.Linear(40, 24, bias=False), torch.randn(16, 40)
        for recipe, to in (("bf16_amp", "bf16"), ("fp16_amp", "fp16")):
            with us.torch.emulate(recipe) as run:
                y = layer(x)
            engine = run.census()["format"]
            self.assertEqual(set(engine), {us.Format(to).name})
            product = us.matmul(x.numpy(), layer.weight.detach().numpy().T.copy(), engine="sm_90", in_=to, out=to)
            np.testing.assert_array_equal(y.detach().numpy(), product)
            self.assertFalse(np.array_equal(product, layer(x).detach().numpy()))

    def test_the_census_names_layers_in_both_directions(self):
        run = losses(transformer, "fp8_deepseek", OPTIMIZERS["adamw"], 2)[2]
        table = run.census()
        places = {
            (step, layer, place): word
            for step, layer, operation, place, word in zip(
                table["step"], table["layer"], table["operation"], table["place"], table["format"]
            )
            if operation == "linear"
        }
        for layer in ("head", "encoder.layers.0.linear1", "encoder.layers.1.self_attn.in_proj"):
            for place in ("input", "weight", "grad_output"):
                self.assertEqual(places[(1, layer, place)], "float8_e4m3fn")

        layers = {}
        for layer, operation in zip(table["layer"], table["operation"]):
            layers.setdefault(operation, set()).add(layer)
        self.assertEqual(layers["cross_entropy"], {""})  # it is in no module
        self.assertEqual(layers["gelu"], {"encoder.layers.0", "encoder.layers.1"})
        self.assertEqual(layers["gather"], {"embedding"})

    def test_gradients_are_there_after_the_step(self):
        layer = nn.Linear(3, 2)
        own = OPTIMIZERS["adam"](layer.parameters())
        with us.torch.emulate("bf16_amp"):
            layer(torch.ones(1, 3)).sum().backward()
            before = layer.weight.grad.clone()
            own.step()
        self.assertTrue(torch.equal(layer.weight.grad, before))

    def test_what_overflows_is_found(self):
        torch.manual_seed(1)
        layer = nn.Linear(8, 8)
        with torch.no_grad():
            layer.weight.mul_(1e4)
        with us.torch.emulate("fp16_amp") as run:
            layer(torch.full((4, 8), 1e3)).sum().backward()
        self.assertIn("overflow", run.findings()["finding"])

    def test_operands_by_keyword(self):
        x, w, q, c = torch.randn(4, 16), torch.randn(8, 16), torch.randn(2, 2, 5, 8), torch.randn(8)
        image, kernel = torch.randn(1, 2, 8, 8), torch.randn(3, 2, 3, 3)
        for named, plain in (
                (lambda: x.sum(axis=1), lambda: x.sum(1)),
                (lambda: torch.mean(x, axis=(0, 1)), lambda: torch.mean(x, (0, 1))),
                (lambda: nn.functional.linear(input=x, weight=w), lambda: nn.functional.linear(x, w)),
                (lambda: nn.functional.scaled_dot_product_attention(query=q, key=q, value=q),
                 lambda: nn.functional.scaled_dot_product_attention(q, q, q)),
                (lambda: torch.matmul(input=x, other=w.t()), lambda: torch.matmul(x, w.t())),
                (lambda: torch.mm(x, mat2=w.t()), lambda: torch.mm(x, w.t())),
                (lambda: torch.addmm(c, x, mat2=w.t()), lambda: torch.addmm(c, x, w.t())),
                (lambda: torch.addmm(input=c, mat1=x, mat2=w.t()), lambda: torch.addmm(c, x, w.t())),
                (lambda: nn.functional.conv2d(input=image, weight=kernel), lambda: nn.functional.conv2d(image, kernel)),
                (lambda: torch.softmax(input=x, dim=-1), lambda: torch.softmax(x, -1)),
                (lambda: x.sub(other=x + 1), lambda: x.sub(x + 1))):
            with us.torch.emulate("bf16_amp") as run:
                out = named(), plain()
            self.assertEqual(run.unknown, [])
            self.assertTrue(torch.equal(*out))

    def test_errors_of_torch_stay_errors(self):
        x = torch.randn(4, 16)
        with us.torch.emulate("bf16_amp"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for call in (lambda: x.sum(7), lambda: x.softmax(5), lambda: nn.functional.linear(x, nonsense=1)):
                with self.assertRaises((IndexError, TypeError)):
                    call()
            self.assertEqual(x.mean(dim=None, keepdim=True).shape, (1, 1))

    def test_activations_in_place_write_there(self):
        class Before(nn.Module):
            def __init__(self, activation):
                super().__init__()
                self.activation, self.linear = activation, nn.Linear(16, 16)

            def forward(self, x):
                x = x + 0.0
                return x + self.linear(self.activation(x))

        for activation in nn.ReLU(inplace=True), nn.SiLU(inplace=True):
            model, x = Before(activation), torch.randn(4, 16, requires_grad=True)
            gradients = []
            for _ in range(2):
                out = model(x)
                gradients.append(torch.autograd.grad(out.square().sum(), x)[0])
                with us.torch.emulate("tf32") as run:
                    emulated = model(x)
                    gradients.append(torch.autograd.grad(emulated.square().sum(), x)[0])
                self.assertEqual(run.unknown, [])
                torch.testing.assert_close(emulated, out, rtol=1e-2, atol=1e-2)
            torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-2, atol=5e-2)

    def test_whole_numbers_of_torch_are_taken(self):
        self.assertEqual(us.decode(torch.tensor([0x38], dtype=torch.uint8), "e4m3").tolist(), [1])
        self.assertEqual(us.round(torch.tensor([17]), "e4m3").tolist(), [16])
        a, b = torch.randint(-128, 128, (8, 16), dtype=torch.int8), torch.randint(-128, 128, (16, 8), dtype=torch.int8)
        d = a.int() @ b.int()
        self.assertTrue(us.verify.matmul(d, a, b, acc="int32").passed)
        d[1, 2] += 1
        self.assertFalse(us.verify.matmul(d, a, b, acc="int32").passed)
        self.assertEqual(len(us.census(nn.BatchNorm1d(2).state_dict(), to="fp16").rows), 4)

    def test_what_nobody_knows_is_named_once(self):
        warnings.simplefilter("always")
        x = torch.randn(4, 4, requires_grad=True)
        with warnings.catch_warnings(record=True) as told, us.torch.emulate("bf16_amp") as run:
            torch.cumsum(x, 0)
            torch.cumsum(x, 1)
        self.assertEqual(run.unknown, ["cumsum"])
        self.assertEqual(len(told), 1)
        self.assertIn("cumsum", str(told[0].message))

    def test_nothing_stays_behind(self):
        model, x, _ = transformer()
        before = model(x)
        with self.assertRaises(KeyError), us.torch.emulate("fp8_deepseek"):
            model(x)
            raise KeyError
        self.assertTrue(torch.equal(model(x), before))
        self.assertEqual(len(torch.nn.modules.module._global_forward_pre_hooks), 0)


class Examples(unittest.TestCase):
    def lines(self, name):
        file = pathlib.Path(__file__).parents[2] / "examples" / "python" / name
        out = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300)
        self.assertEqual(out.returncode, 0, out.stderr)
        return out.stdout.splitlines()

    def test_nvfp4_loses_gradients(self):
        lines = self.lines("emulate_a_model.py")
        self.assertEqual([line.split(":")[0] for line in lines if not line.startswith(" ")], ["float32", "fp8_deepseek", "nvfp4"])
        self.assertIn("gradient_underflow", "\n".join(lines))

    def test_the_layer_with_outliers_does_not_survive_fp8(self):
        lines = self.lines("layers_that_survive_fp8.py")
        self.assertRegex(lines[1], r"^encoder.layers.1.linear1 +[23]\d\.\d % +[56]\d\.\d %  input in step 0$")
        self.assertEqual(len(lines), 1 + 9 + 1)


class Scalers(unittest.TestCase):
    def test_the_scaler_of_pytorch_is_torchs(self):
        """torch.amp.GradScaler itself, over steps some of whose gradients are infinite or NaN."""
        random = np.random.default_rng(3)
        for options in ({}, {"growth_interval": 3}, {"init_scale": 2.0**20, "growth_factor": 4.0, "backoff_factor": 0.25, "growth_interval": 1}):
            theirs = torch.amp.GradScaler("cpu", **options)
            words = ",".join(f"{key}={value:g}" if value < 1e6 else f"{key}=2^20" for key, value in options.items())
            ours = us.scaler("pytorch" + (":" + words if words else ""))
            weight = torch.ones(3, requires_grad=True)
            optimizer = torch.optim.SGD([weight], lr=1e-9)
            skipped = 0
            for step in range(60):
                optimizer.zero_grad()
                theirs.scale((weight * 1e-3).sum()).backward()
                bad = random.random() < 0.3
                if bad:
                    weight.grad[step % 3] = [float("inf"), float("nan"), -float("inf")][step % 3]
                self.assertEqual(ours.scale, theirs.get_scale(), (options, step))
                before = weight.detach().clone()
                theirs.step(optimizer)
                theirs.update()
                skips = ours.step(found_inf=bad)
                self.assertEqual(skips, bool(torch.equal(weight.detach(), before)) and bad)
                skipped += skips
            self.assertGreater(skipped, 5)


if __name__ == "__main__":
    unittest.main()
