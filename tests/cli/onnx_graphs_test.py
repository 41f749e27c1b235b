#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs, functions, inputs and stored tensors of models in ONNX at their edges.   usage: onnx_graphs_test.py PROGRAM"""
import csv
import os
import struct
import unittest

from files_test import Folder, safetensors
from onnx_test import attribute, branch, field, graph, model, node, run, tensor, value_info

TRUE = field(2, 9) + field(8, "c") + field(9, b"\1")
INPUT = value_info("x", 1, [2])


def function(name, inputs, outputs, nodes, *more):
    return (field(1, name) + b"".join(field(4, one) for one in inputs) + b"".join(field(5, one) for one in outputs) +
            b"".join(field(7, one) for one in nodes) + field(10, "own") + b"".join(more))


def listed(name, shape, dtype, number, data, *more):
    """A tensor whose elements are in this field."""
    return b"".join(field(1, extent) for extent in shape) + field(2, dtype) + field(8, name) + field(number, data) + b"".join(more)


class Graphs(Folder):
    def given(self, nodes, constants=(), inputs=(INPUT,), functions=(), words=("x=normal:0,1:2",), raw=None):
        self.write("m.onnx", raw or model(nodes, constants, inputs, (), functions))
        done = run("census", "m.onnx", "--to", "fp32", "--csv", *(word for one in words for word in ("--inputs", one)), cwd=self.path)
        rows = {row["tensor"].removeprefix("m.onnx:"): row for row in csv.DictReader(done.stdout.splitlines())}
        said = "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith("left out: "))  # integers
        return done.returncode, rows, said

    def fails(self, text, *parts, **more):
        self.assertEqual(self.given(*parts, **more), (2, {}, f"ulpscope: m.onnx: {text}\n"))

    def gives(self, names, *parts, said="", **more):
        code, rows, err = self.given(*parts, **more)
        self.assertEqual((code, list(rows), err), (0, names, said))
        return rows

    def test_functions_that_call_themselves_or_compute_too_much_end(self):
        own = [node("F", ["x"], ["y"], name="n", domain="own")]
        self.fails("node 'n' (own.F): functions and branches in each other deeper than 32", own,
                   functions=[function("F", ["v"], ["w"], [node("F", ["v"], ["w"], domain="own")])])
        many = [function(f"F{level}", ["v"], ["w0"], [node(f"F{level - 1}" if level else "Identity", ["v"], [f"w{i}"], domain="own" if level else "")
                                                     for i in range(100)]) for level in range(3)]
        self.fails("node 'n' (own.F2): computes more than 1000000 nodes, those of functions among them",
                   [node("F2", ["x"], ["y"], name="n", domain="own")], functions=many)

    def test_an_attribute_that_a_call_does_not_give_is_the_functions_own(self):
        steep = node("LeakyRelu", ["v"], ["w"], field(5, field(1, "alpha") + field(21, "slope")))
        for call, least in (((), "0.5"), ((attribute("slope", 0.25),), "0.25")):
            rows = self.gives(["a", "y"], [node("F", ["a"], ["y"], *call, domain="own")], [tensor("a", [2], [-1.0, 4.0])], (),
                              [function("F", ["v"], ["w"], [steep], field(11, field(1, "slope") + field(2, 0.5)))], ("none",))
            self.assertEqual(rows["y"]["min_abs_input"], least)

    def test_initializers_of_a_branch_in_a_function_are_its_own(self):
        inner = branch("then", [node("Add", ["v", "k"], ["w"])], [tensor("k", [1], [3.0])], [], ["w"])
        rows = self.gives(["y"], [node("F", ["c"], ["y"], domain="own")], [TRUE], (),
                          [function("F", ["c"], ["r"], [node("Cast", ["c"], ["v"], attribute("to", 1)), node("If", ["c"], ["r"], inner)])], ("none",))
        self.assertEqual(rows["y"]["max_abs_input"], "4")

    def test_sparse_initializers_are_named_and_what_follows_from_them(self):
        sparse = field(1, tensor("s", [1], [1.0])) + field(2, tensor("", [1], [0], dtype=7)) + field(3, 4)
        inner = graph([node("Neg", ["x"], ["y"]), node("Neg", ["s"], ["z"])], [], [INPUT]) + field(15, sparse) + field(15, field(1, field(2, 1)))
        self.gives(["y"], [], raw=field(1, 8) + field(7, inner) + field(8, field(2, 17)),
                   said="m.onnx: not computed: sparse initializers: are not read (2 nodes, the first 's')\n"
                        "m.onnx: 1 node that follows from these is left out\n")

    def test_outputs_that_no_operator_gives_are_left_out(self):
        self.gives(["y", "b"], [node("Neg", ["x"], ["y", "z"], name="n"), node("Neg", ["z"], ["a"]), node("Neg", ["y"], ["b"])],
                   said="m.onnx: not computed: Neg: output 1 (1 node, node 'n' (Neg))\nm.onnx: 1 node that follows from these is left out\n")
        lost = branch("then", [node("Whatever", ["x"], ["a", "b"], name="w")], [], [], ["a", "b"])
        self.gives(["n"], [node("If", ["c"], ["y", "z"], lost), node("Neg", ["x"], ["n"])], [TRUE],
                   said="m.onnx: not computed: Whatever, which is not known (1 node, node 'w' (Whatever))\n"
                        "m.onnx: 1 node that follows from these is left out\n")

    def test_names_that_are_there_already(self):
        self.fails("node 'n' (Neg): gives 'a', which is there already", [node("Neg", ["x"], ["a"], name="n")], [tensor("a", [1], [1.0])])
        self.fails("node 'n' (Neg): gives 'x', which is there already", [node("Neg", ["x"], ["x"], name="n")])
        self.fails("holds initializer 'a' twice", [], [tensor("a", [1], [1.0]), tensor("a", [1], [2.0])])

    def test_conditions_that_are_none(self):
        taken = branch("then", [], [], [], ["x"])
        for inputs in ([], [""], ["c", "c"]):
            self.fails("node 'n' (If): has no condition", [node("If", inputs, ["y"], taken, name="n")], [TRUE])
        two = field(1, 2) + field(2, 9) + field(8, "c") + field(9, b"\1\1")
        self.fails("node 'n' (If): a condition of 2", [node("If", ["c"], ["y"], taken, name="n")], [two])
        self.fails("node 'n' (If): has no then_branch", [node("If", ["c"], ["y"], attribute("then_branch", 1), name="n")], [TRUE])

    def test_inputs_and_what_they_are_given(self):
        nodes, two = [node("Neg", ["x"], ["y"])], [value_info("x", 1, ["n", 2]), value_info("z", 1, ["n"])]
        self.fails("input 'x' (float32, 2) is given as 2x1 by normal:0,1:2x1", nodes, words=("x=normal:0,1:2x1",))
        self.fails("input 'x' (float32, 2) is not among those of --inputs, which are none", nodes, words=("none",))
        self.gives(["y"], nodes, inputs=two, words=("x=normal:0,1:3x2", "z=normal:0,1:3"))
        self.gives(["y"], nodes, words=("normal:0,1:2",))  # the only one for the only input
        self.fails("input 'x' (float32, 2) is not among those of --inputs, which are z", nodes, words=("z=normal:0,1:2",))
        self.fails("input 'x' (float32, n x 2) is not among those of --inputs, which are tensor", nodes, inputs=two, words=("normal:0,1:2x2",))
        whole, truth = [value_info("x", 7, [2])], [value_info("x", 9, [1])]
        self.fails("input 'x' (int64, 2) is given as float32 by normal:0,1:2", nodes, inputs=whole)
        self.fails("input 'x' (int64, 2) is given as float32 by uniform:3e9,4e9:2", nodes, inputs=whole, words=("x=uniform:3e9,4e9:2",))
        self.fails("input 'x' (bool, 1) is given as float32 by integers:2,2:1", nodes, inputs=truth, words=("x=integers:2,2:1",))
        self.gives(["y"], [node("Cast", ["x"], ["y"], attribute("to", 1))], inputs=truth, words=("x=integers:0,0:1",))
        self.gives(["y"], nodes, inputs=[value_info("x", 1, [-1])])  # an extent that is not known
        self.write("x=1.safetensors", safetensors({"x": ("F32", [2], bytes(8))}))
        self.gives(["y"], nodes, words=("x=1.safetensors",))
        for word in ("=m.onnx", "x="):
            self.write("m.onnx", model(nodes, [], [INPUT]))
            self.assertEqual(self.refused("census", "m.onnx", "--inputs", word), f"--inputs '{word}': write NAME=FILE")
        self.fails("input 'z' (float32, n) is given as 4 by normal:0,1:4, and n is 3 elsewhere", nodes, inputs=two,
                   words=("x=normal:0,1:3x2", "z=normal:0,1:4"))

    def test_onnx_has_two_names_of_its_own_domain(self):
        inner = graph([node("Neg", ["x"], ["y"], domain="ai.onnx")], [], [INPUT])
        for own, other in ((17, 1), (6, 17)):
            raw = field(7, inner) + field(8, field(1, "ai.onnx") + field(2, own)) + field(8, field(1, "com.example") + field(2, other))
            if own == 17:
                self.gives(["y"], [], raw=raw)
            else:
                self.fails("has version 6 of ONNX's operators; from 7 on they are computed", [], raw=raw)

    def test_elements_are_listed_in_the_field_of_their_type(self):
        rows = ((11, 10, struct.pack("<2d", 1, -2), "float64", "-2"), (12, 11, b"\1\2", "uint32", "2"), (13, 11, b"\1\2", "uint64", "2"),
                (6, 5, b"\1\2", "int32", "2"), (7, 7, b"\1\2", "int64", "2"), (1, 4, struct.pack("<2f", 1, -2), "float32", "-2"))
        for dtype, number, data, name, last in rows:
            self.write("m.onnx", model([], [listed("w", [2], dtype, number, data)]))
            row = self.rows("info", "m.onnx")[0][0]
            self.assertEqual((row["dtype"], row["min"] if last == "-2" else row["max"]), (name, last))
            other = 5 if number != 5 else 7
            for part in (listed("w", [2], dtype, other, b"\1\2"), listed("w", [2], dtype, number, data, field(9, bytes(16)))):
                self.write("m.onnx", model([], [part]))
                self.assertEqual(self.refused("info", "m.onnx"), f"m.onnx: tensor 'w' has elements of {name} in a field of others, or in two")

    def test_shapes_and_data_that_cannot_be(self):
        def refused(text, part):
            self.write("m.onnx", model([], [part]))
            self.assertEqual(self.refused("info", "m.onnx"), f"m.onnx: {text}")
        refused("tensor 'w' has an extent of -1", tensor("w", [2, -1], []))
        for shape in ([2**40, 2**40], [2**49]):
            refused("tensor 'w': the extents of the shape overflow when multiplied", tensor("w", shape, []))
        for key, number in (("offset", "x"), ("length", "8x"), ("length", str(2**64))):
            refused(f"external data: {key} '{number}' is no whole number", tensor("w", [2], [], where={"location": "w.bin", key: number}))

    def test_tensors_share_a_file_beside_the_model(self):
        self.write("w.bin", struct.pack("<2f", 5, 6))
        self.write("m.onnx", model([], [tensor("a", [1], [], where={"location": "w.bin", "length": 4}),
                                        tensor("b", [1], [], where={"location": "w.bin", "offset": 4})]))
        self.assertEqual([row["max"] for row in self.rows("info", "m.onnx")[0]], ["5", "6"])
        os.rename(self.path / "w.bin", self.path / "kept.bin")
        os.symlink("kept.bin", self.path / "w.bin")  # which leads to the folder itself
        self.assertEqual([row["max"] for row in self.rows("info", "m.onnx")[0]], ["5", "6"])
        os.symlink("/dev/null", self.path / "out.bin")
        self.write("m.onnx", model([], [tensor("a", [1], [], where={"location": "out.bin"})]))
        self.assertEqual(self.refused("info", "m.onnx"), "m.onnx: tensor 'a' names data in 'out.bin', where 'out.bin' is a link that may lead out of "
                         "the model's folder; put what it leads to there")

    def test_a_file_beyond_2_gib_is_none(self):
        with open(self.path / "m.onnx", "wb") as file:
            file.truncate(2**31 + 1)
        self.assertEqual(self.refused("info", "m.onnx"), "m.onnx: has more than 2 GiB, which no such file has: data of larger models lie in files beside it")


if __name__ == "__main__":
    unittest.main()
