#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tensors beside it, which the examples of the commands' help read: inputs, and what a plain float32 kernel makes of them.

Operands of products are bfloat16 numbers, so that their products are exact in float32; sums are sequential. usage: make.py
"""
import math
import pathlib

import numpy

FOLDER = pathlib.Path(__file__).parent
F = numpy.float32
draws = numpy.random.Generator(numpy.random.PCG64(1))


def bfloat16(values):
    return (values.astype(F).view(numpy.uint32) & 0xFFFF0000).astype(numpy.uint32).view(F)


def normal(*shape):
    return bfloat16(draws.standard_normal(shape))


def total(terms):
    """Sequential float32 sum along the last axis."""
    out = numpy.zeros(terms.shape[:-1], F)
    for i in range(terms.shape[-1]):
        out = out + terms[..., i]
    return out


def product(a, b):
    return total(a[..., :, None, :] * numpy.swapaxes(b, -1, -2)[..., None, :, :])


def softmax(x):
    e = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return e / total(e)[..., None]


def layer_norm(x):
    n = F(x.shape[-1])
    centred = x - (total(x) / n)[..., None]
    return centred / numpy.sqrt(total(centred * centred) / n + F(1e-5))[..., None]


def rms_norm(x):
    return x / numpy.sqrt(total(x * x) / F(x.shape[-1]) + F(1e-5))[..., None]


def convolution(x, w):
    n, _, height, width = x.shape
    o, _, rows, columns = w.shape
    out = numpy.zeros((n, o, height - rows + 1, width - columns + 1), F)
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            patch = x[:, :, i:i + rows, j:j + columns].reshape(n, 1, -1)
            out[:, :, i, j] = total(patch * w.reshape(1, o, -1))
    return out


a, b, x = normal(8, 64), normal(64, 8), normal(8, 32)
q, k, v = normal(6, 16), normal(6, 16), normal(6, 16)
image, filters = normal(1, 2, 6, 6), normal(3, 2, 3, 3)
scores = product(q, k.T) * F(1 / math.sqrt(q.shape[-1]))
tensors = {"a": a, "b": b, "matmul": product(a, b), "x": x, "softmax": softmax(x), "layer_norm": layer_norm(x),
           "rms_norm": rms_norm(x), "sum": total(x), "dot": total(q * k), "exp": numpy.exp(x), "q": q, "k": k, "v": v,
           "attention": product(softmax(scores), v), "image": image, "filters": filters, "conv": convolution(image, filters),
           "swiglu": x / (F(1) + numpy.exp(-x)) * x,
           "signed_zero": numpy.repeat([[-0.0], [0.0], [0.0], [-0.0]], 3, axis=1)}
tokens, experts, offsets = normal(9, 16), normal(3, 16, 4), [4, 4, 8]  # the last row is padding
tensors |= {"tokens": tokens, "experts": experts, "grouped_matmul": numpy.concatenate(
    [product(tokens[begin:end], experts[g]) for g, (begin, end) in enumerate(zip([0, *offsets], offsets))] + [numpy.zeros((1, 4), F)])}
for name, tensor in tensors.items():
    numpy.save(FOLDER / f"{name}.npy", numpy.ascontiguousarray(tensor, F))
numpy.save(FOLDER / "cast.npy", bfloat16(tensors["softmax"]))
numpy.save(FOLDER / "offsets.npy", numpy.array(offsets, numpy.int32))
