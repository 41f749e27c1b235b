#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which node of a model in ONNX gives a value that a format breaks, and why it breaks: columns of the census, sentences of findings.
usage: onnx_nodes_test.py PROGRAM"""
import csv
import math
import struct
import unittest

from files_test import Folder, safetensors
from onnx_test import attribute, branch, field, model, node, run, tensor, value_info

LARGE = [300.0, -300.0, 4.0, -4.0, 1.0, 2.0, 3.0, 4.0]
# Scores beyond float16, which a softmax makes probabilities of; and a softmax whose least probability e4m3 has not.
SCORES = model([node("MatMul", ["x", "weight"], ["scores"], name="/attention/MatMul"), node("Add", ["scores", "mask"], ["masked"]),
                node("Softmax", ["masked"], ["p"], name="/attention/Softmax"), node("Neg", ["p"], ["after"]),
                node("Mul", ["x", "small"], ["little"], name="/gate/Mul"), node("Softmax", ["little"], ["q"], name="/gate/Softmax"),
                node("Exp", ["x"], ["e"], name="exp"), node("Sub", ["e", "e"], ["difference"], name="sub"), node("Log", ["x"], ["log"], name="log")],
               [tensor("weight", [4, 2], [200.0, 100.0, -200.0, 100.0, 1.0, 1.0, 1.0, 1.0]), tensor("mask", [2], [0.0, -1e9]), tensor("small", [], [0.02])],
               [value_info("x", 1, [2, 4])], ["after"])


class Nodes(Folder):
    def setUp(self):
        super().setUp()
        (self.path / "m.onnx").write_bytes(SCORES)
        (self.path / "x.safetensors").write_bytes(safetensors({"x": ("F32", [2, 4], struct.pack("<8f", *LARGE))}))

    def done(self, *words):
        done = run(*words, cwd=self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def rows(self, *words):
        rows = list(csv.DictReader(self.done("census", *words, "--inputs", "x.safetensors", "--csv").splitlines()))
        return rows, {row["tensor"].removeprefix("m.onnx:"): (row["operator"], row["node"]) for row in rows}

    def report(self, *words):
        self.done("census", "m.onnx", "--inputs", "x.safetensors", "-o", "report", *words)
        return self.findings()

    def findings(self):
        return {tuple(row["where"].removeprefix("m.onnx:").split(", ")): row["sentence"]
                for row in csv.DictReader((self.path / "report/findings.csv").read_text().splitlines()) if row["what"] != "lost_at_best_scale"}

    def test_the_last_columns_name_operator_and_node_and_none_for_an_initializer(self):
        rows, nodes = self.rows("m.onnx", "--to", "fp16")
        self.assertEqual(list(rows[0])[-3:], ["min_abs_input", "operator", "node"])
        self.assertEqual(nodes, {"weight": ("", ""), "mask": ("", ""), "small": ("", ""), "scores": ("MatMul", "/attention/MatMul"),
                                 "masked": ("Add", "masked"), "p": ("Softmax", "/attention/Softmax"), "after": ("Neg", "after"),
                                 "little": ("Mul", "/gate/Mul"), "q": ("Softmax", "/gate/Softmax"), "e": ("Exp", "exp"),
                                 "difference": ("Sub", "sub"), "log": ("Log", "log")})

    def test_columns_are_there_where_a_model_is_computed_alone(self):
        for words in (("m.onnx",), ("normal:0,1:8", "-o", "report")):
            done = self.done("census", *words, "--to", "fp16", "--csv") if len(words) == 1 else self.done("census", *words)
            text = done or (self.path / "report/census.csv").read_text()
            self.assertTrue(text.splitlines()[0].endswith(",min_abs_input"), text)
        rows, nodes = self.rows("m.onnx:q", "normal:0,1:8", "--all-tensors", "--to", "fp16")
        self.assertEqual(nodes, {"q": ("Softmax", "/gate/Softmax"), "normal:0,1:8": ("", ""), "all": ("", "")})

    def test_an_overflow_is_told_by_the_node_that_breaks_first_and_by_those_that_take_it_over(self):
        said = self.report("--to", "fp16")
        self.assertEqual(said["scores", "float16"], "float16: 25% of m.onnx:scores overflows at scale 1. It comes from node '/attention/MatMul' "
                         "(MatMul), which gives magnitudes up to 1.2e+05, where float16 ends at 65504. It breaks first: nothing counted that the node "
                         "takes overflows.")
        self.assertEqual(said["mask", "float16"], "float16: 50% of m.onnx:mask overflows at scale 1. It is an initializer with magnitudes up to 1e+09, "
                         "where float16 ends at 65504.")
        self.assertEqual(said["masked", "float16"], "float16: 75% of m.onnx:masked overflows at scale 1. It comes from node 'masked' (Add), which gives "
                         "magnitudes up to 1e+09, where float16 ends at 65504. What the node takes overflows before it, first in node "
                         "'/attention/MatMul' (MatMul).")
        self.assertEqual(said["p", "float16"], "float16: m.onnx:p fits at scale 1: nothing overflows, nothing becomes 0. It comes from node "
                         "'/attention/Softmax' (Softmax). What the node takes overflows before it, first in node '/attention/MatMul' (MatMul).")
        self.assertEqual(said["after", "float16"], "float16: m.onnx:after fits at scale 1: nothing overflows, nothing becomes 0. It comes from node "
                         "'after' (Neg).")

    def test_the_mask_is_first_where_nothing_before_it_overflows(self):
        (self.path / "x.safetensors").write_bytes(safetensors({"x": ("F32", [2, 4], struct.pack("<8f", *[one / 100 for one in LARGE]))}))
        said = self.report("--to", "fp16")
        self.assertIn("What the node takes overflows before it, first in the initializer m.onnx:mask.", said["masked", "float16"])
        # Every format has its own.
        self.assertIn("first in node", self.report_again("--to", "fp16,e5m2,e4m3")["masked", "float8_e4m3fn"])

    def report_again(self, *words):
        self.done("census", "m.onnx", "--inputs", "x.safetensors", "-o", "again", *words)
        (self.path / "report").rename(self.path / "before")
        (self.path / "again").rename(self.path / "report")
        return self.findings()

    def test_an_underflow_is_told_by_the_least_numbers_of_the_softmax_and_of_the_format(self):
        said = self.report("--to", "e4m3,fp16")
        self.assertEqual(said["q", "float8_e4m3fn"], f"float8_e4m3fn: 12.5% of m.onnx:q becomes 0 at scale 1. It comes from node '/gate/Softmax' "
                         f"(Softmax), which gives magnitudes down to {self.least():.5g}, where float8_e4m3fn has none below 0.0019531.")
        self.assertEqual(said["q", "float16"], "float16: 12.5% of m.onnx:q is subnormal at scale 1. It comes from node '/gate/Softmax' (Softmax).")
        flushed = self.report_again("--to", "e4m3", "--flush-subnormals")
        self.assertIn("where float8_e4m3fn has none below 0.015625.", flushed["q", "float8_e4m3fn"])

    def test_under_a_scale_magnitudes_are_not_those_that_are_rounded(self):
        said = self.report("--to", "fp16", "--scale", "4")
        self.assertEqual(said["scores", "float16"], "float16: 25% of m.onnx:scores overflows under scale 4. It comes from node '/attention/MatMul' "
                         "(MatMul). It breaks first: nothing counted that the node takes overflows.")

    @staticmethod
    def least():
        terms = [math.exp(0.02 * (one - 300)) for one in LARGE[:4]]
        return min(terms) / sum(terms)

    def test_what_is_infinite_or_nan_in_float32_is_followed_back_to_where_it_arises(self):
        said = self.report("--to", "fp16")
        self.assertIn(" It comes from node 'exp' (Exp). In float32 it already has infinities. It breaks first: nothing counted that the node takes is "
                      "infinite or NaN.", said["e", "float16"])
        self.assertTrue(said["difference", "float16"].endswith(" It comes from node 'sub' (Sub). In float32 it already has NaNs. What the node takes is "
                                                               "infinite or NaN before it, first in node 'exp' (Exp)."), said["difference", "float16"])
        self.assertTrue(said["log", "float16"].endswith(" In float32 it already has NaNs. It breaks first: nothing counted that the node takes is infinite "
                                                        "or NaN."), said["log", "float16"])

    def test_the_page_names_the_node_beside_the_pair_that_is_lost_and_under_its_tensor(self):
        self.report("--to", "fp16")
        page = (self.path / "report/index.html").read_text()
        self.assertIn("given by", page)
        self.assertIn("node &#39;/attention/MatMul&#39; (MatMul)", page.replace("'", "&#39;"))
        self.assertGreater(page.replace("'", "&#39;").count("node &#39;/attention/MatMul&#39; (MatMul)"), 3)
        self.assertIn("an initializer", page)

    def test_parts_of_a_census_merge_to_the_same_bytes(self):
        words = ("census", "m.onnx", "--inputs", "x.safetensors", "--to", "fp16,e4m3")
        self.done(*words, "-o", "report")
        for index in range(2):
            self.done(*words, "--shard", f"{index}/2", "-o", f"parts/{index}")
        self.done("merge", "parts", "-o", "merged")
        for name in ("census.csv", "findings.csv"):
            self.assertEqual((self.path / "merged" / name).read_bytes(), (self.path / "report" / name).read_bytes(), name)
        self.assertIn("operator,node", (self.path / "merged/census.csv").read_text())

    def test_a_study_file_says_the_same_of_a_model(self):
        (self.path / "s.toml").write_text('[[study]]\nkind = "census"\nname = "m"\ninputs = ["m.onnx"]\nmodel_inputs = ["x.safetensors"]\nto = ["fp16"]\n')
        self.done("run", "s.toml", "-o", "study")
        rows = {row["tensor"]: row for row in csv.DictReader((self.path / "study/m.csv").read_text().splitlines())}
        self.assertEqual((rows["m.onnx:q"]["operator"], rows["m.onnx:q"]["node"]), ("Softmax", "/gate/Softmax"))
        said = [row["sentence"] for row in csv.DictReader((self.path / "study/findings.csv").read_text().splitlines())]
        self.assertEqual(said, list(self.report("--to", "fp16").values()))

    def test_the_output_of_a_branch_is_followed_into_it(self):
        inner = [node("Mul", ["x", "x"], ["square"], name="inner")]
        (self.path / "m.onnx").write_bytes(model(
            [node("If", ["c"], ["y"], branch("then", inner, [], [], ["square"]), branch("else", [], [], [], ["x"]), name="/If"), node("Add", ["y", "y"], ["z"])],
            [field(2, 9) + field(8, "c") + field(9, b"\1")], [value_info("x", 1, [2, 4])], ["z"]))
        said = self.report("--to", "fp16")
        self.assertIn("from node 'inner' (Mul), which gives magnitudes up to 90000, where", said["/If/then_branch/square", "float16"])
        self.assertIn("from node '/If' (If)", said["y", "float16"])
        for name in ("y", "z"):
            self.assertIn("first in node 'inner' (Mul).", said[name, "float16"])

    def test_an_initializer_that_a_branch_gives_is_followed_into_it_and_around_it(self):
        for name, inner, outer in (("/If/then_branch/w", [tensor("w", [2], [1e6, 2.0])], []), ("w", [], [tensor("w", [2], [1e6, 2.0])])):
            (self.path / "m.onnx").write_bytes(model(
                [node("If", ["c"], ["y"], branch("then", [], inner, [], ["w"]), branch("else", [], [], [], ["x"]), name="/If"), node("Neg", ["y"], ["z"])],
                [field(2, 9) + field(8, "c") + field(9, b"\1"), *outer], [value_info("x", 1, [2, 4])], ["z"]))
            said = self.report_again("--to", "fp16") if (self.path / "report").exists() else self.report("--to", "fp16")
            for value in ("y", "z"):
                self.assertTrue(said[value, "float16"].endswith(f" What the node takes overflows before it, first in the initializer m.onnx:{name}."), said)

    def test_an_initializer_through_branches_in_branches_has_the_inner_name(self):
        inner = node("If", ["c"], ["v"], branch("then", [], [tensor("w", [2], [1e6, 2.0])], [], ["w"]), branch("else", [], [], [], ["x"]), name="in")
        (self.path / "m.onnx").write_bytes(model(
            [node("If", ["c"], ["y"], branch("then", [inner], [], [], ["v"]), branch("else", [], [], [], ["x"]), name="out")],
            [field(2, 9) + field(8, "c") + field(9, b"\1")], [value_info("x", 1, [2, 4])], ["y"]))
        said = self.report("--to", "fp16")
        for value in ("out/then_branch/v", "y"):
            self.assertIn("first in the initializer m.onnx:out/then_branch/in/then_branch/w.", said[value, "float16"])

    def test_what_is_made_of_what_overflows_by_values_that_fit_does_not_break_first(self):
        # A root between two products, as norms have it; then another root, and a product of its own.
        (self.path / "m.onnx").write_bytes(model(
            [node("Mul", ["x", "x"], ["t"], name="SQ"), node("Sqrt", ["t"], ["s"], name="RT"), node("Mul", ["s", "k"], ["y"], name="M"),
             node("Neg", ["y"], ["z"], name="N"), node("Sqrt", ["y"], ["r"], name="RR"), node("Neg", ["r"], ["f"], name="F"),
             node("Mul", ["f", "k"], ["u"], name="U"), node("Mul", ["s", "big"], ["b"], name="B"), node("Log", ["f"], ["n"], name="L")],
            [tensor("k", [1], [1000.0]), tensor("big", [1], [1e6])], [value_info("x", 1, [2, 4])], ["u"]))
        said = {name: sentence for (name, *_), sentence in self.report("--to", "fp16").items()}
        behind = " What the node takes fits, but is made of what overflows before it, first in node 'SQ' (Mul)."
        ends = {"t": " It breaks first: nothing counted that the node takes overflows.",
                "s": " What the node takes overflows before it, first in node 'SQ' (Mul).", "y": behind,
                "z": " What the node takes overflows before it, first in node 'M' (Mul), behind node 'SQ' (Mul).",
                "f": " It comes from node 'F' (Neg).", "u": behind, "n": behind,
                "b": " What the node takes overflows before it, first in the initializer m.onnx:big."}
        for name, end in ends.items():
            self.assertTrue(said[name].endswith(end), said[name])
        # Each format has its own: bfloat16 holds them all.
        self.assertNotIn("before it", "".join(sentence for (name, *_), sentence in self.report_again("--to", "bf16").items() if name != "n"))

    def test_two_values_that_would_have_one_name_are_refused(self):
        for second in ("a\\x0a", "a\n"):
            (self.path / "m.onnx").write_bytes(model([node("Neg", ["x"], ["a\n"], name="P"), node("Exp", ["x"], [second], name="Q")],
                                                     [], [value_info("x", 1, [2, 4])], ["a\n"]))
            done = run("census", "m.onnx", "--inputs", "x.safetensors", cwd=self.path)
            why = "two values would be named 'a\\x0a'" if second != "a\n" else "gives 'a\\x0a', which is there already"
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(f"m.onnx: node 'Q' (Exp): {why}\n", done.stderr)
        (self.path / "m.onnx").write_bytes(model(
            [node("Neg", ["x"], ["n/then_branch/w"]), node("If", ["c"], ["y"], branch("then", [], [tensor("w", [1], [1.0])], [], ["w"]),
                                                           branch("else", [], [], [], ["x"]), name="n")],
            [field(2, 9) + field(8, "c") + field(9, b"\1")], [value_info("x", 1, [2, 4])], ["y"]))
        done = run("census", "m.onnx", "--inputs", "x.safetensors", cwd=self.path)
        self.assertIn("m.onnx: node 'n' (If): two values would be named 'n/then_branch/w'\n", done.stderr)

    def test_names_that_move_a_terminal_are_escaped(self):
        (self.path / "m.onnx").write_bytes(model([node("Neg", ["x"], ["y"], name="a\x1bb")], [], [value_info("x", 1, [2, 4])], ["y"]))
        self.assertEqual(self.rows("m.onnx", "--to", "fp16")[1], {"y": ("Neg", "a\\x1bb")})

    def test_lines_of_many_tensors_have_the_operator(self):
        shown = self.done("census", "m.onnx", "--to", "fp16", "--inputs", "x.safetensors", "--text")
        self.assertRegex(shown, r"subnormal% +operator +sqnr_db")
        self.assertRegex(shown, r"scores +bad .* MatMul ")


if __name__ == "__main__":
    unittest.main()
