#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C++, CUDA and Python source has a licence line at its top, and one of C++ or CUDA a comment behind it that says what it
holds. No text file has a note of work left undone. No room calls the C library's transcendental functions, whose last bits differ
between processors (emu/math.hpp has others), or takes what emu keeps in emu::detail (vectors of kernels apart). No Python test waits
for a process without a time limit. What names an algorithm of the standard library includes <algorithm>: which other headers bring it
differs between versions of libstdc++.

usage: check_sources.py ROOT
"""
import ast
import os
import pathlib
import re
import sys

SOURCES = {".h", ".hpp", ".inl", ".cc", ".cpp", ".cu", ".cuh", ".py"}
OPENED = SOURCES - {".py"}
LICENCE = "SPDX-License-Identifier: Apache-2.0"
LEFT_UNDONE = re.compile(r"\b(TO" r"DO|FIX" r"ME)\b")  # in pieces, so that this file passes
ROOMS = {"emu", "files", "gpu", "reports", "tensors", "requests", "recipes", "products", "studies", "training", "verify", "study_files", "cli"}
UNPORTABLE = re.compile(r"\bstd::(exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|tan|sinh|cosh|tanh|asin|acos|atan|asinh|acosh|atanh|erf|erfc|cbrt|hypot)\(")
PRIVATE = re.compile(r"\bemu::detail\b(?!::HWY_NAMESPACE)")
ALGORITHM = re.compile(
    r"\bstd::(?:ranges::)?(all_of|any_of|clamp|copy_if|copy_n|count|count_if|equal|fill_n|find|find_if|generate|is_sorted|lower_bound|max"
    r"|max_element|min|min_element|minmax_element|mismatch|none_of|nth_element|partition|remove_if|replace|reverse|rotate|search|sort"
    r"|stable_sort|transform|unique|upper_bound)[<(]")
INCLUDES_ALGORITHM = re.compile(r"^#include <algorithm>", re.M)
SKIPPED = {"build", "shared"}  # build trees, and what is not part of the repository

RUN_AND_WAIT = {"run", "call", "check_call", "check_output"}  # of subprocess
WAIT = {"wait", "communicate"}  # of a process


def endless_waits(text):
    """The lines on which a Python program waits for another as long as that takes."""
    for call in ast.walk(ast.parse(text)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        of_module = isinstance(call.func.value, ast.Name) and call.func.value.id == "subprocess"
        limit_comes_first = call.func.attr == "wait" and call.args
        waits = call.func.attr in (RUN_AND_WAIT if of_module else WAIT)
        if waits and not limit_comes_first and not any(k.arg == "timeout" for k in call.keywords):
            yield call.lineno


def files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith(".") and f != "__pycache__")
        yield from (pathlib.Path(folder) / name for name in sorted(names))


def problems(root):
    for path in files(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # not text
        if path.suffix in SOURCES and LICENCE not in "".join(text.splitlines(keepends=True)[:3]):
            yield f"{path.relative_to(root)}: has no licence line in its first three lines"
        elif path.suffix in OPENED and not re.search(LICENCE + r"[^\n]*\n//", text):
            yield f"{path.relative_to(root)}: does not say in its opening comment what it holds"
        if path.suffix in OPENED and not INCLUDES_ALGORITHM.search(text) and (used := ALGORITHM.search(text)):
            yield f"{path.relative_to(root)}: names std::{used[1]} and does not include <algorithm>"
        for number, line in enumerate(text.splitlines(), 1):
            if LEFT_UNDONE.search(line):
                yield f"{path.relative_to(root)}:{number}: {line.strip()}"
            room = path.relative_to(root).parts[0] if path.suffix in SOURCES else ""
            if room in ROOMS and UNPORTABLE.search(line):
                yield f"{path.relative_to(root)}:{number}: use emu/math.hpp: {line.strip()}"
            if room in ROOMS - {"emu"} and PRIVATE.search(line):
                yield f"{path.relative_to(root)}:{number}: emu keeps this for itself: {line.strip()}"
        if path.suffix == ".py" and path.relative_to(root).parts[0] == "tests":
            for number in endless_waits(text):
                yield f"{path.relative_to(root)}:{number}: waits for a process without a timeout"


def main():
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "every source keeps the rules")
    sys.exit(1 if found else 0)


main()
