#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What leads a reader through the documents holds: docs/README.md lists every document once, links lead to what is there, the README
is short, its questions have short answers, its table has every command of the program, and words of tables are explained.

usage: index_test.py ROOT ULPSCOPE
"""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
README_LINES = 130
ANSWER_LINES = 6


def check(condition, message):
    if not condition:
        raise SystemExit(message)


def listed(index):
    """The documents that the index has a line for, in its order."""
    return re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", index.read_text(encoding="utf-8"), re.MULTILINE)


def index_is_complete(docs):
    names = listed(docs / "README.md")
    there = {path.name for path in docs.glob("*.md")} - {"README.md"}
    there |= {path.relative_to(docs).as_posix() for path in docs.glob("*/index.html")}
    check(there - set(names) == set(), f"docs/README.md lacks {sorted(there - set(names))}")
    twice = sorted({name for name in names if names.count(name) > 1})
    check(not twice, f"docs/README.md lists {twice} twice")
    return len(names)


def links_lead_somewhere(root, path):
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    links = [target for target, _ in LINK.findall(text) if "://" not in target and not target.startswith("mailto:")]
    for target in links:
        check((path.parent / target).exists(), f"{path.relative_to(root)}: no {target}")
    return len(links)


def readme_is_short(readme, program):
    text = readme.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    check(lines <= README_LINES, f"README.md has {lines} lines")
    questions = text[text.index("## Three questions"):text.index("## Install")]
    answers = re.findall(r"^```console\n(.*?)^```$", questions, re.MULTILINE | re.DOTALL)
    check(len(answers) == 3, f"README.md: {len(answers)} answers")
    for answer in answers:
        printed = [line for line in answer.splitlines() if not line.startswith("$ ")]
        check(0 < len(printed) <= ANSWER_LINES, f"README.md: an answer of {len(printed)} lines")
    table = re.findall(r"^\| (`.*?`) \|", text[text.index("## Commands"):], re.MULTILINE)
    shown = sorted(name for row in table for name in re.findall(r"`(\w+)`", row))
    overview = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout.split("\n\n")[1]
    commands = sorted(word for line in overview.splitlines() for word in re.split(r"  +", line.strip(), maxsplit=1)[1].split())
    check(shown == commands, f"README.md has the commands {shown}, the program {commands}")


def evidence_is_explained(root):
    """Tables have the column `evidence`: every word that it can hold stands where it is explained."""
    words = re.search(r"enum class Evidence[^{]*\{(.*?)\};", (root / "emu/engines.hpp").read_text(encoding="utf-8"), re.DOTALL)
    for word in re.findall(r"^\s*(\w+),", words[1], re.MULTILINE):
        for name in ("accumulation.md", "matmul.md"):
            check(f"`{word}`" in (root / "docs" / name).read_text(encoding="utf-8"), f"docs/{name} lacks `{word}` (evidence)")


def explained(root, program):
    """Every class, column and rule of scales that the program prints stands in a table of the document that defines them."""
    text = (root / "docs/numerics.md").read_text(encoding="utf-8")
    cells = [set(re.findall(r"`([^`]+)`", line.split(" | ")[0])) for line in text.splitlines() if line.startswith("| `")]
    there = set().union(*cells)

    def header(*words):
        out = subprocess.run([program, *words, "--csv"], capture_output=True, text=True, timeout=60).stdout
        return out.splitlines()[0].split(",")

    census = header("census", str(root / "examples/models/block.onnx"), "--inputs", "hidden=normal:0,1:1x8x16")
    check("node" in census, f"a census of a model has the columns {census}")
    known = {"tensor", "format", "rounding", "policy", "scale", "count", "ref", "out", "dtype"}  # what was asked, and how much of it
    diff = header("diff", "normal:0,1:4", "normal:0,2:4")
    check(set(census) | set(diff) <= there | known, f"docs/numerics.md lacks {sorted((set(census) | set(diff)) - there - known)}")
    wrong = subprocess.run([program, "census", "normal:0,1:4", "--scale", "?"], capture_output=True, text=True, timeout=60).stderr
    rules = set(wrong.strip().split(" one of ")[1].split(", "))
    check(rules <= there, f"docs/numerics.md lacks the rules {sorted(rules - there)}")


def main():
    root = pathlib.Path(sys.argv[1])
    documents = index_is_complete(root / "docs")
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    links = sum(links_lead_somewhere(root, page) for page in pages)
    readme_is_short(root / "README.md", sys.argv[2])
    evidence_is_explained(root)
    explained(root, sys.argv[2])
    print(f"{documents} documents, {links} links")


main()
