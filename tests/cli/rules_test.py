# SPDX-License-Identifier: Apache-2.0
"""Holds `--rule` against the definitions, written plainly: every element, every sum, in Python's own numbers.

usage: rules_test.py PROGRAM
"""
import json
import math
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import unittest

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
NAN, INF = math.nan, math.inf


def npy(path, values, rows=1):
    shape = f"({rows}, {len(values) // rows})"
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(values)}f", *values))


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def spacing(r):
    return 2.0 ** max(math.frexp(r)[1] - 24, -149) if r else 2.0 ** -149


def finite(tensor):
    return [abs(x) for x in tensor if math.isfinite(x)] or [0]


def close_share(r, o, rtol, atol, relative_to="reference", terms="sum", max=0, rms=0, ulp=0, nan="fails"):
    """The share of elements that are close."""
    of_all = finite(o if relative_to == "output" else r)
    largest, root = __builtins__.max(of_all), math.sqrt(statistics.fmean(x * x for x in of_all))
    close = 0
    for a, b in zip(r, o):
        if math.isnan(a) or math.isnan(b):
            close += nan == "passes" or (nan == "equal" and math.isnan(a) and math.isnan(b))
        elif math.isinf(a) or math.isinf(b):
            close += a == b
        else:
            of = {"reference": abs(a), "output": abs(b), "larger": __builtins__.max(abs(a), abs(b)), "sum": abs(a) + abs(b)}
            parts = [atol, rtol * of[relative_to], max * largest, rms * root, ulp * spacing(a)]
            close += abs(b - a) <= (sum(parts) if terms == "sum" else __builtins__.max(parts))
    return close / len(r)


def figure_of(name, r, o, **more):
    """The figure of a rule about the whole tensor."""
    errors = [b - a for a, b in zip(r, o)]
    mean_square = statistics.fmean(e * e for e in errors)
    root_r = math.sqrt(statistics.fmean(a * a for a in r))
    of = {"reference": lambda a, b: abs(a), "output": lambda a, b: abs(b), "larger": lambda a, b: max(abs(a), abs(b)),
          "sum": lambda a, b: abs(a) + abs(b)}[more.get("relative_to", "reference")]
    return {
        "mean_abs": lambda: statistics.fmean(map(abs, errors)),
        "mse": lambda: mean_square,
        "nmse": lambda: mean_square / root_r ** 2,
        "nrmse": lambda: math.sqrt(mean_square) / (max(*r, *o) - min(*r, *o)),
        "mean_rel": lambda: statistics.fmean(abs(b - a) / of(a, b) if a != b else 0 for a, b in zip(r, o)),
        "l1": lambda: sum(map(abs, errors)) / sum(map(abs, r)),
        "rms_rel": lambda: math.sqrt(statistics.fmean(((b - a) / max(root_r, abs(a))) ** 2 for a, b in zip(r, o))),
        "pcc": lambda: statistics.correlation(r, o),
        "cosine": lambda: sum(a * b for a, b in zip(r, o)) / math.sqrt(sum(a * a for a in r) * sum(b * b for b in o)),
    }[name]()


