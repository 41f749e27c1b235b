#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each figure of the documents is what its command draws: the README says `ulpscope ... --svg docs/NAME.svg` under the figure.
usage: figure_test.py ROOT ULPSCOPE
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMMAND = re.compile(r"`ulpscope ([^`]* --svg (docs/\S+\.svg))`")


def check(condition, message):
    if not condition:
        raise SystemExit(message)


def main():
    root, program = pathlib.Path(sys.argv[1]), os.path.abspath(sys.argv[2])
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    commands = COMMAND.findall(readme)
    check(commands, "README.md: no command that draws a figure")
    figures = {f"docs/{path.name}" for path in (root / "docs").glob("*.svg")}
    check(figures == {name for _, name in commands}, f"figures {figures}, commands for {[name for _, name in commands]}")
    for words, name in commands:
        check(f"]({name})" in readme, f"README.md does not show {name}")
        kept = (root / name).read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            drawn = pathlib.Path(folder) / "figure.svg"
            subprocess.run([program, *words.replace(name, str(drawn)).split()], cwd=root, check=True, timeout=120)
            new = drawn.read_text(encoding="utf-8")
        check(new == kept, f"{name} is not what its command draws: draw it again")
    print(f"{len(commands)} figures are what their commands draw")


main()
