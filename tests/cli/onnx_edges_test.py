#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of models in ONNX at their edges: results that are known, what does not fit, and what is not computed.
usage: onnx_edges_test.py PROGRAM"""
import csv
import math
import struct
import unittest

from files_test import Folder
from onnx_test import attribute, branch, field, model, node, run

REAL, UINT8, INT8, INT32, WHOLE, TRUTH, DOUBLE, UINT64 = 1, 2, 3, 6, 7, 9, 11, 13
CODES = {REAL: "f", UINT8: "B", INT8: "b", INT32: "i", WHOLE: "q", TRUTH: "?", DOUBLE: "d", UINT64: "Q"}
NAN, INF = math.nan, math.inf


def constant(name, shape, values=None, dtype=REAL):
    """`values`: of all elements, or one for each; none: 1, 2, 3 and so on"""
    count = math.prod(shape)
    values = list(range(1, count + 1)) if values is None else values if isinstance(values, list) else [values] * count
    return b"".join(field(1, extent) for extent in shape) + field(2, dtype) + field(8, name) + field(9, struct.pack(f"<{count}{CODES[dtype]}", *values))


def reals(name, values):
    return field(5, field(1, name) + field(7, struct.pack(f"<{len(values)}f", *values)))


def attributes(named):
    for name, value in named.items():
        yield value if isinstance(value, bytes) else reals(name, value) if isinstance(value, list) and value and isinstance(value[0], float) else \
            attribute(name, value)


def r(*shape, values=None):
    return shape, values, REAL


def of(dtype, *shape, values=None):
    return shape, values, dtype


class Operators(Folder):
    def write_node(self, op, inputs, named, outputs=("y",), opset=21, before=(), behind=(), more=()):
        """A model of one node 'n', whose inputs are constants a, b, c and so on, names of what nodes `before` give, or none."""
        names, constants = [], list(more)
        for name, one in zip("abcdefgh", inputs):
            names.append("" if one is None else one if isinstance(one, str) else name)
            if isinstance(one, tuple):
                constants.append(constant(name, *one))
        self.write("m.onnx", model([*before, node(op, names, outputs, *attributes(named), name="n"), *behind], constants, opset=opset))

    def said(self):
        done = run("census", "m.onnx", "--inputs", "none", "--to", "fp32", "--integers", "--csv", cwd=self.path)
        return done.returncode, done.stdout, done.stderr

    def refused_node(self, text, op, *inputs, before=(), opset=21, **named):
        self.write_node(op, inputs, named, before=before, opset=opset)
        self.assertEqual(self.said(), (2, "", f"ulpscope: m.onnx: node 'n' ({op}): {text}\n"))

    def left_out(self, text, op, *inputs, outputs=("y",), opset=21, **named):
        self.write_node(op, inputs, named, outputs, opset)
        code, _, err = self.said()
        self.assertEqual((code, err), (0, f"m.onnx: not computed: {op}: {text} (1 node, node 'n' ({op}))\n"))

    def gives(self, shape, values, op, *inputs, outputs=("y",), output="y", opset=21, before=(), close=0.0, **named):
        """Shape and values of an output, by nodes behind it that say of each whether it is the wanted one (or as close)."""
        behind = [node("Cast", [output], ["real"], attribute("to", REAL)), node("Equal", ["real", "wanted"], ["right"])]
        if close:
            behind[1:] = [node("Sub", ["real", "wanted"], ["off"]), node("Abs", ["off"], ["far"]), node("Less", ["far", "most"], ["right"])]
        behind += [node("Shape", [output], ["extents"]), node("Equal", ["extents", "shape"], ["fit"]), node("Cast", ["fit"], ["fits"], attribute("to", REAL)),
                   node("Cast", ["right"], ["rights"], attribute("to", REAL)), node("IsNaN", ["real"], ["nan"]),
                   node("Cast", ["nan"], ["nans"], attribute("to", REAL))]
        more = [constant("wanted", shape, values), constant("shape", [len(shape)], list(shape), WHOLE), constant("most", [], close)]
        self.write_node(op, inputs, named, outputs, opset, before, behind, more)
        code, out, err = self.said()
        self.assertEqual((code, err), (0, ""), (op, named))
        rows = {row["tensor"].removeprefix("m.onnx:"): row for row in csv.DictReader(out.splitlines())}
        count, nans = math.prod(shape), sum(map(math.isnan, values))
        self.assertEqual([(int(rows[name]["count"]), int(rows[name]["zero"])) for name in ("fits", "rights", "nans")],
                         [(len(shape), 0), (count, nans), (count, count - nans)], (op, named))

    def test_boxes(self):
        box = [0.0, 0.0, 2.0, 2.0]
        def kept(boxes, scores, wanted, *more, **named):
            count = len(boxes) // 4
            self.gives((len(wanted), 3), [float(one) for at in wanted for one in (0, 0, at)], "NonMaxSuppression", r(1, count, 4, values=boxes),
                       r(1, 1, count, values=scores), *more, **named)
        most = of(WHOLE, 1, values=[9])
        kept([*box, 2.0, 0.0, 4.0, 2.0], [0.5, 0.75], [1, 0], most)  # one below the other
        kept([*box, NAN, 0.0, 2.0, 2.0, 0.0, 0.0, 2.0, NAN], [0.75, 0.5, 0.25], [0, 1, 2], most)  # what is no box overlaps none
        kept(box, [0.5], [0], most, r(0), r(0))
        kept(box, [NAN], [], most)
        kept(box, [0.5], [], most, r(1, values=0.0), r(1, values=0.5))
        kept([], [], [], most)
        kept(box, [0.5], [], None)
        kept(box, [0.5], [], of(WHOLE, 0))
        refused = self.refused_node
        for boxes, scores in (((1, 4), (1, 1, 1)), ((1, 1, 4), (1, 1)), ((1, 1, 3), (1, 1, 1)), ((1, 1, 4), (2, 1, 1)), ((1, 1, 4), (1, 1, 2))):
            shown = ["x".join(map(str, shape)) for shape in (boxes, scores)]
            refused(f"boxes of {shown[0]} with scores of {shown[1]}", "NonMaxSuppression", r(*boxes), r(*scores))
        refused("input 2 of 2", "NonMaxSuppression", r(1, 1, 4), r(1, 1, 1), of(WHOLE, 2))

    def test_sums_by_labels(self):
        gives, refused = self.gives, self.refused_node
        gives((2, 2), [7.0, 10.0, 15.0, 22.0], "Einsum", r(2, 2), r(2, 2), equation="ij,jk")
        gives((2,), [1.0, 4.0], "Einsum", r(2, 1), r(2, 1), equation="...i,...i")
        gives((2, 2), [3.0, 6.0, 7.0, 14.0], "Einsum", r(2, 2), r(2), equation="ij,k->ik")
        gives((2, 2), [3.0, 7.0, 6.0, 14.0], "Einsum", r(2), r(2, 2), equation="i,jk->ij")
        gives((), [18.0], "Einsum", r(3), r(1, values=3.0), equation="i,i->")
        gives((), [18.0], "Einsum", r(1, values=3.0), r(3), equation="i,i->")
        refused("extents 2 and 3 of label i", "Einsum", r(2), r(3), equation="i,i->")
        refused("an equation of 1 operands", "Einsum", r(2), r(2), equation="i")
        refused("labels ij for 2", "Einsum", r(2), equation="ij->i")
        refused("labels i... for a scalar", "Einsum", r(), equation="i...->i")
        for labels in ("i9", "[i", "i.", "{i", "@i", "9...", "i...9"):
            refused(f"labels {labels}, which are no letters", "Einsum", r(2, 2), equation=labels + "->")
        refused("labels j->k, which are no letters", "Einsum", r(2), equation="i->j->k")
        refused("a result of labels ii", "Einsum", r(2), equation="i->ii")
        self.left_out("an ellipsis of more than 10 dimensions", "Einsum", r(*[1] * 11), equation="...->...")
        self.left_out("of int64", "Einsum", of(WHOLE, 2), equation="i->i")

    def test_pools(self):
        gives, refused = self.gives, self.refused_node
        refused("of 2x3", "MaxPool", r(2, 3), kernel_shape=[2])
        self.left_out("of int64", "MaxPool", of(WHOLE, 1, 1, 3), kernel_shape=[2])
        gives((1, 1, 4), [NAN, NAN, NAN, 2.0], "MaxPool", r(1, 1, 5, values=[1.0, NAN, NAN, 2.0, 1.0]), kernel_shape=[2])
        gives((1, 1, 3), [-INF, 5.0, -INF], "MaxPool", r(1, 1, 1, values=5.0), kernel_shape=[1], pads=[1, 1])  # nothing but padding
        gives((1, 1, 2), [1.0, 2.0], "MaxPool", r(1, 1, 3), outputs=("y", "at"), output="at", kernel_shape=[2])
        gives((1, 1, 2), [2.0, 3.0], "MaxPool", r(1, 1, 3), outputs=("y", ""), kernel_shape=[2])
        self.left_out("output 1", "MaxPool", r(1, 1, 3), outputs=("y", "at"), kernel_shape=[2], storage_order=1)
        gives((1, 2, 1), [NAN, 3.0], "GlobalMaxPool", r(1, 2, 3, values=[1.0, NAN, 2.0, 1.0, 3.0, 2.0]))

    def test_norms(self):
        gives, refused = self.gives, self.refused_node
        plain = [-math.sqrt(1.5), 0.0, math.sqrt(1.5)]
        refused("parameters of 3 for 2 channels", "BatchNormalization", r(1, 2), r(2), r(3), r(2), r(2))
        for op, more in (("BatchNormalization", [r(1)] * 4), ("GroupNormalization", [r(1)] * 2), ("InstanceNormalization", [r(1)] * 2), ("LRN", [])):
            refused("of 3", op, r(3), *more, **({"num_groups": 1} if op[0] == "G" else {}))
        refused("size 0", "LRN", r(1, 2), size=0)
        refused("p 3", "LpNormalization", r(2), p=3)
        gives((1, 3), plain, "LayerNormalization", r(1, 3), r(3, values=1.0), epsilon=0.0, close=1e-6)
        gives((1, 3), [one + 1 for one in plain], "LayerNormalization", r(1, 3), r(3, values=1.0), r(3, values=1.0), epsilon=0.0, close=1e-6)
        gives((2, 0), [], "RMSNormalization", r(2, 0), r(0), opset=23)
        gives((1, 2, 0), [], "InstanceNormalization", r(1, 2, 0), r(2), r(2))
        gives((1, 0, 2, 2), [], "MeanVarianceNormalization", r(1, 0, 2, 2))
        for groups in (0, 2):
            refused(f"3 channels in {groups} groups", "GroupNormalization", r(1, 3, 1), r(3), r(3), num_groups=groups)
        refused("a scale of 2 and a bias of 4", "GroupNormalization", r(1, 4, 1), r(2), r(4), num_groups=2)
        refused("parameters of 3 for 4 channels", "GroupNormalization", r(1, 4, 1), r(3), r(4), num_groups=2)
        # Two groups of two channels: -1 and 1, by parameters of groups, then by those of channels.
        gives((1, 4, 1), [9.0, 11.0, 18.0, 22.0], "GroupNormalization", r(1, 4, 1), r(2), r(2, values=[10.0, 20.0]), num_groups=2, epsilon=0.0, opset=18)
        gives((1, 4, 1), [0.0, 4.0, 0.0, 8.0], "GroupNormalization", r(1, 4, 1), r(4), r(4), num_groups=2, epsilon=0.0)

    def test_attributes_and_axes(self):
        refused = self.refused_node
        refused("attribute axes is of another type", "ReduceSum", r(2), axes=1, opset=12)
        refused("attribute axes is of another type", "ReduceSum", r(2), axes=0.5, opset=12)
        refused("attribute axes is of another type", "ReduceSum", r(2), axes="0", opset=12)
        refused("attribute axes is of another type", "ReduceSum", r(2), axes=[0.5, 1.5], opset=12)
        refused("input 1 of float32, where integers are wanted", "ReduceSum", r(2), r(1))
        for axis in (2, -3):
            refused(f"axis {axis} of 2 dimensions", "Softmax", r(2, 2), axis=axis)
        self.gives((1, 1, 1, 4), [1.0, 1.0, 2.0, 2.0], "Upsample", r(1, 1, 1, 2), scales=[1.0, 1.0, 1.0, 2.0], opset=7)
        refused("attribute scales is of another type", "Upsample", r(1, 1, 1, 2), scales=[1, 1, 1, 2], opset=7)

    def test_parts(self):
        refused = self.refused_node
        refused("of 2 and 1x2", "Concat", r(2), r(1, 2), axis=0)
        refused("of 2 and 2", "Concat", r(2), of(WHOLE, 2), axis=0)
        refused("of 1x2 and 1x3", "Concat", r(1, 2), r(1, 3), axis=0)
        for sizes in ([2, 3], [5, -1], [2, 1]):
            refused("parts that do not make up extent 4", "Split", r(4), of(WHOLE, len(sizes), values=sizes))
        none = [node("ConstantOfShape", ["b"], ["sizes"], attribute("value", constant("", [1], [0], WHOLE)))]
        self.write("m.onnx", model([*none, node("Split", ["a", "sizes"], ["y"], name="n")], [constant("a", [0]), constant("b", [1], [2**20 + 1], WHOLE)]))
        self.assertEqual(self.said(), (2, "", "ulpscope: m.onnx: node 'n' (Split): parts that do not make up extent 0\n"))
        for parts in (0, 2**20 + 1):
            refused(f"num_outputs {parts}", "Split", r(4), num_outputs=parts)
        empty = [node("SequenceEmpty", [], ["s"])]
        refused("of an empty sequence", "SequenceErase", "s", before=empty)
        refused("of an empty sequence", "ConcatFromSequence", "s", axis=0, before=empty)
        for inputs, text in (((r(1), of(WHOLE, 2)), "a position of 2"), ((r(1), of(WHOLE, 1, values=[-2])), "position -2 in a sequence of 1")):
            self.of_sequence(text, "SequenceAt", ["s", "b"], inputs)
        self.of_sequence("of a sequence, where a tensor is wanted", "SequenceInsert", ["s", "s"], (r(1),))
        self.of_sequence("of a sequence, where integers or truth values are wanted", "SequenceAt", ["s", "s"], (r(1),))
        self.of_sequence("of items of unlike ranks", "ConcatFromSequence", ["s"], (r(1), r(1, 1)), "ab", axis=0, new_axis=1)
        for size in (0, -1):
            refused(f"parts of {size} of 3", "SplitToSequence", r(3), of(WHOLE, values=[size]))
        self.write("m.onnx", model([node("ConstantOfShape", ["b"], ["long"]), node("SplitToSequence", ["long"], ["y"], name="n")],
                                   [constant("b", [1], [2**20], WHOLE)]))
        self.assertEqual(self.said(), (2, "", "ulpscope: m.onnx: node 'n' (SplitToSequence): parts of 1 of 1048576\n"))
        for op, inputs, largest, count in (("SequenceAt", ["t", "at"], 3, 1), ("SequenceErase", ["t"], 2, 2)):  # 1, 2 and 3
            rest = node("ConcatFromSequence", ["u"], ["y"], attribute("axis", 0)) if op == "SequenceErase" else node("Identity", ["u"], ["y"])
            self.write("m.onnx", model([node("SplitToSequence", ["p", "size"], ["t"]), node(op, inputs, ["u"]), rest],
                                       [constant("p", [3]), constant("size", [], [2], WHOLE), constant("at", [], [1], WHOLE)]))
            code, out, err = self.said()
            row = {row["tensor"]: row for row in csv.DictReader(out.splitlines())}["m.onnx:y"]
            self.assertEqual((code, err, float(row["max_abs_input"]), int(row["count"])), (0, "", largest, count))

    def of_sequence(self, text, op, names, inputs, made="a", **named):
        """An error of an operator on a sequence 's' of the inputs `made`."""
        self.write("m.onnx", model([node("SequenceConstruct", list(made), ["s"]), node(op, names, ["y"], *attributes(named), name="n")],
                                   [constant(name, *one) for name, one in zip("ab", inputs)]))
        self.assertEqual(self.said(), (2, "", f"ulpscope: m.onnx: node 'n' ({op}): {text}\n"))

    def test_products(self):
        gives, refused = self.gives, self.refused_node
        for shapes in (((2,), (2, 2)), ((2, 2), (2,))):
            refused("of " + " and ".join("x".join(map(str, shape)) for shape in shapes), "Gemm", *(r(*shape) for shape in shapes))
        refused("of a scalar and 2", "MatMul", r(), r(2))
        refused("of 2 and a scalar", "MatMul", r(2), r())
        self.left_out("of int64", "MatMul", of(WHOLE, 2, 2), of(WHOLE, 2, 2))
        gives((0, 2), [], "MatMul", r(0, 3), r(3, 2))
        gives((2, 0), [], "MatMul", r(2, 3), r(3, 0))
        gives((2, 2), [0.0] * 4, "MatMul", r(2, 0), r(0, 2))
        gives((2, 2), [7.0, 10.0, 15.0, 22.0], "MatMulInteger", of(UINT8, 2, 2), of(UINT8, 2, 2))
        # Zero points of rows of the one and of columns of the other: [0 1; 1 2] by [0 0; 2 2].
        gives((2, 2), [2.0, 2.0, 4.0, 4.0], "MatMulInteger", of(UINT8, 2, 2), of(UINT8, 2, 2), of(UINT8, 2), of(UINT8, 2))
        gives((2, 0), [], "MatMulInteger", of(UINT8, 2, 3), of(UINT8, 3, 0))
        refused("of float32, where integers or truth values are wanted", "MatMulInteger", r(2, 2), r(2, 2))
        for shapes in (((2,), (2, 2)), ((2, 2), (2,)), ((2, 3), (2, 2))):
            self.left_out("of " + " and ".join("x".join(map(str, shape)) for shape in shapes), "MatMulInteger", *(of(UINT8, *shape) for shape in shapes))
        for op, rows in (("Conv", (((1, 4), (1, 4, 1), 1), ((1, 4, 4), (1, 4), 1), ((1, 4, 4), (1, 4, 1), 0), ((1, 4, 4), (1, 3, 1), 1),
                                   ((1, 4, 4), (3, 2, 1), 2))),
                         ("ConvTranspose", (((1, 4), (4, 1, 1), 1), ((1, 4, 4), (4, 1), 1), ((1, 4, 4), (4, 1, 1), 0), ((1, 4, 4), (3, 1, 1), 1),
                                            ((1, 3, 4), (3, 1, 1), 2)))):
            for image, filters, group in rows:
                shown = ["x".join(map(str, shape)) for shape in (image, filters)]
                refused(f"of {shown[0]} with filters of {shown[1]} in {group} groups", op, r(*image), r(*filters), group=group)
            refused("a bias of 3 for 1x2x4", op, r(1, 1, 4), r(2, 1, 1) if op == "Conv" else r(1, 2, 1), r(3))

    def test_codes_and_scales(self):
        gives, refused = self.gives, self.refused_node
        refused("scales of 1x2", "DequantizeLinear", of(INT8, 2, 2), r(1, 2))
        refused("scales of 2 for 2x2", "DequantizeLinear", of(INT8, 2, 2), r(2), block_size=2)
        refused("scales of 2x1 for 2x3", "DequantizeLinear", of(INT8, 2, 3), r(2, 1, values=[1.0, 2.0]), block_size=2)
        refused("scales of 1x2 for 2x3", "DequantizeLinear", of(INT8, 2, 3), r(1, 2), block_size=2)
        refused("block_size -1", "DequantizeLinear", of(INT8, 2, 3), r(2, 0), block_size=-1)
        refused("block_size -1", "QuantizeLinear", r(2, 3), r(2, 2), block_size=-1)
        gives((2, 3), [1.0, 2.0, 6.0, 12.0, 15.0, 24.0], "DequantizeLinear", of(INT8, 2, 3), r(2, 2), block_size=2)
        self.left_out("of int64", "QuantizeLinear", of(WHOLE, 2), r())
        self.left_out("to type 99", "QuantizeLinear", r(2), r(), output_dtype=99)
        ends = r(4, values=[-1.0, 2.5, 300.0, NAN])
        gives((4,), [0.0, 2.0, 255.0, 0.0], "QuantizeLinear", ends, r())
        gives((4,), [-1.0, 2.0, 127.0, -128.0], "QuantizeLinear", ends, r(), output_dtype=INT8)
        for saturate, largest in ((1, 448.0), (0, NAN)):
            gives((2,), [2.0, largest], "QuantizeLinear", r(2, values=[2.0, 1000.0]), r(), output_dtype=17, saturate=saturate)
        gives((2,), [0.0, 0.0], "DynamicQuantizeLinear", r(2, values=0.0), outputs=("y", "scale", "zero"))
        # From -1 to 254: scale 1, zero point 1.
        gives((3,), [0.0, 255.0, 1.0], "DynamicQuantizeLinear", r(3, values=[-1.0, 254.0, NAN]), outputs=("y", "scale", "zero"))

    def test_reductions(self):
        gives, refused = self.gives, self.refused_node
        for op, first in (("ReduceMax", 2.0), ("ReduceMin", 1.0)):
            gives((3,), [first, NAN, NAN], op, r(3, 2, values=[1.0, 2.0, NAN, 1.0, 1.0, NAN]), of(WHOLE, 1, values=[1]), keepdims=0)
        log_2 = math.log(2)
        rows = [0.0, 0.0, 1000.0, 1000.0, -1000.0, -1000.0, 1.0, -INF]
        gives((4,), [log_2, 1000 + log_2, log_2 - 1000, 1.0], "ReduceLogSumExp", r(4, 2, values=rows), of(WHOLE, 1, values=[1]), keepdims=0, close=1e-4)
        gives((4,), [INF, NAN, -INF, INF], "ReduceLogSumExp", r(4, 2, values=[INF, 1.0, NAN, 1.0, -INF, -INF, INF, INF]), of(WHOLE, 1, values=[1]), keepdims=0)
        gives((1, 1), [math.log(4) + 1], "ReduceLogSumExp", r(2, 2, values=1.0), close=1e-6)
        half = [0.5, 0.5]
        gives((2, 2), half * 2, "Softmax", r(2, 2, values=1.0))
        gives((2, 2), [0.25] * 4, "Softmax", r(2, 2, values=1.0), axis=0, opset=12)  # all dimensions behind the axis are one line
        gives((2, 1, 2), half * 2, "Softmax", r(2, 1, 2, values=1.0), opset=12)
        gives((2, 0), [], "Softmax", r(2, 0))
        gives((2, 0), [], "Softmax", r(2, 0), opset=12)
        self.left_out("of int64", "Softmax", of(WHOLE, 2))
        refused("no axis", "CumSum", r(2), of(WHOLE, 2))

    def test_values(self):
        refused = self.refused_node
        refused("an extent of 2199023255552", "ConstantOfShape", of(WHOLE, 1, values=[2**41]))
        refused("an extent of 2199023255552", "Concat", r(0, 2**40), r(0, 2**40), axis=1)
        refused(f"the extents of {2**40}x{2**40} overflow when multiplied", "ConstantOfShape", of(WHOLE, 2, values=[2**40, 2**40]))
        refused("2 cannot become a scalar", "ConstantOfShape", of(WHOLE, 1), value=attribute("value", constant("", [2])))
        refused("shapes 2 and 3 do not fit each other", "Add", r(2), r(3))
        self.left_out("of uint64 beyond 2^63", "Identity", of(UINT64, 1, values=[2**63]))
        self.gives((1,), [2.0**62], "Identity", of(UINT64, 1, values=[2**62]))


if __name__ == "__main__":
    unittest.main()
