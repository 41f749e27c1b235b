#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training beside JAX, where it is installed: the same weights to 1e-12 in float64 and to rounding error in float32, from the same init
and data, for a model of every layer, with each loss and two optimizers. usage: framework_test.py PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError as absent:
    print(f"framework_test: skipped: {absent}")
    sys.exit(4)

PROGRAM = os.path.abspath(sys.argv.pop(1))
STEPS, SAMPLES, CLASSES = 5, 12, 3
LAYERS = ('[{reshape = [2, 6, 6]}, {conv = [2, 4, 3, 1]}, "gelu", {max_pool = 2}, "flatten", {linear = [36, 10]}, {layer_norm = 10}, '
          '"silu", {linear = [10, 8]}, {rms_norm = 8}, "tanh", {batch_norm = 8}, {linear = [8, 8]}, "relu", {linear = [8, 3]}]')
SHAPES = {"1.weight": (4, 2, 3, 3), "1.bias": (4,), "5.weight": (10, 36), "5.bias": (10,), "6.weight": (10,), "6.bias": (10,),
          "8.weight": (8, 10), "8.bias": (8,), "9.weight": (8,), "11.weight": (8,), "11.bias": (8,), "12.weight": (8, 8), "12.bias": (8,),
          "14.weight": (3, 8), "14.bias": (3,)}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        bytes_of = np.ascontiguousarray(values, np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(bytes_of)]}
        data += bytes_of
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def read_safetensors(path):
    bytes_of = path.read_bytes()
    size = int.from_bytes(bytes_of[:8], "little")
    return {name: np.frombuffer(bytes_of[8 + size + e["data_offsets"][0]:8 + size + e["data_offsets"][1]],
                                np.float64 if e["dtype"] == "F64" else np.float32).reshape(e["shape"])
            for name, e in json.loads(bytes_of[8:8 + size]).items()}


def normed(x, axes, mean):
    x = x - mean
    return x / jnp.sqrt((x * x).mean(axes, keepdims=True) + 1e-5)


def before_batch_norm(p, x):
    x = x.reshape(-1, 2, 6, 6)
    x = jax.lax.conv_general_dilated(x, p["1.weight"], (1, 1), ((1, 1), (1, 1)), dimension_numbers=("NCHW", "OIHW", "NCHW"))
    x = jax.nn.gelu(x + p["1.bias"][:, None, None], approximate=False)
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID").reshape(-1, 36)
    x = x @ p["5.weight"].T + p["5.bias"]
    x = jax.nn.silu(normed(x, -1, x.mean(-1, keepdims=True)) * p["6.weight"] + p["6.bias"])
    x = x @ p["8.weight"].T + p["8.bias"]
    return jnp.tanh(normed(x, -1, 0) * p["9.weight"])


def outputs(p, x):
    x = before_batch_norm(p, x)
    x = normed(x, 0, x.mean(0, keepdims=True)) * p["11.weight"] + p["11.bias"]
    x = jax.nn.relu(x @ p["12.weight"].T + p["12.bias"])
    return x @ p["14.weight"].T + p["14.bias"]


def loss_of(kind, z, t):
    if kind == "cross_entropy":
        return -jax.nn.log_softmax(z)[jnp.arange(len(z)), t].mean()
    if kind == "mse":
        return ((z - t) ** 2).mean()
    return (jnp.maximum(z, 0) - z * t + jnp.log1p(jnp.exp(-jnp.abs(z)))).mean()


class Step:
    """SGD with Nesterov's momentum, or AdamW, by the formulas of torch.optim."""

    def __init__(self, kind):
        self.kind, self.state = kind, {}

    def __call__(self, p, g, name):
        if self.kind == "sgd":
            g = g + 0.01 * p
            m = self.state[name] = 0.9 * self.state[name] + g if name in self.state else g
            return p - 0.05 * (g + 0.9 * m)
        m, v, t = self.state.get(name, (0, 0, 0))
        t += 1
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        self.state[name] = m, v, t
        p = p * (1 - 0.05 * 0.01)
        return p - 0.05 * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-2)


