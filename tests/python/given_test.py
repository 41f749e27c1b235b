#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the package is given: arrays and numbers of every kind, what is refused in one line, and what a failed check keeps.

usage: given_test.py ULPSCOPE, with the package on PYTHONPATH"""
import array
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import ulpscope as us
import ulpscope.testing
from ulpscope import _progress

PROGRAM = os.path.abspath(sys.argv.pop(1))


def _strings_of_numpy_2():
    return [np.array(["a"], dtype=np.dtypes.StringDType())] if hasattr(getattr(np, "dtypes", None), "StringDType") else []


class Given(unittest.TestCase):
    def test_an_array_of_integers_by_itself_is_never_left_out(self):
        for whole in (np.arange(-5, 5), np.array([True, False, True])):
            self.assertEqual(us.census(whole, to="e4m3")["count"], [len(whole)])
            self.assertEqual(us.census({"w": whole}, to="e4m3")["tensor"], ["w"])
        self.assertEqual(us.sweep(np.arange(4), to="e4m3", log2_scale=range(0, 1))["count"], [4])
        beside = {"running": np.arange(3), "weight": np.ones(3)}
        self.assertEqual(us.census(beside, to="e4m3")["tensor"], ["weight"])
        self.assertEqual(us.census(beside, to="e4m3", integers=True)["tensor"], ["running", "weight"])

    def test_formats_are_given_as_dtypes(self):
        class OfTorch:  # as a dtype of PyTorch's: it has no name, and is written with the module's
            def __str__(self):
                return "torch.float8_e5m2"

        x = np.float32([1.1, 70000])
        for dtype in (OfTorch(), "torch.float8_e5m2", "ml_dtypes.float8_e5m2", "F8_E5M2"):
            self.assertEqual(us.census(x, to=dtype)["format"], ["float8_e5m2"])
            np.testing.assert_array_equal(us.round(x, dtype), us.round(x, "e5m2"))
            self.assertEqual(us.Format(dtype).name, "float8_e5m2")
        self.assertEqual(us.census(x, to=[np.dtype(np.float16), OfTorch()])["format"], ["float16", "float8_e5m2"])

    def test_formats_are_given_as_classes(self):
        x = np.float32([1.1, -3.3])
        classes = [np.float16, np.float32, np.float64, float, np.int8]
        try:
            import ml_dtypes
        except ImportError:
            pass
        else:
            classes += [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn]
        for one in classes:
            np.testing.assert_array_equal(us.round(x, one), us.round(x, np.dtype(one)))
            self.assertEqual(us.census(x, to=[one, "e5m2"]).to_csv(), us.census(x, to=[np.dtype(one), "e5m2"]).to_csv())
        self.assertEqual(us.Format(np.float16), us.Format("fp16"))
        np.testing.assert_array_equal(us.matmul(x[None], x[:, None], in_=np.float16), us.matmul(x[None], x[:, None], in_="fp16"))
        self.assertEqual(us.decode(np.array([0x3C00], np.uint16), np.float16).tolist(), [1])
        for other in (str, dict, object, np.floating, us.Format):
            with self.assertRaisesRegex(TypeError, "^<class .* is no format and no format's name$"):
                us.Format(other)

    def test_a_format_says_no_facts_in_words(self):
        self.assertIs(us.Format("e4m3").has_inf, False)
        self.assertIs(us.Format("e5m2").has_inf, True)
        self.assertIsNone(us.Format("e8m0").min_subnormal)  # OCP MX 1.0: no subnormal numbers
        self.assertEqual(us.Format("e4m3").min_subnormal, 2**-9)

    def test_a_dozen_arrays_keep_their_names(self):
        names = [f"layer.{i}" for i in range(25)]
        self.assertEqual(us.census({name: np.ones(4, np.float32) for name in names}, to="e4m3")["tensor"], names)

    def test_arrays_are_tensors_of_their_own_names(self):
        arrays = {"l1.small": np.full(64, 1e-3, np.float32), "l2.wide": np.logspace(-9, 9, 64, dtype=np.float32), "bias": np.ones(64, np.float32)}
        chosen = us.study("choose", {"inputs": arrays, "copy": "bi*"}).tables[0]
        self.assertEqual(chosen["tensor"], list(arrays))
        self.assertEqual([name for name, scale in zip(chosen["tensor"], chosen["scale"]) if scale == "none"], ["bias"])
        alone = [us.study("choose", {"inputs": {name: arrays[name]}}).tables[0] for name in ("l1.small", "l2.wide")]
        self.assertEqual(chosen["format"][:2], [table["format"][0] for table in alone])
        self.assertEqual(us.census(arrays, to="e4m3", group=r"^(l\d)\.")["tensor"], [*arrays, "group:l1", "group:l2"])
        self.assertEqual(us.census(np.ones(3), to="e4m3")["tensor"], ["x"])
        with self.assertRaisesRegex(us.Error, "no tensor is in two of the checkpoints"):
            us.study("census", {"inputs": {"a": np.ones(3), "b": np.ones(3)}, "history": True})

    def test_codes_are_what_the_same_file_would_hold(self):
        codes = np.arange(0, 0x7E, dtype=np.uint8).reshape(6, 21)
        values, ones = us.decode(codes, "e4m3"), np.full((21, 2), 0x38, np.uint8)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "codes.npy")
            np.save(file, codes)
            for given in (codes, file):
                np.testing.assert_array_equal(us.matmul(given, ones, dtype="e4m3", engine="exact"), us.matmul(values, np.ones((21, 2)), engine="exact"))
                self.assertEqual(us.census(given, to="e4m3", dtype="e4m3")["exact"], us.census(values, to="e4m3")["exact"])
                self.assertTrue(us.verify.cast(us.encode(values, "bf16"), given, dtype="e4m3", out="bf16").passed)
                self.assertTrue(us.verify.cast(us.encode(values, "bf16"), given, dtype="e4m3", output_dtype="bf16").passed)
        np.testing.assert_array_equal(us.round(codes, "fp32", dtype="e4m3"), values)
        scaled = us.matmul(codes, ones, dtype="e4m3", engine="fma", scale_a=np.uint8([0x80]), scale_dtype="e8m0")
        np.testing.assert_array_equal(scaled, 2 * us.matmul(codes, ones, dtype="e4m3", engine="fma"))
        for fails in (lambda: us.round(values, "bf16", dtype="e4m3"), lambda: us.census(values, to="bf16", dtype="e4m3"),
                      lambda: us.matmul(values, np.ones((21, 2)), dtype="e4m3"), lambda: us.round(codes.astype(np.int8), "bf16", dtype="e4m3"),
                      lambda: us.verify.softmax(values, values, dtype="e4m3")):
            with self.assertRaisesRegex(us.Error, "leave (--dtype|`dtype`|dtype) out$"):
                fails()

    def test_codes_that_numpy_has_loaded_without_their_dtype(self):
        words = np.array([0x3F80, 0xC000, 0x4060], np.uint16)  # 1, -2 and 3.5 of bfloat16
        codes, narrow = words.view("V2"), np.array([0x38, 0xC0], np.uint8).view("V1")  # 1 and -2 of e4m3
        values = np.array([1, -2, 3.5], np.float32)
        self.assertEqual(us.census(codes, to="e4m3", dtype="bf16")["max_abs_input"], [3.5])
        self.assertEqual(us.decode(codes, "bf16").tolist(), values.tolist())
        self.assertEqual(us.decode(narrow, "e4m3").tolist(), [1, -2])
        self.assertEqual(us.round(codes, "fp32", dtype="bf16").tolist(), values.tolist())
        self.assertTrue(us.verify.cast(codes, values, output_dtype="bf16").passed)
        with self.assertRaisesRegex(us.Error, r"^x: dtype void16 does not say which format; give dtype='bf16' .*view\(ml_dtypes.bfloat16\)$"):
            us.census(codes, to="e4m3")
        with self.assertRaisesRegex(us.Error, "^x: dtype void8 does not say which format; give dtype='e4m3'"):
            us.census(narrow, to="e4m3")
        with self.assertRaisesRegex(us.Error, "void16 says no format; give `to`"):
            us.decode(codes)
        with self.assertRaisesRegex(us.Error, "^codes: void8 holds 8 bits an element, bfloat16 has 16$"):
            us.decode(narrow, "bf16")
        with self.assertRaisesRegex(us.Error, "^reference: dtype void16 does not say which format"):
            us.diff(codes, codes)
        self.assertEqual(us.diff(codes, codes, dtype="bf16")["equal"], [3])
        with self.assertWarnsRegex(UserWarning, r"left out: 1 tensor \(v\): dtype void16"):
            self.assertEqual(us.census({"v": codes, "f": values}, to="e4m3")["tensor"], ["f"])
        with self.assertRaisesRegex(TypeError, "is no array of real numbers"):
            us.census(np.zeros(2, "V3"), to="e4m3")

    def test_integers_of_64_bits_are_rounded_in_every_direction(self):
        odd = np.array([2**53 + 1])
        self.assertEqual([us.round(odd, "float64", rounding=way).tolist() for way in ("upward", "downward", "nearest_even")],
                         [[2.0**53 + 2], [2.0**53], [2.0**53]])
        self.assertEqual(us.round(-odd, "float64", rounding="downward").tolist(), [-2.0**53 - 2])

    def test_scales_of_no_elements_have_the_shape_of_their_blocks(self):
        for shape, scale, scales in (((0, 64), "mx:floor", (0, 2)), ((0, 64), "row", (0, 1)), ((2, 0, 128), "128x128", (0, 1)), ((3, 0), "row", (3, 1)),
                                     ((0, 64), "minmax:row", (0, 1)), ((0, 64), "amax", ()), ((0, 64), "2", ())):
            quantized = us.quantize(np.zeros(shape, np.float32), "int8" if "minmax" in scale else "e4m3", scale=scale)
            self.assertEqual((quantized.scales.shape, quantized.dequantize().shape), (scales, shape), scale)
        self.assertIsNone(us.quantize(np.zeros((0, 4), np.float32), "e4m3", scale="none").scales)

    def test_bad_input_is_one_line(self):
        for fails, kind, words in ((lambda: us.round(1.0, "e4m9x"), us.Error, "nearest"),
                                   (lambda: us.census(np.ones(3), too=1), TypeError, "nearest: to"),
                                   (lambda: us.matmul(np.ones((2, 3)), np.ones((2, 3))), us.Error, "a \\(2x3\\) by b"),
                                   (lambda: us.round(np.array(["a"]), "e4m3"), TypeError, "no array of real numbers"),
                                   *[(lambda given=given: us.round(given, "e4m3"), TypeError, r"^ndarray of dtype StringDType\(.*\) is no array of real numbers$")
                                     for given in _strings_of_numpy_2()],
                                   (lambda: us.round(np.zeros(2, [("a", "i1"), ("b", "<f4")]), "e4m3"), TypeError, "no array of real numbers"),
                                   (lambda: us.scaler("pytorhc"), us.Error, "nearest"),
                                   (lambda: us.decode(np.ones(2, np.float32), "e4m3"), us.Error, "unsigned integers"),
                                   (lambda: us.Format(None), TypeError, "^None is no format and no format's name$"),
                                   (lambda: us.decode(np.ones(2, np.uint8), 5), TypeError, "^5 is no format"),
                                   (lambda: us.scaler(None), TypeError, "^None is no scaler's name$"),
                                   (lambda: us.study(None, {}), us.Error, "^there is no study 'None'"),
                                   (lambda: us.study("cencus", {}), us.Error, "nearest: census"),
                                   (lambda: us.matmul(None, np.ones((2, 2))), TypeError, "^matmul: a is missing: "),
                                   (lambda: us.census(None, to="e4m3"), TypeError, "^NoneType of dtype object is no array of real numbers$"),
                                   (lambda: us.matmul(np.ones((2, 2)), np.ones((2, 2)), engin=1), TypeError, "^matmul: there is no 'engin'"),
                                   (lambda: us.verify.sum(np.float32(3), np.ones((2, 3), np.float32)), us.Error, "output a scalar: .* that of all numbers is asked for with axis='all'$"),
                                   (lambda: us.verify.sum(np.ones(3)), TypeError, "^verify sum: x is missing"),
                                   (lambda: us.verify.matmul(np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2)), rule="cosine"),
                                    TypeError, r"^verify.matmul: 'rule' is the command's alone; testing.audit\(rule=...\)"),
                                   (lambda: us.verify.sum(np.ones(3), np.ones((3, 2)), x=np.ones((3, 2))), TypeError, "^verify.sum: x is given twice$"),
                                   (lambda: us.scaler("popart").step(upper=1.5), us.Error, "^upper: 1.5: give a share, 0 to 1$"),
                                   (lambda: us.scaler("popart").step(upper=float("nan")), us.Error, "give a share"),
                                   (lambda: us.scaler("pytorch").load_state_dict(None), TypeError, "^NoneType is no state_dict"),
                                   (lambda: us.scaler("pytorch").load_state_dict({"scale": "x"}), TypeError, "^a scaler's state has numbers"),
                                   (lambda: us.scaler("pytorch").load_state_dict({"sacle": 1.0}), us.Error, "^scaler pytorch: a state of another scaler$"),
                                   (lambda: us.round(np.ma.array([1.0, 2], mask=[0, 1]), "e4m3"), TypeError, "masked"),
                                   (lambda: us.run("digits.toml", None), TypeError, "os.PathLike"),
                                   (lambda: us.quantize(np.ones(4), "e4m3", np.ones((40, 2))), TypeError, r"^ndarray of shape \(40, 2\) is no word, number or format$"),
                                   (lambda: us.Format([[1.0] * 50] * 40), TypeError, "^list of 40 is no format and no format's name$"),
                                   (lambda: us.scaler(np.ones((40, 2))), TypeError, r"^ndarray of shape \(40, 2\) is no scaler's name$"),
                                   (lambda: us.matmul(np.eye(2), np.eye(2), promote=np.ones((40, 9))), TypeError, r"^ndarray of shape \(40, 9\) is no word"),
                                   (lambda: us.round([[1, 2], [3]], "e4m3"), TypeError, "^a list whose parts have different shapes is no array$"),
                                   (lambda: us.census([[1, 2], [3]]), TypeError, "^a list whose parts have different shapes is no array$"),
                                   (lambda: us.verify.sum([1.0, [2.0]], np.ones((2, 3))), TypeError, "^a list whose parts have different shapes is no array$"),
                                   (lambda: us.verify.expr(np.ones(2), "x", input={"x": np.ones(2)}, x=np.ones(2)), TypeError, "^verify expr: x is given twice$"),
                                   (lambda: us.matmul("normal:0,1:2000000x2000000", "normal:0,1:2000000x2000000"), MemoryError, "^out of memory$")):
            with self.assertRaisesRegex(kind, words) as raised:
                fails()
            self.assertNotIn("\n", str(raised.exception))

    def test_errors_name_keywords(self):
        x, a = np.ones((4, 8), np.float32), np.ones((4, 8), np.uint8)
        for fails, wanted in ((lambda: us.matmul(a, a.T), r"^a: holds uint8; dtype=F says that these are codes, in_=F rounds them$"),
                              (lambda: us.census({"a": a, "b": a}), r"^2 inputs: nothing but 2 integer tensors \(a, b\); integers=True includes them$"),
                              (lambda: us.matmul(x, x.T, split_k=300), "^split_k=300: K is 8, so give 1 to 8$"),
                              (lambda: us.matmul(x, x.T, beta=2.0), "^beta: is the factor of C"),
                              (lambda: us.round(x, "e4m3", random_bits=0), "^random_bits: '0': give a whole number"),
                              (lambda: us.census(x, scale="maxx"), "^scale='maxx': give a positive number"),
                              (lambda: us.quantize(x, "e4m3", scale="maxx"), "^scale='maxx': give a positive number"),
                              (lambda: us.verify.matmul(x @ x.T, x, x.T, against="engine"), "^against='engine': say which, engine=E; `ulpscope engines` lists them$"),
                              (lambda: us.verify.sum(np.ones(4, int), x), "^output holds integers: say with `out` which format"),
                              (lambda: us.verify.attention(x, x, x, x, key_starts=[0, 4]), "^key_starts: say with `query_starts` where"),
                              (lambda: us.study("accumulation", {"acc": "float32", "k": 64}), "e.g. engine=sm_90 in_=e4m3 promote=0,128$")):
            with self.assertRaisesRegex(us.Error, wanted):
                fails()
        self.assertEqual(us.study("census", {"inputs": {"a": a, "x": x}, "to": "e4m3"}).remarks, ["left out: 1 integer tensor (a); integers=True includes them"])

    def test_what_is_no_nvfp4_is_a_warning(self):
        x = np.ones((4, 16), np.float32)
        for call in (lambda: us.quantize(x, "e4m3", scale="nvfp4"), lambda: us.census(x, to="e4m3", scale="nvfp4")):
            with self.assertWarnsRegex(UserWarning, "^scale='nvfp4': NVFP4 is of float4_e2m1fn; what float8_e4m3fn holds under its scales is no NVFP4$"):
                call()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            us.quantize(x, "e2m1", scale="nvfp4")
            us.census(x, to="e2m1", scale="nvfp4")

    def test_no_input_is_an_error_too(self):
        for call in (lambda: us.census({}), lambda: us.census([]), lambda: us.sweep({}), lambda: us.study("census", {"inputs": []})):
            with self.assertRaisesRegex(us.Error, "^no tensors are given$"):
                call()

    def test_codes_that_are_none_are_refused(self):
        for codes, to, wanted in ((np.array([0x138], np.uint16), "e4m3", "0x138 has more than the 8 bits of float8_e4m3fn"),
                                  (np.array([0x13], np.uint8), "e2m1", "0x13 has more than the 4 bits of float4_e2m1fn"),
                                  (np.array([0x38], np.uint8), None, "uint8 says no format; give `to`")):
            with self.assertRaisesRegex(us.Error, wanted):
                us.decode(codes, to)

    def test_codes_of_fewer_bits_than_the_format_are_refused(self):
        for word, bits in (("u1", 8), ("u2", 16), ("u4", 32)):
            for to, own in (("fp16", 16), ("float32", 32), ("float64", 64)):
                for codes in (np.zeros(3, word), np.zeros(0, word)):
                    if bits >= own:
                        self.assertEqual(us.decode(codes, to).tolist(), codes.tolist())
                        continue
                    with self.assertRaisesRegex(us.Error, f"^codes: uint{bits} holds {bits} bits an element, float{own} has {own}$"):
                        us.decode(codes, to)

    def test_integers_are_the_numbers_that_files_hold(self):
        x = np.array([1.5, -3, 200, -0.4, -127, 0, -1000], np.float32)
        for bits, dtype in ((8, np.int8), (4, np.int8), (12, np.int16), (16, np.int16), (20, np.int32)):
            most = 2 ** (bits - 1) - 1
            wanted = np.clip(np.rint(x), -most, most).astype(dtype)
            for codes in (us.encode(x, f"int{bits}", policy="saturating"), us.quantize(x, f"int{bits}", scale="1").codes):
                self.assertEqual((codes.dtype, codes.tolist()), (dtype, wanted.tolist()))
            np.testing.assert_array_equal(us.decode(codes, f"int{bits}"), wanted)
        for codes, to, wanted in ((np.array([2], np.uint8), "int8", "codes of int8 are signed integers"), (np.array([-129], np.int16), "int8", "beyond the -128 to 127"),
                                  (np.array([8], np.int8), "int4", "beyond the -8 to 7"), (np.array([1], np.int8), "int99", "int99"),
                                  (np.array([1.0], np.float32), "int8", "signed integers")):
            with self.assertRaisesRegex(us.Error, wanted):
                us.decode(codes, to)
        for bits, dtype in ((4, np.int8), (8, np.int8), (16, np.int16)):
            every = np.arange(-2 ** (bits - 1), 2 ** (bits - 1)).astype(dtype)
            np.testing.assert_array_equal(us.decode(every, f"int{bits}"), every)

    def test_a_block_whose_scale_is_zero_stores_zeros(self):
        x = np.array([[np.nan, 1e-3, -1e-3, -np.nan] + 12 * [np.nan] + [1e4] + 15 * [0]], np.float32)
        given = us.quantize(x, "e2m1", scale="nvfp4")
        self.assertEqual((given.scales[0, 0], set(given.codes[0, :16].tolist()) - {8}), (0, {0}))

    def test_integers_that_are_left_out_are_named(self):
        given = {"steps": np.arange(5), "w": np.ones(3)}
        for measure in (us.census, us.sweep, us.loss_scales):
            with self.assertWarnsRegex(UserWarning, r"^left out: 1 integer tensor \(steps\); integers=True includes them$") as warned:
                self.assertEqual(set(measure(given, to="e4m3")["tensor"]), {"w"})
            self.assertEqual(warned.filename, __file__)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(set(measure(given, to="e4m3", integers=True)["tensor"]), {"steps", "w"})

    def test_either_byte_order_is_read(self):
        for dtype in ">f4", ">f8", ">f2", ">i4", ">u2":
            x = np.array([1, 2, 3], dtype)
            np.testing.assert_array_equal(us.round(x, "fp16"), [1, 2, 3])
        self.assertEqual(us.round(np.array([1.3], ">f4"), "e4m3").dtype, np.dtype(">f4"))
        self.assertEqual(us.census(np.array([1, 3], ">f4"), to="fp16")["max_abs_input"], [3])
        np.testing.assert_array_equal(us.matmul(np.eye(3, dtype=">f4"), np.eye(3, dtype="f4")), np.eye(3))
        self.assertEqual(us.decode(np.array([0x3C00], ">u2"), "fp16").tolist(), [1])

    def test_options_are_numbers_of_numpy_too(self):
        self.assertEqual(us.round(1.3, "e4m3", rounding="stochastic", seed=np.int64(3)),
                         us.round(1.3, "e4m3", rounding="stochastic", seed=3))
        self.assertEqual(us.quantize(np.ones(4, np.float32), "e4m3", scale=2.0).codes.tolist(), [64] * 4)

    def test_a_check_of_the_output_alone(self):
        a, b = np.ones((4, 8), np.float32), np.full((8, 4), 2, np.float32)
        alone = us.testing.audit(lambda output: bool(np.isfinite(output).all()), a, b, in_="bf16")
        both = us.testing.audit(lambda reference, output: bool(np.isfinite(output).all()), a, b, in_="bf16")
        self.assertEqual((alone.outcome, alone.text), (both.outcome, both.text))

    def test_what_others_named_is_visible_in_errors(self):
        acting, shown = "w\x1b[31m\u009b\u202e\n::error::", r"w\x1b[31m\u009b\u202e\x0a::error::"
        for fails in (lambda: us.census(acting + ".npy", to="e4m3"), lambda: us.matmul({acting: np.ones((2, 3))}, np.ones((2, 3))),
                      lambda: us.census(np.ones(2), to={acting: np.ones(2)}), lambda: us.round(1.0, acting)):
            with self.assertRaises(us.Error) as raised:
                fails()
            self.assertIn(shown, str(raised.exception))
            self.assertNotRegex(str(raised.exception), "[\x00-\x1f\x7f-\x9f\u202e]")
        for fails in (lambda: us.census(np.ones(2), **{acting: 1}), lambda: us.matmul(np.ones((2, 2)), np.ones((2, 2)), **{acting: 1}),
                      lambda: us.verify.expr(np.ones(2), "x", input={acting: np.ones(2)}, **{acting: np.ones(2)}),
                      lambda: getattr(us, acting)):
            with self.assertRaises((TypeError, AttributeError)) as raised:
                fails()
            self.assertIn(shown, str(raised.exception))

    def test_codes_in_words_of_any_width(self):
        for to, codes, values in (("e2m1", [2, 4], [1, 2]), ("e4m3", [0x38, 0xC0], [1, -2]), ("bf16", [0x3F80, 0xC000], [1, -2]),
                                  ("tf32", [0x1FC00, 0x60000], [1, -2]), ("fp32", [0x3F800000, 0xC0000000], [1, -2]),
                                  ("fp64", [0x3FF << 52, 3 << 62], [1, -2])):
            for word in ("u1", "u2", "u4", "u8"):
                if 8 * np.dtype(word).itemsize < us.Format(to).bits:
                    with self.assertRaisesRegex(us.Error, f"bits an element, .* has {us.Format(to).bits}$"):
                        us.decode(np.zeros(2, word), to)
                else:
                    self.assertEqual(us.decode(np.array(codes, word), to).tolist(), values, (to, word))

    def test_what_others_named_is_visible_in_results(self):
        acting, command, x = "w\x1b[31m\u009b\u202e\n::error::", "::error::x", np.ones((2, 4), np.float32)
        for name, shown in ((acting, r"w\x1b[31m\u009b\u202e\x0a::error::"), (command, r"\x3a:error::x")):
            results = [us.invariance.softmax({name: x, "other": 2 * x}, x), us.study("verify softmax", {"output": x, "x": {name: x}}),
                       us.study("explain expr", {"output": {name: x}, "formula": "y*2", "input": {"y": x}})]
            for result in results:
                self.assertIn(shown if result is not results[1] else shown.replace(r"\x3a:", "::"), result.text)
                self.assertNotRegex(result.text, "(?m)^[ \t]*::|[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
                self.assertEqual(repr(result), result.text)

    def test_progress_shows_names_that_do_not_act(self):
        with contextlib.redirect_stderr(io.StringIO()) as told, _progress.shown("s\x1b[31m\n::error::.toml", True) as line:
            line(1, 2)
        self.assertIn(r"s\x1b[31m\x0a::error::.toml: 50 %", told.getvalue())
        self.assertNotRegex(told.getvalue(), "[\n\x1b]")

    def test_names_and_lists_of_numbers(self):
        self.assertEqual(us.census({1: np.ones(3)}, to="fp16")["tensor"], ["1"])
        self.assertEqual(us.census([1.0, 2.0, 65536], to="fp16")["count"], [3])
        self.assertEqual(us.census([[1, 2], [3, 4]], to="fp16")["count"], [4])
        self.assertEqual(us.census([np.ones(3), np.ones(4)], to="fp16")["count"], [3, 4])
        self.assertEqual(us.census([1.0, np.ones(4)], to="fp16")["count"], [1, 4])
        for kind in (float, np.float16, np.float32, np.float64, np.int64):
            self.assertEqual(us.census([kind(1), kind(2)], to="fp16")["count"], [2])
        for given in ({1: np.ones(3), "1": np.ones(4)}, {"1": np.ones(3), 1: np.ones(4)}):
            for fails in (lambda: us.census(given), lambda: us.study("census", {"inputs": given})):
                with self.assertRaisesRegex(TypeError, "^census: inputs: two are named '1'$"):
                    fails()

    def test_whole_numbers_in_lists_are_numbers(self):
        a, b = [[1, 2]], [[3], [4]]
        self.assertEqual(us.matmul(a, b).tolist(), [[11]])
        self.assertEqual(us.matmul(a, np.float32(b), c=[[1]]).tolist(), [[12]])
        self.assertTrue(us.verify.matmul([[11]], a, b))
        self.assertTrue(us.verify.expr(np.float32([6, 8]), "x * y", x=[3, 4], y=[2, 2]))
        self.assertTrue(us.verify.expr(np.float32([6, 8]), "x * out", input={"x": (3, 4), "out": [2, 2]}, out="float32"))
        self.assertEqual(us.diff([1, 2], [1, 3])["dtype"], ["float64"])
        self.assertEqual(us.round([1, 2], "e4m3").dtype, np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(us.census({"w": [1, 2, 3], "x": np.ones(2)}, to="fp16")["count"], [3, 2])
        self.assertEqual(us.round(2**70, "float64"), 2.0**70)
        self.assertEqual(us.round([2**54 + 2**30 + 1], "float32").tolist(), [2.0**54 + 2.0**31])  # beyond the tie, where float64 is on it
        x = np.ones((3, 2), np.float32)
        for offsets in ([1, 3], [1.0, 3.0], np.array([1, 3])):
            self.assertTrue(us.verify.grouped_matmul(2 * np.ones((3, 4), np.float32), x, np.ones((2, 2, 4), np.float32), offsets=offsets))

    def test_outputs_that_are_single_numbers(self):
        x = np.ones((3, 4), np.float32)
        us.testing.assert_sum(x.sum(), x, axis="all")
        us.testing.assert_dot(np.dot(x[0], x[0]), x[0], x[0])
        us.testing.assert_dot(float(np.dot(x[0], x[0])), x[0], x[0], out="float32")
        us.testing.assert_matmul(x[0] @ x[0], x[0], x[0])
        self.assertTrue(us.verify.elementwise(np.float32(1.0), "exp", np.float32(0.0)))
        with self.assertRaisesRegex(AssertionError, "^1 of 1 elements"):
            us.testing.assert_sum(x.sum() + 1, x, axis="all")

    def test_lists_and_words_of_the_program(self):
        a, b = np.ones((4, 8), np.float32), np.ones((8, 4), np.float32)
        np.testing.assert_array_equal(us.matmul(a, b, in_="e4m3,e5m2", scale_a=[1.0, 2.0, 4.0, 8.0]),
                                      us.matmul(a, b, in_=["e4m3", "e5m2"], scale_a=np.array([1, 2, 4, 8], np.float32)))
        self.assertEqual(us.census(a, to="fp16,e4m3").to_csv(), us.census(a, to=["fp16", "e4m3"]).to_csv())
        wanted = {"engine": "fma", "k": 64, "shape": "2x2"}
        self.assertEqual(us.study("accumulation", {**wanted, "acc": ["float32", "fp16"]}).tables[0].to_csv(),
                         us.study("accumulation", {**wanted, "acc": "float32,fp16"}).tables[0].to_csv())
        np.testing.assert_array_equal(us.matmul(a, b, np.eye(4, dtype=np.float32)), 8 + np.eye(4))

    def test_memory_of_others(self):
        class Packed:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        x = np.array([1.3, 2.7])
        for given in memoryview(x), array.array("d", x), Packed(x):
            self.assertEqual(us.round(given, "e4m3").tolist(), [1.25, 2.75])
            self.assertEqual(us.census({"x": given}, to="e4m3")["count"], [2])
            self.assertEqual(us.encode(given, "e4m3").tolist(), us.encode(x, "e4m3").tolist())

    def test_a_scalers_state_of_plain_numbers(self):
        scaler = us.scaler("pytorch:growth_interval=3")
        scaler.step()
        other = us.scaler("pytorch:growth_interval=3")
        other.load_state_dict({name: values[0] for name, values in scaler.state_dict().items()})
        self.assertEqual(other.state_dict(), scaler.state_dict())

    def test_tables_are_walked_by_row_and_asked_for_columns(self):
        table = us.census(np.ones(3), to="fp16")
        self.assertEqual(list(table), table.rows)
        self.assertIn("count", table)
        self.assertNotIn("cuont", table)

    def test_a_scalar_of_numpy_stays_one(self):
        for kind in np.float16, np.float32, np.float64:
            self.assertIs(type(us.round(kind(1.3), "e4m3")), kind)
        self.assertIs(type(us.round(np.int16(17), "e4m3")), np.float32)

    def test_tensors_of_torch_that_are_seen_through_something(self):
        try:
            import torch
        except ImportError as error:
            self.skipTest(str(error))
        self.assertEqual(us.round(torch._neg_view(torch.tensor([1.3])), "e4m3").tolist(), [-1.25])
        with self.assertRaisesRegex(TypeError, "^a tensor of device meta has no numbers$"):
            us.round(torch.ones(2, device="meta"), "e4m3")
        with self.assertRaisesRegex(TypeError, "^a tensor of layout torch.sparse_coo; give its to_dense"):
            us.round(torch.eye(2).to_sparse(), "e4m3")

    def test_narrow_integers_are_numbers(self):
        try:
            import ml_dtypes
        except ImportError as error:
            self.skipTest(str(error))
        x = np.array([-8, 7, 3], ml_dtypes.int4)
        self.assertEqual(us.round(x, "e2m1").tolist(), [-6, 6, 3])
        self.assertEqual(us.round(np.array([15, 5], ml_dtypes.uint4), "e4m3").tolist(), [15, 5])

    def test_an_audits_check_has_the_products_shape(self):
        shapes = []

        def check(reference, output):
            shapes.append((reference.shape, output.shape))
            return bool(np.allclose(reference, output, rtol=1e-2, atol=1e-2))

        a, b = np.ones((64, 4), np.float32), np.ones((64, 6), np.float32)
        for operands, options, shape in (((a.T, b), {}, (4, 6)), ((a, b), {"transpose_a": True}, (4, 6)),
                                         ((a.T, b.T), {"transpose_b": True}, (4, 6)),
                                         ((np.stack([a.T] * 3), b), {}, (3, 4, 6)),
                                         (("normal:0,1:5x64", "normal:0,2:64x7"), {}, (5, 7))):
            shapes.clear()
            us.testing.audit(check, *operands, in_="bf16", **options)
            self.assertEqual(set(shapes), {(shape, shape)})


class Kept(unittest.TestCase):
    def test_outputs_that_are_plain_numbers(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(AssertionError) as raised:
            us.testing.assert_sum(7.0, np.ones(3, np.float32), axis="all", out="float32")
        with tempfile.TemporaryDirectory() as folder:
            command = raised.exception.ulpscope.save(folder)
            ran = subprocess.run(command.replace("ulpscope", PROGRAM, 1), shell=True, capture_output=True, text=True, timeout=300)
        self.assertNotIn("memory:", command)
        self.assertEqual(ran.returncode, 1, command + ran.stderr)

    def test_what_failed_can_be_repeated_from_its_files(self):
        """Scales, lists of arrays, and codes of fewer than 8 bits."""
        random = np.random.default_rng(1)
        a, b = random.standard_normal((5, 64)).astype(np.float32), random.standard_normal((64, 7)).astype(np.float32)
        wrong = a @ b + 1
        cases = [{"in_": "e4m3", "scale_a": np.ones(5, np.float32), "scale_b": np.ones(7, np.float32)}]
        cases.append({"in_": "e4m3", "scale_a": [1.0, 1.0, 1.0, 1.0, 1.0]})
        operands = [(a, b), (a, b)]
        try:
            import ml_dtypes
        except ImportError:
            pass
        else:
            cases.append({"in_": "e2m1"})
            operands.append((a.astype(ml_dtypes.float4_e2m1fn), b.astype(ml_dtypes.float4_e2m1fn)))
            cases.append({"in_": "e2m3"})
            operands.append((a.astype(ml_dtypes.float6_e2m3fn), b.astype(ml_dtypes.float6_e2m3fn)))
        for options, (left, right) in zip(cases, operands):
            with self.subTest(**options), tempfile.TemporaryDirectory() as folder:
                with self.assertRaises(AssertionError) as raised:
                    us.testing.assert_matmul(wrong, left, right, **options)
                command = raised.exception.ulpscope.save(pathlib.Path(folder) / "kept")
                self.assertNotIn("memory:", command)
                ran = subprocess.run(command.replace("ulpscope", PROGRAM, 1), shell=True, capture_output=True, text=True, timeout=300)
                self.assertEqual(ran.returncode, 1, command + ran.stdout + ran.stderr)
                self.assertIn(str(raised.exception).splitlines()[0], ran.stdout + ran.stderr)

    def test_codes_that_say_no_format_are_kept_as_codes(self):
        codes = (np.float32([[1, -2, 3.5], [0.5, 0.25, 9]]).view(np.uint32) >> 16).astype(np.uint16).view("V2")  # of bfloat16
        with self.assertRaises(AssertionError) as raised:
            us.testing.assert_softmax(np.full((2, 3), 0.25, np.float32), codes, dtype="bf16")
        with tempfile.TemporaryDirectory() as folder:
            command = raised.exception.ulpscope.save(folder)
            ran = subprocess.run(command.replace("ulpscope", PROGRAM, 1), shell=True, capture_output=True, text=True, timeout=300)
        self.assertEqual(ran.returncode, 1, command + ran.stderr)
        self.assertIn(str(raised.exception).splitlines()[0], ran.stdout + ran.stderr)


if __name__ == "__main__":
    unittest.main()
