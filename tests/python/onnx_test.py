#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operators of models in ONNX beside the examples that ONNX itself ships for each (onnx.backend.test), whose outputs its authors
have computed with NumPy.

usage: onnx_test.py MODEL_VALUES

Every example of operators that are computed must come out, but those of TOLERATED; integers and truth values are compared by a node
behind them that makes floats of them, and so are the items of sequences."""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case import model as models, node as nodes
except ImportError as missing:
    print(f"skipped: onnx_test: {missing}")
    sys.exit(4)

VALUES = sys.argv.pop(1)
KNOWN = set(re.findall(r'\{"(\w+)", ', "".join(path.read_text() for path in
                                              (pathlib.Path(__file__).resolve().parents[2] / "studies/onnx").glob("*.cpp"))))
# What is not computed, and said so: a line each names why.
NOT_COMPUTED = re.compile("is not known|: not computed: ")
RTOL, ATOL = 1e-5, 1e-6  # ONNX's own examples are computed in float32, in an order of their own
IN_FOUR_DIGITS = {"test_averagepool_2d_ceil_last_window_starts_on_pad", "test_gridsample_bicubic"}  # whose results are typed


def examples():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in [*nodes.collect_testcases(None), *models.collect_testcases()]:
            if case.model is None:
                continue  # one to be fetched
            if min((one.version for one in case.model.opset_import if one.domain in ("", "ai.onnx")), default=0) < 7:
                continue  # operators broadcast in another way
            ops = {node.op_type for node in case.model.graph.node} - {function.name for function in case.model.functions}
            for function in case.model.functions:
                ops |= {node.op_type for node in function.node}
            if ops <= KNOWN and not any(node.domain not in ("", "ai.onnx") for node in case.model.graph.node if not case.model.functions):
                yield case


def as_arrays(values):
    for value in values:
        if isinstance(value, TensorProto):
            value = numpy_helper.to_array(value)
        if isinstance(value, list):
            yield list(as_arrays(value))
        elif isinstance(value, (np.ndarray, np.generic)):
            yield np.asarray(value)
        else:
            return  # optional values


def without_sequences(graph, arrays, results):
    """The model's inputs and outputs that are sequences as tensors: it is given each item, and gives each."""
    given, wanted = {}, {}
    made, taken = [], []
    for value, array in zip(list(graph.input), arrays):
        if not isinstance(array, list):
            given[value.name] = array
            continue
        graph.input.remove(value)
        items = [f"{value.name}_{i}" for i in range(len(array))]
        given.update(zip(items, array))
        graph.input.extend(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape) for name, one in zip(items, array))
        made.append(helper.make_node("SequenceConstruct" if items else "SequenceEmpty", items, [value.name]))
    for value, result in zip(list(graph.output), results):
        if not isinstance(result, list):
            wanted[value.name] = result
            continue
        for i, one in enumerate(result):
            taken += [helper.make_node("Constant", [], [f"{value.name}_at_{i}"], value_int=i),
                      helper.make_node("SequenceAt", [value.name, f"{value.name}_at_{i}"], [f"{value.name}_{i}"])]
            wanted[f"{value.name}_{i}"] = one
        taken.append(helper.make_node("SequenceLength", [value.name], [value.name + "_count"]))
        wanted[value.name + "_count"] = np.int64(len(result))
    inner = [*made, *graph.node, *taken]
    del graph.node[:]
    graph.node.extend(inner)
    return given, wanted


class Onnx(unittest.TestCase):
    def test_the_examples_of_onnx(self):
        with tempfile.TemporaryDirectory() as scratch:
            root, wanted, lines = pathlib.Path(scratch), {}, []
            for case in examples():
                inputs, outputs = case.data_sets[0]
                arrays, results = list(as_arrays(inputs)), list(as_arrays(outputs))
                if len(arrays) != len(inputs) or len(results) != len(outputs):
                    continue
                model = onnx.ModelProto()
                model.CopyFrom(case.model)
                given, results = without_sequences(model.graph, arrays, results)
                if any(array.dtype.kind not in "fiub" for array in [*given.values(), *results.values()]):
                    continue  # text; small floats that numpy has no kind for
                for name, result in results.items():
                    if result.dtype.kind != "f":
                        model.graph.node.append(helper.make_node("Cast", [name], [name + "_as_float"], to=TensorProto.FLOAT))
                stem = root / case.name
                stem.with_suffix(".onnx").write_bytes(model.SerializeToString())
                line = str(stem.with_suffix(".onnx"))
                if given:
                    np.savez(stem.with_suffix(".npz"), **given)
                    line += f" {stem.with_suffix('.npz')}"
                lines.append(line)
                wanted[line.split()[0]] = {name + ("" if result.dtype.kind == "f" else "_as_float"): result for name, result in results.items()}
            said = subprocess.run([VALUES], input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True, timeout=600).stdout
        self.assertGreater(len(wanted), 900)
        right, not_computed, wrong = 0, collections.Counter(), []
        for model, values, other in parsed(said):
            name = pathlib.Path(model).stem
            if other and NOT_COMPUTED.search(other[0]):
                not_computed[name] += 1
                continue
            atol = 1e-4 if name in IN_FOUR_DIGITS else ATOL
            fault = next((fault for fault in (compared(values.get(output), result, atol) for output, result in wanted[model].items()) if fault), None)
            if other or fault:
                wrong.append(f"{name}: {'; '.join(other) or fault}")
            else:
                right += 1
        print(f"{right} examples right, {len(not_computed)} not computed and said so")
        if len(sys.argv) > 1:
            print(*not_computed, sep="\n")
        self.assertEqual(wrong, [])
        self.assertGreater(right, 1250)


def parsed(said):
    model, values, other = None, {}, []
    for line in said.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "model":
            if model:
                yield model, values, other
            model, values, other = rest, {}, []
        elif kind == "value":
            name, shape, *words = rest.split(" ")
            extents = [] if shape == "scalar" else [int(extent) for extent in shape.split("x")]
            values[name] = np.array([int(word, 16) for word in words], np.uint32).view(np.float32).reshape(extents)
        else:
            other.append(rest)
    if model:
        yield model, values, other


def compared(value, result, atol):
    if value is None:
        return "no such value"
    if value.shape != result.shape:
        return f"{value.shape} for {result.shape}"
    wide = result.astype(np.float64)
    if result.dtype.kind == "f" and result.dtype.itemsize == 2:
        close = np.isclose(value, wide, rtol=2e-3, atol=2e-3, equal_nan=True)
    else:
        close = np.isclose(value, wide, rtol=RTOL, atol=atol, equal_nan=True)
    return None if close.all() else f"{value[~close][:3]} for {wide[~close][:3]}"


Onnx.maxDiff = None
unittest.main(argv=sys.argv[:1])
