# SPDX-License-Identifier: Apache-2.0
"""What a change reaches: the files to compile for it, and the fuzz targets whose readers it is part of."""
import os
import pathlib
import re
import subprocess

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
HEADERS = (".hpp", ".h", ".cuh")
# Readers for which every room is built, four times what the others need.
NEED_ALL = ("layouts", "parts", "plan", "saved_run", "study", "times", "train")


def changed(root, since):
    """Names of files that differ from a commit and still exist, from the root: the last changed first."""
    def names(*words):
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True, timeout=60)
        return list(filter(None, done.stdout.split("\n")))
    place = {}
    for name in names("log", "--name-only", "--format=", f"{since}..HEAD"):
        place.setdefault(name, len(place))
    return sorted(names("diff", "--name-only", "--diff-filter=d", since, "--"), key=lambda name: place.get(name, -1))


def included_by(root, sources):
    """header -> files that include it. Of `sources` and of all that they include."""
    found, seen, left = {}, set(), list(sources)
    while left:
        name = left.pop()
        if name in seen or not (root / name).is_file():
            continue
        seen.add(name)
        for header in INCLUDE.findall((root / name).read_text(errors="replace")):
            found.setdefault(header, []).append(name)
            left.append(header)
    return found


def to_compile(root, sources, names):
    """Of `sources` those that are among `names`, and for every header there one by which it is seen: that of its own name, or else
    the first that includes it, directly rather than by way of others. In the order of `names`, tests and benchmarks last."""
    known, users, chosen = set(sources), None, []
    for name in names:
        if name in known:
            chosen.append(name)
        elif name.endswith(HEADERS):
            users = included_by(root, sources) if users is None else users
            chosen += first_user(users, known, name)
    return sorted(dict.fromkeys(chosen), key=lambda name: name.startswith(("tests/", "bench/")))


def first_user(users, known, header):
    stem, level, seen = os.path.splitext(header)[0], [header], {header}
    while level:
        level = [user for name in level for user in sorted(users.get(name, [])) if not (user in seen or seen.add(user))]
        found = [user for user in level if user in known]
        if found:
            return [stem + ".cpp"] if stem + ".cpp" in found else found[:1]
    return []


def readers(root):
    """reader -> what it is made of."""
    lines = (pathlib.Path(root) / "tests/fuzz/readers.txt").read_text().splitlines()
    return {words[0]: words[1:] for words in map(str.split, lines) if words and words[0] != "#"}


def to_fuzz(root, names):
    """The readers that a change to files of these names is part of: by readers.txt, or by their corpora and dictionaries."""
    names = [str(name) for name in names]
    if any(name.startswith("tests/fuzz/") and name.endswith(("pp", "CMakeLists.txt")) for name in names):
        return sorted(readers(root))
    return sorted(reader for reader, parts in readers(root).items() if any(
        is_of(name, part) or name.startswith((f"tests/fuzz/corpus/{reader}/", f"tests/fuzz/dictionaries/{reader}."))
        for name in names for part in parts))


def is_of(name, part):
    """Whether a file is a part, its header or its source, or in it where that is a folder."""
    return os.path.splitext(name)[0] == os.path.splitext(part)[0] or (part.endswith("/") and name.startswith(part))
