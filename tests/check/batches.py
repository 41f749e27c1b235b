# SPDX-License-Identifier: Apache-2.0
"""Sources that a unity build compiles as one file, for a tool that looks at one file: what they all include is read once. They stand
in that file, rather than being included by it: clang-tidy analyses paths of what lies in the main file alone."""
import bisect
import json
import pathlib
import re

SIZE = 16  # sources of a batch
INCLUDED = re.compile(r'^#include "(/[^"]+)"', re.MULTILINE)


class Batch:
    """Sources (names from the root) and the file that holds them, which has a compile command."""

    def __init__(self, root, sources, file, command):
        self.sources, self.file, self.starts, text = sources, file, [], []
        for name in sources:
            self.starts.append(len(text))
            text += [*(root / name).read_text().split("\n"), ""]
        if file != root / sources[0]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(text))
        words = command["command"].split(" ")
        self.command = {**command, "file": str(file), "command": " ".join(str(file) if word == command["file"] else word for word in words)}

    def named(self, said):
        """What a tool said, by the names and lines of the sources."""
        def place(found):
            line = int(found[1]) - 1
            at = bisect.bisect_right(self.starts, line) - 1
            return f"{self.sources[at]}:{line - self.starts[at] + 1}:"
        return said if len(self.sources) == 1 else re.sub(re.escape(str(self.file)) + r":(\d+):", place, said)


def commands(root, build):
    """source, from the root -> the command that compiles it, alone or in a batch; the first of several."""
    known = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(command["directory"], command["file"])
        files = [file] if file.suffix == ".cpp" else map(pathlib.Path, INCLUDED.findall(file.read_text())) if "/Unity/" in str(file) else []
        for source in files:
            if source.is_relative_to(root) and source.suffix == ".cpp" and not source.is_relative_to(root / "build"):
                known.setdefault(str(source.relative_to(root)), command)
    return known


def batches(root, known, chosen, folder):
    """`chosen` in batches, in their order; sources of one command stand together, and their files in `folder`."""
    groups = {}
    for name in chosen:
        groups.setdefault(id(known[name]), []).append(name)
    made = []
    for names in groups.values():
        for first in range(0, len(names), SIZE):
            some = names[first:first + SIZE]
            made.append(Batch(root, some, folder / f"{len(made)}.cpp" if len(some) > 1 else root / some[0], known[some[0]]))
    return made
