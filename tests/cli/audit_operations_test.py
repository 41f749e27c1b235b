#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ulpscope audit` of every operation that `ulpscope verify` has, but products and generated cases: options and examples, mutants
that are right outputs of other requests, attention as it is served, programs as rules, error lines.
usage: audit_operations_test.py PROGRAM EXAMPLES"""
import csv
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

from simd_paths import last_path
from time_limit import LIMIT

EXAMPLES = pathlib.Path(os.path.abspath(sys.argv.pop()))
PROGRAM = os.path.abspath(sys.argv.pop())
NOT_OF_AN_OUTPUT = {"output", "output-dtype", "against", "at-most", "false-alarm", "lse", "reduction-order", "junit", "save"}
MEASURED = {"softmax", "layer_norm", "rms_norm", "sum", "dot"}
NEVER_MISSING = {"zeros", "constant_mean", "nan_everywhere", "nan_element", "stale_output", "scale_off", "element_off", "noise"}


def write_npy(path, descr, shape, values):
    """A tensor; `descr` as numpy has it."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    kind = {"<f4": "f", "<i4": "i", "|b1": "?", "|u1": "B"}[descr]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}{kind}", *values))


def help_of(*words):
    return subprocess.run([PROGRAM, *words, "--help"], stdout=subprocess.PIPE, check=True, timeout=LIMIT).stdout.decode()


def operations(*words):
    """The operations that help lists, with the words of each one's example."""
    said = help_of(*words)
    out = {}
    for name in re.findall(r"^  ([a-z_]+)  ", said[said.index("\ncommands:\n"):], re.MULTILINE):
        text = help_of(*words, name)
        out[name] = shlex.split(text[text.index("Example: ulpscope ") + len("Example: ulpscope "):].replace("\\\n", " "))
    return out


def options_of(*words):
    return set(re.findall(r"^ +(?:-\w,)?--([a-z-]+)", help_of(*words), re.MULTILINE))


