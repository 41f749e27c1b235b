#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ulpscope.verify.expr and the command `verify expr`: kernels in numpy's float32, right and with one fault each, for every formula that is known
by name; the operations and gradients of torch and jax where they are installed. usage: expr_test.py PROGRAM"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import ml_dtypes
import numpy as np

import ulpscope as us

try:
    import torch
except ImportError:
    torch = None

os.environ.setdefault("JAX_PLATFORMS", "cpu")
try:
    import jax
except ImportError:
    jax = None

PROGRAM = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
F = np.float32


def draw(*shape, seed=0, scale=1.0):
    return (np.random.default_rng(seed + 100 * len(shape) + sum(shape)).normal(size=shape) * scale).astype(F)


def rounded(x, dtype):
    return x.astype(dtype).astype(F)


def run(*words, cwd=None):
    done = subprocess.run([PROGRAM, "verify", "expr", *words], cwd=cwd, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x):
    return F(1) / (F(1) + np.exp(-x))


def gelu(x):
    erf = np.vectorize(__import__("math").erf)
    return F(0.5) * x * (F(1) + erf(x.astype(float) / 2**0.5).astype(F))


def cases():
    """name -> (inputs, numbers, right output, wrong output), the wrong ones as kernels get them wrong."""
    gate, up, x, w, b = draw(16, 64), draw(16, 64, seed=1), draw(16, 64, seed=2), draw(32, 64, scale=0.2), draw(32)
    logits, labels = draw(16, 50, scale=3), np.random.default_rng(1).integers(0, 50, 16).astype(F)
    shifted = logits - logits.max(-1, keepdims=True)
    losses = np.log(np.exp(shifted).sum(-1)) - shifted[np.arange(16), labels.astype(int)]
    angles = np.outer(np.arange(16), 10000.0 ** (-np.arange(32) / 32)).astype(F)
    cos, sin = np.concatenate([np.cos(angles)] * 2, -1), np.concatenate([np.sin(angles)] * 2, -1)
    half = np.concatenate([-x[:, 32:], x[:, :32]], -1)
    dy, weight = draw(16, 64, seed=3), draw(64)
    q, k, v, do = draw(2, 8, 16, seed=4), draw(2, 12, 16, seed=5), draw(2, 12, 16, seed=6), draw(2, 8, 16, seed=7)
    scores = np.einsum("...ld,...sd->...ls", q, k) * F(0.25)
    p, dp = softmax(scores), np.einsum("...ld,...sd->...ls", do, v)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True))

    def rms_backward(eps):
        r = F(1) / np.sqrt((x * x).mean(-1, keepdims=True) + F(eps))
        g = dy * weight
        return r * (g - x * r * r * (g * x).mean(-1, keepdims=True))

    def layer_backward(of_mean):
        c = x - x.mean(-1, keepdims=True)
        r = F(1) / np.sqrt((c * c).mean(-1, keepdims=True) + F(1e-5))
        g, n = dy * weight, c * r
        return r * (g - of_mean * g.mean(-1, keepdims=True) - n * (g * n).mean(-1, keepdims=True))

    par, mom, grad, second = draw(1000), draw(1000, seed=8), draw(1000, seed=9), np.abs(draw(1000, seed=10)) + F(0.01)

    def adamw(eps_outside):
        root = np.sqrt(second) / np.sqrt(F(0.001))
        bottom = root + F(1e-8) if eps_outside else np.sqrt(second / F(0.001) + F(1e-2))
        return par * (F(1) - F(1e-3) * F(0.01)) - F(1e-3) / F(0.1) * mom / bottom

    scale = F(0.037)
    e4m3 = rounded(np.clip(x / scale, -448, 448), ml_dtypes.float8_e4m3fn)
    return {
        "swiglu": ({"gate": gate, "up": up}, {}, gate * sigmoid(gate) * up, up * sigmoid(up) * gate),
        "geglu": ({"gate": gate, "up": up}, {}, gelu(gate) * up, gate * sigmoid(F(1.702) * gate) * up),
        "linear_gelu": ({"x": x, "w": w, "b": b}, {}, gelu(x @ w.T + b), gelu(x @ w.T)),
        "linear_relu": ({"x": x, "w": w, "b": b}, {}, np.maximum(x @ w.T + b, 0), np.maximum(x @ w.T, 0) + b),
        "log_softmax": ({"x": logits}, {}, shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)),
                        shifted - np.log(np.exp(shifted[:, :-1]).sum(-1, keepdims=True))),
        "logsumexp": ({"x": logits}, {}, logits.max(-1) + np.log(np.exp(shifted).sum(-1)), np.log(np.exp(shifted).sum(-1))),
        "cross_entropy": ({"logits": logits, "labels": labels}, {}, losses, np.roll(losses, 1)),
        "rope": ({"x": x, "cos": cos, "sin": sin}, {}, x * cos + half * sin, x * cos - half * sin),
        "rms_norm_backward": ({"dy": dy, "x": x, "weight": weight}, {"eps": 1e-6}, rms_backward(1e-6), rms_backward(1e-3)),
        "layer_norm_backward": ({"dy": dy, "x": x, "weight": weight}, {}, layer_backward(F(1)), layer_backward(F(0))),
        "attention_backward_v": ({"q": q, "k": k, "do": do}, {"scale": 0.25}, np.einsum("...ls,...ld->...sd", p, do),
                                 np.einsum("...ls,...ld->...sd", softmax(scores / F(0.25)), do)),
        "attention_backward_q": ({"q": q, "k": k, "v": v, "do": do}, {"scale": 0.25}, np.einsum("...ls,...sd->...ld", ds, k) * F(0.25),
                                 np.einsum("...ls,...sd->...ld", ds, k)),
        # The wrong one leaves out the sum over a row, as a kernel does that takes p for the derivative of a softmax.
        "attention_backward_k": ({"q": q, "k": k, "v": v, "do": do}, {"scale": 0.25}, np.einsum("...ls,...ld->...sd", ds, q) * F(0.25),
                                 np.einsum("...ls,...ld->...sd", p * dp, q) * F(0.25)),
        "softmax_backward": ({"y": p, "dy": dp}, {}, ds, p * dp),
        "sgd_momentum": ({"p": par, "momentum": mom, "g": grad}, {"lr": 0.1, "weight_decay": 0.01},
                         par - F(0.1) * (F(0.9) * mom + grad + F(0.01) * par), par - F(0.1) * (F(0.9) * mom + F(0.1) * grad)),
        "adamw": ({"p": par, "m": mom, "v": second}, {"correction1": 0.1, "correction2": 0.001}, adamw(True), adamw(False)),
        "quantize_e4m3": ({"x": x, "scale": np.array(scale)}, {}, e4m3 * scale, x),
        "quantize_int8": ({"x": x, "scale": np.array(scale)}, {}, np.clip(np.rint(x / scale), -127, 127) * scale,
                          np.clip(np.trunc(x / scale), -127, 127) * scale),
        "cumsum": ({"x": x}, {}, np.cumsum(x, -1, dtype=F), np.cumsum(x, -1, dtype=F) - x),
    }


