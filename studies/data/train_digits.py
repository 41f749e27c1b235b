#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on handwritten digits and records what a mixed-precision run would have to hold.

The network: 64 pixels - 128 - 64 - 10 classes, layer normalisation and ReLU after the first two layers, softmax cross-entropy
averaged over a batch of 128, Adam. All in float32. At the start, in the middle and at the end it records the weights, the
activations of the batch, and the gradients of both as the backward pass computes them; of every step the largest magnitude of any
gradient, which decides whether a loss scale overflows.
"""

import argparse
import gzip
import json
import pathlib

import numpy as np

TABLE = pathlib.Path("/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz")  # Debian's python3-sklearn
WIDTHS = [64, 128, 64, 10]
BATCH = 128
EPOCHS = 120
TEST_ROWS = 360
RATE, MOMENTUM, SQUARES, EPSILON = 1e-3, 0.9, 0.999, 1e-8  # Adam's (Kingma and Ba 2015, algorithm 1)
NORM_EPSILON = np.float32(1e-5)
LAST = len(WIDTHS) - 1
METADATA = {
    "source": "Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, UCI, doi 10.24432/C50P49 (the 1797 rows "
              "that scikit-learn ships); made by studies/data/train_digits.py",
    "licence": "CC-BY-4.0",
    "names": "STAGE.layerN.{weight,bias,activation} and their gradients with _grad; STAGE.normN.{gain,shift} likewise; "
             "STAGE is start, middle or end; activation is what the next layer reads, for layer3 the logits",
}


def product(a, b):
    """a @ b without BLAS, whose last bits depend on the number of threads."""
    return np.einsum("ij,jk->ik", a, b, optimize=False)


def initial_parameters(random):
    parameters = {}
    for n in range(1, LAST + 1):
        fan_in, fan_out = WIDTHS[n - 1], WIDTHS[n]
        parameters[f"layer{n}.weight"] = random.normal(0, np.sqrt(2 / fan_in), (fan_in, fan_out))  # He et al. 2015
        parameters[f"layer{n}.bias"] = np.zeros(fan_out)
        if n < LAST:
            parameters[f"norm{n}.gain"] = np.ones(fan_out)
            parameters[f"norm{n}.shift"] = np.zeros(fan_out)
    return {name: value.astype(np.float32) for name, value in parameters.items()}


def forward(parameters, images):
    """Activations by layer number, and what the backward pass needs of the normalisations."""
    activations, kept = {0: images}, {}
    for n in range(1, LAST + 1):
        z = product(activations[n - 1], parameters[f"layer{n}.weight"]) + parameters[f"layer{n}.bias"]
        if n < LAST:
            spread = 1 / np.sqrt(z.var(axis=1, keepdims=True) + NORM_EPSILON)
            unit = (z - z.mean(axis=1, keepdims=True)) * spread
            kept[n] = unit, spread
            z = np.maximum(unit * parameters[f"norm{n}.gain"] + parameters[f"norm{n}.shift"], 0)
        activations[n] = z
    return activations, kept


def backward(parameters, activations, kept, labels):
    """Gradients of the mean cross-entropy, by the names of what they belong to."""
    logits = activations[LAST]
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    upstream = exponentials / exponentials.sum(axis=1, keepdims=True)
    upstream[np.arange(len(labels)), labels] -= 1
    upstream /= np.float32(len(labels))
    gradients = {}
    for n in range(LAST, 0, -1):
        gradients[f"layer{n}.activation"] = upstream
        if n < LAST:
            unit, spread = kept[n]
            upstream = upstream * (activations[n] > 0)
            gradients[f"norm{n}.gain"] = (upstream * unit).sum(axis=0)
            gradients[f"norm{n}.shift"] = upstream.sum(axis=0)
            upstream = upstream * parameters[f"norm{n}.gain"]
            mean, along = upstream.mean(axis=1, keepdims=True), (upstream * unit).mean(axis=1, keepdims=True)
            upstream = (upstream - mean - unit * along) * spread
        gradients[f"layer{n}.weight"] = product(activations[n - 1].T, upstream)
        gradients[f"layer{n}.bias"] = upstream.sum(axis=0)
        upstream = product(upstream, parameters[f"layer{n}.weight"].T)
    return gradients


class Adam:
    def __init__(self, parameters):
        self.steps = 0
        self.mean = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.square = {name: np.zeros_like(value) for name, value in parameters.items()}

    def step(self, parameters, gradients):
        self.steps += 1
        for name, value in parameters.items():
            gradient = gradients[name]
            self.mean[name] += np.float32(1 - MOMENTUM) * (gradient - self.mean[name])
            self.square[name] += np.float32(1 - SQUARES) * (gradient * gradient - self.square[name])
            mean = self.mean[name] / np.float32(1 - MOMENTUM**self.steps)
            square = self.square[name] / np.float32(1 - SQUARES**self.steps)
            value -= np.float32(RATE) * mean / (np.sqrt(square) + np.float32(EPSILON))


def record(stage, parameters, activations, gradients):
    tensors = {f"{stage}.{name}": value.copy() for name, value in parameters.items()}
    tensors |= {f"{stage}.layer{n}.activation": activations[n] for n in range(1, LAST + 1)}
    tensors |= {f"{stage}.{name}_grad": value for name, value in gradients.items()}
    return tensors


def accuracy(parameters, images, labels):
    return float((forward(parameters, images)[0][LAST].argmax(axis=1) == labels).mean())


def train(table, random):
    rows = table[random.permutation(len(table))]
    images, labels = (rows[:, :-1] / 16).astype(np.float32), rows[:, -1]  # pixels are 0 to 16
    test, training = slice(0, TEST_ROWS), slice(TEST_ROWS, None)
    parameters = initial_parameters(random)
    optimiser = Adam(parameters)
    batches = [batch for _ in range(EPOCHS) for batch in whole_batches(random.permutation(len(rows) - TEST_ROWS))]
    stages = {0: "start", len(batches) // 2: "middle", len(batches) - 1: "end"}
    tensors, largest = {}, []
    for step, batch in enumerate(batches):
        chosen_labels = labels[training][batch]
        activations, kept = forward(parameters, images[training][batch])
        gradients = backward(parameters, activations, kept, chosen_labels)
        largest.append(max(np.abs(gradient).max() for gradient in gradients.values()))
        if step in stages:
            tensors |= record(stages[step], parameters, activations, gradients)
        optimiser.step(parameters, gradients)
    return tensors, largest, accuracy(parameters, images[test], labels[test])


def whole_batches(order):
    return [order[i : i + BATCH] for i in range(0, len(order) - BATCH + 1, BATCH)]


def write_safetensors(path, tensors, metadata):
    header, offset = {"__metadata__": metadata}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for value in tensors.values():
            file.write(np.ascontiguousarray(value, dtype="<f4").tobytes())


def print_facts(tensors):
    print("stage   kind              elements    zero  below 2^-24  below 2^-9   largest")
    print("                                           (the smallest numbers of fp16 and e4m3)")
    for stage in ("start", "middle", "end"):
        for kind in ("weight", "activation", "weight_grad", "activation_grad"):
            parts = [v.ravel() for name, v in tensors.items() if name.startswith(stage) and name.endswith("." + kind)]
            values = np.abs(np.concatenate(parts))
            shares = [np.mean(values == 0)] + [np.mean((values > 0) & (values < bound)) for bound in (2**-24, 2**-9)]
            print(f"{stage:7} {kind:16} {values.size:9}  {shares[0]:6.2%}  {shares[1]:11.2%}  {shares[2]:10.2%}   "
                  f"{values.max():.3g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=pathlib.Path, default=TABLE, help="scikit-learn's digits.csv.gz (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent / "digits-training.safetensors")
    parser.add_argument("--amax", type=pathlib.Path, default=pathlib.Path(__file__).parent / "digits-amax.csv")
    options = parser.parse_args()

    with gzip.open(options.table, "rt") as file:
        table = np.loadtxt(file, delimiter=",").astype(np.int64)
    tensors, largest, test_accuracy = train(table, np.random.RandomState(options.seed))
    write_safetensors(options.output, tensors, METADATA | {"seed": str(options.seed), "steps": str(len(largest))})
    with open(options.amax, "w", encoding="utf-8") as file:
        file.write("amax\n" + "".join(f"{amax}\n" for amax in largest))
    print(f"test accuracy {test_accuracy:.2%} on {TEST_ROWS} rows after {len(largest)} steps of {BATCH}")
    print_facts(tensors)


if __name__ == "__main__":
    main()
