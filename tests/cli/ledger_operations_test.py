#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ulpscope ledger` of every operation that `ulpscope verify` has: the examples of its help are recorded, checked, moved and broken;
inputs by their roles; kernels with two outputs. usage: ledger_operations_test.py PROGRAM EXAMPLES"""
import csv
import hashlib
import io
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

EXAMPLES = pathlib.Path(os.path.abspath(sys.argv.pop()))
PROGRAM = os.path.abspath(sys.argv.pop())
LIKE_VERIFY = ["q.npy", "k.npy", "v.npy", "--output", "attention.npy"]


def read_npy(path):
    """Shape and float32 values of a file that keeps its header below 64 KiB."""
    data = path.read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    shape = eval(data[10:10 + size], {"__builtins__": {}})["shape"]  # the project's own file
    return shape, list(struct.unpack(f"<{math.prod(shape)}f", data[10 + size:]))


def write_npy(path, shape, values):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}f", *values))


def operations(*words):
    """The operations that help lists, with the words of each one's example."""
    said = subprocess.run([PROGRAM, *words, "--help"], stdout=subprocess.PIPE, check=True, timeout=LIMIT).stdout.decode()
    names = re.findall(r"^  ([a-z_]+)  ", said[said.index("\ncommands:\n"):], re.MULTILINE)
    out = {}
    for name in names:
        help_text = subprocess.run([PROGRAM, *words, name, "--help"], stdout=subprocess.PIPE, check=True, timeout=LIMIT).stdout.decode()
        example = help_text[help_text.index("Example: ulpscope ") + len("Example: ulpscope "):].replace("\\\n", " ")
        out[name] = shlex.split(example)
    return out


