#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package beside the program: the same bits, the same tables, errors of one line.

usage: package_test.py ULPSCOPE, with the package on PYTHONPATH"""
import ast
import contextlib
import copy
import csv
import html
import inspect
import io
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import ulpscope as us
import ulpscope.testing

PROGRAM = os.path.abspath(sys.argv.pop(1))
RANDOM = np.random.default_rng(7)


def numbers(*shape):
    """Of all sizes, with zeros, infinities and NaN among them."""
    x = (RANDOM.standard_normal(shape) * np.exp2(RANDOM.integers(-30, 30, shape))).astype(np.float32)
    x.reshape(-1)[:4] = [0, np.inf, -np.inf, np.nan]
    return x


class BesideTheProgram(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, array=None):
        path = pathlib.Path(self.folder.name) / (name + ".npy")
        if array is not None:
            np.save(path, array)
        return str(path)

    def program(self, *words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300)

    def rows(self, *words):
        ran = self.program(*words, "--csv")
        self.assertIn(ran.returncode, (0, 1, 3), ran.stderr)
        return list(csv.reader(io.StringIO(ran.stdout)))

    def same_table(self, table, rows, names=1):
        """All cells are equal, but for the tensors' names in the first columns."""
        mine = list(csv.reader(io.StringIO(table.to_csv())))
        self.assertEqual([row[names:] for row in mine], [row[names:] for row in rows])
        self.assertGreater(len(mine), 1)

    def test_round_and_encode_are_cast(self):
        x = numbers(33, 41)
        np.testing.assert_array_equal(us.round(x, "float64"), x)  # which the program writes no file of
        for to in us.formats()["name"][1:]:
            for options in ({}, {"rounding": "stochastic", "seed": 3}, {"rounding": "toward_zero", "policy": "saturating"}):
                words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
                with self.subTest(to=to, **options):
                    self.assertEqual(self.program("cast", self.file("x", x), "--to", to, *words, "-o", self.file("y")).returncode, 0)
                    np.testing.assert_array_equal(us.round(x, to, **options), np.load(self.file("y")))
                    self.program("cast", self.file("x", x), "--to", to, *words, "--codes", "-o", self.file("c"))
                    codes = us.encode(x, to, **options)
                    np.testing.assert_array_equal(codes, np.load(self.file("c")))
                    np.testing.assert_array_equal(us.decode(codes, to), us.round(x, to, **options))

    def test_types_and_shapes_stay(self):
        for dtype in (np.float16, np.float32, np.float64):
            for shape in ((), (3,), (2, 0), (2, 3, 4)):
                self.assertEqual(us.round(np.ones(shape, dtype), "e4m3").dtype, dtype)
                self.assertEqual(us.round(np.ones(shape, dtype), "e4m3").shape, shape)
        self.assertIsInstance(us.round(1.1, "e4m3"), float)
        across = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.testing.assert_array_equal(us.round(across.T, "e4m3"), us.round(across, "e4m3").T)
        np.testing.assert_array_equal(us.round(across[::2, ::-1], "e4m3"), us.round(across, "e4m3")[::2, ::-1])
        with self.assertRaisesRegex(ValueError, "float16 cannot hold 1 of 1"):
            us.round(np.array([65504], np.float16), "bf16")

    def test_census_and_sweep(self):
        x = numbers(64, 65)
        self.same_table(us.census(x, to=["fp16", "e4m3", "int8"], scale="amax"),
                        self.rows("census", self.file("x", x), "--to", "fp16,e4m3,int8", "--scale", "amax"))
        self.same_table(us.sweep(x, to="e5m2", log2_scale=range(-3, 4)),
                        self.rows("sweep", self.file("x", x), "--to", "e5m2", "--log2-scale=-3:3"))
        self.same_table(us.loss_scales(x, to=["e5m2", "fp16"], log2_scale=range(-3, 4)),
                        self.rows("sweep", self.file("x", x), "--to", "e5m2,fp16", "--log2-scale=-3:3", "--best"))

    def test_diff(self):
        x, y = RANDOM.standard_normal((2, 5, 7)).astype(np.float32)
        self.same_table(us.diff(x, y), self.rows("diff", self.file("x", x), self.file("y", y)), names=2)
        self.assertIsNone(us.census(x).outcome)
        near = x * np.float32(1 + 2**-20)
        for output, tolerance in ((y, None), (x, None), (near, None), (near, "ulp=1"), (near, "ulp=100"), (near, "frobenius=1e-5")):
            options = {} if tolerance is None else {"tolerance": tolerance}
            words = [word for key, value in options.items() for word in (f"--{key}", value)]
            table = us.diff(x, output, **options)
            code = self.program("diff", self.file("x", x), self.file("y", output), *words).returncode
            self.assertEqual(table.outcome, {0: "pass", 1: "fail"}[code], tolerance)
            self.assertEqual(table.to_csv(), us.diff(x, output).to_csv())
        self.assertEqual([us.diff(x, near, tolerance=f"ulp={most}").outcome for most in (1, 100)], ["fail", "pass"])

    def test_the_documentation_runs(self):
        page = (pathlib.Path(__file__).parents[2] / "docs/python.md").read_text()
        blocks = [block.split("```")[0] for block in page.split("```python\n")[1:]]
        self.assertEqual(len(blocks), 2)
        a, b = RANDOM.standard_normal((2, 32, 32)).astype(np.float32)
        d = us.matmul(a, b, in_="bf16")
        names = dict(x=a, w=a, g=b, a=a, b=b, d=d, codes=us.encode(a, "e4m3"))
        names |= dict(out=a, q=a, k=b, v=b, seen=np.ones((32, 32), bool), sinks=np.zeros(1, np.float32), lse=a[0])
        names |= dict(tokens=a, experts=b.reshape(1, 32, 32), ends=[32])
        for block in blocks:
            exec(block, names)  # each line of it stands for itself

    def test_quantize_is_what_a_census_measures(self):
        x = RANDOM.standard_normal((130, 256)).astype(np.float32)
        for scale in ("none", "0.25", "amax", "pow2", "row", "1x128", "128x128", "mx:floor", "mx:rceil", "nvfp4"):
            with self.subTest(scale=scale):
                to = "e2m1" if scale == "nvfp4" else "e4m3"
                quantized = us.quantize(x, to, scale=scale)
                error = np.abs(quantized.dequantize() - x.astype(np.float64)).max()
                self.assertEqual(error, us.census(x, to=to, scale=scale)["max_abs_error"][0])
                values = quantized.dequantize()
                kept = values.copy()
                values += 1  # the caller's own
                np.testing.assert_array_equal(quantized.dequantize(), kept)
                if scale.startswith("mx"):
                    blocks = np.repeat(quantized.scales.astype(np.float64), 32, axis=1)
                    np.testing.assert_array_equal(us.decode(quantized.codes, to) * blocks, quantized.dequantize())

    def test_integers_with_zero_points(self):
        x = (RANDOM.standard_normal((6, 256)) + 1).astype(np.float32)
        for bits, scale, shape in ((8, "minmax", ()), (8, "minmax:row", (6, 1)), (4, "minmax:1x128", (6, 2))):
            with self.subTest(scale=scale):
                quantized = us.quantize(x, f"int{bits}", scale=scale)
                self.assertEqual((quantized.codes.dtype, quantized.zero_points.dtype, quantized.scales.shape, quantized.zero_points.shape),
                                 (np.int8, np.int8, shape, shape))
                of_blocks = [np.repeat(part, 256 // shape[1], axis=1) if shape else part for part in (quantized.scales, quantized.zero_points)]
                values = (quantized.codes.astype(np.float64) - of_blocks[1]) * of_blocks[0].astype(np.float64)
                np.testing.assert_array_equal(values, quantized.dequantize())
                self.assertEqual((quantized.codes.min(), quantized.codes.max()), (-2**(bits - 1), 2**(bits - 1) - 1))
                self.assertEqual(np.abs(values - x).max(), us.census(x, to=f"int{bits}", scale=scale)["max_abs_error"][0])
                np.testing.assert_array_equal(us.decode(quantized.codes, f"int{bits}"), quantized.codes)
        self.assertIsNone(us.quantize(x, "int8", scale="amax").zero_points)

    def test_matmul_and_its_checks(self):
        a, b = RANDOM.standard_normal((17, 96)).astype(np.float32), RANDOM.standard_normal((96, 19)).astype(np.float32)
        for engine, to in (("sm_90", "e4m3"), ("sm_80", "bf16"), ("fma", "fp16")):
            self.program("matmul", self.file("a", a), self.file("b", b), "--engine", engine, "--in", to, "-o", self.file("d"))
            d = us.matmul(a, b, engine=engine, in_=to)
            np.testing.assert_array_equal(d, np.load(self.file("d")))
            self.same_table(us.verify.matmul(d, a, b, in_=to, engine=engine).table(),
                            self.rows("verify", "matmul", self.file("a"), self.file("b"), "--output", self.file("d"), "--in", to,
                                      "--engine", engine))
            self.assertIn("all 323 elements", us.explain.matmul(d, a, b, in_=to, engine=engine).text)
            wrong = d.copy()
            wrong[3, 4] += 1
            with self.assertRaisesRegex(AssertionError, "^1 of 323 elements"):
                us.testing.assert_matmul(wrong, a, b, in_=to, engine=engine)
            us.testing.assert_matmul(d, a, b, in_=to, engine=engine)

    def test_scaled_sums_of_integers_are_checked(self):
        a, b = RANDOM.integers(-127, 128, (9, 4096), np.int8), RANDOM.integers(-127, 128, (4096, 5), np.int8)
        scale_a, scale_b = (RANDOM.uniform(0.01, 0.02, shape).astype(np.float32) for shape in ((9, 1), (1, 5)))
        d = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.float32) * (scale_a * scale_b)
        us.testing.assert_matmul(d, a, b, acc="int32", scale_a=scale_a, scale_b=scale_b)
        with self.assertRaisesRegex(AssertionError, "^45 of 45 elements"):
            us.testing.assert_matmul(d, a, b, acc="int32", scale_a=np.roll(scale_a, 1), scale_b=scale_b)

    def test_every_operation_has_an_assertion(self):
        x = RANDOM.standard_normal((8, 32)).astype(np.float32)
        us.testing.assert_elementwise(np.exp(x.astype(np.float64)).astype(np.float32), "exp", x)
        us.testing.assert_sum(x.astype(np.float64).sum(-1).astype(np.float32), x)
        us.testing.assert_cast(us.round(x, "bf16"), x, out="bf16")
        with self.assertRaises(AssertionError):
            us.testing.assert_sum(x.sum(-1) + 1, x)
        for name in us.verify.OPERATIONS:
            self.assertTrue(callable(getattr(us.testing, "assert_" + name)))

    def test_an_audit_tells_checks_apart(self):
        a, b = RANDOM.standard_normal((16, 64)).astype(np.float32), RANDOM.standard_normal((64, 16)).astype(np.float32)
        asked = dict(in_="bf16", engine="sm_90")
        self.assertEqual(us.testing.audit(lambda reference, output: True, a, b, **asked).outcome, "vacuous")
        self.assertEqual(us.testing.audit(lambda reference, output: False, a, b, **asked).outcome, "fail")
        close = us.testing.audit(lambda reference, output: np.allclose(reference, output, rtol=1e-2, atol=1e-2), a, b, **asked)
        self.assertEqual(close.outcome, "pass", close.text)
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            us.testing.audit(lambda reference, output: 1 / 0, a, b, **asked)

    def test_audits_of_other_operations(self):
        names = [name for name in us.verify.OPERATIONS if name not in ("matmul", "generated")]
        self.assertEqual([name for name in names if not callable(getattr(us.testing, "audit_" + name, None))], [])
        x, w = RANDOM.standard_normal((8, 64)).astype(np.float32), RANDOM.standard_normal(64).astype(np.float32)
        shapes = set()

        def close(reference, output):
            shapes.add((reference.shape, output.shape))
            np.testing.assert_allclose(output, reference, rtol=2e-2, atol=1e-3)

        done = us.testing.audit_rms_norm(close, x, weight=w, out="bf16", progress=False)
        self.assertEqual((done.outcome, shapes), ("pass", {((8, 64), (8, 64))}), done.text)
        fates = dict(zip(done.table["mutant"], done.table["fate"]))
        self.assertEqual((fates["weight_missing"], fates["weight_shifted"]), ("killed", "killed"))
        self.assertIn("X  x (8x64), float32", done.text)
        self.assertEqual(us.testing.audit_sum(lambda output: True, x, axis="all", out="fp32").outcome, "vacuous")
        self.assertEqual(us.testing.audit_expr(lambda reference, output: False, "a * b", a=x, b=x, out="fp32").outcome, "fail")
        blind = us.testing.audit_softmax(lambda reference, output: bool(np.isfinite(output).all()), x, out="fp32")
        self.assertIn("required mutants LIVE: zeros, constant_mean, stale_output", blind.text)
        with self.assertRaisesRegex(TypeError, "out is missing"):
            us.testing.audit_sum(close, x)
        with self.assertRaisesRegex(TypeError, "takes a check and x"):
            us.testing.audit_sum(close, x, x, out="fp32")
        with self.assertRaisesRegex(us.Error, "weight"):
            us.testing.audit_rms_norm(close, x, weight=x, out="fp32")

    def test_scalers(self):
        scaler = us.scaler("pytorch:init_scale=8,growth_interval=2")
        self.assertEqual([(scaler.step(found), scaler.scale) for found in (False, False, True)], [(False, 8), (False, 16), (True, 8)])
        other = us.scaler("pytorch:init_scale=8,growth_interval=2")
        other.load_state_dict(scaler.state_dict())
        self.assertEqual(other.scale, 8)
        for upper in (-3.0, 1.5, float("nan")):
            with self.assertRaisesRegex(us.Error, "^upper: .*: give a share, 0 to 1$"):
                us.scaler("popart").step(upper=upper)

    def test_copies_of_scalers_go_on_by_themselves(self):
        steps = RANDOM.random((2, 40, 2))
        for words in [*us.scalers()["scaler"], "pytorch:growth_interval=3,init_scale=0.1"]:
            def step(scaler, a, b):
                try:
                    return scaler.step(found_inf=bool(a < 0.2), amax=float(b))
                except FloatingPointError as error:  # deepspeed gets down to its least scale
                    return str(error)

            def go(scaler, of):
                return [(step(scaler, a, b), scaler.scale, scaler.state_dict()) for a, b in of]

            first = us.scaler(words, "e5m2")
            go(first, steps[0])
            copies = [copy.copy(first), copy.deepcopy(first), pickle.loads(pickle.dumps(first))]
            went = go(first, steps[1])
            for other in copies:
                self.assertEqual((go(other, steps[1]), other.words), (went, first.words))

    def test_scalers_of_amax_are_those_of_the_program(self):
        amax = np.exp2(RANDOM.uniform(-4, 4, 100))
        trace = pathlib.Path(self.folder.name) / "trace.csv"
        trace.write_text("amax\n" + "\n".join(map(repr, map(float, amax))) + "\n")
        for words, to in (("pytorch:growth_interval=3", "fp16"), ("megatron:growth_interval=2", "e5m2"), ("popart", "fp16"),
                          ("every_step", "e4m3")):
            scaler, steps = us.scaler(words, to), []
            for x in amax:
                scale = scaler.scale
                steps.append((scale, scaler.step(amax=x), scaler.scale))
            columns, *rows = self.rows("scale", str(trace), "--scaler", words, "--to", to)
            rows = [dict(zip(columns, row)) for row in rows]
            self.assertEqual(steps, [(float(r["scale"]), r["skipped"] == "1", float(r["next_scale"])) for r in rows], words)
            self.assertGreater(len({scale for scale, _, _ in steps}), 3)
        with self.assertRaisesRegex(us.Error, "amax: .*: give a magnitude, 0 or more"):
            us.scaler("te_delayed").step(amax=-5.0)

    def test_an_amax_of_nan_is_what_the_program_takes_it_for(self):
        trace = pathlib.Path(self.folder.name) / "nan.csv"
        amax = [1.5, float("nan"), 3.0, float("inf"), 0.25]
        trace.write_text("amax\n" + "\n".join(map(repr, amax)) + "\n")
        for words in "te_delayed:amax_history_len=2", "te_current", "ms_amp", "pytorch", "popart":
            scaler = us.scaler(words)
            steps = [(scaler.step(amax=x), scaler.scale) for x in amax]
            columns, *rows = self.rows("scale", str(trace), "--scaler", words)
            rows = [dict(zip(columns, row)) for row in rows]
            self.assertEqual(steps, [(r["skipped"] == "1", float(r["next_scale"])) for r in rows], words)

    def test_a_scaler_that_ends_the_training_raises(self):
        for words in "deepspeed:initial_scale_power=1,hysteresis=1", "fairseq:init_scale=2,min_loss_scale=1":
            scaler, steps = us.scaler(words), []
            with self.assertRaisesRegex(FloatingPointError, f"^scaler {words.split(':')[0]}.*: the training ends here$"):
                for _ in range(5):
                    steps.append((scaler.step(found_inf=True), scaler.scale))
            self.assertEqual(steps, [(True, 1.0)] if words.startswith("deepspeed") else [])  # which raises in place of reaching 1

    def test_a_scalers_state_is_one_that_steps_lead_to(self):
        scaler = us.scaler("pytorch")
        for scale, tracker in (float("nan"), 0), (-4, 0), (4, 1.5), (4, 1e300):
            with self.assertRaisesRegex(us.Error, "^scaler pytorch: (scale|growth_tracker): .*: is a "):
                scaler.load_state_dict({"scale": scale, "growth_tracker": tracker})
        self.assertEqual(scaler.scale, 65536)


class StudyFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return pathlib.Path(self.folder.name) / name

    def test_a_report_has_the_bytes_of_the_programs(self):
        text = """# Two engines.
[[study]]
name = "sums"
kind = "accumulation"
engine = ["fma", "sm_90"]
k = [64, 128]

[[study]]
name = "other"
kind = "accumulation"
engine = "fma"
k = 32
"""
        self.path("two.toml").write_text(text)
        for only in ((), ("sums",), ("sums", "other")):
            words = ["--only", ",".join(only)] if only else []
            command = [PROGRAM, "run", "two.toml", *words, "-o", "report"]
            subprocess.run(command, cwd=self.folder.name, check=True, capture_output=True, timeout=300)
            expected = {file.name: file.read_bytes() for file in self.path("report").iterdir()}
            told = []
            with _within(self.folder.name):
                out = us.run("two.toml", "report", only=only, progress=lambda done, total: told.append((done, total)))
            self.assertEqual({file.name: file.read_bytes() for file in self.path("report").iterdir()}, expected)
            self.assertEqual(list(out), list(only) or ["sums", "other"])
            self.assertEqual(out["sums"].tables[0].to_csv(), expected["sums.csv"].decode())

    def test_errors_write_nothing(self):
        self.path("bad.toml").write_text('[[study]]\nkind = "accumulaton"\n')
        with self.assertRaisesRegex(us.Error, "accumulation"):
            us.run(self.path("bad.toml"), self.path("report"))
        with self.assertRaisesRegex(us.Error, "no_such"):
            us.run("no_such", self.path("report"))
        self.path("starts.toml").write_text(f'[[study]]\nkind = "conform"\nfrom = "fp16"\nto = "fp16"\nprogram = "touch {self.path("STARTED")}; cat"\n')
        with self.assertRaisesRegex(us.Error, "has a program, which no study file starts without allow_programs=True"):
            us.run(self.path("starts.toml"), self.path("started"))
        self.assertFalse(self.path("STARTED").exists())
        self.assertEqual(us.run(self.path("starts.toml"), self.path("started"), allow_programs=True)["conform"].outcome, "pass")
        self.assertTrue(self.path("STARTED").exists())
        self.assertFalse(self.path("report").exists())


class ArraysOfOtherLibraries(unittest.TestCase):
    """Codes and numbers go in and out under the dtypes that each library has, by the names of docs/formats.md."""

    def test_ml_dtypes(self):
        try:
            import ml_dtypes
        except ImportError as error:
            self.skipTest(str(error))
        tried = 0
        for word, name in zip(us.formats()["name"], us.formats()["numpy"]):
            if not name.startswith("ml_dtypes."):
                continue
            dtype = np.dtype(getattr(ml_dtypes, name.removeprefix("ml_dtypes.")))
            bits = us.Format(word).bits
            every = np.arange(2**bits, dtype=np.uint16 if bits > 8 else np.uint8)
            own = every.view(dtype)
            mine = us.decode(own)
            theirs = own.astype(np.float32)
            np.testing.assert_array_equal(np.isnan(mine), np.isnan(theirs))
            np.testing.assert_array_equal(mine[~np.isnan(mine)].view(np.uint32), theirs[~np.isnan(mine)].view(np.uint32))
            rounded = us.round(own, word)
            self.assertEqual(rounded.dtype, dtype)
            tried += 1
        self.assertGreater(tried, 8)

    def test_torch(self):
        try:
            import torch
        except ImportError as error:
            self.skipTest(str(error))
        for word, name in zip(us.formats()["name"], us.formats()["torch"]):
            dtype = getattr(torch, name.removeprefix("torch."), None) if name else None
            if dtype is None or us.Format(word).bits not in (8, 16):
                continue
            bits = us.Format(word).bits
            every = np.arange(2**bits, dtype=np.uint16 if bits == 16 else np.uint8)
            own = torch.from_numpy(every.view(np.int16) if bits == 16 else every).view(dtype)
            mine, theirs = us.decode(own), own.to(torch.float32).numpy()
            np.testing.assert_array_equal(mine[~np.isnan(theirs)].view(np.uint32), theirs[~np.isnan(theirs)].view(np.uint32))
            np.testing.assert_array_equal(np.isnan(mine), np.isnan(theirs))
            x = torch.linspace(-3, 3, 100).reshape(4, 25)
            y = us.round(x, word)
            self.assertEqual((type(y), y.dtype, y.shape), (torch.Tensor, torch.float32, x.shape))
            np.testing.assert_array_equal(y.numpy(), us.round(x.numpy(), word))


class Examples(unittest.TestCase):
    def test_the_kernels_test_passes(self):
        try:
            import pytest  # noqa: F401
        except ImportError as error:
            self.skipTest(str(error))
        file = pathlib.Path(__file__).parents[2] / "examples" / "python" / "test_kernel.py"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
        out = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(out.returncode, 0, out.stdout + out.stderr)
        self.assertIn("2 passed", out.stdout)

    def test_promotion_mends_the_bias_of_attention_on_hopper(self):
        file = pathlib.Path(__file__).parents[2] / "examples" / "python" / "attention_on_hopper.py"
        out = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300)
        self.assertEqual(out.returncode, 0, out.stderr)
        exact, hopper, promoted = ([float(word) for word in line.split()[-3:]] for line in out.stdout.splitlines()[2:5])
        self.assertLess(exact[1], 1e-6)
        self.assertEqual(hopper[0], promoted[0])
        self.assertGreater(abs(hopper[2]), 2 * abs(promoted[2]))

    def test_parts_of_the_package_come_when_asked_for(self):
        code = "import sys, ulpscope as us; assert 'ulpscope.testing' not in sys.modules; us.testing.assert_cast; us.no_such_name"
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertIn("module 'ulpscope' has no attribute 'no_such_name'", out.stderr)

    def test_a_sweep_in_a_notebook_has_its_figure(self):
        table = us.sweep(np.float32([1e-6, 1e-5, 3e-4]), log2_scale=range(0, 20, 5), to=["fp16"])
        page = table._repr_html_()
        self.assertIn("<svg", page)
        self.assertIn("log2 of the loss scale", page)
        self.assertNotIn("<svg", us.formats()._repr_html_())

    def test_a_table_in_a_notebook(self):
        rows = [[f"<layer {i}>", i, i / 3, "same", 100.0 * i / 99] for i in range(100)]
        table = us.Table("made", ["name", "count", "error", "format", "lost%"], rows)
        page = table._repr_html_()
        self.assertIn("<p>format same</p>", page)
        self.assertEqual(page.count("<td"), 20 * 4)  # of a column that is the same everywhere there are no cells
        self.assertIn("... 80 more rows", page)
        self.assertIn("&lt;layer 7&gt;", page)
        self.assertNotIn("<layer", page)
        self.assertIn('<span title="0.3333333333333333">0.33333</span>', page)
        self.assertIn(">1.01</span>", page)  # percentages as text tables have them
        self.assertEqual(us.Table("none", ["a"], [])._repr_html_().count("<td"), 0)

    def test_a_result_in_a_notebook_has_its_figures_and_sentences(self):
        result = us.study("accumulation", {"engine": ["sm_90", "fma"], "in_": "e4m3", "k": "64:256"})
        page = result._repr_html_()
        self.assertIn("<svg", page)
        self.assertIn("<table", page)
        for sentence in result.findings["sentence"]:
            self.assertIn(html.escape(sentence), page)
            self.assertIn(sentence, repr(result))
        a = np.ones((2, 2), np.float32)
        explained = us.explain.matmul(2 * a, a, a)
        self.assertEqual(repr(explained), explained.text)
        self.assertIn(html.escape(explained.text), explained._repr_html_())


