#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX: what is said of inputs and attributes that do not fit, and values at the ends of what an operator takes, of which
ONNX's own examples (tests/python/onnx_test.py) have none.   usage: onnx_operators_test.py PROGRAM MODEL_VALUES"""
import math
import struct
import subprocess
import sys
import unittest

from files_test import Folder
from onnx_test import attribute, field, model, node, run
from time_limit import LIMIT

VALUES = sys.argv.pop(1)
INF, NAN = math.inf, math.nan
TYPES = {"f": 1, "q": 7, "?": 9}  # of onnx.proto, by the letters of struct


class Given:
    """A tensor: `R` of reals, `W` of integers, `T` of truth values; of zeros, or of these."""
    def __init__(self, letter, shape, values):
        self.letter, self.shape = letter, tuple(shape)
        self.values = list(values) if values is not None else [0] * math.prod(self.shape)

    def stored(self, name):
        return (b"".join(field(1, extent) for extent in self.shape) + field(2, TYPES[self.letter]) + field(8, name) +
                field(9, struct.pack(f"<{len(self.values)}{self.letter}", *self.values)))


def R(*shape, of=None):
    return Given("f", shape, of)


def W(*shape, of=None):
    return Given("q", shape, of)


def T(*shape, of=None):
    return Given("?", shape, of)


def reals(*values):
    return R(len(values), of=values)


def wholes(*values):
    return W(len(values), of=values)


def as_attribute(name, value):
    if isinstance(value, list) and value and isinstance(value[0], float):
        return field(5, field(1, name) + field(7, struct.pack(f"<{len(value)}f", *value)))
    if isinstance(value, Given):
        return attribute(name, value.stored(""))
    return attribute(name, value)


def model_of(op, inputs, attributes, outputs, opset, behind=()):
    names = ["" if one is None else f"i{i}" for i, one in enumerate(inputs)]
    return model([node(op, names, outputs, *(as_attribute(*one) for one in attributes.items()), name="n"), *behind],
                 [one.stored(name) for name, one in zip(names, inputs) if name], opset=opset)


