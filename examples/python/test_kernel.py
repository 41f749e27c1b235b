# SPDX-License-Identifier: Apache-2.0
"""A test of a kernel: is its product right, by a bound that is derived, and could the test have failed at all?

    pytest examples/python/test_kernel.py --ulpscope-save kept
"""
import numpy as np

from ulpscope import testing


def kernel(a, b):
    """What is to be tested: here numpy, in float32."""
    return a.astype(np.float32) @ b.astype(np.float32)


def operands():
    random = np.random.default_rng(1)
    return random.standard_normal((48, 80)).astype(np.float16), random.standard_normal((80, 40)).astype(np.float16)


def test_product():
    a, b = operands()
    testing.assert_matmul(kernel(a, b), a, b, in_="fp16")


def test_the_tolerance_we_had_before_lets_faults_through():
    a, b = operands()
    audit = testing.audit(lambda reference, output: np.allclose(reference, output, rtol=0.1, atol=20), a, b, in_="fp16")
    assert not audit.passed, audit.text