class Known(unittest.TestCase):
    def test_right_kernels_pass_and_wrong_ones_fail(self):
        known = {file.stem for file in (ROOT / "verify/expressions/library").glob("*.toml")}
        self.assertEqual(set(cases()), known)
        for name, (inputs, numbers, right, wrong) in cases().items():
            with self.subTest(name):
                verdict = us.verify.expr(right, name, input=inputs, let=numbers)
                self.assertTrue(verdict.passed, verdict.text)
                self.assertEqual(us.verify.expr(wrong, name, input=inputs, let=numbers).outcome, "fail")

    def test_bf16_outputs_too(self):
        for name, (inputs, numbers, right, wrong) in cases().items():
            if name in ("quantize_int8", "adamw"):  # whose faults are below the resolution of bfloat16
                continue
            with self.subTest(name):
                bf16 = right.astype(ml_dtypes.bfloat16)
                self.assertTrue(us.verify.expr(bf16, name, input=inputs, let=numbers), name)
                self.assertEqual(us.verify.expr(wrong.astype(ml_dtypes.bfloat16), name, input=inputs, let=numbers).outcome, "fail")


class RoundingPoints(unittest.TestCase):
    def test_a_kernel_rounds_where_the_formula_says_or_is_wrong(self):
        bf16 = ml_dtypes.bfloat16
        g, u = rounded(draw(4, 1000), bf16), rounded(draw(4, 1000, seed=1), bf16)
        outputs = {"silu(g) * u": rounded(g * sigmoid(g) * u, bf16), "bf16(silu(g)) * u": rounded(rounded(g * sigmoid(g), bf16) * u, bf16)}
        for said in outputs:
            for done, output in outputs.items():
                verdict = us.verify.expr(output, said, g=g, u=u, out="bf16")
                self.assertEqual(verdict.passed, said == done, (said, done))
        self.assertTrue(us.verify.expr(outputs["silu(g) * u"], "bf16: silu(g) * u", g=g, u=u, out="bf16"))

    def test_sums_in_half_precision(self):
        x = draw(8, 256, scale=0.1)
        total = np.zeros(8, np.float16)
        for column in x.T:
            total = (total + column.astype(np.float16)).astype(np.float16)
        self.assertFalse(us.verify.expr(total.astype(F), "sum(fp16(x), axis=-1)", x=x))
        self.assertTrue(us.verify.expr(total.astype(F), "fp16: sum(fp16(x), axis=-1)", x=x))


