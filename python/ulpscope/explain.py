# SPDX-License-Identifier: Apache-2.0
"""Why is a kernel's output not what it claims to be?"""
from ._requests import documented, study


def matmul(d, a, b, c=None, **options) -> "Any":
    """What D = A.B + C may have been computed by, ranked. Returns a Result whose `text` is the verdict."""
    return study("explain matmul", {"output": d, "a": a, "b": b, "c": c, **options})


documented("explain matmul", matmul, ("output", "a", "b"))
