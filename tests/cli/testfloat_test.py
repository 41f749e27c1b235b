#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts `ulpscope eval` between Berkeley TestFloat's generator and its judge. usage: testfloat_test.py PROGRAM"""
import shutil
import subprocess
import sys

from time_limit import LIMIT

PROGRAM = sys.argv[1]
NAMES = {"f16": "float16", "f32": "float32", "f64": "float64"}
MODES = {"near_even": "nearest_even", "near_maxMag": "nearest_away", "minMag": "toward_zero", "max": "upward", "min": "downward"}
FUNCTIONS = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "rem": "rem", "sqrt": "sqrt", "mulAdd": "fma",
             "roundToInt": "round_to_int", "eq": "eq", "le": "le", "lt": "lt"}
COUNT = {"sqrt": 1, "round_to_int": 1, "convert": 1, "fma": 3}
MOST_LINES = 200000  # fma's six million are TestFloat's own hour; the first show what differs


def cases():
    for kind, name in NAMES.items():
        for function, op in FUNCTIONS.items():
            yield kind, f"{kind}_{function}", ["--op", op, "--format", name]
        for other in NAMES:
            if other != kind:
                yield kind, f"{kind}_to_{other}", ["--op", "convert", "--from", name, "--format", NAMES[other]]


def problems():
    for kind, function, words in cases():
        generate = ["testfloat_gen", "-level", "1", kind, str(COUNT.get(words[1], 2))]
        with subprocess.Popen(generate, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as generator:
            lines = b"".join(line for line, _ in zip(generator.stdout, range(MOST_LINES)))
            generator.kill()
        if not lines:
            yield f"{' '.join(generate)}: wrote nothing"
        for mode, rounding in MODES.items():
            for tininess in ("before", "after"):
                done = subprocess.run([PROGRAM, "eval", *words, "--rounding", rounding, "--tininess", tininess], input=lines,
                                      stdout=subprocess.PIPE, check=True, timeout=LIMIT)
                judge = ["testfloat_ver", "-r" + mode, "-tininess" + tininess, function]
                judged = subprocess.run(judge, input=done.stdout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT)
                if judged.returncode != 0 or b"no errors found" not in judged.stdout:
                    yield f"{' '.join(judge)}: {judged.stdout.decode(errors='replace')[:2000]}"


if shutil.which("testfloat_gen") is None or shutil.which("testfloat_ver") is None:
    print("skipped: testfloat_gen and testfloat_ver are not both on PATH")
    sys.exit(0)
found = list(problems())
print("\n".join(found) if found else "TestFloat finds no errors")
sys.exit(1 if found else 0)