class Explained(unittest.TestCase):
    """Kernels that round where they do not say so."""

    def setUp(self):
        bf16 = ml_dtypes.bfloat16
        self.g, self.u, self.w = (rounded(draw(64, 128, seed=s), bf16) for s in (1, 2, 3))
        self.w = self.w[0]

    def outputs(self):
        """formula as claimed -> {formula with its roundings: output}"""
        r = lambda x: rounded(x, ml_dtypes.bfloat16)
        g, u, w = self.g, self.u, self.w
        root = F(1) / np.sqrt((g * g).mean(-1, keepdims=True) + F(1e-5))
        s, e = sigmoid(g), np.exp(g - g.max(-1, keepdims=True))
        return {
            "silu(g) * u": {"silu(g) * u": r(g * s * u), "bfloat16(silu(g)) * u": r(r(g * s) * u)},
            "g * rsqrt(mean(g * g, axis=-1, keepdims=true) + 1e-5) * w": {
                "bfloat16(g * rsqrt(mean(g * g, axis=-1, keepdims=true) + 1e-5)) * w": r(r(g * root) * w),
                "g * bfloat16(rsqrt(mean(g * g, axis=-1, keepdims=true) + 1e-5)) * w": r(g * r(root) * w),
                "bfloat16(g * bfloat16(rsqrt(mean(g * g, axis=-1, keepdims=true) + 1e-5))) * w": r(r(g * r(root)) * w)},
            "e = exp(g - max(g, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true) * u": {
                "e = bfloat16(exp(g - max(g, axis=-1, keepdims=true))); e / sum(e, axis=-1, keepdims=true) * u":
                    r(r(e) / r(e).sum(-1, keepdims=True) * u),
                "e = exp(g - max(g, axis=-1, keepdims=true)); bfloat16(e / sum(e, axis=-1, keepdims=true)) * u":
                    r(r(e / e.sum(-1, keepdims=True)) * u)},
        }

    def test_the_roundings_of_a_kernel_are_found(self):
        for claimed, outputs in self.outputs().items():
            for truth, output in outputs.items():
                with self.subTest(truth):
                    inputs = {name: getattr(self, name) for name in re.findall(r"\b[guw]\b", claimed)}
                    result = us.explain.expr(output, claimed, input=inputs, out="bf16")
                    if truth == claimed:
                        self.assertIn("it rounds where the formula does", result.text)
                        continue
                    self.assertEqual(result.tables[0]["formula"][1], truth, result.text)
                    self.assertIn(f"it is {truth}", result.text)
                    self.assertEqual(result.tables[0]["beyond"][1], 0)

    def test_a_rounding_that_was_left_out_is_found(self):
        output = rounded(self.g * sigmoid(self.g) * self.u, ml_dtypes.bfloat16)
        result = us.explain.expr(output, "bf16(silu(g)) * u", g=self.g, u=self.u, out="bf16")
        self.assertEqual((result.tables[0]["formula"][1], result.tables[0]["removed"][1]), ("silu(g) * u", 1))

    def test_what_no_rounding_explains_is_said(self):
        output = rounded(gelu(self.g) * self.u, ml_dtypes.bfloat16)
        result = us.explain.expr(output, "silu(g) * u", g=self.g, u=self.u, out="bf16")
        self.assertIn("no roundings of intermediate results explain it", result.text)


