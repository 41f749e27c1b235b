#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants forbidden includes in a copy of the tree; the checker must report each. usage: check_the_checker.py ROOT"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

PLANTED = [("emu/format.hpp", '#include "studies/census.hpp"'), ("emu/format.hpp", "#include <fmt/format.h>"),
           ("reports/render.cpp", '#include "emu/format.hpp"'), ("studies/sweep.cpp", '#include "reports/page.hpp"'),
           ("tensors/npy.cpp", '#include "cli/options.hpp"')]
root = pathlib.Path(sys.argv[1])
checker = root / "tests/house/check_includes.py"
missed = 0
for path, line in PLANTED:
    with tempfile.TemporaryDirectory() as copy:
        for room in ("docs", "emu", "gpu", "reports", "tensors", "studies", "cli"):
            if (root / room).exists():
                shutil.copytree(root / room, pathlib.Path(copy) / room, ignore=shutil.ignore_patterns("*.safetensors"))
        target = pathlib.Path(copy) / path
        target.write_text(target.read_text() + line + "\n")
        done = subprocess.run([sys.executable, checker, copy], stdout=subprocess.PIPE, text=True)
        if done.returncode == 0 or path not in done.stdout:
            print(f"not reported: {line} in {path}")
            missed += 1
sys.exit(1 if missed else 0)
