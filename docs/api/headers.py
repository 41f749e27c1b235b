#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies the installed headers for Doxygen. Lines keep their numbers.

usage: headers.py ROOT DESTINATION PRIVATE ROOM...    PRIVATE: files and folders that are not installed, `*-inl.hpp;gpu/cuda`

The comment that opens a file becomes the file's documentation. A comment at several names of one declaration becomes that of each,
and one above a function that of the overloads below it, up to an empty line. Defaulted comparisons are left out: they compare every
member. So are specialisations of other libraries' templates, whose members mean what those libraries say.
"""
import fnmatch
import pathlib
import re
import shutil
import sys

SEVERAL = re.compile(r"^(\s+)((?:static |constexpr |inline |mutable )*[\w:]+(?:<[^;={}()]*>)?[*&]?) "
                     r"(\w+[^;]*?,[^;]*);(?:\s*///< (.*))?$")
SPECIALISATION = re.compile(r"^(template <[^\n]*>\n)(struct|class) (std|Eigen|fmt|Catch)::.*?^};$", re.MULTILINE | re.DOTALL)
DEFAULTED = re.compile(r"^\s*(friend )?.*operator(==|<=>)\(.*\) (const )?= default;$")


def declarators(text):
    """`a = {}, b = x<1, 2>` at the commas between names."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "{[<(") - (character in "}]>)")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def each_documented(found, comment, above):
    """A line that SEVERAL found, as a declaration for each name; the first keeps a comment that stands above it."""
    indent, type_name, names = found.groups()[:3]
    names = declarators(names)
    if not all(re.match(r"\w+( = .*|\[.*|\{.*)?$", name) for name in names):
        return found.group()
    documented = [f"{type_name} {name}; /**< {comment} */" for name in names]
    return indent + " ".join([f"{type_name} {names[0]};", *documented[1:]] if above else documented)


def with_each_documented(line):
    found = SEVERAL.match(line)
    return each_documented(found, found.group(4), False) if found and found.group(4) else line


def function_name(line):
    """Of the function that a line declares, if it does."""
    found = re.match(r"[^={(]*?(operator[^\w\s(]+|\w+)\(", line)
    return found and found.group(1)


def with_shared_comments(lines):
    """Overloads that follow a function with a comment, and have none, get the same."""
    collecting, comments = [], {}  # comments: of the functions since the last empty line, by name
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith("///") and not text.startswith("///<"):
            collecting += [text[3:].strip()] if text not in ("///@{", "///@}") else []
            continue
        declaration = lines[number + 1] if text.startswith("template") and number + 1 < len(lines) else line
        declared = function_name(declaration.strip())
        if collecting:
            comment, collecting = " ".join(collecting), []
            if (found := SEVERAL.match(line)) and not found.group(4):
                lines[number] = each_documented(found, comment, True)
            if declared:
                comments[declared] = comment
        elif declared in comments and lines[number - 1].split("//")[0].rstrip().endswith((";", "}")):
            lines[number] = line[:len(line) - len(line.lstrip())] + f"/** {comments[declared]} */ {text}"
        elif not text:
            comments = {}
    return lines


def documented(lines):
    opening = 0
    while opening < len(lines) and lines[opening].startswith("//"):
        lines[opening] = "/// @file" if opening == 0 else "/" + lines[opening].replace("<", "\\<")
        opening += 1
    text = SPECIALISATION.sub(lambda found: "\n" * found.group().count("\n"), "\n".join(lines))
    return ["" if DEFAULTED.match(line) else with_each_documented(line) for line in with_shared_comments(text.splitlines())]


def main():
    root, destination = map(pathlib.Path, sys.argv[1:3])
    shutil.rmtree(destination, ignore_errors=True)
    private = sys.argv[3].split(";")
    for room in sys.argv[4:]:
        for path in sorted((root / room).rglob("*.hpp")):
            name = path.relative_to(root).as_posix()
            if any(fnmatch.fnmatch(path.name, pattern) or name.startswith(pattern + "/") for pattern in private):
                continue
            copy = destination / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text("\n".join(documented(path.read_text(encoding="utf-8").splitlines())) + "\n", encoding="utf-8")


main()