@unittest.skipIf(torch is None, "skipped: torch is not installed")
class Torch(unittest.TestCase):
    def check(self, output, formula, **inputs):
        as_numpy = lambda x: x.detach().numpy() if isinstance(x, torch.Tensor) else x
        verdict = us.verify.expr(as_numpy(output), formula, **{name: as_numpy(x) for name, x in inputs.items()})
        self.assertTrue(verdict.passed, formula + "\n" + verdict.text)

    def test_operations(self):
        f = torch.nn.functional
        x, w, b = (torch.tensor(a) for a in (draw(16, 64), draw(32, 64, scale=0.2), draw(32)))
        self.check(f.gelu(f.linear(x, w, b)), "linear_gelu", x=x, w=w, b=b)
        self.check(f.log_softmax(x, -1), "log_softmax", x=x)
        labels = torch.arange(16) % 64
        self.check(f.cross_entropy(x, labels, reduction="none"), "cross_entropy", logits=x, labels=labels.float())
        self.check(f.cross_entropy(x, labels), "s = x - max(x, axis=-1, keepdims=true); "
                   "mean(log(sum(exp(s), axis=-1)) - gather(s, labels))", x=x, labels=labels.float())
        self.check(torch.logsumexp(x, -1), "logsumexp", x=x)
        self.check(torch.cumsum(x, -1), "cumsum", x=x)
        self.check(f.relu(f.linear(x, w, b)), "linear_relu", x=x, w=w, b=b)
        gate, up = torch.tensor(draw(16, 64, seed=1)), torch.tensor(draw(16, 64, seed=2))
        self.check(f.silu(gate) * up, "swiglu", gate=gate, up=up)
        self.check(f.gelu(gate) * up, "geglu", gate=gate, up=up)
        angles = torch.outer(torch.arange(16.0), 10000.0 ** (-torch.arange(32) / 32)).repeat(1, 2)
        half = torch.cat((-x[:, 32:], x[:, :32]), -1)
        self.check(x * angles.cos() + half * angles.sin(), "rope", x=x, cos=angles.cos(), sin=angles.sin())
        scale = torch.tensor(0.037)
        e4m3 = (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
        self.check(e4m3.float() * scale, "quantize_e4m3", x=x, scale=scale)
        self.check((x / scale).round().clamp(-127, 127) * scale, "quantize_int8", x=x, scale=scale)
        self.check(f.huber_loss(x, x.flip(0), reduction="none"),
                   "d = x - y; where(abs(d) < 1, 0.5 * d * d, abs(d) - 0.5)", x=x, y=x.flip(0))
        self.check(f.mse_loss(x, x.flip(0)), "mean(square(x - y))", x=x, y=x.flip(0))
        self.check(f.group_norm(x.reshape(2, 8, 64), 4), "g = reshape(x, 2, 4, 128); c = g - mean(g, axis=-1, keepdims=true); "
                   "reshape(c * rsqrt(mean(c * c, axis=-1, keepdims=true) + 1e-5), 2, 8, 64)", x=x.reshape(2, 8, 64))
        self.check(torch.tril(x @ x.T), "s = einsum(\"ik,jk->ij\", x, x); where(positions(s, axis=1) <= positions(s, axis=0), s, 0)", x=x)

    def test_gradients(self):
        f = torch.nn.functional
        x, dy = torch.tensor(draw(16, 64), requires_grad=True), torch.tensor(draw(16, 64, seed=3))
        weight = torch.tensor(draw(64))
        f.layer_norm(x, (64,), weight).backward(dy)
        self.check(x.grad, "layer_norm_backward", dy=dy, x=x, weight=weight)
        x.grad = None
        f.rms_norm(x, (64,), weight, 1e-5).backward(dy)
        self.check(x.grad, "rms_norm_backward", dy=dy, x=x, weight=weight)
        x.grad = None
        y = torch.softmax(x, -1)
        y.backward(dy)
        self.check(x.grad, "softmax_backward", y=y, dy=dy)
        q, k, v, do = (torch.tensor(draw(2, n, 16, seed=n)) for n in (8, 12, 13, 9))
        v, do = v[:, :12].contiguous(), do[:, :8].contiguous()
        for leaf in (q, k, v):
            leaf.requires_grad_()
        f.scaled_dot_product_attention(q, k, v).backward(do)
        self.check(v.grad, "attention_backward_v", q=q, k=k, do=do, scale=0.25)
        self.check(q.grad, "attention_backward_q", q=q, k=k, v=v, do=do, scale=0.25)
        self.check(k.grad, "attention_backward_k", q=q, k=k, v=v, do=do, scale=0.25)

    def test_optimizers(self):
        parameter = torch.nn.Parameter(torch.tensor(draw(1000)))
        before = parameter.detach().clone()
        parameter.grad = torch.tensor(draw(1000, seed=9))
        optimizer = torch.optim.AdamW([parameter], lr=1e-2, foreach=False)
        optimizer.step()
        state = optimizer.state[parameter]
        self.check(parameter, "adamw", p=before, m=state["exp_avg"], v=state["exp_avg_sq"], lr=1e-2, correction1=0.1, correction2=0.001)
        optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9, weight_decay=0.01, foreach=False)
        optimizer.step()  # which makes the buffer
        before, momentum = parameter.detach().clone(), optimizer.state[parameter]["momentum_buffer"].clone()
        parameter.grad = torch.tensor(draw(1000, seed=11))
        optimizer.step()
        self.check(parameter, "sgd_momentum", p=before, momentum=momentum, g=parameter.grad, lr=0.1, weight_decay=0.01)