class AuditOfOperations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "examples").symlink_to(EXAMPLES.parent)
        for file in EXAMPLES.glob("*.npy"):
            shutil.copy(file, self.folder)

    def write(self, name, shape, value=None, descr="<f4"):
        """A file of these numbers, or of some that no kernel computes by chance."""
        count = math.prod(shape)
        values = value if isinstance(value, list) else [value] * count if value is not None else [math.sin(7 * i * i + len(name)) for i in range(count)]
        write_npy(self.folder / name, descr, shape, values)
        return name

    def run_program(self, *words, code=0):
        done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.folder, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, code, (words, done.stderr, done.stdout))
        return done

    def audit(self, *words, code=0):
        return list(csv.DictReader(io.StringIO(self.run_program("audit", *words, "--csv", code=code).stdout)))

    def fates(self, *words, code=0):
        return {row["mutant"]: row["fate"] for row in self.audit(*words, code=code)}

    def refused(self, *words):
        done = self.run_program("audit", *words, code=2)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
        return done.stderr

    def outputs(self, *words):
        """What a rule is given: (mutant, severity) and a file for each output, the correct one being `none`."""
        kept = self.folder / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        rule = "program:sh -c 'cp \"$1\" kept/$(ls kept | wc -l).npy' sh {out}"
        no_trials = ("--trials", "0") if words[0] in MEASURED else ()
        table = self.audit(*words, "--rule", rule, *no_trials, code=3)
        asked = [(row["mutant"], row["severity"]) for row in table if row["fate"] in ("accepted", "lived")]
        self.assertEqual(len(asked), len(list(kept.iterdir())))
        return {key: f"kept/{i}.npy" for i, key in enumerate(asked)}

    def is_exactly(self, output, *words):
        """Whether verify calls every element of an output the exact result, rounded once."""
        done = subprocess.run([PROGRAM, "verify", *words, "--output", output, "--csv"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              cwd=self.folder, text=True, timeout=LIMIT)
        row = next(csv.DictReader(io.StringIO(done.stdout)))
        return row["equal"] == row["count"]

    def test_every_operation_of_verify_has_its_audit(self):
        known, audited = operations("verify"), operations("audit")
        self.assertEqual([name for name in known if name != "generated"], list(audited))
        for name, words in audited.items():
            with self.subTest(name):
                self.run_program(*words)
                if name == "matmul":
                    continue
                own = {"rule", "timeout", "resume"} | ({"trials"} if name in MEASURED else set())
                self.assertEqual(options_of("audit", name), options_of("verify", name) - NOT_OF_AN_OUTPUT | own)
                table = self.audit(*words[1:], "--rule", "bitwise")
                by_rule = {rule: [row for row in table if row["rule"] == rule] for rule in ("bound", "bitwise")}
                for rows in by_rule.values():
                    self.assertEqual((rows[0]["mutant"], rows[0]["fate"]), ("none", "accepted"))
                    self.assertLessEqual(NEVER_MISSING, {row["mutant"] for row in rows})
                    alarms = {(row["trials"], row["false_alarms"] != "") for row in rows}
                    self.assertEqual(alarms, {("20", True)} if name in MEASURED else {("", False)})
                self.assertEqual({row["fate"] for row in by_rule["bitwise"][1:]} - {"killed", "equivalent", "not_applicable"}, set())
                self.assertNotIn("yes", {row["required"] for row in by_rule["bound"] if row["fate"] == "lived"})

    def test_mutants_are_right_outputs_of_other_requests(self):
        self.write("w.npy", (32,)), self.write("b.npy", (32,))
        norm, weight, bias = ("layer_norm", "x.npy", "--out", "fp32"), ("--weight", "w.npy"), ("--bias", "b.npy")
        outputs = self.outputs(*norm, *weight, *bias)
        for mutant, words in (("none", (*weight, *bias)), ("weight_missing", bias), ("bias_missing", weight),
                              ("eps_off", (*weight, *bias, "--eps", "1e-4")), ("eps_missing", (*weight, *bias, "--eps", "0")),
                              ("out_truncated", (*weight, *bias, "--out-rounding", "toward_zero"))):
            with self.subTest(mutant):
                self.assertTrue(self.is_exactly(outputs[mutant, "nan"], *norm, *words))
        for mutant in ("weight_shifted", "bias_shifted"):
            self.assertFalse(self.is_exactly(outputs[mutant, "nan"], *norm, *weight, *bias))
        outputs = self.outputs(*norm)
        self.assertTrue(self.is_exactly(outputs["inputs_in_float8_e4m3fn", "nan"], *norm, "--in", "e4m3"))
        self.assertNotIn(("weight_missing", "nan"), outputs)

    def test_an_output_in_places_and_groups(self):
        self.write("scale.npy", (9,), [0.5 + 0.25 * i for i in range(9)])
        words = ("grouped_matmul", "tokens.npy", "experts.npy", "--offsets", "offsets.npy", "--out", "fp32")
        outputs = self.outputs(*words, "--scale-a", "scale.npy", "--scale-a", "3")
        self.assertTrue(self.is_exactly(outputs["none", "nan"], *words, "--scale-a", "scale.npy", "--scale-a", "3"))
        self.assertTrue(self.is_exactly(outputs["scale_a_whole_missing", "nan"], *words, "--scale-a", "scale.npy"))
        self.assertTrue(self.is_exactly(outputs["scale_a_missing", "nan"], *words, "--scale-a", "3"))
        self.assertFalse(self.is_exactly(outputs["scale_a_shifted", "nan"], *words, "--scale-a", "3"))
        self.assertNotIn(("offsets_missing", "nan"), outputs)

    def test_attention_as_it_is_served(self):
        heads, width, rows, blocks = 2, 8, 4, 6
        self.write("q4.npy", (5, heads, width))
        self.write("k4.npy", (blocks, rows, heads, width)), self.write("v4.npy", (blocks, rows, heads, width))
        self.write("table.npy", (2, 3), [4, 1, 0, 2, 5, 3], "<i4"), self.write("lengths.npy", (2,), [11, 7], "<i4")
        self.write("starts.npy", (3,), [0, 3, 5], "<i4"), self.write("sinks.npy", (heads,))
        self.write("kd.npy", (2, heads), [0.5, 2.0, 1.5, 0.75])
        words = ["attention", "q4.npy", "k4.npy", "v4.npy", "--out", "fp16", "--block-table", "table.npy", "--key-lengths", "lengths.npy",
                 "--query-starts", "starts.npy"]
        more = ["--sinks", "sinks.npy", "--k-descale", "kd.npy", "--v-descale", "2", "--causal", "bottom_right", "--window", "3,0"]
        outputs = self.outputs(*words, *more)

        def without(option):
            at = more.index(option)
            return more[:at] + more[at + 2:]

        self.assertTrue(self.is_exactly(outputs["none", "nan"], *words, *more))
        for mutant, changed in (("sinks_missing", without("--sinks")), ("k_descale_missing", without("--k-descale")),
                                ("v_descale_missing", without("--v-descale")), ("scale_missing", more + ["--scale", "1"]),
                                ("causal_off", without("--causal")[:-1] + ["3,1"])):
            with self.subTest(mutant):
                self.assertTrue(self.is_exactly(outputs[mutant, "nan"], *words, *changed))
        names = {mutant for mutant, _ in outputs}
        self.assertLessEqual({"sinks_shifted", "k_descale_shifted"}, names)
        self.assertEqual({name for name in names if name.startswith(("block_table", "query_starts", "v_descale_s"))}, set())
        self.assertEqual({name for name in names if name.endswith("_shifted")}, {"sinks_shifted", "k_descale_shifted"})

        self.write("mask.npy", (6, 6), [(i * i) % 7 != 1 for i in range(36)], "|b1")
        masked = ("attention", "q.npy", "k.npy", "v.npy", "--out", "fp32", "--mask", "mask.npy", "--rule", "bound")
        fates = self.fates(*masked)
        self.assertEqual((fates["mask_missing"], "mask_shifted" in fates), ("killed", False))

    def test_numbers_of_codes(self):
        self.write("codes.npy", (4, 16), [(37 * i + 9) % 120 for i in range(64)], "|u1")
        fates = self.fates("softmax", "codes.npy", "--dtype", "e4m3", "--out", "fp32", "--rule", "bound")
        self.assertEqual((fates["tail_dropped"], fates["inputs_in_float8_e4m3fn"]), ("not_applicable", "equivalent"))
        fates = self.fates("cast", "codes.npy", "--dtype", "e5m2", "--out", "e4m3", "--out-policy", "saturating", "--rule", "bitwise")
        self.assertEqual((fates["stale_output"], fates["saturation_missing"]), ("killed", "killed"))
        fates = self.fates("cast", "codes.npy", "--out", "bf16", "--rule", "bitwise")  # integers are not rounded
        self.assertEqual((fates["stale_output"], fates["inputs_in_float8_e4m3fn"]), ("killed", "not_applicable"))

    def test_a_bound_that_zeros_pass_excuses_no_mutant(self):
        words = ("sum", "normal:0,1:2x300", "--acc", "fp16", "--out", "fp16")
        self.write("zeros.npy", (2,), 0)
        self.run_program("verify", *words, "--output", "zeros.npy", code=3)
        said = self.run_program("audit", *words, "--rule", "bound", "--text", code=3).stdout
        self.assertIn("\nNo mutant is left out as what a correct kernel may return: of these inputs it may return zeros.\n"
                      "bound: 7 required mutants LIVE: zeros, constant_mean, stale_output, rows_swapped, scale_off 5%, ", said)

    def test_mutants_within_a_bound_that_can_tell_are_named(self):
        words = ("audit", "sum", "normal:0,1:6x300", "--acc", "fp16", "--out", "fp16", "--rule", "bound", "--text")
        said = self.run_program(*words).stdout
        self.assertRegex(said, "zeros +yes +killed\nconstant_mean +yes +lived\n")
        self.assertTrue(said.endswith("bound: every required mutant that is not equivalent is killed, but constant_mean, rows_swapped, scale_off 5%, "
                                      "scale_off 10%, which a correct kernel may return.\n"), said)

    def test_rows_of_nothing(self):
        self.write("masked.npy", (3, 4), [-math.inf] * 4 + [1.0, -math.inf, 2.0, 0.5] + [-math.inf] * 4)
        for said, rest in (("nan", math.nan), ("zero", 0.0)):
            table = self.audit("softmax", "masked.npy", "--out", "fp32", "--fully-masked", said, "--rule", "bound")
            correct = [row for row in table if row["mutant"] == "none"]
            self.assertEqual([(row["fate"], row["trials"], row["false_alarms"]) for row in correct], [("accepted", "20", "0")])
            self.write("out.npy", (3, 4), [rest] * 4 + [1 / 3, 0.0, 1 / 3, 1 / 3] + [rest] * 4)
            row = next(csv.DictReader(io.StringIO(self.run_program(
                "verify", "softmax", "masked.npy", "--output", "out.npy", "--fully-masked", said, "--csv", code=1).stdout)))
            self.assertEqual((row["beyond"], row["nonfinite"]), ("3", "0"))  # of the one row that has weights
        self.assertIn("--fully-masked", self.refused("softmax", "masked.npy", "--out", "fp32", "--fully-masked", "none", "--rule", "bound"))

    def test_a_sum_of_all_is_a_scalar(self):
        table = self.audit("sum", "x.npy", "--axis", "all", "--out", "fp32", "--rule", "program:test -s {out_codes}", "--rule", "bound", code=3)
        fates = {(row["rule"], row["mutant"]): row["fate"] for row in table}
        self.assertEqual(fates["bound", "stale_output"], "equivalent")
        self.assertEqual(fates["bound", "rows_swapped"], "not_applicable")
        self.assertEqual(fates["program:test -s {out_codes}", "zeros"], "lived")
        self.assertEqual({row["trials"] for row in table}, {"20"})

    def test_text_and_exit_codes(self):
        said = self.run_program("audit", "attention", "q.npy", "k.npy", "v.npy", "--out", "fp32", "--rule", "cosine", "--text", code=3).stdout
        self.assertTrue(said.startswith("Q  q.npy (6x16), float32\n"))
        self.assertIn("\nattention  6x16, out float32\nCompared with the exact result, rounded once.\n\n", said)
        self.assertIn("\nFalse alarms are not measured for this operation.\n", said)
        self.assertIn("cosine: 3 required mutants LIVE: scale_off 5%, scale_off 10%, scale_off 100%.", said)
        said = self.run_program("audit", "sum", "x.npy", "--out", "fp32", "--acc", "fp16", "--rule", "cosine", "--text", code=3).stdout
        self.assertIn("\nFalse alarms are not measured with --acc fp16.\n", said)
        self.assertIn("tail_dropped               no        from 1 element\n", self.run_program(
            "audit", "sum", "x.npy", "--out", "fp32", "--rule", "bitwise", "--text").stdout)
        rejecting = self.run_program("audit", "sum", "x.npy", "--out", "fp32", "--rule", "program:false {out}", "--text", code=1).stdout
        self.assertIn("program:false {out}: REJECTS the correct output", rejecting)
        self.assertIn("rejects 20 of 20 correct computations in other orders, the first: ", rejecting)
        page = json.loads(self.run_program("audit", "sum", "x.npy", "--out", "fp32", "--rule", "bound", "--json").stdout)
        self.assertEqual((page[0]["mutant"], page[0]["fate"], page[0]["false_alarms"]), ("none", "accepted", 0))

    def test_results_depend_on_the_seed_and_on_no_number_of_threads(self):
        words = ("rms_norm", "normal:0,1:64x96", "--weight", "normal:1,0.1:96", "--in", "bf16", "--out", "bf16", "--rule", "cosine:0.9999")
        one = self.audit(*words, "--threads", "1", code=3)
        self.assertEqual(one, self.audit(*words, "--threads", "5", code=3))
        self.assertNotEqual(one, self.audit(*words, "--seed", "1", code=3))
        of_group = ("grouped_matmul", "tokens.npy", "experts.npy", "--offsets", "offsets.npy", "--out", "bf16", "--rule", "cosine:0.99999")
        self.assertNotEqual(self.audit(*of_group, code=3), self.audit(*of_group, "--seed", "3,4", code=3))
        path = last_path(PROGRAM)
        with_path = subprocess.run([PROGRAM, "audit", *words, "--csv"], stdout=subprocess.PIPE, cwd=self.folder, text=True, timeout=LIMIT,
                                   env={**os.environ, "ULPSCOPE_SIMD": path}).stdout
        self.assertEqual(list(csv.DictReader(io.StringIO(with_path))), one)

    def test_what_cannot_be_audited_is_one_line(self):
        whole = ("sum", "x.npy", "--out", "fp32")
        for words, said in (
                (("sum", "x.npy", "--rule", "bound"), "--out is required"),
                (whole, "--rule is required"),
                (("sum", "--out", "fp32", "--rule", "bound"), "X is required"),
                ((*whole, "--rule", "bund"), "the closest are bound"),
                ((*whole, "--rule", "baseline"), "rule 'baseline': asks for an engine, which audits of matmul alone have"),
                ((*whole, "--rule", "bound and allclose:rtol=1e-6*K"), "rule 'allclose:rtol=1e-6*K': asks for K, which"),
                ((*whole, "--rule", "program:sh -c 'exit 5' {out}"), "on the correct output it ended with exit code 5"),
                ((*whole, "--rule", "bound", "--timeout", "0"), "--timeout: give a number of seconds above 0"),
                ((*whole, "--rule", "bound", "--output", "sum.npy"), "--output"),
                ((*whole, "--rule", "bound", "--reference", "engine"), "--reference"),
                (("attention", "q.npy", "k.npy", "v.npy", "--out", "fp32", "--rule", "bound", "--trials", "3"), "--trials"),
                (("attention", "q.npy", "k.npy", "x.npy", "--out", "fp32", "--rule", "bound"), "v"),
                (("sum", "absent.npy", "--out", "fp32", "--rule", "bound"), "absent.npy"),
                (("sum", "x.npy", "--out", "fp64", "--rule", "bound"), "outputs of float64 are not judged"),
                (("sum", "x.npy", "--out", "nothing", "--rule", "bound"), "nothing"),
                (("rms_norm", "x.npy", "--weight", "q.npy", "--out", "fp32", "--rule", "bound"), "weight"),
                (("sum", "x.npy", "--acc", "e5m2", "--out", "fp32", "--rule", "bound"), "on the correct output it says nothing: "),
                (("softmax", "empty.npy", "--out", "fp32", "--rule", "bound"), "an empty output has no mutants"),
                (("generated", "signed_zero", "--rule", "bound"), "generated"),
                (("grouped_matmul", "tokens.npy", "experts.npy", "--out", "fp32", "--rule", "bound"), "--offsets, --group-of-row: give one")):
            with self.subTest(words):
                self.write("empty.npy", (0, 4), [])
                self.assertIn(said, self.refused(*words))


if __name__ == "__main__":
    unittest.main()