# Operator, inputs, attributes, what is said; and the version of the operators where that matters.
FOUR = R(1, 1, 2, 2)
TWO = R(2, 2)
ATTENTION = [
    ((R(1, 2, 4), FOUR, FOUR), {}, "of 1x2x4 with 0 heads"),
    ((R(1, 2, 4), FOUR, FOUR), {"q_num_heads": 3}, "of 1x2x4 with 3 heads"),
    ((TWO, FOUR, FOUR), {"q_num_heads": 1}, "of 2x2 with 1 heads"),
    *(((FOUR, FOUR, FOUR, None, past, FOUR), {}, f"a past of {words} before 1x1x2x2")
      for past, words in ((R(1, 2, 2), "1x2x2"), (R(2, 1, 2, 2), "2x1x2x2"), (R(1, 2, 2, 2), "1x2x2x2"), (R(1, 1, 2, 3), "1x1x2x3"))),
    ((FOUR, FOUR, FOUR, None, None, None, wholes(1, 2)), {}, "nonpad_kv_seqlen of 2 for a batch of 1"),
    *(((FOUR, FOUR, FOUR, mask), {}, f"a mask of {words} for scores of 1x1x2x2")
      for mask, words in ((R(), "a scalar"), (R(1, 1, 1, 2, 2), "1x1x1x2x2"), (R(2, 3), "2x3"), (R(1, 3, 2, 2), "1x3x2x2"))),
    *(((q, k, v), {}, said) for q, k, v, said in (
        (FOUR, R(1, 0, 2, 2), R(1, 0, 2, 2), "of 1x1x2x2, 1x0x2x2 and 1x0x2x2"), (R(2, 1, 2, 2), FOUR, FOUR, "of 2x1x2x2, 1x1x2x2 and 1x1x2x2"),
        (FOUR, FOUR, R(2, 1, 2, 2), "of 1x1x2x2, 1x1x2x2 and 2x1x2x2"), (R(1, 1, 2, 3), FOUR, FOUR, "of 1x1x2x3, 1x1x2x2 and 1x1x2x2"),
        (FOUR, FOUR, R(1, 2, 2, 2), "of 1x1x2x2, 1x1x2x2 and 1x2x2x2"), (FOUR, FOUR, R(1, 1, 3, 2), "of 1x1x2x2, 1x1x2x2 and 1x1x3x2"),
        (R(1, 3, 2, 2), R(1, 2, 2, 2), R(1, 2, 2, 2), "of 1x3x2x2, 1x2x2x2 and 1x2x2x2"))),
    ((FOUR, FOUR, FOUR, None, R(1, 1, 0, 2)), {}, "a past key or a past value alone"),
    ((FOUR, FOUR, FOUR, None, R(1, 1, 3, 2)), {}, "a past key or a past value alone"),
    ((FOUR, FOUR, FOUR, None, None, R(1, 1, 3, 2)), {}, "a past key or a past value alone"),
]
WIDE = R(1, 1, 2, 4)
ROTARY = [
    ((WIDE, R(1, 2, 3), R(1, 2, 3)), {"rotary_embedding_dim": 6}, "rotary_embedding_dim 6 of 4"),
    ((WIDE, R(1, 2, 1), R(1, 2, 1)), {"rotary_embedding_dim": 3}, "rotary_embedding_dim 3 of 4"),
    ((WIDE, R(), R()), {}, "cosines of a scalar for 1x1x2x4"),
    ((WIDE, R(1, 2, 2), R(1, 2, 1)), {}, "cosines of 1x2x2 for 1x1x2x4"),
    ((WIDE, R(1, 3, 2), R(1, 3, 2)), {}, "cosines of 1x3x2 for 1x1x2x4"),
    ((WIDE, R(2, 2), R(2, 2), W(1, 3)), {}, "cosines of 2x2 for 1x1x2x4"),
    *(((WIDE, R(2, 2), R(2, 2), W(1, 2, of=[1, at])), {}, f"position {at} of 2") for at in (2, -3)),
]
LARGE = 2**60
ELEMENTWISE = [
    *((op, (R(1), W(1)), {}, "of float32 and int64") for op in ("Add", "Sum", "Equal")),
    ("Where", (T(1), R(1), W(1)), {}, "of float32 and int64"),
    *(("Div" if attributes is None else "Mod", (W(1), W(1)), attributes or {}, "divides an integer by 0") for attributes in (None, {}, {"fmod": 1})),
    *(("Pow", (wholes(base), wholes(exponent)), {}, "not computed: integers whose result is beyond 2^53") for base, exponent in ((3, 40), (0, -1))),
    ("Cast", (R(1),), {"to": 99}, "not computed: to type 99"),
    ("Clip", (W(1), W(of=[LARGE])), {}, "not computed: of integers beyond 2^53"),
    ("Clip", (R(1), reals(1, 2)), {}, "input 1 of 2, where one number is wanted"),
    ("Clip", (R(1), None, R(0)), {}, "input 2 of 0, where one number is wanted"),
    ("Dropout", (R(1), R(), T(2)), {}, "input 2 of 2, where one number is wanted"),
    ("Dropout", (R(1), R(), T(of=[True])), {}, "not computed: in training, where it draws random numbers"),
    ("Gelu", (R(1),), {"approximate": "sine"}, "approximate 'sine'"),
]
INDICES = [
    *(("Gather", (R(3), wholes(at)), {}, f"index {at} of 3") for at in (3, -4)),
    ("GatherElements", (TWO, W(2)), {}, "indices of 2 for 2x2"),
    ("GatherElements", (R(1, 2), W(2, 2)), {"axis": 1}, "indices of 2x2 for 1x2"),
    ("GatherND", (TWO, W(1, 1)), {"batch_dims": -1}, "batch_dims -1 for indices of 1x1"),
    ("GatherND", (TWO, W()), {}, "batch_dims 0 for indices of a scalar"),
    ("GatherND", (TWO, W(2)), {"batch_dims": 1}, "batch_dims 1 for indices of 2"),
    ("GatherND", (TWO, W(1, 3)), {}, "indices of 1x3 for 2x2"),
    ("GatherND", (TWO, W(3, 1)), {"batch_dims": 1}, "indices of 3x1 for 2x2"),
    ("ScatterElements", (R(2), W(1), R(1)), {"reduction": "or"}, "not computed: reduction or"),
    ("ScatterElements", (R(2), W(1), R(2)), {}, "indices of 1 and updates of 2 for 2"),
    ("ScatterElements", (TWO, W(1), R(1)), {}, "indices of 1 and updates of 1 for 2x2"),
    ("ScatterElements", (R(2), W(1), W(1)), {}, "indices of 1 and updates of 1 for 2"),
    ("ScatterElements", (R(1, 2), W(2, 2), TWO), {"axis": 1}, "indices of 2x2 for 1x2"),
    ("ScatterND", (R(2), W(), R(1)), {}, "indices of a scalar for 2"),
    ("ScatterND", (R(2), W(1, 2), R(1)), {}, "indices of 1x2 for 2"),
    ("ScatterND", (R(2), W(1, 1), W(1)), {}, "indices of 1x1 for 2"),
    ("ScatterND", (R(2), W(1, 1), R(2)), {}, "updates of 2 for indices of 1x1"),
    *(("OneHot", (W(1), depth, values), {}, "no depth, or no pair of values")
      for depth, values in ((W(2), R(2)), (W(), R(3)), (wholes(-1), R(2)), (wholes(2**41), R(2)))),
    *(("TopK", (R(3), k), {}, "k is not from 0 to 3") for k in (W(2), wholes(-1), wholes(4))),
    ("ArgMax", (R(0),), {}, "of 0"),
]
UNFIT = "scales or sizes that do not fit 1x2"
RESAMPLING = [
    ("Resize", (R(1, 2), None, reals(1, 2)), {"mode": "area"}, "not computed: mode area"),
    ("Resize", (R(1, 2), None, reals(1)), {}, UNFIT),
    ("Resize", (R(1, 2), None, None, wholes(1)), {}, UNFIT),
    ("Resize", (R(1, 0), None, reals(1, 2)), {}, "scales or sizes that do not fit 1x0"),
    *(("Resize", (R(1, 2), None, reals(1, scale)), {}, UNFIT) for scale in (0, -1, NAN, INF)),
    *(("Resize", (R(1, 2), None, None, wholes(1, size)), {}, UNFIT) for size in (-2, 2**42)),
    *(("GridSample", (x, grid), {}, f"a grid of {words}") for x, grid, words in (
        (TWO, R(1, 1), "1x1 for 2x2"), (FOUR, R(1, 1, 2), "1x1x2 for 1x1x2x2"), (FOUR, R(2, 1, 1, 2), "2x1x1x2 for 1x1x2x2"),
        (FOUR, R(1, 1, 1, 3), "1x1x1x3 for 1x1x2x2"))),
    ("GridSample", (R(1, 1, 1, 1, 1, 1), R(1, 1, 1, 1, 1, 4)), {}, "not computed: of more than three dimensions"),
    ("GridSample", (FOUR, R(1, 1, 1, 2)), {"mode": "sinc"}, "mode 'sinc' with padding_mode 'zeros'"),
    ("GridSample", (FOUR, R(1, 1, 1, 2)), {"padding_mode": "wrap"}, "mode 'linear' with padding_mode 'wrap'"),
    ("GridSample", (R(1, 1, 0, 2), R(1, 1, 1, 2)), {}, "of 1x1x0x2"),
]
UNLIKE = "starts, ends, axes and steps of unlike numbers"
NO_RANGE = "start, limit and delta that are no range"
FAR = 2**41
SHAPES = [
    *(("Reshape", (R(4), wholes(n)), {}, f"an extent of {n}") for n in (-2, FAR)),
    ("Reshape", (R(4), wholes(-1, -1)), {}, "a shape with -1 twice"),
    ("Reshape", (R(4), wholes(4, 0)), {}, "a shape that keeps extent 1 of 4"),
    ("Reshape", (R(0), wholes(0, -1)), {}, "a shape with -1 beside an extent of 0"),
    *(("Flatten", (TWO,), {"axis": axis}, f"axis {axis}") for axis in (3, -3)),
    ("Squeeze", (R(2, 1), wholes(0)), {}, "takes out extent 0 of 2x1"),
    ("Unsqueeze", (R(2), wholes(0, -3)), {}, "an axis twice"),
    *(("Slice", (R(3), *words), {}, UNLIKE) for words in (
        (wholes(0), wholes(1, 2)), (wholes(0), wholes(1), wholes(0, 0)), (wholes(0), wholes(1), wholes(0), wholes(1, 1)))),
    ("Slice", (R(3), wholes(0), wholes(1), wholes(0), wholes(0)), {}, "a step of 0"),
    ("Tile", (TWO, wholes(2)), {}, "repeats of 1 dimensions for 2x2"),
    ("ConstantOfShape", (wholes(2),), {"value": 5}, "attribute value is of another type"),
    *(("Range", words, {}, NO_RANGE) for words in (
        (R(), W(), R()), (R(), R(), W()), (R(2), R(), R()), (R(), R(2), R()), (R(), R(), R(2)), (R(), reals(1), reals(0)))),
    *(("Range", (R(), reals(limit), reals(1)), {}, "a range without end") for limit in (INF, NAN)),
    ("Pad", (R(2), W(3)), {}, "3 pads for 2"),
    ("Pad", (R(2), wholes(1, 1), reals(1, 2)), {}, "input 2 of 2, where one number is wanted"),
    *(("Pad", (R(2), wholes(n, 0)), {}, "pads that do not fit") for n in (FAR, -FAR)),
    ("Pad", (R(2), wholes(-3, 0)), {}, "an extent of -1"),
    ("Pad", (R(2), wholes(1, 1)), {"mode": "sum"}, "not computed: mode sum"),
    *(("Pad", (R(2), wholes(-2, 1)), {"mode": mode}, "nothing to pad with") for mode in ("edge", "reflect", "wrap")),
    ("Trilu", (R(3),), {}, "of 3"),
    ("Trilu", (TWO, wholes(0, 1)), {}, "input 1 of 2, where one number is wanted"),
    ("EyeLike", (R(3),), {}, "of 3"),
    *((op, (R(1, 4, 1, 1),), {"blocksize": 0}, "of 1x4x1x1 in blocks of 0") for op in ("DepthToSpace", "SpaceToDepth")),
    *((op, (TWO,), {"blocksize": 2}, "of 2x2 in blocks of 2") for op in ("DepthToSpace", "SpaceToDepth")),
    ("DepthToSpace", (R(1, 6, 1, 1),), {"blocksize": 2}, "of 1x6x1x1 in blocks of 2"),
    *(("SpaceToDepth", (R(1, 1, *plane),), {"blocksize": 2}, f"of 1x1x{plane[0]}x{plane[1]} in blocks of 2") for plane in ((1, 2), (2, 1))),
    *(("Transpose", (TWO,), {"perm": perm}, "an order of dimensions that does not fit 2x2") for perm in ([0], [1, 1])),
]
IMAGE, FILTER = R(1, 1, 3, 3), R(1, 1, 2, 2)
WINDOWS = [
    *(("Conv", (IMAGE, FILTER), {"strides": n}, "strides that do not fit") for n in ([1], [0, 1], [2**21, 1])),
    *(("Conv", (IMAGE, FILTER), {"pads": n}, "pads that do not fit") for n in ([1, 1], [FAR, 0, 0, 0], [-FAR, 0, 0, 0])),
    ("Conv", (IMAGE, FILTER), {"kernel_shape": [2, 3]}, "a kernel_shape that is not that of the filters, 2x2"),
    ("MaxPool", (IMAGE,), {"kernel_shape": [2]}, "a kernel of 2 over 3x3"),
    ("MaxPool", (IMAGE,), {"kernel_shape": [0, 2]}, "a kernel of 0x2 over 3x3"),
    *((op, (IMAGE, FILTER), {"auto_pad": "SAME"}, "auto_pad 'SAME'") for op in ("Conv", "ConvTranspose")),
    ("Conv", (IMAGE, FILTER), {"dilations": [3, 1]}, "a kernel that reaches over 4 of 3"),
    ("ConvTranspose", (IMAGE, R(1, 1, 0, 2)), {}, "a kernel of 0x2"),
    *(("ConvTranspose", (IMAGE, FILTER), {name: n}, "output_padding or output_shape that do not fit")
      for name in ("output_padding", "output_shape") for n in ([1], [-1, 1], [FAR, 1])),
    ("ConvTranspose", (IMAGE, FILTER), {"pads": [3, 0, 2, 0]}, "an extent of -1"),
    ("ConvTranspose", (IMAGE, FILTER), {"pads": [-FAR // 2, 0, -FAR // 2, 0]}, f"an extent of {FAR + 4}"),
]


def keys_weights(t, a=-0.75):
    """Of R. Keys, Cubic convolution interpolation for digital image processing, IEEE Trans. ASSP 29 (1981): of four elements, the second t before."""
    def weight(d):
        return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return [weight(abs(t - at)) for at in (-1, 0, 1, 2)]


def powers(pairs):
    """Of each pair; Python's own power, of floats that all have one."""
    return ("Pow", (reals(*(x for x, _ in pairs)), reals(*(y for _, y in pairs))), {}, [reals(*(z for z in map(lambda pair: math.pow(*pair), pairs)))])


ONE_HEAD = R(1, 1, 1, 1, of=[1])
TURNED = R(1, 1, 2, 2, of=[1, 2, 3, 4])
# Operator, inputs, attributes, outputs; and the version of the operators where that matters.
VALUES_OF = [
    # The second key is behind the mask's end: each query sees the first alone.
    ("Attention", (FOUR, FOUR, R(1, 1, 2, 2, of=[5, 6, 7, 8]), R(2, 1)), {}, [R(1, 1, 2, 2, of=[5, 6, 5, 6])]),
    ("Attention", (FOUR, R(1, 1, 0, 2), R(1, 1, 0, 2)), {}, [FOUR]),
    ("Attention", (R(1, 1, 2, 1, of=[NAN, 0]), R(1, 1, 2, 1), R(1, 1, 2, 1, of=[3, 5])), {}, [R(1, 1, 2, 1, of=[NAN, 4])]),
    *(("Attention", (ONE_HEAD, R(1, 1, 2, 1, of=keys), R(1, 1, 2, 1)), {}, [R(1, 1, 1, 1, of=[NAN])]) for keys in ([1, NAN], [NAN, 1])),
    # A query of which every score is -infinity sees no key.
    ("Attention", (ONE_HEAD, R(1, 1, 2, 1, of=[-INF, -INF]), R(1, 1, 2, 1, of=[3, 5])), {}, [R(1, 1, 1, 1)]),
    ("RotaryEmbedding", (R(1, 1, 2, 0), R(1, 2, 0), R(1, 2, 0)), {}, [R(1, 1, 2, 0)]),
    # Positions -1 and 0 of cosines 1 and 0, sines 0 and 1.
    ("RotaryEmbedding", (TURNED, R(2, 1, of=[1, 0]), R(2, 1, of=[0, 1]), W(1, 2, of=[-1, 0])), {}, [R(1, 1, 2, 2, of=[-2, 1, 3, 4])]),
    ("Div", (wholes(7, -7, -2**63), wholes(-1, 2, -1)), {}, [wholes(-7, -3, -2**63)]),
    ("Mod", (wholes(7, -7, -2**63), wholes(-1, 2, -1)), {}, [wholes(0, 1, 0)]),
    ("Mod", (wholes(7, -7, -2**63), wholes(-1, 2, -1)), {"fmod": 1}, [wholes(0, -1, 0)]),
    *((op, (reals(1, NAN, 1), reals(NAN, 1, 2)), {}, [reals(NAN, NAN, last)]) for op, last in (("Max", 2), ("Min", 1))),
    ("Sum", (wholes(3, 2**62), wholes(4, 2**62)), {}, [wholes(7, -2**63)]),
    ("PRelu", (wholes(-3, 3), wholes(2)), {}, [wholes(-6, 3)]),
    *(("Cast", (reals(3, 4, 5, 7),), {"to": 24, **words}, [reals(*values)]) for words, values in (
        ({}, (4, 4, 8, 8)), ({"round_mode": "up"}, (4, 4, 8, 8)), ({"round_mode": "down"}, (2, 4, 4, 4)), ({"round_mode": "nearest"}, (4, 4, 4, 8)))),
    ("Cast", (reals(0, -0.0, NAN, 0.5),), {"to": 9}, [T(4, of=[0, 0, 1, 1])]),
    ("Cast", (wholes(0, 256, -1),), {"to": 9}, [T(3, of=[0, 1, 1])]),
    ("Cast", (reals(-1.5, 1e20, -INF, NAN),), {"to": 7}, [wholes(-1, -2**63, -2**63, -2**63)]),
    ("Clip", (reals(NAN, 2, -2), R(of=[-1]), R(of=[1])), {}, [reals(NAN, 1, -1)]),
    ("Clip", (reals(NAN, 2, -2),), {"min": -1.0}, [reals(NAN, 2, -1)], 7),
    ("Dropout", (reals(3, 4),), {}, [reals(3, 4), reals(1, 1)], 7),
    ("Dropout", (reals(3, 4), R(of=[0.5]), T(of=[False])), {}, [reals(3, 4), T(2, of=[1, 1])]),
    ("HardSigmoid", (reals(NAN, 9, -9, 0),), {}, [reals(NAN, 1, 0, 0.5)]),
    ("Trilu", (TURNED, W(of=[1])), {}, [R(1, 1, 2, 2, of=[0, 2, 0, 0])]),
    powers([(NAN, 0), (1, NAN), (1, INF), (NAN, 2), (2, NAN), (1, -3), (2, -3), (-2, -3), (-1, 1e20), (0.5, 1e20), (1.5, 100), (-2, 65), (-2, 66),
            (2, -70), (0, 0.5), (0, 100), (-0.0, 65), (INF, 0.5), (-INF, 0.5), (-INF, 65), (INF, -0.5), (-INF, -65), (2, INF), (2, -INF), (-1, INF), (-1, -INF), (-2, INF)]),
    ("Pow", (reals(-2, 0, -0.0), reals(0.5, -0.5, -65)), {}, [reals(NAN, INF, -INF)]),  # Python has none of these
    *(("ScatterElements", (wholes(5, 6, 7), wholes(0, 2), wholes(6, 2)), {"reduction": word} if word else {}, [wholes(first, 6, last)])
      for word, first, last in (("", 6, 2), ("none", 6, 2), ("add", 11, 9), ("mul", 30, 14), ("max", 6, 7), ("min", 5, 2))),
    ("ScatterND", (wholes(5, 6, 7), W(2, 1, of=[0, -1]), wholes(6, 2)), {"reduction": "max"}, [wholes(6, 6, 7)]),
    # A row without indices is all of x.
    ("ScatterND", (reals(5, 6), W(2, 0), R(2, 2, of=[1, 2, 3, 4])), {}, [reals(3, 4)]),
    ("ScatterND", (reals(5, 6), W(2, 0), R(2, 2, of=[1, 2, 3, 4])), {"reduction": "add"}, [reals(9, 12)]),
    *(("ScatterND", (R(0), W(rows, 0), R(rows, 0)), {}, [R(0)]) for rows in (2, 2**39)),
    ("GatherND", (reals(5, 6), W(2, 0)), {}, [R(2, 2, of=[5, 6, 5, 6])]),
    ("TopK", (reals(1, 3, 2),), {"k": 2}, [reals(3, 2), wholes(1, 2)], 9),
    # NaN is greater than all numbers; of equal ones the first comes first.
    ("TopK", (reals(1, NAN, 2, NAN, 2), wholes(4)), {}, [reals(NAN, NAN, 2, 2), wholes(1, 3, 2, 4)]),
    ("TopK", (reals(NAN, 2, 1, 1), wholes(4)), {"largest": 0}, [reals(1, 1, 2, NAN), wholes(2, 3, 1, 0)]),
    *((op, (reals(3, NAN, 3, NAN, 1),), {"select_last_index": last}, [wholes(at)]) for op in ("ArgMax", "ArgMin") for last, at in ((0, 1), (1, 3))),
    ("ArgMax", (reals(3, 1, 3),), {"select_last_index": 1}, [wholes(2)]),
    ("Resize", (reals(1, 2, 3, 4), None, R(0), wholes(2)), {"coordinate_transformation_mode": "asymmetric"}, [reals(1, 3)]),
    # (0 + 0.5) / 2 and so on: 0.25, 0.75, 1.25, 1.75 of 0 and 1.
    ("Resize", (reals(8, 16), None, reals(2)), {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"}, [reals(8, 8, 16, 16)]),
    ("Resize", (reals(8, 16), None, reals(2)), {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "mode": "linear"}, [reals(10, 14, 16, 16)]),
    # Before version 11 place i / scale, the element before it, or behind it where the image shrinks.
    ("Resize", (reals(1, 2, 3, 4), reals(0.625)), {}, [reals(1, 3)], 10),
    ("Resize", (reals(1, 2), reals(2)), {}, [reals(1, 1, 2, 2)], 10),
    ("Upsample", (reals(1, 2), reals(2)), {}, [reals(1, 1, 2, 2)], 9),
    ("Upsample", (reals(1, 2),), {"scales": [2.0]}, [reals(1, 1, 2, 2)], 7),
    ("Upsample", (reals(1, 2),), {"scales": [2.0], "mode": "linear"}, [reals(1, 1.5, 2, 2)], 7),
    ("GridSample", (R(1, 1, 1, 2, of=[1, 3]), R(1, 1, 1, 2)), {"mode": "bilinear"}, [R(1, 1, 1, 1, of=[2])], 16),
    # Half way between the second and the third of four; a place on the one row counts it alone.
    ("GridSample", (R(1, 1, 1, 4, of=[1, 2, 3, 4]), R(1, 1, 1, 2)), {"mode": "bicubic"},
     [R(1, 1, 1, 1, of=[sum(weight * at for weight, at in zip(keys_weights(0.5), (1, 2, 3, 4)))])], 16),
    ("GridSample", (FOUR, R(1, 0, 1, 2)), {}, [R(1, 1, 0, 1)]),
    # An integer that is nearest; none where there is no element.
    ("GridSample", (W(1, 1, 1, 2, of=[2**60 + 1, 3]), R(1, 1, 3, 2, of=[-0.5, 0, 0.5, 0, 9, 0])), {"mode": "nearest"}, [W(1, 1, 1, 3, of=[2**60 + 1, 3, 0])]),
    ("Slice", (reals(1, 2, 3, 4),), {"starts": [1], "ends": [-1]}, [reals(2, 3)], 9),
    *(("Slice", (R(0), wholes(start), wholes(end), wholes(0), wholes(step)), {}, [R(0)])
      for start, end, step in ((-1, -2**63, -1), (0, -2**63, -2), (2**62, -2**62, -1), (0, 2**62, 1))),
    ("Slice", (reals(1, 2, 3, 4), wholes(2**62), wholes(-2**63), wholes(0), wholes(-2)), {}, [reals(4, 2)]),
    ("Constant", (), {"value_floats": [1.5, 2.5]}, [reals(1.5, 2.5)]),
    ("Constant", (), {"value_float": 1.5}, [R(of=[1.5])]),
    ("ConstantOfShape", (wholes(2),), {"value": W(1, of=[7])}, [wholes(7, 7)]),
    ("ConstantOfShape", (wholes(2),), {}, [R(2)]),
    ("Pad", (reals(1, 2),), {"pads": [1, 1], "value": 7.0}, [reals(7, 1, 2, 7)], 10),
    ("Pad", (reals(1, 2), wholes(1, 1), R(of=[7])), {}, [reals(7, 1, 2, 7)]),
    ("Pad", (reals(1, 2, 3), wholes(4, 5)), {"mode": "reflect"}, [reals(1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2)]),
    ("Pad", (R(2, 0), wholes(0, 0, 1, 0)), {"mode": "edge"}, [R(3, 0)]),
    *(("EyeLike", (R(2, 3),), {"k": k}, [R(2, 3, of=values)]) for k, values in (
        (2, [0, 0, 1, 0, 0, 0]), (-1, [0, 0, 0, 1, 0, 0]), (2**62, [0] * 6), (-2**62, [0] * 6))),
    ("MaxPool", (R(1, 1, 3, of=[1, 2, 3]),), {"kernel_shape": [2], "auto_pad": "VALID"}, [R(1, 1, 2, of=[2, 3])]),
    # Each element in the place of its window, of which the last, or with SAME_UPPER the first, is beyond the result.
    *(("ConvTranspose", (R(1, 1, 2, of=[1, 10]), R(1, 1, 3, of=[1, 2, 3])), {"strides": [2], **words}, [R(1, 1, len(values), of=values)])
      for words, values in (({}, [1, 2, 13, 20, 30]), ({"auto_pad": "NOTSET"}, [1, 2, 13, 20, 30]), ({"auto_pad": "VALID", "pads": [1, 1]}, [1, 2, 13, 20, 30]),
                            ({"auto_pad": "SAME_UPPER"}, [1, 2, 13, 20]), ({"auto_pad": "SAME_LOWER"}, [2, 13, 20, 30]),
                            ({"output_shape": [3]}, [2, 13, 20]), ({"output_padding": [1]}, [1, 2, 13, 20, 30, 0]), ({"output_shape": [7]}, [1, 2, 13, 20, 30, 0, 0]))),
]


class Operators(Folder):
    def refused(self, *rows):
        for op, inputs, attributes, said, *opset in rows:
            with self.subTest(op=op, said=said, attributes=attributes):
                (self.path / "m.onnx").write_bytes(model_of(op, inputs, attributes, ["y"], *opset or (23,)))
                code, out, err = run("census", "m.onnx", "--to", "fp16", "--inputs", "none", "--integers", "--csv", cwd=self.path)
                cause = said.removeprefix("not computed")
                if cause != said:  # and what else there is is counted
                    self.assertEqual((code, err), (0, f"m.onnx: not computed: {op}{cause} (1 node, node 'n' ({op}))\n"))
                    self.assertNotIn("m.onnx:y", out)
                else:
                    self.assertEqual((code, out, err), (2, "", f"ulpscope: m.onnx: node 'n' ({op}): {said}\n"))

    def test_attention_and_rotary_embeddings_of_shapes_that_do_not_fit_are_refused(self):
        self.refused(*(("Attention", *row) for row in ATTENTION), *(("RotaryEmbedding", *row) for row in ROTARY))

    def test_elements_of_unlike_types_and_limits_that_are_no_numbers_are_refused(self):
        self.refused(*ELEMENTWISE)

    def test_indices_that_do_not_fit_are_refused(self):
        self.refused(*INDICES)

    def test_images_and_grids_that_do_not_fit_are_refused(self):
        self.refused(*RESAMPLING)

    def test_shapes_that_cannot_be_are_refused(self):
        self.refused(*SHAPES)

    def test_windows_that_do_not_fit_are_refused(self):
        self.refused(*WINDOWS)

    def test_values_at_the_ends_of_what_operators_take(self):
        for at, (op, inputs, attributes, outputs, *opset) in enumerate(VALUES_OF):
            names = [f"y{i}" for i in range(len(outputs))]
            behind = [node("Cast", [name], [name + "f"], attribute("to", 1)) for name in names]  # of floats alone bits are said
            (self.path / f"{at}.onnx").write_bytes(model_of(op, inputs, attributes, names, *opset or (23,), behind=behind))
        lines = "".join(f"{self.path / str(at)}.onnx\n" for at in range(len(VALUES_OF)))
        said = subprocess.run([VALUES], input=lines, stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT).stdout.split("model ")[1:]
        self.assertEqual(len(said), len(VALUES_OF))
        for (op, inputs, attributes, outputs, *_), text in zip(VALUES_OF, said):
            with self.subTest(op=op, inputs=[(one.shape, one.values) for one in inputs if one], attributes=attributes):
                values = {name: words for name, *words in (line.split(" ")[1:] for line in text.splitlines()[1:] if line.startswith("value "))}
                for i, output in enumerate(outputs):
                    shape = "x".join(map(str, output.shape)) or "scalar"
                    bits = [f"{struct.unpack('<I', struct.pack('<f', one))[0]:08x}" for one in output.values]
                    self.assertEqual(self.with_one_nan(values.get(f"y{i}f", [text])), [shape, *self.with_one_nan(bits)])

    @staticmethod
    def with_one_nan(words):
        return ["NaN" if word[:3] in ("7fc", "ffc") else word for word in words]


if __name__ == "__main__":
    unittest.main()
