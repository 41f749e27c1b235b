#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model trained in torch under a recipe, and by `ulpscope train` from the same weights and data: every weight and every loss is
the same, to the last bit. Without torch it is skipped by name (exit code 4).

usage: torch_training_test.py ULPSCOPE, with the package on PYTHONPATH"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

try:
    import torch
except ImportError:
    print("python_torch_training: skipped: no torch")
    sys.exit(4)
import numpy as np
import ulpscope as us
from torch import nn

PROGRAM = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).parents[2]
SEED = 5
torch.set_num_threads(2)


def read_safetensors(path):
    """Names and arrays of a file of F64, F32, F16, BF16 and U8, which are codes where numpy has no such numbers."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    dtypes = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16, "U8": np.uint8}
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[8 + size + first : 8 + size + last], dtypes[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write_safetensors(path, tensors):
    from ulpscope._safetensors import Writer

    writer = Writer(path)
    for name, tensor in tensors.items():
        if tensor.is_floating_point():  # batch norms count their batches
            writer.add(name, tensor.detach().numpy())
    writer.close()


def random_words(indices):
    """Words of Philox4x32-10 under the key 0, of which markov's sequences are made (docs/training.md); Salmon et al., SC11."""
    c = [indices & 0xFFFFFFFF, indices >> 32, indices * 0, indices * 0]
    key = [0, 0]
    for _ in range(10):
        low, high = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(high >> 32) ^ c[1] ^ key[0], high & 0xFFFFFFFF, (low >> 32) ^ c[3] ^ key[1], low & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0]


def markov(count, context, vocabulary):
    """The sequences of `table = "markov"`: tokens and their successors."""
    tokens, classes = np.zeros((count, context), int), np.zeros((count, context), int)
    for i in range(count):
        words = random_words(np.arange(i * (context + 2), (i + 1) * (context + 2), dtype=np.uint64)).astype(int)
        a, b = words[0] % vocabulary, words[1] % vocabulary
        for t in range(context):
            chance = words[2 + t] >> 29
            following = (a + (0 if chance < 4 else 1 if chance < 6 else 2 if chance == 6 else 3)) % vocabulary
            tokens[i, t], classes[i, t] = b, following
            a, b = b, following
    return torch.from_numpy(tokens), torch.from_numpy(classes)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.c_attn(x).chunk(3, -1))
        return self.c_proj(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Perceptron(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(nn.functional.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads)
        self.ln_2, self.mlp = nn.LayerNorm(width), Perceptron(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary, context, width, heads, blocks):
        super().__init__()
        parts = {"wte": nn.Embedding(vocabulary, width), "wpe": nn.Embedding(context, width)}
        parts.update(h=nn.ModuleList(Block(width, heads) for _ in range(blocks)), ln_f=nn.LayerNorm(width))
        self.transformer = nn.ModuleDict(parts)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        t = self.transformer
        x = t.wte(tokens) + t.wpe(torch.arange(tokens.shape[1]).expand(tokens.shape))
        for block in t.h:
            x = block(x)
        return self.lm_head(t.ln_f(x)).flatten(0, 1)


class Lstm(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(vocabulary, width), nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0]).flatten(0, 1)


OPTIMIZERS = {
    'kind = "sgd"\nlr = 0.1\nmomentum = 0.9\nweight_decay = 1e-3': lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-3),
    'kind = "adam"\nlr = 1e-2': lambda p: torch.optim.Adam(p, lr=1e-2),
    'kind = "adamw"\nlr = 1e-2\nweight_decay = 0.05': lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.05),
}
SGD, ADAM, ADAMW = OPTIMIZERS


