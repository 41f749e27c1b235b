#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arrays of jax go in and out as what they are, with the bits of numpy's. Without jax it is skipped by name (exit code 4).

usage: jax_test.py, with the package on PYTHONPATH"""
import os
import sys
import unittest
import warnings

os.environ.setdefault("JAX_PLATFORMS", "cpu")
try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print("python_jax: skipped: no jax")
    sys.exit(4)
import numpy as np
import ulpscope as us

RANDOM = np.random.default_rng(5)


def narrow_formats():
    """(word, dtype, bits) of the formats that jax has arrays of."""
    for word, name in zip(us.formats()["name"], us.formats()["numpy"]):
        dtype = getattr(jnp, name.removeprefix("ml_dtypes."), None) if name.startswith("ml_dtypes.") else None
        if dtype is not None and us.Format(word).bits in (8, 16):
            yield word, np.dtype(dtype), us.Format(word).bits


class Arrays(unittest.TestCase):
    def test_round_keeps_type_dtype_and_shape(self):
        x = RANDOM.standard_normal((5, 7)).astype(np.float32)
        for dtype in (jnp.float32, jnp.float16, jnp.bfloat16):
            given = jnp.asarray(x, dtype)
            out = us.round(given, "e4m3")
            self.assertIsInstance(out, jax.Array)
            self.assertEqual((out.dtype, out.shape), (given.dtype, given.shape))
            np.testing.assert_array_equal(np.asarray(out).astype(np.float32), us.round(np.asarray(given).astype(np.float32), "e4m3"))
        with self.assertRaisesRegex(ValueError, "float16 cannot hold 1 of 2"), warnings.catch_warnings():
            warnings.simplefilter("error")
            us.round(jnp.asarray([65504, 1], jnp.float16), "bf16")
        whole = us.round(jnp.asarray([17, 3], jnp.int16), "e4m3")
        self.assertIsInstance(whole, jax.Array)
        self.assertEqual((whole.dtype, whole.tolist()), (jnp.float32, [16, 3]))
        with self.assertRaisesRegex(ValueError, "float32 cannot hold 1 of 1"):
            us.round(jnp.array([2**24 + 1], jnp.int32), "float64")

    def test_codes_of_every_narrow_dtype(self):
        tried = set()
        for word, dtype, bits in narrow_formats():
            every = np.arange(2**bits, dtype=np.uint8 if bits == 8 else np.uint16)
            own = jnp.asarray(every.view(dtype))
            self.assertEqual(own.dtype, dtype)
            mine, theirs = us.decode(own), np.asarray(own.astype(jnp.float32))
            theirs = every.view(dtype).astype(np.float32) if bits == 16 else theirs
            np.testing.assert_array_equal(np.isnan(mine), np.isnan(theirs))
            finite = ~np.isnan(mine)
            np.testing.assert_array_equal(mine[finite].view(np.uint32), theirs[finite].view(np.uint32))
            codes = us.encode(own, word)
            np.testing.assert_array_equal(codes[finite], every[finite])
            out = us.round(own, word)
            self.assertEqual((type(out), out.dtype), (type(own), own.dtype))
            tried.add(word)
        self.assertGreater(len(tried), 4)

    def test_products_and_their_checks(self):
        a, b = (jnp.asarray(RANDOM.standard_normal(shape), jnp.bfloat16) for shape in ((6, 40), (40, 5)))
        d = us.matmul(a, b, engine="sm_80", in_="bf16")
        wide = [np.asarray(x).astype(np.float32) for x in (a, b)]
        np.testing.assert_array_equal(d, us.matmul(*wide, engine="sm_80", in_="bf16"))
        product = jnp.matmul(a, b, preferred_element_type=jnp.float32)
        self.assertTrue(us.verify.matmul(product, a, b, in_="bf16").passed)
        us.testing.assert_matmul(product, a, b, in_="bf16")
        with self.assertRaisesRegex(AssertionError, "^1 of 30 elements"):
            us.testing.assert_matmul(product.at[2, 3].add(1), a, b, in_="bf16")

    def test_tables_of_arrays(self):
        x = jnp.asarray(RANDOM.standard_normal(100), jnp.float32)
        self.assertEqual(us.census(x, to="e4m3").rows, us.census(np.asarray(x), to="e4m3").rows)
        self.assertEqual(us.quantize(x, "e4m3", scale="amax").codes.tobytes(), us.quantize(np.asarray(x), "e4m3", scale="amax").codes.tobytes())


if __name__ == "__main__":
    unittest.main()
