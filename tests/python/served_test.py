# SPDX-License-Identifier: Apache-2.0
"""`ulpscope.verify.attention` with the arrays that serving has: masks of bool, factors, windows, pages, log-sum-exp; grouped products.

usage: served_test.py PROGRAM
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import ulpscope as us
from ulpscope import testing

PROGRAM = os.path.abspath(sys.argv.pop())


def attention(q, k, v, added=0.0, softcap=None, sinks=None):
    """In float64: the output and the logarithm of the denominator."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ np.repeat(k, q.shape[1] // k.shape[1], 1).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    s = (s if softcap is None else softcap * np.tanh(s / softcap)) + added
    e = np.exp(s)
    total = e.sum(-1) + (0 if sinks is None else np.exp(sinks.astype(np.float64))[:, None])
    out = e @ np.repeat(v, q.shape[1] // v.shape[1], 1) / total[..., None]
    return out.astype(np.float32), np.log(total).astype(np.float32)


class Served(unittest.TestCase):
    def setUp(self):
        draws = np.random.default_rng(3)
        normal = lambda *shape: draws.standard_normal(shape).astype(np.float32)
        self.q, self.k, self.v = normal(2, 4, 5, 16), normal(2, 2, 8, 16), normal(2, 2, 8, 16)
        self.mask, self.sinks = draws.random((2, 1, 5, 8)) < 0.7, normal(4)
        self.mask[..., 0] = True

    def test_declarations_are_keywords_and_arrays(self):
        near = np.abs(np.arange(8) - np.arange(5)[:, None] - 3 + 1) <= 1  # two keys before the diagonal to itself
        added = np.where(self.mask & near, 0, -np.inf)
        out, lse = attention(self.q, self.k, self.v, added, 2.0, self.sinks)
        asked = dict(mask=self.mask, window=(2, 0), softcap=2.0, sinks=self.sinks, lse=lse, fully_masked="zero")
        verdict = us.verify.attention(out, self.q, self.k, self.v, **asked)
        self.assertTrue(verdict.passed, verdict.text)
        self.assertEqual([len(table) for table in verdict.tables[::3]], [1, 1])
        self.assertFalse(us.verify.attention(out, self.q, self.k, self.v, **{**asked, "window": [3, 0]}).passed)
        self.assertFalse(us.verify.attention(out, self.q, self.k, self.v, **{**asked, "softcap": None}).passed)

    def test_a_mask_of_lists_is_one_of_truth_values(self):
        seen = self.mask[0, 0]
        hidden, _ = attention(self.q, self.k, self.v, np.where(seen, 0, -np.inf))
        added, _ = attention(self.q, self.k, self.v, seen.astype(np.float64))  # as if 0 and 1 were scores
        whole = seen.astype(int).tolist()
        for mask in (seen, seen.tolist(), tuple(map(tuple, seen.tolist())), whole, [row for row in seen]):
            self.assertTrue(us.verify.attention(hidden, self.q, self.k, self.v, mask=mask))
            self.assertFalse(us.verify.attention(added, self.q, self.k, self.v, mask=mask))
            with tempfile.TemporaryDirectory() as folder:
                with self.assertRaises(AssertionError) as raised:
                    testing.assert_attention(added, self.q, self.k, self.v, mask=mask)
                raised.exception.ulpscope.save(folder)
                np.testing.assert_array_equal(np.load(pathlib.Path(folder) / "mask.npy"), seen)
                self.assertIn(np.load(pathlib.Path(folder) / "mask.npy").dtype.kind, "bi")
        self.assertTrue(us.verify.attention(added, self.q, self.k, self.v, mask=seen.astype(float).tolist()))
        with self.assertRaisesRegex(us.Error, "^mask: element 0 is the integer 2; integers are truth values"):
            us.verify.attention(hidden, self.q, self.k, self.v, mask=(2 * seen).tolist())

    def test_one_verdict_of_output_and_logarithms(self):
        out, lse = attention(self.q, self.k, self.v)
        wrong = us.verify.attention(out, self.q, self.k, self.v, lse=lse / np.float32(np.log(2)))
        self.assertEqual(wrong.outcome, "fail")
        self.assertTrue(wrong.sentence.startswith("FAIL: "), wrong.sentence)
        self.assertIn("as logarithms to base 2", wrong.text)
        with self.assertRaises(AssertionError) as raised:
            testing.assert_attention(out, self.q, self.k, self.v, lse=lse / np.float32(np.log(2)), mask=np.ones((5, 8), bool))
        with tempfile.TemporaryDirectory() as folder:
            line = raised.exception.ulpscope.save(pathlib.Path(folder) / "kept")
            done = subprocess.run(line.replace("ulpscope", PROGRAM, 1), shell=True, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, done.stderr)

    def test_heads_behind_rows(self):
        out, lse = attention(self.q, self.k, self.v)
        moved = [x.swapaxes(1, 2) for x in (out, self.q, self.k, self.v)]
        testing.assert_attention(*moved, layout="blhd", lse=lse)
        with self.assertRaisesRegex(us.Error, "^layout='x': give bhld or blhd$"):
            us.verify.attention(*moved, layout="x")

    def test_factors_and_pages(self):
        codes = [np.round(x * 4) for x in (self.q, self.k, self.v)]
        k_scale = np.float32([[0.25, 0.5], [0.125, 0.25]])
        v_scale = np.float32([0.25, 1])
        q, k, v = codes[0] * np.float32(0.25), codes[1] * k_scale[..., None, None], codes[2] * v_scale[:, None, None]
        out, _ = attention(q, k, v)
        pages = np.int32([[3, 1], [0, 2]])
        paged = []
        for x in codes[1:]:
            cache = np.full((4, 4, 2, 16), np.nan, np.float32)
            for b in range(2):
                for i in range(2):
                    cache[pages[b, i]] = x[b, :, 4 * i:4 * i + 4].swapaxes(0, 1)
            paged.append(cache)
        asked = dict(q_descale=0.25, k_descale=k_scale, v_descale=v_scale)
        served = dict(block_table=pages, key_lengths=[8, 8])
        testing.assert_attention(out, *codes, **asked)
        testing.assert_attention(out, codes[0], *paged, **asked, **served)
        served["block_table"] = pages[::-1].copy()
        self.assertFalse(us.verify.attention(out, codes[0], *paged, **asked, **served).passed)
        with self.assertRaisesRegex(us.Error, "^block_table: block 0 of sequence 0 is number 4; K has blocks 0 to 3"):
            us.verify.attention(out, codes[0], *paged, block_table=pages + 1, key_lengths=[8, 8])

    def test_grouped_products(self):
        draws = np.random.default_rng(4)
        a, b = draws.standard_normal((9, 32)).astype(np.float32), draws.standard_normal((3, 8, 32)).astype(np.float32)
        ends, group_of = np.int32([4, 4, 8]), np.int32([0] * 4 + [2] * 4 + [-1])
        products = lambda group_of: np.stack([row.astype(np.float64) @ b[g].T for row, g in zip(a, group_of)]).astype(np.float32)
        out = products(group_of)
        testing.assert_grouped_matmul(out, a, b, offsets=ends, transpose_b=True)
        testing.assert_grouped_matmul(out, a, b, group_of_row=group_of, transpose_b=True)
        verdict = us.verify.grouped_matmul(products([1] * 9), a, b, offsets=ends, transpose_b=True)
        self.assertEqual(verdict.outcome, "fail")
        self.assertIn("are right with the matrix of", verdict.text)


unittest.main()
