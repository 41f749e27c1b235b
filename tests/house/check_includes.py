#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the include lines of a tree to the table in docs/architecture.md, and its sources to a licence line.

usage: check_includes.py ROOT
"""
import pathlib
import re
import sys

ROW = re.compile(r"^\| `(\w+)/` \|.*\|([^|]*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
SOURCES = {".hpp", ".cpp", ".cu", ".cuh"}
LICENCE = "SPDX-License-Identifier: Apache-2.0"


def problems(root):
    allowed = {room: re.findall(r"`([^`]+)`", cell) for room, cell in ROW.findall((root / "docs/architecture.md").read_text())}
    if len(allowed) < 6:
        yield "docs/architecture.md: the table of rooms was not found"
    for room, targets in allowed.items():
        for path in sorted(p for p in (root / room).rglob("*") if p.suffix in SOURCES):
            for quote, target in INCLUDE.findall(path.read_text()):
                if quote == '"' and not any(target == t or (t.endswith("/") and target.startswith(t)) for t in targets):
                    yield f"{path.relative_to(root)}: includes {target}, which {room}/ may not"
                if quote == "<" and room == "emu" and ("/" in target or "." in target):
                    yield f"{path.relative_to(root)}: includes <{target}>, which is not the standard library's"
    for room in [*allowed, "tests", "examples"]:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in SOURCES | {".py"} and LICENCE not in path.read_text()[:200]:
                yield f"{path.relative_to(root)}: has no licence line"


def main():
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "every include is allowed")
    sys.exit(1 if found else 0)


main()
