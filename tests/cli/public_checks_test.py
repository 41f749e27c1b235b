# SPDX-License-Identifier: Apache-2.0
"""Runs `ulpscope evidence --public` on small samples: what arithmetic alone says of the checks, what the tables promise, the page, bad
input.

usage: public_checks_test.py PROGRAM CHECKS REPORT
CHECKS is verify/evidence/public_checks.csv, REPORT the folder in which a whole run is kept.
"""
import csv
import io
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from emulation import not_emulated
from time_limit import LIMIT

REPORT = pathlib.Path(sys.argv.pop())
CHECKS = pathlib.Path(sys.argv.pop())
PROGRAM = os.path.abspath(sys.argv.pop())
MUTANTS = ["zeros", "nan_everywhere", "constant_mean", "negated", "halved", "scale_off_10%", "c_alone", "c_missing", "rows_reversed",
           "stale_tile", "k_dropped_1", "k_dropped_8", "k_dropped_16", "inputs_in_tf32", "inputs_in_bfloat16",
           "inputs_truncated_to_tf32", "inputs_truncated_to_bfloat16"]
# Beside signs and halves, whatever the operation is.
OF_ALL = ["nan_everywhere", "nan_element", "infinite_element", "stale_output", "rows_swapped", "tile_transposed", "scale_off_10%",
          "element_off_1024", "noise_16", "inputs_in_tf32", "inputs_in_bfloat16", "inputs_in_float8_e4m3fn", "out_truncated"]


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def run(*words, cwd=None):
    done = subprocess.run([PROGRAM, "evidence", *words], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


class Data(unittest.TestCase):
    def test_every_check_has_a_source_and_what_it_lacks_has_a_reason(self):
        checks = rows(CHECKS)
        self.assertEqual(len(checks), 267)
        self.assertEqual(len({row["check"] for row in checks}), len(checks))
        self.assertEqual(len({row["repository"] for row in checks}), 46)
        for row in checks:
            self.assertRegex(row["repository"], r"^[\w.-]+/[\w.-]+$", row)
            self.assertEqual(row["why"] == "", row["fit"] == "exact", row)
            self.assertEqual(row["rule"] == "", row["fit"] == "no", row)
            of_product = [row[column] for column in ("m", "n", "k", "a_format", "b_format", "acc", "out", "a", "b", "c", "scales")]
            self.assertTrue(row["request"] == "" or (row["fit"] != "no" and not any(of_product)), row)
            if row["why"] != "known by a report alone":
                self.assertNotEqual(row["path"], "", row)
                self.assertRegex(row["commit"], r"^$" if "version not stated" in row["why"] else r"^[0-9a-f]{40}$", row)
            if row["fit"] == "exact" and not row["request"]:
                self.assertTrue(row["m"] and row["n"] and row["k"], row)

    def test_blocks_are_scaled_as_the_sources_scale_them(self):
        scales = {row["check"]: (row["fit"], row["scales"]) for row in rows(CHECKS)}
        for check, words in (("deepgemm-04", "1x128 128x128"), ("ao-02", "mx"), ("ao-03", "nvfp4"), ("pytorch-22", "row"),
                             ("reference-kernels-01", "1x128:normal:0,1 128x128:normal:0,1"), ("flashinfer-05", "mx,up")):
            self.assertEqual(scales[check], ("exact", words))
        self.assertFalse([row for row in rows(CHECKS) if "one scale for a tensor" in row["why"]])


@not_emulated(PROGRAM, "asking all checks takes more than twenty minutes")
class Study(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.short = pathlib.Path(cls.scratch.name) / "short"
        code, _, errors = run("--public", "--lines", "8", "--seed", "3", "-o", cls.short)
        assert code == 0, errors

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def each(self):
        return ("committed", REPORT), ("short run", self.short)

    def test_counts_are_those_of_the_outputs(self):
        for name, folder in self.each():
            outputs, checks = rows(folder / "public_outputs.csv"), rows(folder / "public_checks.csv")
            self.assertEqual([row["check"] for row in checks], [row["check"] for row in rows(CHECKS)])
            for row in checks:
                own = [o for o in outputs if o["check"] == row["check"]]
                if row["fit"] == "no":
                    self.assertEqual((own, row["wrong"]), ([], ""), row)
                    continue
                mutants = [o["output"] for o in own if o["kind"] == "mutant"]
                if row["request"]:
                    self.assertEqual(mutants[:4], ["negated", "halved", "zeros", "constant_mean"], row)
                    self.assertLessEqual(set(OF_ALL), set(mutants), row)
                else:
                    self.assertEqual(mutants, MUTANTS)
                wrong = [o for o in own if o["kind"] == "mutant" and o["bound"] == "rejected"]
                self.assertEqual(int(row["wrong"]), len(wrong), row)
                self.assertEqual(row["accepts"], "; ".join(o["output"] for o in wrong if o["verdict"] == "accepted"))
                self.assertEqual(int(row["accepted"]), sum(o["verdict"] == "accepted" for o in wrong))
                right = [o for o in own if o["kind"] == "right"]
                self.assertEqual(int(row["right"]), len(right))
                self.assertEqual(row["rejects"], "; ".join(o["output"] for o in right if o["verdict"] == "rejected"))
                self.assertEqual(int(row["other_bits"]), sum(o["bitwise"] == "rejected" for o in right))
                self.assertIn(row["engine"] or "exact", [o["output"] for o in right if o["bitwise"] == "accepted"])
            total = lambda column: sum(int(row[column]) for row in checks if row[column])
            found = {(r["what"], r["where"]): r["value"] for r in rows(folder / "findings.csv")}
            self.assertEqual(found["accepted", "public checks"], str(total("accepted")))
            self.assertEqual(found["rejected", "public checks"], str(total("rejected")))
            self.assertEqual(found["rejected", "deterministic bound"], "0")
            self.assertGreater(total("wrong"), 1700, name)

    def test_the_bound_accepts_every_right_output_and_no_zeros(self):
        for name, folder in self.each():
            outputs = rows(folder / "public_outputs.csv")
            right = [o for o in outputs if o["kind"] == "right"]
            self.assertGreater(len(right), 2000)
            self.assertEqual({o["bound"] for o in right}, {"accepted"}, name)
            for mutant in ("zeros", "nan_everywhere"):
                self.assertEqual({o["bound"] for o in outputs if o["output"] == mutant}, {"rejected"}, (name, mutant))

    def test_sums_of_int8_are_the_same_on_all_engines(self):
        """As those of int32 are: the products and their sums are below 2^24."""
        for name, folder in self.each():
            of_int8 = {row["check"] for row in rows(folder / "public_checks.csv") if row["a_format"] == "int8"}
            self.assertGreater(len(of_int8), 6, name)
            of_engines = [o for o in rows(folder / "public_outputs.csv") if o["check"] in of_int8 and o["kind"] == "right" and o["output"] != "exact"]
            self.assertGreater(len(of_engines), 60, name)
            self.assertEqual({o["bitwise"] for o in of_engines}, {"accepted"}, name)

    def test_truncated_operands_are_told_from_rounded_ones(self):
        for name, folder in self.each():
            products = {row["check"] for row in rows(folder / "public_checks.csv") if not row["request"]}
            outputs = [o for o in rows(folder / "public_outputs.csv") if o["check"] in products]
            changed = lambda output: sum(int(o["changed"] or 0) for o in outputs if o["output"] == output)
            for narrow in ("tf32", "bfloat16"):
                self.assertGreater(changed(f"inputs_truncated_to_{narrow}"), changed(f"inputs_in_{narrow}"), name)

    def test_scales_are_accepted_as_far_as_the_formulas_say(self):
        """Where a rule is about the whole tensor, and the output's own rounding is small beside it."""
        limits = {
            "calc_diff": lambda x: (1 + math.sqrt(x * (2 - x))) / (1 - x),  # 1 - 2 s / (1 + s^2) = x
            "sqnr": lambda x: 1 + 10 ** (-x / 20),
            "frobenius": lambda x: 1 + x,
            "nmse": lambda x: 1 + math.sqrt(x),
            "l1": lambda x: 1 + x,
        }
        for name, folder in self.each():
            seen = set()
            for row in rows(folder / "public_checks.csv"):
                rule, _, limit = row["rule"].partition(":")
                if rule in ("cosine", "pcc"):
                    self.assertEqual(row["most_scale"], "inf", row)
                    self.assertLessEqual(float(row["least_scale"]), 0.001, row)
                if rule not in limits or "," in limit or row["out"].startswith("float8"):
                    continue
                most = limits[rule](float(limit))
                if most - 1 < 0.02:  # roundings of bfloat16 are near
                    continue
                seen.add(rule)
                self.assertAlmostEqual(float(row["most_scale"]), most, delta=0.05 * (most - 1) + 0.001, msg=row)
            self.assertLessEqual({"calc_diff", "sqnr", "frobenius", "nmse"}, seen, name)

    def test_what_arithmetic_alone_says_is_found(self):
        """What a check accepts whatever the operands are, or by their size."""
        known = {
            "llm-c-01": {"zeros", "nan_everywhere", "halved"},                     # rtol 1, NaN compares false
            "llm-c-02": {"nan_everywhere"},
            "thunderkittens-01": {"nan_everywhere"},
            "thunderkittens-02": set(MUTANTS[:6]),                                 # figures are printed alone
            "transformerengine-01": {"nan_everywhere"},
            "flashinfer-14": {"nan_everywhere", "halved"},                         # a cosine of what is finite
            "fbgemm-01": {"zeros"},                                                # outputs below atol
            "fbgemm-02": {"zeros"},
            "fbgemm-04": {"zeros"},
            "fbgemm-05": {"zeros", "negated"},                                     # atol 100
            "fbgemm-07": {"zeros"},
            "triton-04": {"zeros", "negated", "halved", "constant_mean", "rows_reversed"},
            "triton-07": {"zeros", "negated"},
            "pytorch-02": {"c_alone"},
            "pytorch-13": {"zeros", "negated"},
            "reference-kernels-08": {"c_alone"},
            "reference-kernels-09": {"c_alone"},
            "vllm-01": {"halved"},                                                 # rtol 0.5
            "tritonbench-01": {"halved", "constant_mean", "rows_reversed"},
            "onnxruntime-02": {"zeros", "nan_everywhere"},
            "transformerengine-02": {"nan_everywhere", "nan_element"},             # NaN compares false
            "transformerengine-03": {"nan_everywhere", "nan_element"},
            "liger-kernel-05": {"zeros", "constant_mean", "halved"},               # probabilities of 4096 are below atol
            "flashinfer-15": {"nan_everywhere", "nan_element"},
            "flashinfer-16": {"zeros", "halved", "constant_mean"},                 # mean squares of weighted means are below 1
            "flashinfer-18": {"halved", "scale_off_10%"},                          # rtol 1 of the output
            "jax-04": {"zeros", "nan_everywhere", "negated", "stale_output", "scale_missing"},  # not looked at
        }
        for name, folder in self.each():
            checks = {row["check"]: row for row in rows(folder / "public_checks.csv")}
            for check, mutants in known.items():
                self.assertLessEqual(mutants, set(checks[check]["accepts"].split("; ")), (name, check))
            for check in ("cutlass-01", "onednn-01", "onednn-03", "pytorch-07", "deepgemm-01", "pytorch-20"):  # equality, or nearly
                self.assertEqual((checks[check]["accepted"], checks[check]["rejected"]), ("0", "0"), (name, check))
            if name == "committed":
                self.assertNotEqual(checks["jax-02"]["rejected"], "0", name)  # rtol 1e-7 of float16 is equality

    def test_faulty_kernels_are_rejected_and_right_ones_are_not(self):
        at_once = {"gelu_triton_buggy", "silu_triton_buggy", "rmsnorm_triton_buggy", "l2norm_triton_buggy", "leaky_relu_triton_buggy",
                   "attention_triton_buggy"}
        with_rests = {"softmax_llm_buggy", "softmax_triton_buggy", "matmul_triton_buggy", "flash_attention_triton_buggy"}
        zeros = {"23_Softmax", "37_FrobeniusNorm_", "39_L2Norm_", "53_Min_reduction_over_a_dimension"}
        for name, folder in self.each():
            said = {(row["kernel"], row["shape"]): row for row in rows(folder / "public_kernels.csv")}
            kernels = {kernel for kernel, _ in said}
            self.assertEqual(len(kernels), 16 + 10 + 4)
            for kernel in kernels:
                fixed, edge = said[kernel, "fixed"], said.get((kernel, "edge"))
                verdicts = (fixed["allclose"], fixed["bound"], edge["bound"] if edge else None)
                expected = ("accepted", "rejected", "rejected") if kernel in at_once else \
                    ("accepted", "accepted", "rejected") if kernel in with_rests else \
                    ("accepted", "rejected", None) if kernel in zeros else ("accepted",) * 3
                self.assertEqual(verdicts, expected, (name, kernel))
                self.assertEqual(fixed["fault"] == "", kernel not in at_once | with_rests | zeros, kernel)
                for row in filter(None, (fixed, edge)):
                    self.assertEqual(row["beyond"] == "0", row["bound"] == "accepted", row)
                    if kernel in zeros:
                        self.assertEqual(row["beyond"], row["elements"], row)
            found = {r["what"]: (r["value"], r["threshold"], r["severity"]) for r in rows(folder / "findings.csv")}
            self.assertEqual(found["faulty_kernels_rejected"], ("10", "10", "good"), name)
            self.assertEqual(found["right_kernels_accepted"], ("16", "16", "good"), name)
            self.assertEqual(found["empty_kernels_rejected"], ("4", "4", "good"), name)

    def test_a_sample_says_what_it_is_of(self):
        for name, folder in self.each():
            lines = 8 if name == "short run" else 32
            for row in rows(folder / "public_checks.csv"):
                if row["fit"] == "no" or row["request"]:
                    continue
                for extent, drawn in ("m", "rows"), ("n", "columns"):
                    self.assertEqual(int(row[drawn]), min(int(row[extent] or lines), lines), row)
            self.assertIn(f"At most {lines} rows and columns of each product, K whole", (folder / "index.html").read_text())

    def test_the_page_leads_with_the_counts(self):
        for name, folder in self.each():
            page = (folder / "index.html").read_text()
            fits = [row["fit"] for row in rows(folder / "public_checks.csv")]
            counts = f"{fits.count('exact')} are made again as their sources state them, {fits.count('near')} nearly, " \
                     f"{fits.count('no')} cannot be"
            self.assertLess(page.index(counts), page.index("Checks that accept wrong outputs"), name)
            self.assertTrue((folder / "public_checks.svg").is_file())
            for row in rows(folder / "public_checks.csv"):
                if row["fit"] != "no":
                    self.assertIn(row["check"], page)
            for reason in {part for row in rows(CHECKS) for part in row["why"].split("; ") if part}:
                self.assertIn(reason.replace("'", "&#39;") if reason not in page else reason, page, name)

    def test_a_request_says_alone_what_the_table_says_of_it(self):
        """As a reader runs it: `ulpscope REQUEST --rule RULE`."""
        outputs = {(o["check"], o["output"]): o["verdict"] for o in rows(REPORT / "public_outputs.csv")}
        checks = {row["check"]: row for row in rows(REPORT / "public_checks.csv")}
        graded = {"scale_off": ("10",), "tail_dropped": ("1", "8", "16"), "element_off": ("1024",), "noise": ("16",)}
        fates = {"killed": "rejected", "lived": "accepted"}
        for check in ("liger-kernel-03", "ggml-04", "flash-attention-04", "causal-conv1d-01", "mlx-02"):
            words = shlex.split(checks[check]["request"]) + ["--rule", checks[check]["rule"], "--csv"]
            done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
            self.assertIn(done.returncode, (0, 3), (words, done.stderr))
            seen = 0
            for row in csv.DictReader(io.StringIO(done.stdout)):
                if row["mutant"] == "none" or row["unit"] and row["severity"] not in graded[row["mutant"]]:
                    continue
                end = f"_{row['severity']}" + ("%" if row["unit"] == "%" else "") if row["unit"] else ""
                self.assertEqual(outputs[check, row["mutant"] + end], fates.get(row["fate"], row["fate"]), (check, row))
                seen += 1
            self.assertGreaterEqual(seen, 17, check)

    def test_a_table_goes_to_standard_output_the_same_for_any_threads(self):
        outputs = {run("--public", "--lines", "3", "--csv", "--threads", threads)[1] for threads in ("1", "3")}
        self.assertEqual(len(outputs), 1)
        table = list(csv.DictReader(io.StringIO(outputs.pop())))
        self.assertEqual(list(table[0])[:2] + list(table[0])[-2:], ["check", "repository", "other_bits", "request"])
        code, text, errors = run("--public", "--lines", "3", "--text", "--rows", "all")
        self.assertEqual((code, errors), (0, ""))
        asked = sum(row["fit"] != "no" for row in table)
        self.assertEqual(len(re.findall(r"^\S+-\d\d ", text, re.M)) % asked, 0)
        self.assertTrue(text.startswith("267 acceptance checks of kernels in 46 public repositories: "))
        self.assertRegex(text, rf"\nzeros +{asked} +\d+\n")
        accepted = [int(row["accepted"]) for row in table if row["fit"] != "no"]
        self.assertGreater(len(set(accepted)), 5)

    def test_what_makes_no_sense_is_one_line(self):
        folder = pathlib.Path(self.scratch.name) / "verify" / "evidence"
        folder.mkdir(parents=True)
        text = CHECKS.read_text()
        first = text.splitlines()[1]
        for damaged, words in ((text.replace(",fit,", ",fitt,"), "row 2: no column fit"),
                               (text.replace(",exact,", ",exactly,", 1), "row 2: fit is 'exactly', which is not exact, near or no"),
                               (text.replace(",128,", ",12x,", 1), "row 2: m is '12x', which is no whole number"),
                               (text.replace(",1x128 128x128,", ",1x128 128xx,", 1), "scales '128xx' are not tensor, row, mx, nvfp4 or blocks"),
                               (text.replace(",calc_diff:1e-5,", ",calc_dif:1e-5,", 1), "rule 'calc_dif' is not known"),
                               (text.replace(first, first + ",1"), "row 2"),
                               (text.replace(",\"normal:0,1\",", ",\"norml:0,1\",", 1), "norml"),
                               (text.replace("audit softmax ", "audit softmx ", 1), "request 'audit softmx"),
                               (text.replace(",request\n", ",requests\n"), "row 2: no column request"), ("", "is empty")):
            self.assertNotEqual(damaged, text)
            (folder / CHECKS.name).write_text(damaged)
            code, out, errors = run("--public", "--lines", "2", "--csv", cwd=self.scratch.name)
            self.assertEqual((code, out, errors.count("\n")), (2, "", 1), (words, errors))
            self.assertIn(words, errors)
        for wrong, words in ((["--products", "1"], "give -o DIR"), (["--public", "--lines", "0"], "--lines"),
                             (["--public", "--lines", "x"], "--lines"), (["--public", "--lines", "5000"], "--lines")):
            code, out, errors = run(*wrong)
            self.assertEqual((code, out, errors.count("\n")), (2, "", 1), (wrong, errors))
            self.assertIn(words, errors)


unittest.main()