class Rules(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.scratch.name)
        self.random = random.Random(7)

    def tearDown(self):
        self.scratch.cleanup()

    def judged(self, rules, reference, output, k=1):
        """What the program says of each rule; the reference is D = A.B of A = 1, or of one 1 and k - 1 zeros."""
        npy(self.path / "a.npy", [1.0] + [0.0] * (k - 1))
        npy(self.path / "b.npy", reference + [0.0] * (len(reference) * (k - 1)), rows=k)
        npy(self.path / "o.npy", output)
        words = [PROGRAM, "verify", "matmul", self.path / "a.npy", self.path / "b.npy", "--in", "fp32", "--output",
                 self.path / "o.npy", "--json"]
        for rule in rules:
            words += ["--rule", rule]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        table = json.loads(done.stdout)["rules"]
        self.assertEqual([row["rule"] for row in table], list(rules))
        return table

    def tensors(self, count=200, special=()):
        reference = [float32(self.random.gauss(0, 3)) for _ in range(count)]
        output = [float32(r * (1 + self.random.gauss(0, 0.02)) + self.random.gauss(0, 0.01)) for r in reference]
        for place, (r, o) in enumerate(special):
            reference[7 * place], output[7 * place] = r, o
        return reference, output

    def test_elements_are_close_as_defined(self):
        special = [(NAN, NAN), (1.0, NAN), (NAN, 2.0), (INF, INF), (INF, -INF), (1.0, INF), (0.0, 0.0), (0.0, -0.001)]
        reference, output = self.tensors(special=special)
        rules, expected = [], []
        for relative_to in ("reference", "output", "larger", "sum"):
            for terms in ("sum", "greater"):
                for nan in ("fails", "equal", "passes"):
                    for more in ({}, {"max": 0.003}, {"rms": 0.004}, {"ulp": 100000}):
                        rtol, atol = self.random.uniform(0.001, 0.05), self.random.uniform(0.001, 0.02)
                        share = close_share(reference, output, rtol, atol, relative_to, terms, nan=nan, **more)
                        more = "".join(f",{key}={value}" for key, value in more.items())
                        for ratio, passes in (share - 0.001, True), (share + 0.001, False):
                            rules.append(f"allclose:rtol={rtol!r},atol={atol!r},relative_to={relative_to},terms={terms},nan={nan},"
                                         f"ratio={ratio!r}{more}")
                            expected.append((share, "accepts" if passes else "rejects"))
        found = self.judged(rules, reference, output)
        self.assertGreater(len({round(row["figure"], 3) for row in found}), 20)  # the parameters matter
        for row, (share, verdict) in zip(found, expected):
            self.assertAlmostEqual(row["figure"], share, 12, row["rule"])
            self.assertEqual(row["verdict"], verdict, row["rule"])

    def test_matched_ratio_refuses_what_is_not_finite_unless_nan_says_more(self):
        reference, output = self.tensors(special=[(NAN, NAN)])
        rules = {f"matched_ratio:rtol=1,atol=1,ratio=0.9{nan}": verdict for nan, verdict in
                 (("", "rejects"), (",nan=equal", "accepts"), (",nan=skip", "accepts"), (",nan=passes", "accepts"))}
        self.assertEqual({row["rule"]: row["verdict"] for row in self.judged(rules, reference, output)}, rules)

    def test_figures_of_the_whole_tensor_are_those_of_their_definitions(self):
        reference, output = self.tensors(3000)
        names = ["mean_abs", "mse", "nmse", "nrmse", "mean_rel", "l1", "rms_rel", "pcc"]
        for row, name in zip(self.judged(names, reference, output), names):
            self.assertAlmostEqual(row["figure"] / figure_of(name, reference, output), 1, 12, name)
        for relative_to in ("output", "larger", "sum"):
            found, = self.judged([f"mean_rel:1,relative_to={relative_to}"], reference, output)
            self.assertAlmostEqual(found["figure"] / figure_of("mean_rel", reference, output, relative_to=relative_to), 1, 12)
        for name in names:
            value = figure_of(name, reference, output)
            below, above = self.judged([f"{name}:{value * (1 - 1e-9)!r}", f"{name}:{value * (1 + 1e-9)!r}"], reference, output)
            up = name == "pcc"  # all others are errors
            self.assertEqual((below["verdict"], above["verdict"]), ("accepts", "rejects") if up else ("rejects", "accepts"), name)

    def test_nan_becomes_zero_or_is_left_out_or_passes(self):
        reference, output = self.tensors(500, [(NAN, 1.5), (2.0, NAN), (NAN, NAN)])
        zeroed = [[0.0 if math.isnan(x) else x for x in tensor] for tensor in (reference, output)]
        left = list(zip(*[(r, o) for r, o in zip(reference, output) if math.isfinite(r) and math.isfinite(o)]))
        for name in ("mean_abs", "pcc", "cosine", "nmse", "mean_rel"):
            limit = "-1" if name in ("pcc", "cosine") else "9"
            zero, skip, passes, fails = self.judged([f"{name}:{limit},nan={nan}" for nan in ("zero", "skip", "passes", "fails")],
                                                    reference, output)
            if name != "mean_rel":  # 1.5 over 0
                self.assertAlmostEqual(zero["figure"] / figure_of(name, *zeroed), 1, 12, name)
                self.assertEqual(zero["verdict"], "accepts", name)
            self.assertAlmostEqual(skip["figure"] / figure_of(name, *left), 1, 12, name)
            self.assertEqual([row["verdict"] for row in (skip, passes, fails)], ["accepts", "accepts", "rejects"], name)
        all_nan = [NAN] * 20
        for rule, verdict in ("cosine:0.99,nan=skip", "accepts"), ("pcc:0.99,nan=zero", "rejects"), ("mse:1,nan=passes", "accepts"):
            found, = self.judged([rule], [float(i) for i in range(20)], all_nan)
            self.assertEqual(found["verdict"], verdict, rule)

    def test_ulps_have_a_share(self):
        reference = [1.0] * 100
        output = [1.0 + (3 if i < 5 else 1) * 2.0 ** -23 for i in range(100)]
        found = self.judged(["ulp:1", "ulp:3", "ulp:1,ratio=0.95", "ulp:1,ratio=0.951"], reference, output)
        self.assertEqual([row["verdict"] for row in found], ["rejects", "accepts", "accepts", "rejects"])
        self.assertEqual([row["figure"] for row in found], [3, 3, 0.95, 0.95])

    def test_limits_grow_with_k(self):
        reference, output = [1.0] * 8, [1.5] * 8
        for k, factor, grown in (1, "*K", 1), (4, "*K", 4), (9, "*sqrt(K)", 3), (9, "*K", 9):
            below, above = 0.4999 / grown, 0.5001 / grown
            found = self.judged([f"allclose:rtol=0,atol={limit!r}{factor}" for limit in (below, above)] +
                                [f"mean_abs:{limit!r}{factor}" for limit in (below, above)], reference, output, k)
            self.assertEqual([row["verdict"] for row in found], ["rejects", "accepts"] * 2, (k, factor))

    def test_and_binds_closer_than_or(self):
        reference, output = [1.0] * 4, [1.5] * 4
        no, yes = "mean_abs:0.4", "mean_abs:0.6"
        rules = {f"{no} and {yes}": "rejects", f"{yes} and {yes}": "accepts", f"{no} or {yes}": "accepts",
                 f"{no} or {no}": "rejects", f"{yes} or {no} and {no}": "accepts", f"{no} and {yes} or {no}": "rejects"}
        self.assertEqual({row["rule"]: row["verdict"] for row in self.judged(rules, reference, output)}, rules)

    def test_a_baseline_is_what_the_engine_itself_computes(self):
        words = [PROGRAM, "audit", "matmul", "normal:0,1:16x256", "normal:0,1:256x16", "--seed", "0,1", "--in", "bf16", "--engine",
                 "sm_90", "--trials", "5", "--rule", "baseline", "--rule", "baseline:factor=0.99", "--csv"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        correct = [line for line in done.stdout.splitlines() if ",none," in line]
        self.assertEqual([line.split(",")[0:6:5] for line in correct], [["baseline", "accepted"], ["baseline:factor=0.99", "rejected"]])
        found, = self.judged(["baseline"], [1.0], [1.0])
        self.assertEqual(found["verdict"], "none")  # no engine was named

    def test_what_makes_no_sense_is_one_line(self):
        for rule, words in (("allclose:nan=none", "'none' is no nan, which is one of fails, equal, passes, zero, skip"),
                            ("allclose:relative_to=me", "one of reference, output, larger, sum"),
                            ("allclose:terms=", "one of sum, greater"), ("ulp:1,ratio=1.5", "'1.5' is no share from 0 to 1"),
                            ("mean_abs:1*k", "'1*k' is no number"), ("mean_abs:*K", "'*K' is no number"),
                            ("nmse:-1", "'-1' is negative"), ("allclose:ratio=0.1*K", "no share"),
                            ("mse:1 or", "'mse:1 or'"), ("bitwise and nmse:x", "'x' is no number"),
                            ("baseline:3", "write it like baseline:factor=2,atol=0")):
            npy(self.path / "a.npy", [1.0])
            done = subprocess.run([PROGRAM, "verify", "matmul", "a.npy", "a.npy", "--in", "fp32", "--output", "a.npy", "--rule", rule],
                                  cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), (rule, done.stderr))
            self.assertIn(words, done.stderr)


unittest.main()
