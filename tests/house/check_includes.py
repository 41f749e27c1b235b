#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the include lines of a tree to the table in docs/architecture.md.

usage: check_includes.py ROOT

A row of the table names a room, and in its last cell what the room's files may include: a room (`emu/`) or one header
(`emu/error.hpp`). In angle brackets emu includes standard headers only, and no room includes another: names without `.` or `/`.
A row that names a file instead of a room allows that file more includes; who includes it in turn needs a row with the same.
What such rows name is for these files of the room alone.
A folder of the root that holds sources must be named in the document.
"""
import pathlib
import re
import sys

ROW = re.compile(r"^\| `(\w+)/` \|.*\|([^|]*)\|$", re.MULTILINE)
OPT_IN = re.compile(r"^\| `(\w+/[\w/-]+\.[\w.-]+)` \|.*\| `([^|]+)` \|$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
SOURCES = {".h", ".hpp", ".inl", ".cc", ".cpp", ".cu", ".cuh"}


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in SOURCES)


def may_include(quote, target, room, rooms, targets):
    if quote == '"' or target.split("/")[0] in rooms:
        return any(target == t or (t.endswith("/") and target.startswith(t)) for t in targets)
    return room != "emu" or not ("/" in target or "." in target)


def problems(root):
    document = (root / "docs/architecture.md").read_text()
    allowed = {room: re.findall(r"`([^`]+)`", cell) for room, cell in ROW.findall(document)}
    opt_in = {header: cell.split("` `") for header, cell in OPT_IN.findall(document)}
    for room in ("emu", "files", "gpu", "reports", "tensors", "requests", "recipes", "products", "studies", "training", "verify", "study_files",
                 "cli"):
        if not allowed.get(room):
            yield f"docs/architecture.md: the table has no row for {room}/"
    for room, targets in allowed.items():
        kept = {target for header, more in opt_in.items() if header.startswith(f"{room}/") for target in more}
        for path in sources(root / room):
            name = str(path.relative_to(root))
            for quote, target in INCLUDE.findall(path.read_text()):
                opted = target in opt_in.get(name, ())
                leaked = target.startswith(f"{room}/") and not set(opt_in.get(target, ())) <= set(opt_in.get(name, ()))
                allowed_here = may_include(quote, target, room, allowed, targets) and target not in kept
                if leaked or not (opted or allowed_here):
                    yield f"{name}: includes {target}, which {room}/ may not"
    for folder in sorted(p for p in root.iterdir() if p.is_dir() and p.name not in {"build", "shared"} and p.name[0] != "."):
        if f"`{folder.name}/`" not in document and sources(folder):
            yield f"{folder.name}/: docs/architecture.md does not say what this folder is"


def main():
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "every include is allowed")
    sys.exit(1 if found else 0)


main()
