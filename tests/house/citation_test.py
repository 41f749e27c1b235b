#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CITATION.cff has the version of the project, its licence, and the keys that the Citation File Format 1.2.0 requires and no others.

Where cffconvert is installed, it validates the file by the schema itself. usage: citation_test.py ROOT
"""
import pathlib
import re
import shutil
import subprocess
import sys

# https://github.com/citation-file-format/citation-file-format, 1.2.0, schema.json: "required" and "properties".
REQUIRED = {"cff-version", "message", "title", "authors"}
ALLOWED = REQUIRED | {"abstract", "commit", "contact", "date-released", "doi", "identifiers", "keywords", "license", "license-url",
                      "preferred-citation", "references", "repository", "repository-artifact", "repository-code", "type", "url", "version"}


def check(condition, message):
    if not condition:
        raise SystemExit(f"CITATION.cff: {message}")


def main():
    root = pathlib.Path(sys.argv[1])
    text = (root / "CITATION.cff").read_text(encoding="utf-8")
    entries = re.findall(r"^([a-z-]+):[ ]*(.*)$", text, re.MULTILINE)
    keys = [key for key, _ in entries]
    check(len(keys) == len(set(keys)), f"a key stands twice: {keys}")
    check(REQUIRED <= set(keys) <= ALLOWED, f"lacks {sorted(REQUIRED - set(keys))}, has {sorted(set(keys) - ALLOWED)}")
    said = dict(entries)
    version = re.search(r"project\(ulpscope VERSION (\S+)", (root / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
    check(said["version"] == version, f"version {said['version']}, CMakeLists.txt has {version}")
    check(said["cff-version"] == "1.2.0", f"cff-version {said['cff-version']}")
    check(said["type"] in ("software", "dataset"), f"type {said['type']}")
    licence = (root / "LICENSE").read_text(encoding="utf-8")
    check(said["license"] == "Apache-2.0" and "Apache License" in licence, f"license {said['license']}")
    if shutil.which("cffconvert"):
        subprocess.run(["cffconvert", "--validate", "-i", str(root / "CITATION.cff")], check=True, timeout=120)
    print(f"CITATION.cff is of version {version}")


main()
