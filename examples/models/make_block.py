#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes block.onnx beside this file: a transformer block as exporters write one, layer norms and GELU in their parts, with one channel
that is much larger than the others, as large models have. Needs the package onnx; the same bytes every time.   usage: make_block.py"""
import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

WIDTH, HIDDEN, TOKENS = 16, 32, 8
drawn = np.random.default_rng(1)
nodes, weights = [], []


def weight(name, values):
    weights.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
    return name


def node(op, inputs, output, **attributes):
    nodes.append(helper.make_node(op, inputs, [output], name="/" + output, **attributes))
    return output


def linear(x, name, rows, columns):
    product = node("MatMul", [x, weight(f"{name}.weight", drawn.normal(size=(rows, columns)) / rows**0.5)], f"{name}/MatMul")
    return node("Add", [product, weight(f"{name}.bias", drawn.normal(size=columns) / 10)], f"{name}/Add")


def layer_norm(x, name):
    centred = node("Sub", [x, node("ReduceMean", [x], f"{name}/ReduceMean", axes=[-1])], f"{name}/Sub")
    square = node("Pow", [centred, weight(f"{name}/two", 2.0)], f"{name}/Pow")
    variance = node("Add", [node("ReduceMean", [square], f"{name}/ReduceMean_1", axes=[-1]), weight(f"{name}/epsilon", 1e-5)], f"{name}/Add")
    scaled = node("Mul", [node("Div", [centred, node("Sqrt", [variance], f"{name}/Sqrt")], f"{name}/Div"), weight(f"{name}.weight", np.ones(WIDTH))],
                  f"{name}/Mul")
    return node("Add", [scaled, weight(f"{name}.bias", np.zeros(WIDTH))], f"{name}/Add_1")


large = np.ones(WIDTH)
large[3] = 600
x = node("Mul", ["hidden", weight("outlier", large)], "input/Mul")
normal = layer_norm(x, "norm1")
query, key, value = (linear(normal, f"attention.{part}", WIDTH, WIDTH) for part in ("query", "key", "value"))
scores = node("MatMul", [query, node("Transpose", [key], "attention/Transpose", perm=[0, 2, 1])], "attention/MatMul")
scaled = node("Div", [scores, weight("attention/root", WIDTH**0.5)], "attention/Div")
masked = node("Add", [scaled, weight("attention/mask", np.triu(np.full((TOKENS, TOKENS), -1e9), 1))], "attention/Add")
attended = node("MatMul", [node("Softmax", [masked], "attention/Softmax", axis=-1), value], "attention/MatMul_1")
x = node("Add", [x, linear(attended, "attention.output", WIDTH, WIDTH)], "residual/Add")
hidden = linear(layer_norm(x, "norm2"), "mlp.up", WIDTH, HIDDEN)
erf = node("Erf", [node("Div", [hidden, weight("mlp/root2", 2**0.5)], "mlp/Div")], "mlp/Erf")
gelu = node("Mul", [node("Mul", [hidden, node("Add", [erf, weight("mlp/one", 1.0)], "mlp/Add")], "mlp/Mul"), weight("mlp/half", 0.5)], "mlp/Mul_1")
node("Add", [x, linear(gelu, "mlp.down", HIDDEN, WIDTH)], "output")

shape = ["batch", TOKENS, WIDTH]
graph = helper.make_graph(nodes, "block", [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, shape)],
                          [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="make_block.py")
(pathlib.Path(__file__).parent / "block.onnx").write_bytes(model.SerializeToString(deterministic=True))