class Stubs(unittest.TestCase):
    """What editors and type checkers are told is what the functions take."""

    def test_every_public_name_has_its_signature(self):
        for word, module in (("__init__", us), ("verify", us.verify), ("testing", ulpscope.testing), ("explain", us.explain), ("invariance", us.invariance)):
            path = pathlib.Path(us.__file__).with_name(word + ".pyi")
            tree = ast.parse(path.read_text())
            told = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
            for name, value in vars(module).items():
                if name.startswith("_") or not inspect.isfunction(value) or (word != "__init__" and value.__module__ != module.__name__):
                    continue
                if word == "__init__" and name not in us.__all__:
                    continue
                given = inspect.signature(value).parameters.values()
                names = [one.name for one in given if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
                arguments = told[name].args
                self.assertEqual([one.arg for one in arguments.args + arguments.kwonlyargs], names, name)
        self.assertIn("def assert_softmax(", path.with_name("testing.pyi").read_text())
        self.assertTrue(path.with_name("py.typed").exists())


class PytestPlugin(unittest.TestCase):
    TESTS = """
import ml_dtypes, numpy as np
from ulpscope import testing

def product(wrong):
    random = np.random.default_rng(1)
    a = random.standard_normal((5, 64)).astype(ml_dtypes.bfloat16)
    b = random.standard_normal((64, 7)).astype(ml_dtypes.bfloat16)
    d = a.astype(np.float32) @ b.astype(np.float32)
    d[1, 2] += wrong
    return d, a, b

def test_right():
    testing.assert_matmul(*product(0), in_="bf16")

def test_wrong():
    testing.assert_matmul(*product(1), in_="bf16")

def test_other():
    assert False
"""
    LIKE_NAMES = """
import numpy as np, pytest
from ulpscope import testing

@pytest.mark.parametrize("x", [1.0, 2.0], ids=["<", ">"])
def test_sum(x):
    testing.assert_sum(np.float32(9), np.full(3, x, np.float32), axis="all")
"""

    def test_a_failed_check_shows_its_census_and_can_be_repeated(self):
        try:
            import ml_dtypes  # noqa: F401
            import pytest  # noqa: F401
        except ImportError as error:
            self.skipTest(str(error))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "test_kernel.py"
            file.write_text(self.TESTS)
            command = [sys.executable, "-m", "pytest", "-p", "ulpscope.pytest_plugin", "-q", "-p", "no:cacheprovider", str(file)]
            plain = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
            self.assertIn("2 failed, 1 passed", plain.stdout, plain.stdout + plain.stderr)
            self.assertEqual(plain.stdout.count("ulpscope verify matmul"), 1)
            self.assertIn("--ulpscope-save DIR", plain.stdout)
            self.assertIn("1 of 35 elements", plain.stdout)
            self.assertEqual(sorted(pathlib.Path(folder).glob("*/")), sorted(pathlib.Path(folder).glob("__pycache__")))
            saved = subprocess.run(
                [*command, "--ulpscope-save", "kept"], cwd=folder, capture_output=True, text=True, timeout=300
            )
            line = next(line for line in saved.stdout.splitlines() if line.startswith("repeat: "))
            command = line.removeprefix("repeat: ").replace("ulpscope", PROGRAM, 1)
            repeated = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=300)
            self.assertEqual(repeated.returncode, 1, line + repeated.stdout + repeated.stderr)
            self.assertIn("1 of 35 elements", repeated.stdout + repeated.stderr)
            self.assertEqual(len(list((pathlib.Path(folder) / "kept").iterdir())), 1)

    @contextlib.contextmanager
    def saved(self, tests):
        """What pytest says of these tests, where failures are saved; what is saved goes with the context."""
        try:
            import pytest  # noqa: F401
        except ImportError as error:
            self.skipTest(str(error))
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "test_kernel.py").write_text(tests)
            command = [sys.executable, "-m", "pytest", "-p", "ulpscope.pytest_plugin", "-q", "-p", "no:cacheprovider", "--ulpscope-save", "kept"]
            yield subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)

    UNUSUAL = """
import numpy as np
import ulpscope as us
from ulpscope import testing

def test_codes():
    testing.assert_softmax(np.full((3, 4), 0.3, np.float32), np.arange(12, dtype=np.uint16).reshape(3, 4).view("V2"), dtype="bf16")

def test_not_to_be_saved():
    try:
        testing.assert_sum(np.float32(9), np.ones(3, np.float32), axis="all")
    except AssertionError as error:
        error.ulpscope.values["x"] = np.array(["a"])
        raise

def test_another_ulpscope():
    error = AssertionError("of somebody else")
    error.ulpscope = "theirs"
    raise error

def test_behind_them():
    pass
"""

    def test_what_cannot_be_saved_fails_no_other_test(self):
        with self.saved(self.UNUSUAL) as ran:
            self.assertIn("3 failed, 1 passed", ran.stdout, ran.stdout + ran.stderr)
            self.assertIn("\nrepeat: ulpscope verify softmax ", ran.stdout)
            self.assertIn("\nnot saved: ndarray of dtype <U1 is no array of real numbers\n", ran.stdout)

    def test_tests_of_like_names_keep_their_own(self):
        with self.saved(self.LIKE_NAMES) as ran:
            self.assertIn("2 failed", ran.stdout, ran.stdout + ran.stderr)
            lines = [line.removeprefix("repeat: ") for line in ran.stdout.splitlines() if line.startswith("repeat: ")]
            inputs = [np.load(next(word for word in line.split() if word.endswith("x.npy"))) for line in lines]
            self.assertEqual([x.tolist() for x in inputs], [[1, 1, 1], [2, 2, 2]])


@contextlib.contextmanager
def _within(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    unittest.main()
