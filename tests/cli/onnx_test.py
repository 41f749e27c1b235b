#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models in ONNX, put together by hand (protocol buffers, fields by their numbers in onnx.proto): what their constants and their nodes
are in a census, and what is said of models that are none.   usage: onnx_test.py PROGRAM"""
import collections
import csv
import math
import struct
import unittest

from files_test import Folder, run as started, safetensors

Done = collections.namedtuple("Done", "returncode stdout stderr")


def run(*words, cwd):
    return Done(*started(*words, cwd=cwd))


def varint(n):
    n &= 2**64 - 1
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, shape, values, dtype=1, where="raw"):
    out = b"".join(field(1, extent) for extent in shape) + field(2, dtype) + field(8, name)
    if isinstance(where, dict):
        return out + b"".join(field(13, field(1, key) + field(2, str(value))) for key, value in where.items()) + field(14, 1)
    if where == "raw":
        return out + field(9, struct.pack(f"<{len(values)}{'f' if dtype == 1 else 'q'}", *values))
    return out + field(4 if dtype == 1 else 7, struct.pack(f"<{len(values)}f", *values) if dtype == 1 else b"".join(map(varint, values)))


def attribute(name, value):
    if isinstance(value, bytes):
        return field(5, field(1, name) + field(5, value))
    if isinstance(value, str):
        return field(5, field(1, name) + field(4, value))
    return field(5, field(1, name) + (field(2, value) if isinstance(value, float) else field(3, value) if isinstance(value, int) else
                                      field(8, b"".join(map(varint, value)))))


def node(op, inputs, outputs, *attributes, name="", domain=""):
    return (b"".join(field(1, one) for one in inputs) + b"".join(field(2, one) for one in outputs) + field(3, name) + field(4, op) +
            b"".join(attributes) + field(7, domain))


def value_info(name, dtype=1, shape=()):
    dims = b"".join(field(1, field(1, extent) if isinstance(extent, int) else field(2, extent)) for extent in shape)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, dims)))


def graph(nodes, constants=(), inputs=(), outputs=()):
    return (b"".join(field(1, one) for one in nodes) + b"".join(field(5, one) for one in constants) +
            b"".join(field(11, one) for one in inputs) + b"".join(field(12, value_info(one)) for one in outputs))


def branch(name, *parts):
    return field(5, field(1, name + "_branch") + field(6, graph(*parts)))


def model(nodes, constants=(), inputs=(), outputs=(), functions=(), opset=17):
    return (field(1, 8) + field(7, graph(nodes, constants, inputs, outputs)) + field(8, field(2, opset)) +
            b"".join(field(25, one) for one in functions))


# A row is centred and divided by its deviation, as exporters write it: the square is beyond float16.
NORM = model([node("ReduceMean", ["x"], ["mean"], attribute("axes", [1])), node("Sub", ["x", "mean"], ["centred"]),
              node("Pow", ["centred", "two"], ["square"], name="/norm/Pow"), node("ReduceMean", ["square"], ["variance"], attribute("axes", [1])),
              node("Sqrt", ["variance"], ["deviation"]), node("Div", ["centred", "deviation"], ["normal"]),
              node("MatMul", ["normal", "weight"], ["y"])],
             [tensor("two", [], [2.0]), tensor("weight", [4, 2], [1.0, 0.5, -1.0, 2.0, 3.0, 0.25, 1.0, 1.0])], [value_info("x", 1, ["rows", 4])], ["y"])


class Onnx(Folder):
    def setUp(self):
        super().setUp()
        (self.path / "m.onnx").write_bytes(NORM)
        (self.path / "x.safetensors").write_bytes(safetensors({"x": ("F32", [2, 4], struct.pack("<8f", 300, -300, 4, -4, 1, 2, 3, 4))}))

    def census(self, *words, code=0, model="m.onnx"):
        done = run("census", model, "--csv", *words, cwd=self.path)
        self.assertEqual(done.returncode, code, done.stderr)
        return {row["tensor"].removeprefix("m.onnx:"): row for row in csv.DictReader(done.stdout.splitlines())}, done.stderr

    def refused(self, text, *words):
        done = run("census", *words, cwd=self.path)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"ulpscope: {text}\n")

    def test_every_value_of_a_node_is_counted_beside_the_weights(self):
        rows, said = self.census("--to", "fp16", "--inputs", "x.safetensors")
        self.assertEqual(said, "")
        self.assertEqual(list(rows), ["two", "weight", "mean", "centred", "square", "variance", "deviation", "normal", "y"])
        self.assertEqual([name for name, row in rows.items() if row["overflow"] != "0"], ["square"])
        self.assertEqual((rows["square"]["overflow"], rows["square"]["max_abs_input"]), ("2", "90000"))
        # The deviations are those of 300, -300, 4, -4 and of 1, 2, 3, 4.
        self.assertAlmostEqual(float(rows["normal"]["max_abs_input"]), 300 / math.sqrt(45008), places=6)
        self.assertAlmostEqual(float(rows["normal"]["min_abs_input"]), 4 / math.sqrt(45008), places=6)

    def test_names_and_globs_choose_among_values_too_and_without_inputs_there_are_weights_alone(self):
        self.assertEqual(list(self.census("--to", "fp16")[0]), ["two", "weight"])
        self.assertEqual(list(self.census("--to", "fp16", "--inputs", "x=x.safetensors", model="m.onnx:*ea*")[0]), ["mean"])
        done = run("info", "m.onnx:weight", "--csv", cwd=self.path)
        self.assertIn("float32,4x2", done.stdout)
        swept = run("sweep", "m.onnx:square", "--to", "fp16", "--log2-scale", "-2:0", "--csv", "--inputs", "x=normal:0,1:3x4", cwd=self.path)
        self.assertEqual(swept.returncode, 0, swept.stderr)

    def test_data_lie_in_typed_fields_or_beside_the_model(self):
        (self.path / "w.bin").write_bytes(bytes(8) + struct.pack("<2f", 5, 6))
        parts = [tensor("typed", [2], [3.0, 4.0], where="typed"), tensor("beside", [2], [], where={"location": "w.bin", "offset": 8, "length": 8}),
                 tensor("whole", [2], [-7, 2**40], dtype=7, where="typed")]
        (self.path / "m.onnx").write_bytes(model([node("Constant", [], ["inner"], attribute("value", tensor("", [2], [8.0, 9.0])))], parts))
        done = run("info", "m.onnx", "--csv", cwd=self.path)
        rows = {row["tensor"]: row for row in csv.DictReader(done.stdout.splitlines())}
        self.assertEqual([(rows[f"m.onnx:{name}"]["min"], rows[f"m.onnx:{name}"]["max"]) for name in ("typed", "beside", "whole", "inner")],
                         [("3", "4"), ("5", "6"), ("-7", str(2**40)), ("8", "9")])

    def test_data_elsewhere_or_of_another_length_are_refused(self):
        (self.path / "w.bin").write_bytes(bytes(8))
        for where, said in (({"location": "../w.bin"}, "names data in '../w.bin', which is no file beside the model"),
                            ({"location": "/etc/passwd"}, "names data in '/etc/passwd', which is no file beside the model"),
                            ({"location": "w.bin", "offset": 4}, "its data end beyond w.bin; is it complete?"),
                            ({"location": "w.bin", "offset": 2**64 - 1}, "its data end beyond w.bin; is it complete?")):
            (self.path / "m.onnx").write_bytes(model([], [tensor("w", [2], [], where=where)]))
            done = run("census", "m.onnx", cwd=self.path)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        (self.path / "m.onnx").write_bytes(model([], [tensor("w", [3], [1.0, 2.0])]))
        self.refused("m.onnx: tensor 'w': 8 bytes of data, where its shape 3 of float32 needs 12", "m.onnx")
        (self.path / "m.onnx").write_bytes(b"no model")
        self.assertRegex(run("census", "m.onnx", cwd=self.path).stderr, r"^ulpscope: m.onnx: is no protocol buffer of an ONNX model")
        (self.path / "m.onnx").write_bytes(NORM[:-40])
        self.assertRegex(run("census", "m.onnx", cwd=self.path).stderr, r"^ulpscope: m.onnx: is no protocol buffer of an ONNX model, or is not complete")

    def test_inputs_that_do_not_fit_are_named(self):
        self.refused("m.onnx: input 'x' (float32, rows x 4) is given as 2x3 by normal:0,1:2x3", "m.onnx", "--inputs", "x=normal:0,1:2x3")
        (self.path / "two.safetensors").write_bytes(safetensors({"a": ("F32", [1], bytes(4)), "b": ("F32", [1], bytes(4))}))
        self.refused("m.onnx: input 'x' (float32, rows x 4) is not among those of --inputs, which are a, b", "m.onnx", "--inputs", "two.safetensors")
        self.refused("m.onnx: has no input 'z', which normal:0,1:1 would be; there is 'x' (float32, rows x 4)", "m.onnx", "--inputs", "x.safetensors", "--inputs", "z=normal:0,1:1")
        self.refused("--inputs x.safetensors: is for a model; none of the files ends in .onnx", "x.safetensors", "--inputs", "x.safetensors")

    def test_unknown_operators_are_named_and_all_else_is_counted(self):
        (self.path / "m.onnx").write_bytes(model(
            [node("Relu", ["x"], ["a"]), node("Whatever", ["a"], ["b"], name="one"), node("Exp", ["b"], ["c"]), node("Neg", ["a"], ["d"]),
             node("Fast", ["a"], ["e"], domain="com.example")], [], [value_info("x", 1, [2, 4])], ["c", "d"]))
        rows, said = self.census("--to", "fp16", "--inputs", "x.safetensors")
        self.assertEqual(list(rows), ["a", "d"])
        self.assertEqual(said.splitlines(), ["m.onnx: not computed: Whatever, which is not known (1 node, node 'one' (Whatever))",
                                             "m.onnx: not computed: com.example.Fast, which is not known (1 node, node 'e' (com.example.Fast))",
                                             "m.onnx: 1 node that follows from these is left out"])

    def test_unknown_operators_are_named_where_nothing_is_left_but_integers(self):
        whole = [tensor("ids", [2], [1, 2], dtype=7), tensor("more", [2], [3, 4], dtype=7)]
        (self.path / "m.onnx").write_bytes(model([node("Whatever", ["ids"], ["a"], name="one"), node("Relu", ["a"], ["b"])], whole))
        left = ("m.onnx: not computed: Whatever, which is not known (1 node, node 'one' (Whatever)); "
                "m.onnx: 1 node that follows from these is left out")
        self.refused("m.onnx: nothing but 2 integer tensors (m.onnx:ids, m.onnx:more); --integers includes them, and FILE:NAME names one; " + left,
                     "m.onnx", "--inputs", "none")
        self.refused("m.onnx: holds no tensor 'b'; nearest of 2: ids, more; " + left, "m.onnx:b", "--inputs", "none")
        (self.path / "m.onnx").write_bytes(model([node("Whatever", [], ["a"], name="one"), node("Other", [], ["b"], name="two")]))
        self.refused("m.onnx: gives no numbers; m.onnx: not computed: Other, which is not known (1 node, node 'two' (Other)); "
                     "m.onnx: not computed: Whatever, which is not known (1 node, node 'one' (Whatever))", "m.onnx", "--inputs", "none")

    # Where use_cache is true |w| is added, else x is doubled, and then, where it holds, the sum negated.
    MERGED = [node("Relu", ["x"], ["a"]),
              node("If", ["use_cache"], ["y", "z"],
                   branch("then", [node("Abs", ["w"], ["size"]), node("Add", ["a", "size"], ["sum"]), node("Identity", ["a"], ["rest"])],
                          [tensor("w", [4], [-1.0, -2.0, 3.0, 4.0])], [], ["sum", "rest"]),
                   branch("else", [node("Add", ["a", "a"], ["sum"]),
                                   node("If", ["is_negative"], ["turned"], branch("then", [node("Neg", ["sum"], ["n"])], [], [], ["n"]),
                                        branch("else", [node("Identity", ["sum"], ["same"])], [], [], ["same"])),
                                   node("Whatever", ["sum"], ["lost"], name="inner")], [], [], ["turned", "lost"]), name="/model/If"),
              node("Neg", ["y"], ["end"]), node("Neg", ["z"], ["after"])]
    CHOICES = [value_info("x", 1, [2, 4]), value_info("use_cache", 9, [1]), value_info("is_negative", 9, [1])]

    def test_the_taken_branch_is_computed_with_the_values_around_it(self):
        (self.path / "m.onnx").write_bytes(model(self.MERGED, [], self.CHOICES, ["end"]))
        given = ("--to", "fp16", "--inputs", "x.safetensors", "--inputs", "use_cache=integers:1,1:1", "--inputs", "is_negative=integers:1,1:1")
        rows, said = self.census(*given)
        self.assertEqual(list(rows), ["a", *("/model/If/then_branch/" + name for name in ("w", "size", "sum", "rest")), "y", "z", "end", "after"])
        self.assertEqual((said, rows["end"]["max_abs_input"], rows["end"]["min_abs_input"]), ("", "301", "2"))
        rows, said = self.census(*given[:-3], "use_cache=integers:0,0:1", *given[-2:])
        inside = "/model/If/else_branch/"
        self.assertEqual(list(rows), ["a", inside + "sum", inside + "turned/then_branch/n", inside + "turned", "y", "end"])
        self.assertEqual(rows[inside + "turned"]["max_abs_input"], "600")
        self.assertEqual(said.splitlines(), ["m.onnx: not computed: Whatever, which is not known (1 node, node 'inner' (Whatever))",
                                             "m.onnx: 2 nodes that follow from these are left out"])
        # Without inputs the weights of both.
        self.assertEqual(list(self.census("--to", "fp16")[0]), ["/model/If/then_branch/w"])

    def test_branches_of_nodes_of_one_name_are_told_apart(self):
        def one(output):
            return node("If", ["c"], [output], branch("then", [node("Neg", ["x"], ["n"])], [], [], ["n"]), branch("else", [], [], [], ["x"]), name="If")
        (self.path / "m.onnx").write_bytes(model([one("y"), one("z")], [], [self.CHOICES[0], value_info("c", 9, [1])]))
        rows, _ = self.census("--to", "fp16", "--inputs", "x.safetensors", "--inputs", "c=integers:1,1:1")
        self.assertEqual(list(rows), ["If/then_branch/n", "y", "If/z/then_branch/n", "z"])
        rows, _ = self.census("--to", "fp16", "--inputs", "x.safetensors", "--inputs", "c=integers:0,0:1")
        self.assertEqual(list(rows), ["y", "z"])

    def test_a_branch_of_a_function_takes_its_attributes_and_values(self):
        steep = node("LeakyRelu", ["v"], ["w"], field(5, field(1, "alpha") + field(21, "slope")))
        function = (field(1, "F") + field(4, "v") + field(4, "c") + field(5, "r") + field(6, "slope") + field(10, "own") +
                    field(7, node("If", ["c"], ["r"], branch("then", [steep], [], [], ["w"]), branch("else", [], [], [], ["v"]))))
        (self.path / "m.onnx").write_bytes(model([node("F", ["x", "c"], ["y"], attribute("slope", 0.25), domain="own")], [],
                                                 [self.CHOICES[0], value_info("c", 9, [1])], ["y"], [function]))
        rows, _ = self.census("--to", "fp16", "--inputs", "x.safetensors", "--inputs", "c=integers:1,1:1")
        self.assertEqual((list(rows), rows["y"]["max_abs_input"], rows["y"]["min_abs_input"]), (["y"], "300", "1"))

    def test_branches_that_cannot_be_are_refused_and_so_are_graphs_too_deep(self):
        def refused(said, *attributes, inputs=("x",), constants=()):
            (self.path / "m.onnx").write_bytes(model([node("If", list(inputs), ["y"], *attributes, name="n")], constants, self.CHOICES[:1]))
            self.refused(f"m.onnx: {said}", "m.onnx", "--inputs", "x.safetensors")
        true = [field(2, 9) + field(8, "c") + field(9, b"\1")]
        refused("node 'n' (If): of float32, where integers or truth values are wanted")
        refused("node 'n' (If): has no then_branch", inputs=("c",), constants=true)
        refused("node 'n' (If): then_branch has inputs, or other outputs than its node", branch("then", []), inputs=("c",), constants=true)
        refused("node 'n' (If): output 'o' is given by none of its nodes", branch("then", [], [], [], ["o"]), inputs=("c",), constants=true)
        refused("node 'n' (If): node 'm' (MatMul): of 2x4 and 2x4", branch("then", [node("MatMul", ["x", "x"], ["o"], name="m")], [], [], ["o"]),
                inputs=("c",), constants=true)
        deep = branch("then", [], [], [], ["x"])
        for _ in range(31):
            deep = branch("then", [node("If", ["c"], ["o"], deep)], [], [], ["o"])
        refused("holds graphs in graphs deeper than 32", deep, inputs=("c",), constants=true)

    def test_sequences_hold_tensors_which_are_counted_where_they_are_taken(self):
        where = tensor("one", [], [1], dtype=7)
        (self.path / "m.onnx").write_bytes(model(
            [node("SplitToSequence", ["x"], ["parts"], attribute("axis", 1), attribute("keepdims", 0)), node("SequenceAt", ["parts", "one"], ["column"]),
             node("SequenceErase", ["parts", "one"], ["rest"]), node("ConcatFromSequence", ["rest"], ["joined"], attribute("axis", 0), attribute("new_axis", 1)),
             node("SequenceLength", ["rest"], ["count"])], [where], [value_info("x", 1, [2, 4])], ["column"]))
        rows, said = self.census("--to", "fp16", "--inputs", "x.safetensors", "--integers")
        self.assertEqual((said, list(rows)), ("", ["one", "column", "joined", "count"]))
        self.assertEqual((rows["column"]["max_abs_input"], rows["column"]["count"], rows["joined"]["count"], rows["count"]["max_abs_input"]),
                         ("300", "2", "6", "3"))
        for nodes, text in (([node("Relu", ["s"], ["y"], name="n")], "node 'n' (Relu): input 's' is a sequence, where a tensor is wanted"),
                            ([node("SequenceAt", ["x", "one"], ["y"], name="n")], "node 'n' (SequenceAt): of a tensor, where a sequence is wanted"),
                            ([node("SequenceAt", ["s", "one"], ["y"], name="n")], "node 'n' (SequenceAt): position 1 in a sequence of 1")):
            (self.path / "m.onnx").write_bytes(model([node("SequenceConstruct", ["x"], ["s"]), *nodes], [where], [value_info("x", 1, [2, 4])]))
            self.refused(f"m.onnx: {text}", "m.onnx", "--inputs", "x.safetensors")

    def test_places_far_outside_an_image_are_those_that_its_padding_says(self):
        image, far = tensor("image", [1, 1, 1, 2], [3.0, 5.0]), [math.inf, 0.0, -math.inf, 0.0, math.nan, 0.0, 1000.0, 0.0, 2.0, 0.0, 0.5, 0.0]
        for padding, aligned, values in (("zeros", 1, [0, 0, 0, 0, 2.5, 4.5]), ("border", 1, [5, 3, 3, 5, 5, 4.5]), ("reflection", 1, [3, 3, 3, 4, 4, 4.5]),
                                         ("zeros", 0, [0, 0, 0, 0, 0, 5]), ("reflection", 0, [3, 3, 3, 4, 4, 5])):
            (self.path / "m.onnx").write_bytes(model(
                [node("GridSample", ["image", "grid"], ["y"], attribute("padding_mode", padding), attribute("align_corners", aligned))],
                [image, tensor("grid", [1, 1, 6, 2], far)], opset=20))
            rows, _ = self.census("--to", "fp32", "--inputs", "none")
            self.assertEqual([float(rows["y"][key]) for key in ("zero", "min_abs_input", "max_abs_input")],
                             [values.count(0), min(filter(None, values)), max(values)], padding)

    def test_a_cubic_sees_how_far_it_lies_within_the_first_element(self):
        """Place -0.25: three elements of four are the first, the other, of 3, has the weight -0.75 (1.25^3 - 5 1.25^2 + 8 1.25 - 4)."""
        (self.path / "m.onnx").write_bytes(model(
            [node("GridSample", ["image", "grid"], ["y"], attribute("padding_mode", "border"), attribute("mode", "cubic"))],
            [tensor("image", [1, 1, 4], [1.0, 3.0, 0.0, 2.0]), tensor("grid", [1, 1, 1], [-0.875])], opset=20))
        rows, _ = self.census("--to", "fp32", "--inputs", "none")
        self.assertEqual(float(rows["y"]["max_abs_input"]), 1 + 2 * -0.75 * 0.140625)

    def test_of_boxes_that_overlap_the_one_of_the_greatest_score_is_kept(self):
        boxes = tensor("boxes", [1, 4, 4], [0.0, 0.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.5, 0.0, 10.0, 2.0, 12.0, 0.0, 10.0, 2.0, 12.0])
        scores = tensor("scores", [1, 1, 4], [0.5, 0.75, 0.25, 0.25])
        rest = [tensor("most", [1], [3], dtype=7), tensor("iou", [1], [0.5]), tensor("least", [1], [0.125])]
        (self.path / "m.onnx").write_bytes(model([node("NonMaxSuppression", ["boxes", "scores", "most", "iou", "least"], ["y"])], [boxes, scores, *rest]))
        rows, _ = self.census("--to", "fp16", "--inputs", "none", "--integers")
        self.assertEqual((rows["y"]["count"], rows["y"]["max_abs_input"], rows["y"]["zero"]), ("6", "2", "4"))  # 0 0 1 and 0 0 2

    def test_boxes_that_share_as_much_as_the_threshold_are_both_kept(self):
        boxes = tensor("boxes", [1, 2, 4], [0.0, 0.0, 1.0, 10.0, 0.0, 0.0, 1.0, 7.0])  # 7/10, of which 0.7 in float32 is less
        rest = [tensor("scores", [1, 1, 2], [0.75, 0.5]), tensor("most", [1], [3], dtype=7), tensor("iou", [1], [0.7])]
        (self.path / "m.onnx").write_bytes(model([node("NonMaxSuppression", ["boxes", "scores", "most", "iou"], ["y"])], [boxes, *rest]))
        rows, _ = self.census("--to", "fp16", "--inputs", "none", "--integers")
        self.assertEqual(rows["y"]["count"], "6")

    def test_sums_of_a_resized_image_count_as_memory(self):
        (self.path / "m.onnx").write_bytes(model([node("Resize", ["x", "", "scales"], ["y"], attribute("mode", "linear"))],
                                                 [tensor("x", [1, 1, 64, 64], [1.0] * 4096), tensor("scales", [4], [1.0, 1.0, 1.0, 1024.0])]))
        done = run("census", "m.onnx", "--to", "fp16", "--inputs", "none", "--max-memory", "50M", cwd=self.path)  # results of 16 MB, sums of 32
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"node 'y' \(Resize\): .*bytes of memory are needed")

    def test_einsum_takes_any_number_of_operands_and_an_ellipsis(self):
        def run_of(equation, *operands):
            names = [f"o{i}" for i in range(len(operands))]
            (self.path / "m.onnx").write_bytes(model([node("Einsum", names, ["y"], attribute("equation", equation))],
                                                     [tensor(name, shape, [float(value) for value in values]) for name, (shape, values) in zip(names, operands)]))
            row = self.census("--to", "fp16", "--inputs", "none")[0]["y"]
            return row["count"], float(row["max_abs_input"]), float(row["min_abs_input"])
        rows = ([2], [1, 2]), ([2, 3], [1, 2, 3, 4, 5, 6]), ([3], [1, 10, 100])
        self.assertEqual(run_of("i,ij,j->", *rows), ("1", 321 + 2 * 654, 321 + 2 * 654))
        self.assertEqual(run_of("i,ij,j->i", *rows), ("2", 2 * 654, 321))
        self.assertEqual(run_of("i,...j,j->...i", *rows), ("4", 2 * 654, 321))
        self.assertEqual(run_of("...,...", rows[1], ([1, 3], [1, 1, 2])), ("6", 12, 1))  # an extent of 1 is stretched
        self.assertEqual(run_of("ii->i", ([2, 2], [1, 2, 3, 4])), ("2", 4, 1))
        (self.path / "m.onnx").write_bytes(model([node("Einsum", ["o"], ["y"], attribute("equation", "i->k"))], [tensor("o", [1], [1.0])]))
        self.refused("m.onnx: node 'y' (Einsum): a result of labels k", "m.onnx", "--inputs", "none")

    def test_models_that_are_none_are_refused_with_the_name_that_is_wrong(self):
        relu, made = node("Relu", ["x"], ["a"]), value_info("x", 1, [2, 4])
        for nodes, said in (([relu, node("Add", ["x", "nope"], ["b"], name="n")], "node 'n' (Add): input 'nope' is given by no node before it"),
                            ([node("Neg", ["a"], ["b"], name="n"), relu], "node 'n' (Neg): input 'a' is given by no node before it"),
                            ([relu, node("Neg", ["x"], ["a"], name="n")], "node 'n' (Neg): gives 'a', which is there already"),
                            ([node("Whatever", ["x"], ["a"], name="n")], "gives no numbers; m.onnx: not computed: Whatever, which is not known (1 node, node 'n' (Whatever))"),
                            ([], "gives no numbers"),
                            ([node("Softmax", ["x"], ["a"], attribute("axis", 0.5), name="n")], "node 'n' (Softmax): attribute axis is of another type")):
            (self.path / "m.onnx").write_bytes(model(nodes, [], [made]))
            self.refused(f"m.onnx: {said}", "m.onnx", "--inputs", "x.safetensors")
        for opset, said in ((6, "has version 6 of ONNX's operators; from 7 on they are computed"), (0, "does not say which version of ONNX's operators it has")):
            (self.path / "m.onnx").write_bytes(model([relu], [], [made], opset=opset))
            self.refused(f"m.onnx: {said}", "m.onnx", "--inputs", "x.safetensors")
        (self.path / "m.onnx").write_bytes(NORM)
        self.refused("m.onnx: input 'x' is given twice", "m.onnx", "--inputs", "x=x.safetensors", "--inputs", "x=normal:0,1:2x4")
        self.refused("m.onnx: input 'x' (float32, rows x 4) is not among those of --inputs, which are y", "m.onnx", "--inputs", "y=normal:0,1:2x4")

    def test_integers_come_back_into_the_range_of_their_type_and_are_counted_where_asked(self):
        wide = field(1, 3) + field(2, 2) + field(8, "u") + field(9, bytes([200, 1, 2]))
        (self.path / "m.onnx").write_bytes(model([node("Add", ["u", "u"], ["sum"]), node("Cast", ["sum"], ["real"], attribute("to", 1))], [wide]))
        rows, _ = self.census("--to", "fp16", "--inputs", "none", "--integers")
        self.assertEqual((list(rows), rows["sum"]["max_abs_input"], rows["real"]["max_abs_input"]), (["u", "sum", "real"], "144", "144"))
        done = run("info", "m.onnx", "--csv", cwd=self.path)
        self.assertIn("uint8", done.stdout)

    def test_codes_of_4_bits_lie_two_in_a_byte(self):
        packed = field(1, 4) + field(2, 22) + field(8, "q") + field(9, bytes([0x71, 0x8f]))
        (self.path / "m.onnx").write_bytes(model([node("DequantizeLinear", ["q", "s"], ["w"])], [packed, tensor("s", [], [0.5])]))
        rows, _ = self.census("--to", "fp16", "--inputs", "none", "--integers")
        self.assertEqual((rows["w"]["max_abs_input"], rows["w"]["min_abs_input"], rows["q"]["max_abs_input"]), ("4", "0.5", "8"))

    def test_synthetic_inputs_are_not_the_same_numbers(self):
        (self.path / "m.onnx").write_bytes(model([node("Sub", ["x", "z"], ["y"])], [], [value_info("x", 1, [2, 3]), value_info("z", 1, [2, 3])]))
        rows, _ = self.census("--to", "fp16", "--inputs", "x=normal:0,1:2x3", "--inputs", "z=normal:0,1:2x3")
        self.assertEqual(rows["y"]["zero"], "0")

    def test_functions_of_one_name_are_told_apart(self):
        def function(op, overload):
            return field(1, "F") + field(4, "v") + field(5, "w") + field(7, node(op, ["v"], ["w"])) + field(10, "own") + field(13, overload)
        (self.path / "m.onnx").write_bytes(model([node("F", ["x"], ["y"], domain="own") + field(8, "two")], [], [value_info("x", 1, [2, 4])], ["y"],
                                                 [function("Neg", "one"), function("Relu", "two")]))
        self.assertEqual(self.census("--to", "fp16", "--inputs", "x.safetensors")[0]["y"]["zero"], "2")
        nothing = field(1, "F") + field(4, "v") + field(5, "nope") + field(7, node("Neg", ["v"], ["w"])) + field(10, "own")
        (self.path / "m.onnx").write_bytes(model([node("F", ["x"], ["y"], name="n", domain="own")], [], [value_info("x", 1, [2, 4])], ["y"], [nothing]))
        self.refused("m.onnx: node 'n' (own.F): output 'nope' is given by none of its nodes", "m.onnx", "--inputs", "x.safetensors")

    def test_functions_of_the_model_are_computed_with_the_attributes_of_their_call(self):
        function = (field(1, "Steep") + field(4, "v") + field(5, "w") + field(6, "slope") + field(10, "own") +
                    field(7, node("LeakyRelu", ["v"], ["w"], field(5, field(1, "alpha") + field(21, "slope")))))
        (self.path / "m.onnx").write_bytes(model([node("Steep", ["x"], ["y"], attribute("slope", 0.5), domain="own")], [], [value_info("x", 1, [2, 4])], ["y"],
                                                 [function]))
        rows, _ = self.census("--to", "fp16", "--inputs", "x.safetensors")
        self.assertEqual((rows["y"]["max_abs_input"], rows["y"]["min_abs_input"]), ("300", "1"))

    def test_a_node_that_cannot_be_is_an_error_that_names_it(self):
        (self.path / "m.onnx").write_bytes(model([node("MatMul", ["x", "x"], ["y"], name="bad")], [], [value_info("x", 1, [2, 4])], ["y"]))
        self.refused("m.onnx: node 'bad' (MatMul): of 2x4 and 2x4", "m.onnx", "--inputs", "x.safetensors")
        huge = tensor("shape", [2], [2**30, 2**30], dtype=7, where="typed")
        (self.path / "m.onnx").write_bytes(model([node("ConstantOfShape", ["shape"], ["y"])], [huge], [], ["y"]))
        (self.path / "none.safetensors").write_bytes(safetensors({"x": ("F32", [1], bytes(4))}))
        done = run("census", "m.onnx", "--inputs", "none.safetensors", cwd=self.path)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_the_same_bytes_for_any_number_of_threads(self):
        one, two = (run("census", "m.onnx", "--csv", "--inputs", "x=normal:0,3:64x4", "--threads", n, cwd=self.path).stdout for n in ("1", "2"))
        self.assertEqual(one, two)
        self.assertGreater(len(one.splitlines()), 9)


if __name__ == "__main__":
    unittest.main()
