# SPDX-License-Identifier: Apache-2.0
"""Why is a kernel's output not what it claims to be?"""
from ._requests import documented, study
from .verify import formula_options


def matmul(output, a, b, c=None, **options) -> "Any":
    """What an output D = A.B + C may have been computed by, the likeliest first: engines, orders of the sum, roundings of operands.

    output: (M, N). a: (M, K). b: (K, N). Returns a Result whose `text` is the verdict. Raises ulpscope.Error where shapes do
    not fit together."""
    return study("explain matmul", {"output": output, "a": a, "b": b, "c": c, **options})


documented("explain matmul", matmul, ("output", "a", "b"))


def expr(output, formula, **options) -> "Any":
    """Where does a kernel round that computes a formula? Keywords that are no options name its tensors and numbers, as in
    `ulpscope.verify.expr`; `points` are the formats that it may round to. Returns a Result whose `text` is the verdict."""
    return study("explain expr", {"output": output, "formula": formula, **formula_options(options, "explain expr")})


documented("explain expr", expr, ("output", "formula"))
