#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every ```console block of Markdown files and compares what it prints with what the block shows.

A block holds commands, each a line starting with `$ `, followed by the lines it prints (standard output and standard error
together). A line of `...` stands for any lines. Two comments make other parts of a file checked as well: after
`<!-- made by: COMMAND -->` stands what COMMAND prints, up to an empty line; after `<!-- from: FILE -->` stands a code block whose
lines follow each other in FILE, whatever their indentation there.
usage: check_blocks.py [--update] --bin DIR... --root DIR FILE...
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import textwrap

FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MADE = re.compile(r"^(<!-- made by: ([^\n]*) -->\n\n)(.*?)(?=\n\n|\n?\Z)", re.MULTILINE | re.DOTALL)
FROM = re.compile(r"^<!-- from: ([^\n]*) -->\n+```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def split_commands(block):
    """[(command, expected lines)] of one block."""
    commands = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif commands:
            commands[-1][1].append(line)
        else:
            raise SystemExit(f"a console block starts with output: {line!r}")
    return commands


def matches(expected, actual):
    """Whether `actual` lines are the `expected` ones, `...` standing for any number of lines."""
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and expected[0] == actual[0] and matches(expected[1:], actual[1:])


def run(command, binaries, root):
    environment = dict(os.environ, PATH=os.pathsep.join([*binaries, os.environ["PATH"]]), COLUMNS="110", LC_ALL="C.UTF-8")
    done = subprocess.run(["bash", "-c", command], cwd=root, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=300 * (20 if os.environ.get("ULPSCOPE_EMULATED") else 1))
    return [line.rstrip() for line in done.stdout.decode().splitlines()]


def quoted(text, root):
    """How many quotations there are, and the sentences that say which of them are not in their file."""
    found, wrong = FROM.findall(text), []
    for name, quotation in found:
        with open(os.path.join(root, name), encoding="utf-8") as file:
            lines = textwrap.dedent(quotation).splitlines()
            source = file.read().splitlines()
        starts = range(len(source) - len(lines) + 1)
        if not any(textwrap.dedent("\n".join(source[i:i + len(lines)])).splitlines() == lines for i in starts):
            wrong.append(f"{name} does not hold\n{quotation}")
    return len(found), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true", help="write true output into the files instead")
    parser.add_argument("--bin", required=True, action="append", help="a folder of programs")
    parser.add_argument("--compiler", help="what the documents call c++")
    parser.add_argument("--root", required=True, help="folder whose files the commands read")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    failures = checked = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = os.path.abspath(arguments.root)
        for name in os.listdir(root):  # commands write into the scratch folder, beside links to what they read
            if name not in ("out", "build", ".git"):
                os.symlink(os.path.join(root, name), os.path.join(scratch, name))
        if arguments.compiler:
            os.mkdir(os.path.join(scratch, ".compiler"))
            os.symlink(arguments.compiler, os.path.join(scratch, ".compiler", "c++"))
            arguments.bin.append(os.path.join(scratch, ".compiler"))
        for path in arguments.files:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            binaries = [os.path.abspath(folder) for folder in arguments.bin]
            quotations, wrong = quoted(text, root)
            checked += quotations
            failures += len(wrong)
            print("".join(f"{path}: {sentence}\n" for sentence in wrong), end="")
            for start, command, shown in MADE.findall(text):
                actual = "\n".join(run(command, binaries, scratch))
                checked += 1
                if actual != shown:
                    failures += 1
                    print(f"{path}: made by: {command}\n--- shown\n{shown}\n--- printed\n{actual}")
                if arguments.update:
                    text = text.replace(start + shown, start + actual)
            for block in FENCE.findall(text):
                rebuilt = ""
                for command, expected in split_commands(block):
                    actual = run(command, binaries, scratch)
                    checked += 1
                    if not matches([line.rstrip() for line in expected], actual):
                        failures += 1
                        print(f"{path}: $ {command}\n--- shown\n" + "\n".join(expected) + "\n--- printed\n" + "\n".join(actual))
                        expected = actual
                    rebuilt += "\n".join([f"$ {command}"] + expected) + "\n"
                if arguments.update:
                    text = text.replace(block, rebuilt)
            if arguments.update:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
    print(f"{checked} commands and quotations, {failures} differ")
    sys.exit(1 if (failures and not arguments.update) or checked == 0 else 0)


main()