@unittest.skipIf(jax is None, "skipped: jax is not installed")
class Jax(unittest.TestCase):
    """jax.nn, and jax's own derivatives of it."""

    def check(self, output, formula, **inputs):
        verdict = us.verify.expr(output, formula, **inputs)
        self.assertTrue(verdict.passed, formula + "\n" + verdict.text)

    def test_operations(self):
        x, gate, up = (draw(16, 64, seed=seed) for seed in (0, 1, 2))
        w, b = draw(32, 64, scale=0.2), draw(32)
        linear = jax.numpy.dot(x, w.T, precision="highest") + b
        self.check(jax.nn.silu(gate) * up, "swiglu", gate=gate, up=up)
        self.check(jax.nn.gelu(gate, approximate=False) * up, "geglu", gate=gate, up=up)
        self.check(jax.nn.relu(linear), "linear_relu", x=x, w=w, b=b)
        self.check(jax.nn.gelu(linear, approximate=False), "linear_gelu", x=x, w=w, b=b)
        self.check(jax.nn.log_softmax(x), "log_softmax", x=x)
        self.check(jax.nn.logsumexp(x, axis=-1), "logsumexp", x=x)
        self.check(jax.numpy.cumsum(x, -1), "cumsum", x=x)

    def test_gradients(self):
        x, dy, weight = draw(16, 64), draw(16, 64, seed=3), draw(64)
        norms = {"rms_norm_backward": lambda x: x * jax.lax.rsqrt(jax.numpy.square(x).mean(-1, keepdims=True) + 1e-5) * weight,
                 "layer_norm_backward": lambda x: jax.nn.standardize(x, epsilon=1e-5) * weight}
        for formula, norm in norms.items():
            self.check(jax.vjp(norm, x)[1](dy)[0], formula, dy=dy, x=x, weight=weight)
        y, pull = jax.vjp(jax.nn.softmax, x)
        self.check(pull(dy)[0], "softmax_backward", y=y, dy=dy)
        labels = np.arange(16) % 64
        loss = lambda x: -jax.nn.log_softmax(x)[np.arange(16), labels].sum()
        self.check(jax.grad(loss)(x), "p = exp(x - max(x, axis=-1, keepdims=true)); p / sum(p, axis=-1, keepdims=true) - y",
                   x=x, y=np.eye(64, dtype=F)[labels])

    def test_gradients_of_attention(self):
        q, k, v, do = draw(2, 8, 4, 16, seed=4), draw(2, 12, 4, 16, seed=5), draw(2, 12, 4, 16, seed=6), draw(2, 8, 4, 16, seed=7)
        _, pull = jax.vjp(jax.nn.dot_product_attention, q, k, v)  # batch, length, heads, D
        inputs = {name: np.ascontiguousarray(x.swapaxes(1, 2)) for name, x in (("q", q), ("k", k), ("v", v), ("do", do))}
        for name, gradient in zip("qkv", pull(do)):
            if name == "v":
                del inputs["v"]
            self.check(gradient.swapaxes(1, 2), f"attention_backward_{name}", scale=0.25, **inputs)


