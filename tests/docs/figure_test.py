#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each figure of the documents is what its command draws: the README says `ulpscope ... --svg docs/NAME.svg` under the figure.

The gnuplot that drew a figure is named in the document's test below; another version may place a line a hundredth of a point
elsewhere, so there the figure's words and its number of curves are compared, not its bytes.
usage: figure_test.py ROOT ULPSCOPE    exit code 4: gnuplot is not there
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COMMAND = re.compile(r"`ulpscope ([^`]* --svg (docs/\S+\.svg))`")
DRAWN_BY = "gnuplot 5.4"


def check(condition, message):
    if not condition:
        raise SystemExit(message)


def content(svg):
    """What a figure says and shows, without places: its texts in order, and how many lines of each colour it has."""
    strokes = re.findall(r'stroke="(#\w+)"', svg)
    return re.findall(r"<text>(.*?)</text>", svg), {colour: strokes.count(colour) for colour in strokes}


def main():
    root, program = pathlib.Path(sys.argv[1]), os.path.abspath(sys.argv[2])
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    commands = COMMAND.findall(readme)
    check(commands, "README.md: no command that draws a figure")
    figures = {f"docs/{path.name}" for path in (root / "docs").glob("*.svg")}
    check(figures == {name for _, name in commands}, f"figures {figures}, commands for {[name for _, name in commands]}")
    if shutil.which("gnuplot") is None:
        print("skipped: gnuplot is not installed")
        raise SystemExit(4)
    version = subprocess.run(["gnuplot", "--version"], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    for words, name in commands:
        check(f"]({name})" in readme, f"README.md does not show {name}")
        kept = (root / name).read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            drawn = pathlib.Path(folder) / "figure.svg"
            subprocess.run([program, *words.replace(name, str(drawn)).split()], cwd=root, check=True, timeout=120)
            new = drawn.read_text(encoding="utf-8")
        check(content(new)[0], f"{name}: a figure without words")
        check(content(new) == content(kept), f"{name}: {content(kept)}\nnow {content(new)}")
        if version.startswith(DRAWN_BY):
            check(new == kept, f"{name} is not what its command draws: draw it again")
    print(f"{len(commands)} figures are what their commands draw, by {version}")


main()