class BesideTheLaboratory(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("error")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def check(self, model, spec, data, recipe, optimizer, steps=6, batch=16, scaler=None, run="", record=None):
        """Trains both, compares all weights and losses; returns skipped steps. `data`: inputs, classes, and the section of them."""
        inputs, classes, section = data
        if recipe == "float64":
            model.double()
            inputs = inputs.double() if inputs.is_floating_point() else inputs
        write_safetensors(self.path("init.safetensors"), model.state_dict())
        study = f"""[model]\n{spec}\ninit = "init.safetensors"\n[data]\n{section}\nbatch = {batch}\norder = "fixed"\n[loss]
kind = "cross_entropy"\n[optimizer]\n{optimizer}\n[run]\nsteps = {steps}\nseeds = [{SEED}]\nrecipes = ["{recipe}"]\n{run}"""
        if scaler is not None:
            words = ",".join(f"{key}={value:.0f}" for key, value in scaler.items())
            study += f'\n[scaler]\nkind = "pytorch:{words}"\n'
        pathlib.Path(self.path("study.toml")).write_text(study)
        command = [PROGRAM, "train", "study.toml", "--record", "weights", "--record", "gradients", "-o", "report"]
        ran = subprocess.run(command, cwd=self.folder.name, capture_output=True, text=True, timeout=300)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with open(self.path("report/curves.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        name = pathlib.Path(recipe).stem
        theirs = read_safetensors(self.path(f"report/weights/{name}-{SEED}-{steps}.safetensors"))

        own = OPTIMIZERS[optimizer](model.parameters())
        amp = None if scaler is None else torch.amp.GradScaler("cpu", **scaler)
        block = us.torch.emulate(recipe, seed=SEED, record=record)
        block._plain = False  # float32, too, on the recipe's engine
        with block as emulated:
            for step in range(steps):
                x, y = (t[step * batch : (step + 1) * batch] for t in (inputs, classes))
                own.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y.flatten())
                if amp is None:
                    loss.backward()
                    own.step()
                else:
                    amp.scale(loss).backward()
                    amp.step(own)
                    amp.update()
                self.assertEqual(loss.item(), float(rows[step]["loss"]), (recipe, step))
        self.assertEqual(emulated.unknown, [], recipe)
        kept = {name: p for name, p in model.state_dict().items() if not name.endswith("num_batches_tracked")}
        for name, p in kept.items():
            codes = theirs[name]
            mine = us.encode(p.detach().numpy(), "bf16") if codes.dtype == np.uint16 else p.detach().numpy().astype(codes.dtype)
            self.assertEqual(mine.tobytes(), codes.tobytes(), (recipe, name))
        self.assertEqual(set(theirs), set(kept))
        return sum(int(row["skipped"]) for row in rows)

    def layers(self, *layers):
        torch.manual_seed(1)
        return nn.Sequential(*layers)

    def digits(self):
        digits = read_safetensors(ROOT / "studies/data/digits.safetensors")
        images, labels = digits["images"][:240].astype(np.float32) / 16, digits["labels"][:240].astype(np.int64)
        np.save(self.path("x.npy"), images)
        np.save(self.path("y.npy"), labels)
        return torch.from_numpy(images), torch.from_numpy(labels), 'inputs = "x.npy"\ntargets = "y.npy"'

    def perceptron(self):
        return self.layers(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)), 'kind = "mlp"\nwidths = [64, 32, 10]'

    def test_a_perceptron_under_every_recipe(self):
        data, seen = self.digits(), set()
        for i, recipe in enumerate(us.recipes()):
            with self.subTest(recipe):
                model, spec = self.perceptron()
                optimizer = SGD if recipe.startswith(("fp16_pure", "genesis", "keras")) else list(OPTIMIZERS)[i % 3]
                self.check(model, spec, data, recipe, optimizer)
                seen.add(model[0].weight.detach().numpy().tobytes())
        self.assertGreater(len(seen), 12)  # recipes that differ

    def test_a_loss_scaler_that_skips_and_grows(self):
        half = self.path("half.toml")  # in which steps that are skipped are in the histories of the operands' scales
        pathlib.Path(half).write_text(us.recipes()["fp8_delayed"].replace('"bf16"', '"fp16"'))
        for recipe, scale in (("fp16_amp", 2.0**24), ("fp16_pure", 2.0**20), ("genesis", 2.0**20), (half, 2.0**24)):
            with self.subTest(recipe):
                model, spec = self.perceptron()
                scaler = {"init_scale": scale, "growth_interval": 2}
                skipped = self.check(model, spec, self.digits(), recipe, SGD, steps=12, scaler=scaler)
                self.assertTrue(1 < skipped < 10, skipped)

    def test_gradients_that_are_recorded(self):
        for recipe, scaler in (("fp16_amp", {"init_scale": 2.0**10}), ("float64", None)):
            with self.subTest(recipe):
                model, spec = self.perceptron()
                self.check(model, spec, self.digits(), recipe, ADAM, scaler=scaler, record=self.path("mine.safetensors"))
                mine = read_safetensors(self.path("mine.safetensors"))
                theirs = read_safetensors(self.path(f"report/gradients/{recipe}-{SEED}.safetensors"))
                self.assertEqual(len(mine), 6 * 4)
                for name, one in theirs.items():
                    self.assertEqual((mine[name].dtype, mine[name].tobytes()), (one.dtype, one.tobytes()), name)
                self.assertEqual(set(mine), set(theirs))

    def test_convolutions_and_norms(self):
        data = self.digits()
        for recipe in ("float64", "bf16_amp", "fp8_deepseek", "bf16_pure"):
            with self.subTest(recipe):
                model = self.layers(
                    nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(4, 8, 3), nn.SiLU(), nn.Flatten(), nn.Linear(32, 24), nn.LayerNorm(24), nn.Tanh(), nn.Linear(24, 10),
                )  # fmt: skip
                spec = """kind = "layers"
layers = [{reshape = [1, 8, 8]}, {conv = [1, 4, 3, 1]}, {batch_norm = [4]}, "relu", {max_pool = [2]}, {conv = [4, 8, 3]}, "silu",
  "flatten", {linear = [32, 24]}, {layer_norm = [24]}, "tanh", {linear = [24, 10]}]"""
                self.check(model, spec, data, recipe, ADAMW, steps=3)

    def test_a_gpt(self):
        tokens, classes = markov(64, 12, 16)
        data = tokens, classes, 'table = "markov"\nsamples = 64'
        for recipe in ("float32", "float64", "bf16_amp", "fp8_deepseek", "mxfp8", "nvfp4", "bf16_stochastic"):
            with self.subTest(recipe):
                torch.manual_seed(2)
                model = Gpt(16, 12, 32, 4, 2)
                spec = 'kind = "gpt"\nvocabulary = 16\ncontext = 12\nwidth = 32\nheads = 4\nblocks = 2'
                self.check(model, spec, data, recipe, ADAMW, steps=3, batch=8)

    def test_an_lstm(self):
        tokens, classes = markov(64, 10, 8)
        data = tokens, classes, 'table = "markov"\nsamples = 64'
        for recipe in ("float32", "float64", "fp16_amp", "fp8_current", "fp8_delayed", "bf16_pure"):
            with self.subTest(recipe):
                torch.manual_seed(3)
                model = Lstm(8, 24)
                spec = 'kind = "lstm"\nvocabulary = 8\ncontext = 10\nwidth = 24'
                self.check(model, spec, data, recipe, ADAM, steps=3, batch=8)


if __name__ == "__main__":
    unittest.main()
