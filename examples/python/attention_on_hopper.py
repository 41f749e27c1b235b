# SPDX-License-Identifier: Apache-2.0
"""What does Hopper's accumulator do to my attention? The same attention in fp8, its sums formed by engines that keep more or less.

    python3 attention_on_hopper.py
"""
import numpy as np

import ulpscope as us

HEAD, TOKENS = 128, 2048
random = np.random.default_rng(0)
q, k = (random.standard_normal((64, HEAD)) * 2, random.standard_normal((TOKENS, HEAD)) * 2)
v = random.standard_normal((TOKENS, HEAD)) + 0.5  # values whose mean is not zero: what attention averages does not cancel


def softmax(scores):
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def rounded(x):
    """Numbers of E4M3, as the operands of all three are: what differs is the accumulator alone."""
    return us.round(x.astype(np.float32), "e4m3")


def attention(product):
    scores = product(rounded(q), np.ascontiguousarray(rounded(k).T)) / np.sqrt(HEAD)
    shares = rounded(softmax(scores) * 256)  # scaled into the middle of E4M3
    return scores, product(shares, rounded(v)) / 256


def on(engine, **options):
    return lambda a, b: us.matmul(a, b, engine=engine, in_="e4m3", **options).astype(np.float64)


exact_scores, exact = attention(lambda a, b: a.astype(np.float64) @ b.astype(np.float64))
print(f"attention of 64 queries over {TOKENS} tokens, head {HEAD}, operands in E4M3; errors beside exact sums")
print(f"{'sums formed by':32} {'worst score':>12} {'output, relative':>17} {'mean of the error':>18}")
for name, product in (
    ("float32, fused multiply-adds", on("fma")),
    ("Hopper's tensor core", on("sm_90")),
    ("the same, promoted every 128", on("sm_90", promote=128)),
):
    scores, output = attention(product)
    off = output - exact
    relative = np.linalg.norm(off) / np.linalg.norm(exact)
    print(f"{name:32} {np.abs(scores - exact_scores).max():12.1e} {relative:17.1e} {np.mean(off * np.sign(exact)):18.1e}")
print(f"a score is a sum of {HEAD} products, which promotion leaves as it is; an output is one of {TOKENS}, each of which cuts off bits")