class Command(unittest.TestCase):
    def test_files_give_what_arrays_give_and_a_failure_is_kept(self):
        g, u = draw(4, 32), draw(4, 32, seed=1)
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/g.npy", g), np.save(f"{folder}/u.npy", u), np.save(f"{folder}/y.npy", g * sigmoid(g) * u)
            words = ["--input", "gate=g.npy", "--input", "up=u.npy", "--output", "y.npy"]
            code, out, err = run("swiglu", *words, "--json", cwd=folder)
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(json.loads(out)["sentence"], us.verify.expr(g * sigmoid(g) * u, "swiglu", gate=g, up=u).sentence)
            code, out, err = run("gate * up", *words, "--save", "kept", cwd=folder)
            self.assertEqual(code, 1)
            again = next(line for line in err.splitlines() if "again: " in line).split("again: ")[1]
            done = subprocess.run(again.replace("ulpscope", PROGRAM, 1), shell=True, cwd=folder, capture_output=True, text=True, timeout=300)
            self.assertEqual((done.returncode, done.stderr.split(":")[0]), (1, "FAIL"))

    def test_integers_are_judged_as_the_errors_say(self):
        """Quantized numbers that are stored as int8, without the scale."""
        x, formula = draw(4, 32) * 3, "clip(round(x / 0.25), -127, 127)"
        right = np.clip(np.rint(x / F(0.25)), -127, 127).astype(np.int8)  # a quarter: the quotient is exact
        with self.assertRaisesRegex(us.Error, "^output holds integers: say with `out` which format the output has: float32 if they are numbers"):
            us.verify.expr(right, formula, x=x)
        with self.assertRaisesRegex(us.Error, "int8.* such as float32, which has its numbers"):
            us.verify.expr(right, formula, x=x, out="int8")
        self.assertTrue(us.verify.expr(right, formula, x=x, out="float32").passed)
        self.assertEqual(us.verify.expr(right + np.int8(1), formula, x=x, out="float32").outcome, "fail")

    def test_integers_are_their_numbers_whatever_in_says(self):
        logits = draw(4, 1000, scale=4).astype(ml_dtypes.bfloat16).astype(F)

        def losses(labels):
            shifted = logits.astype(float) - logits.max(-1, keepdims=True)
            return (np.log(np.exp(shifted).sum(-1)) - shifted[np.arange(4), labels]).astype(F)

        labels, near = [300, 895, 590, 7], [300, 896, 592, 7]  # as bfloat16 has them
        for given in (np.array(labels), np.array(labels, np.uint16), np.array(labels, F), labels):
            passed = {str(one): us.verify.expr(losses(one), "cross_entropy", logits=logits, labels=given, in_="bf16").passed for one in (labels, near)}
            self.assertEqual(passed, {str(labels): True, str(near): False}, type(given))
        audited = us.testing.audit_expr(lambda reference, output: (reference == output).all(), "cross_entropy", logits=logits,
                                        labels=np.array(labels), in_="bf16", out="fp32")
        self.assertTrue(audited.passed, audited.text)
        mask, x = np.array([True, False]), np.array([3.0, 5.0], F)
        self.assertTrue(us.verify.expr(np.array([3, 0], F), "where(m, x, 0)", m=mask, x=x, in_="e4m3").passed)
        self.assertTrue(us.verify.expr(np.array([127, 5], F) * x, "a * x", a=np.array([127, 5], np.int8), x=x, in_="e4m3").passed)
        self.assertFalse(us.verify.expr(np.array([128, 5], F) * x, "a * x", a=np.array([127, 5], np.int8), x=x, in_="e4m3").passed)

    def test_an_embedding_lookup_is_judged(self):
        table, tokens = draw(1000, 8), np.random.default_rng(1).integers(0, 1000, (5, 7))
        for tokens, formula in ((tokens, "gather(e, i, axis=0)"), (tokens, "take(e, i, axis=0)"), (tokens[0], "take(e, i, axis=0)"),
                                (np.resize(tokens, (5, 8)), "take(e, i, axis=0)")):  # 8 columns as the table has
            right, wrong = np.take(table, tokens, axis=0), np.take(table, tokens, axis=0)
            wrong.reshape(-1, 8)[3] = table[tokens.ravel()[3] - 1]
            self.assertTrue(us.verify.expr(right, formula, e=table, i=tokens).passed)
            self.assertEqual(us.verify.expr(wrong, formula, e=table, i=tokens).outcome, "fail")
        with self.assertRaisesRegex(us.Error, "gather takes elements 0 to 999; element 1 of the indices is 1000"):
            us.verify.expr(table[:2], "take(e, i, axis=0)", e=table, i=[5, 1000])
        x = draw(3, 4, 5)
        for axes in ((0, 1), (0, 2), (2, 0), (-1, -2, 0)):
            for name in ("sum", "max", "min", "mean"):
                for keeps in (False, True):
                    right = getattr(np, name)(x.astype(float), axis=axes, keepdims=keeps).astype(F)
                    self.assertTrue(us.verify.expr(right, f"{name}(x, axis={axes}, keepdims={keeps})", x=x).passed)

    def test_lists_of_floats_are_float32_where_they_can_be(self):
        self.assertTrue(us.verify.expr(np.array([1, -5], F), "x * 2", x=[0.5, -2.5]).passed)
        for x in ([0.5, 0.1], np.array([0.5, 2.5])):
            with self.assertRaisesRegex(us.Error, "^x: inputs of float64 are not judged: exact values are found in float64, for kernels that read "
                                                  "float32 at most; in_=fp32 rounds them to it$"):
                us.verify.expr(np.array([1, 5], F), "x * 2", x=x)

    def test_bad_input_is_one_line_and_exit_2(self):
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/x.npy", draw(4, 32))
            for words, message in ((["x +", "--input", "x=x.npy"], "formula, column 4"), (["x", "--input", "x"], "--input 'x': give NAME=VALUE"),
                                   (["a * x", "--input", "x=x.npy", "--let", "a=b"], "--let 'a=b': give NAME=NUMBER"), (["x", "--input", "x=none.npy"], "none.npy: no such file"),
                                   (["x[0]", "--input", "x=x.npy"], "the result of these inputs is 32"),
                                   (["x", "--input", "x=x.npy", "--against", "engine"], "engines are models of matrix products"),
                                   (["x", "--input", "x=x.npy", "--false-alarm", "0.1"], "no probabilistic bound is derived for expr"),
                                   (["x", "--input", "x=x.npy", "--let", "a=1"], "--let a: is not in the formula"),
                                   (["x * y", "--input", "x=x.npy", "--input", "x=x.npy"], "is given twice")):
                code, out, err = run(*words, "--output", "x.npy", cwd=folder)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), words)
                self.assertIn(message, err)

    def test_the_same_bytes_for_any_thread_count(self):
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/x.npy", draw(70, 1000))
            words = ["log_softmax", "--input", "x=x.npy", "--output", "x.npy", "--json"]
            self.assertEqual(run(*words, "--threads", "1", cwd=folder), run(*words, "--threads", "3", cwd=folder))

    def test_a_worthless_bound_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/x.npy", np.abs(draw(4, 4096))), np.save(f"{folder}/y.npy", np.zeros(4, F))
            code, _, err = run("bf16: sum(x, axis=-1)", "--input", "x=x.npy", "--output", "y.npy", cwd=folder)
            self.assertEqual(code, 3, err)


unittest.main()