class LedgerOfOperations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copytree(EXAMPLES, self.folder / "examples/tensors")
        for file in EXAMPLES.glob("*.npy"):
            shutil.copy(file, self.folder)

    def run_program(self, *words, code=0):
        done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder, timeout=LIMIT)
        self.assertEqual(done.returncode, code, (words, done.stderr, done.stdout))
        return done

    def record(self, *words, case="c", code=0):
        return self.run_program("ledger", "record", "L", *words, "--case", case, code=code)

    def rows(self, *words, code=0):
        return list(csv.DictReader(io.StringIO(self.run_program("ledger", *words, code=code).stdout.decode())))

    def check(self, *words, case="c", code=0):
        return self.rows("check", "L", case, *words, code=code)

    def entry(self):
        return json.loads((self.folder / "L").read_text().splitlines()[1])

    def moved(self, name, at):
        """A copy of an output with one wrong element, which every format has."""
        shape, values = read_npy(self.folder / name)
        values[at] = 512.0
        write_npy(self.folder / "moved.npy", shape, values)
        return "moved.npy"

    def test_every_operation_of_verify(self):
        known, recorded = operations("verify"), operations("ledger", "record", "L")
        self.assertGreaterEqual(len(known), 13)
        self.assertEqual(list(known), list(recorded))
        for name, words in known.items():
            with self.subTest(name):
                self.run_program(*recorded[name])
                self.assertEqual(words[1], name)
                self.record(*words[1:], "--keep-output", case=name)
                output = words[words.index("--output") + 1]
                again = self.check("--output", output, case=name)
                self.assertEqual([(row["case"], row["status"], row["verdict"]) for row in again], [(name, "same", "pass")])
                broken = self.check("--output", self.moved(output, 0), case=name, code=1)[0]
                self.assertEqual((broken["status"], broken["verdict"], broken["moved"]), ("moved", "fail", "1"))
        shown = self.rows("show", "L")
        self.assertEqual({row["case"]: row["operation"] for row in shown}, {name: name for name in known})

    def test_inputs_have_roles_and_digests_of_their_numbers(self):
        self.record("rms_norm", "x.npy", "--weight", "w.npy", "--output", "rms_norm.npy", code=2)  # there is no w.npy
        self.assertFalse((self.folder / "L").exists())
        shape, x = read_npy(self.folder / "x.npy")
        write_npy(self.folder / "w.npy", (shape[1],), [1.0] * shape[1])
        self.record("rms_norm", "x.npy", "--weight", "w.npy", "--eps", "1e-5", "--output", "rms_norm.npy")
        digest = hashlib.sha256(b"float32 8x32\n" + struct.pack("<256f", *x)).hexdigest()
        self.assertEqual([(one["role"], one["words"]) for one in self.entry()["inputs"]], [("x", "x.npy"), ("weight", "w.npy")])
        self.assertEqual(self.entry()["inputs"][0]["sha256"], digest)
        self.assertEqual(self.entry()["options"], {"eps": "1e-5", "out": "float32"})
        os.rename(self.folder / "w.npy", self.folder / "w2.npy")
        self.run_program("ledger", "check", "L", "c", "--output", "rms_norm.npy", code=2)
        self.assertEqual(self.check("x.npy", "--input", "weight=w2.npy", "--output", "rms_norm.npy")[0]["status"], "same")
        write_npy(self.folder / "w2.npy", (shape[1],), [1.0] * (shape[1] - 1) + [1.5])
        changed = self.check("--input", "weight=w2.npy", "--output", "rms_norm.npy", code=2)[0]
        self.assertEqual(changed["status"], "inputs_differ")
        self.assertIn("weight: float32 32", changed["changes"])

    def test_options_move_with_the_case(self):
        self.record("cast", "softmax.npy", "--output", "cast.npy", "--out", "bf16", "--out-rounding", "toward_zero")
        self.assertEqual(self.entry()["options"], {"out": "bf16", "out-rounding": "toward_zero"})
        self.assertEqual(self.check("--output", "cast.npy")[0]["status"], "same")
        text = (self.folder / "L").read_text()
        (self.folder / "L").write_text(text.replace("toward_zero", "nearest_even"))
        self.assertEqual(self.check("--output", "cast.npy", code=1)[0]["verdict"], "fail")

    def test_a_formula_s_inputs_are_its_names(self):
        self.record("expr", "where(g > 0, silu(g) * u, silu(g) * u * k)", "--input", "g=x.npy", "--input", "u=x.npy", "--let", "k=1",
                    "--output", "swiglu.npy")
        self.assertEqual([one["role"] for one in self.entry()["inputs"]], ["g", "u"])
        self.assertEqual(self.entry()["options"], {"formula": "where(g > 0, silu(g) * u, silu(g) * u * k)", "let": "k=1", "out": "float32"})
        os.rename(self.folder / "x.npy", self.folder / "y.npy")
        same = self.check("--input", "g=y.npy", "--input", "u=y.npy", "--output", "swiglu.npy")
        self.assertEqual(same[0]["status"], "same")

    def test_scales_of_groups_are_inputs(self):
        shape, tokens = read_npy(self.folder / "tokens.npy")
        write_npy(self.folder / "half.npy", shape, [x / 2 for x in tokens])
        words = ("grouped_matmul", "half.npy", "experts.npy", "--offsets", "offsets.npy", "--output", "grouped_matmul.npy")
        self.record(*words, "--scale-a", "2")
        self.assertEqual([(one["role"], one["words"]) for one in self.entry()["inputs"]][2:], [("scale_a", "2"), ("offsets", "offsets.npy")])
        self.assertEqual(self.check("--output", "grouped_matmul.npy")[0]["status"], "same")
        self.assertEqual(self.check("--scale-a", "4", "--output", "grouped_matmul.npy", code=2)[0]["status"], "inputs_differ")
        self.assertNotIn("scale-a", self.entry()["options"])

    def attention_with_sums(self):
        """The logarithms of the sums of exponentials that belong to attention.npy."""
        (rows, width), q = read_npy(self.folder / "q.npy")
        _, k = read_npy(self.folder / "k.npy")
        lse = []
        for i in range(rows):
            scores = [sum(q[i * width + c] * k[j * width + c] for c in range(width)) / math.sqrt(width) for j in range(rows)]
            top = max(scores)
            lse.append(top + math.log(sum(math.exp(s - top) for s in scores)))
        write_npy(self.folder / "lse.npy", (rows,), lse)

    def test_a_kernel_with_two_outputs_has_both_kept_and_compared(self):
        self.attention_with_sums()
        done = self.record("attention", *LIKE_VERIFY, "--lse", "lse.npy", "--keep-output")
        self.assertEqual([line.split(":")[0] for line in done.stderr.decode().splitlines()], ["c", "c lse"])
        entry = self.entry()
        self.assertEqual([one["name"] for one in entry["further"]], ["lse"])
        self.assertEqual(entry["options"], {"out": "float32"})
        kept = {entry["output"]["sha256"] + ".npy", entry["further"][0]["output"]["sha256"] + ".npy"}
        self.assertEqual(set(os.listdir(self.folder / "L.outputs")), kept)
        self.assertEqual([row["case"] for row in self.rows("show", "L")], ["c", "c lse"])

        same = self.check("--output", "attention.npy", "--input", "lse=lse.npy")
        self.assertEqual([(row["case"], row["status"]) for row in same], [("c", "same"), ("c lse", "same")])
        wrong = self.check("--output", "attention.npy", "--input", "lse=" + self.moved("lse.npy", 2), code=1)
        self.assertEqual([(row["status"], row["moved"]) for row in wrong], [("same", "0"), ("moved", "1")])
        lacking = self.run_program("ledger", "check", "L", "c", "--output", "attention.npy", code=2).stderr.decode()
        self.assertIn("the case has the output lse as well: say --input lse=FILE", lacking)

        (self.folder / "m.csv").write_text("case,output,lse\nc,attention.npy,lse.npy\n")
        by_manifest = self.run_program("ledger", "check", "L", "--manifest", "m.csv", "--junit", "j.xml").stderr.decode()
        self.assertIn("2 cases: 2 same", by_manifest)
        self.assertEqual((self.folder / "j.xml").read_text().count("<testcase"), 2)

        shutil.copy(self.folder / "L", self.folder / "M")
        self.assertEqual([row["status"] for row in self.rows("diff", "L", "M")], ["same", "same"])
        self.record("attention", *LIKE_VERIFY, "--keep-output")  # its sums are not recorded any more
        self.assertEqual(os.listdir(self.folder / "L.outputs"), [entry["output"]["sha256"] + ".npy"])
        self.assertEqual([row["status"] for row in self.rows("diff", "M", "L")], ["same", "removed"])

    def test_what_an_entry_says_of_a_second_output_is_checked(self):
        self.attention_with_sums()
        self.record("attention", *LIKE_VERIFY, "--lse", "lse.npy")
        entry = self.entry()
        further = entry["further"][0]
        for changed, said in [([], "'/further' is nothing a ledger holds"), ([{**further, "more": 1}], "is nothing a ledger holds"),
                              ([{**further, "figures": {**further["figures"], "equal": 10}}], "the counts add up to"), (3, "name is looked for in what is no object"),
                              ([{"name": "lse"}], "'output' is missing"),
                              ([further, further], "'lse' is there twice"), ([further, {**further, "name": "mask"}], "'mask' is no output that attention has"),
                              ([7], "name is looked for in what is no object")]:
            with self.subTest(changed):
                (self.folder / "L").write_text('{"ulpscope_ledger":1}\n' + json.dumps({**entry, "further": changed}) + "\n")
                self.assertIn(said, self.run_program("ledger", "show", "L", code=2).stderr.decode())

    def test_a_second_output_among_the_options_is_refused_and_other_cases_are_checked(self):
        self.attention_with_sums()
        self.record("attention", *LIKE_VERIFY, "--lse", "lse.npy")
        self.record("softmax", "x.npy", "--output", "softmax.npy", case="d")
        version, entry, other = (self.folder / "L").read_text().splitlines()
        hidden = json.loads(entry)
        del hidden["further"]
        hidden["options"]["lse"] = self.moved("lse.npy", 2)  # which is wrong, and would be judged without a word
        (self.folder / "L").write_text("\n".join([version, json.dumps(hidden), other]) + "\n")
        said = "its options in the ledger name an output of which it holds no digest (case c of L)"
        self.assertEqual(self.run_program("ledger", "check", "L", "c", "--output", "attention.npy", code=2).stderr.decode(), f"ulpscope: {said}\n")
        (self.folder / "m.csv").write_text("case,output\nc,attention.npy\nd,softmax.npy\n")
        rows = self.rows("check", "L", "--manifest", "m.csv", "--junit", "j.xml", code=2)
        self.assertEqual([(row["case"], row["status"]) for row in rows], [("c", "unchecked"), ("d", "same")])
        self.assertIn(said, rows[0]["problem"])
        self.assertEqual((self.folder / "j.xml").read_text().count("<testcase"), 2)

    def test_a_case_that_is_called_like_the_second_output_of_another(self):
        self.attention_with_sums()
        self.record("attention", *LIKE_VERIFY, "--lse", "lse.npy")
        self.record("rms_norm", "x.npy", "--output", "rms_norm.npy", case="c lse")
        shutil.copy(self.folder / "L", self.folder / "old")
        self.record("attention", *LIKE_VERIFY, "--lse", self.moved("lse.npy", 2), code=1)
        rows = self.rows("diff", "old", "L", code=1)
        self.assertEqual([(row["case"], row["status"], row["verdict"]) for row in rows],
                         [("c", "same", "pass"), ("c lse", "moved", "fail"), ("c lse", "same", "pass")])
        (self.folder / "m.csv").write_text("case,output,lse\nc,attention.npy,lse.npy\n")
        done = self.run_program("ledger", "check", "old", "--manifest", "m.csv").stderr.decode()
        self.assertIn("in the ledger, but not checked: c lse\n", done)

    def test_a_wrong_second_output_fails_the_record(self):
        self.attention_with_sums()
        self.record("attention", *LIKE_VERIFY, "--lse", self.moved("lse.npy", 0), code=1)
        rows = self.rows("show", "L")
        self.assertEqual([row["verdict"] for row in rows], ["pass", "fail"])

    def test_bad_input_is_one_line_and_changes_nothing(self):
        self.record("softmax", "x.npy", "--output", "softmax.npy")
        before = (self.folder / "L").read_bytes()
        expected = {
            ("check", "L", "c", "x.npy", "x.npy", "--output", "softmax.npy"): "inputs: 2; the case has x",
            ("check", "L", "c", "--input", "x", "--output", "softmax.npy"): "--input 'x': give ROLE=FILE",
            ("check", "L", "c", "--input", "mask=x.npy", "--output", "softmax.npy"): "input mask (x.npy): the case has x",
            ("check", "L", "c", "--input", "x=x.npy", "--input", "x=x.npy", "--output", "softmax.npy"): "--input 'x=x.npy': x is given twice",
            ("record", "L", "softmax", "x.npy", "--output", "softmax.npy", "--case", "c", "--against", "engine"): "--against engine: engines are",
            ("record", "L", "softmax", "x.npy", "--output", "softmax.npy", "--case", "c", "--against", "exp.npy"): "--against exp.npy: a ledger",
            ("record", "L", "softmaxx", "x.npy"): "softmaxx: ",
        }
        for words, start in expected.items():
            error = self.run_program("ledger", *words, code=2).stderr.decode()
            self.assertEqual(error.count("\n"), 1, error)
            self.assertTrue(error.startswith("ulpscope: " + start) or words[2] == "softmaxx", (words, error))
        self.assertEqual((self.folder / "L").read_bytes(), before)
        for old, new, start in [('"operation":"softmax"', '"operation":"softmin"', "unknown operation 'softmin'; nearest: softmax"),
                                ('"role":"x"', '"role":"output"', ""), ('"role":"x"', '"role":"mask"', "its options in the ledger"),
                                ('"options":{', '"options":{"x":"y.npy",', "")]:
            with self.subTest(new):
                (self.folder / "L").write_bytes(before.replace(old.encode(), new.encode(), 1))
                error = self.run_program("ledger", "check", "L", "c", "--output", "softmax.npy", code=2).stderr.decode()
                self.assertEqual(error.count("\n"), 1, error)
                self.assertTrue(error.startswith("ulpscope: " + start), error)


if __name__ == "__main__":
    unittest.main()