class Framework(unittest.TestCase):
    def test_weights_are_those_of_jax(self):
        jax.config.update("jax_default_matmul_precision", "highest")
        jax.config.update("jax_enable_x64", True)
        random = np.random.default_rng(7)
        first = {name: random.uniform(-0.5, 0.5, shape).astype(np.float32) + (name.split(".")[0] in ("6", "9", "11"))
                 for name, shape in SHAPES.items()}
        first = {name: values.astype(np.float32) for name, values in first.items()}
        x = random.normal(size=(SAMPLES, 72)).astype(np.float32)
        targets = {"cross_entropy": random.integers(0, CLASSES, SAMPLES), "mse": random.normal(size=(SAMPLES, CLASSES)).astype(np.float32),
                   "bce_with_logits": random.uniform(size=(SAMPLES, CLASSES)).astype(np.float32)}
        for kind, t in targets.items():
            for optimizer in ("sgd", "adamw"):
                with self.subTest(loss=kind, optimizer=optimizer), tempfile.TemporaryDirectory() as folder:
                    path = pathlib.Path(folder)
                    np.save(path / "x.npy", x)
                    np.save(path / "t.npy", t)
                    write_safetensors(path / "init.safetensors", first)
                    more = ('momentum = 0.9\nnesterov = true\n' if optimizer == "sgd" else "eps = 1e-2\n") + "weight_decay = 0.01\n"
                    (path / "s.toml").write_text(
                        f'[model]\nkind = "layers"\nlayers = {LAYERS}\ninit = "init.safetensors"\n[data]\ninputs = "x.npy"\n'
                        f'targets = "t.npy"\n[loss]\nkind = "{kind}"\n[optimizer]\nkind = "{optimizer}"\nlr = 0.05\n{more}'
                        f'[run]\nsteps = {STEPS}\n')
                    subprocess.run([PROGRAM, "train", "s.toml", "-o", "out", "--record", "weights:1", "--recipe", "float64,float32"],
                                   cwd=path, check=True, stderr=subprocess.DEVNULL, timeout=600)
                    wide, narrow = (self.weights(dtype, kind, optimizer, first, x, t) for dtype in (np.float64, np.float32))
                    for number in range(1, STEPS + 1):
                        ours = {r: read_safetensors(path / f"out/weights/{r}-0-{number}.safetensors") for r in ("float64", "float32")}
                        self.assertEqual(set(ours["float64"]), set(wide[number]))
                        apart = lambda a, b: max(np.abs(np.asarray(a[name]) - np.asarray(b[name])).max() for name in b)
                        self.assertLess(apart(ours["float64"], wide[number]), 1e-12, number)
                        # Rounding errors of another order of sums: of their size, one draw beside another (0.6 to 12 were seen).
                        self.assertLess(apart(ours["float32"], wide[number]), 16 * apart(narrow[number], wide[number]), number)

    def weights(self, dtype, kind, optimizer, first, x, t):
        """After each step, in float32 or float64, and the running statistics as torch.nn.BatchNorm1d keeps them."""
        t = t if kind == "cross_entropy" else jnp.asarray(t, dtype)
        p, step = {name: jnp.asarray(values, dtype) for name, values in first.items()}, Step(optimizer)
        slope = jax.grad(lambda p: loss_of(kind, outputs(p, jnp.asarray(x, dtype)), t))
        mean, variance, all_of_them = jnp.zeros(8, dtype), jnp.ones(8, dtype), {}
        for number in range(1, STEPS + 1):
            batch, gradients = before_batch_norm(p, jnp.asarray(x, dtype)), slope(p)
            mean, variance = 0.9 * mean + 0.1 * batch.mean(0), 0.9 * variance + 0.1 * batch.var(0, ddof=1)
            p = {name: step(p[name], gradients[name], name) for name in p}
            all_of_them[number] = p | {"11.running_mean": mean, "11.running_var": variance}
        return all_of_them


if __name__ == "__main__":
    unittest.main()
