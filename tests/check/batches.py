# SPDX-License-Identifier: Apache-2.0
"""Sources that can be compiled as one file, for a tool that looks at one file: what they all include is read once. They stand in that
file, rather than being included by it: clang-tidy analyses paths of what lies in the main file alone."""
import bisect
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess

SIZE = 16  # sources of a batch
INCLUDED = re.compile(r'^#include "(/[^"]+)"', re.MULTILINE)
ERROR = re.compile(r"^(\S+?):\d+:\d+: (?:fatal )?error:", re.MULTILINE)


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
        words = [str(file) if word == command["file"] else word for word in command["command"].split(" ")]
        words[1:1] = [f"-iquote{(root / sources[0]).parent}"]
        self.command = {**command, "file": str(file), "command": " ".join(words)}

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


def batches(root, known, chosen, folder, jobs):
    """`chosen` in batches, in their order: what one command compiles, and of the rest what lies in one folder, is compiled alike, and
    can be compiled as one. Their files are made in `folder`."""
    groups = {}
    for name in chosen:
        command = known[name]
        if command["file"] == str(root / name):
            words = [word for word in command["command"].split(" ") if word != command["file"] and not word.endswith(".o")]
            # Highway compiles a source several times, and so by itself.
            alone = name if "HWY_TARGET_INCLUDE" in (root / name).read_text() else pathlib.Path(name).parent
            groups.setdefault((alone, *words), []).append(name)
        else:
            groups.setdefault(id(command), []).append(name)
    pieces = [names[first:first + SIZE] for names in groups.values() for first in range(0, len(names), SIZE)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        apart = pool.map(lambda at: list(together(root, known, pieces[at], folder / f"{at}")), range(len(pieces)))
        return [batch for some in apart for batch in some]


def together(root, known, names, stem):
    """`names` in batches that compile: a source that has an error beside those before it comes into a later one."""
    count = 0
    while names:
        some, rest = names, []
        while True:
            batch = Batch(root, some, root / some[0] if len(some) == 1 else stem.with_name(f"{stem.name}_{count}.cpp"), known[some[0]])
            wrong = errors(batch) if len(some) > 1 and known[some[0]]["file"] == str(root / some[0]) else set()
            if not wrong:
                break
            moved = [name for name in some[1:] if name in wrong] or some[1:]
            some, rest = [name for name in some if name not in moved], sorted([*moved, *rest], key=names.index)
        yield batch
        names, count = rest, count + 1


def errors(batch):
    """The sources of a batch in which a compiler finds an error, or `""` where it stands in none."""
    words = shlex.split(batch.command["command"])
    words = [word for word in words if word not in ("-c", "-o") and not word.endswith(".o")] + ["-fsyntax-only", "-w", "-fmax-errors=0"]
    done = subprocess.run(words, cwd=batch.command["directory"], capture_output=True, text=True, timeout=600)
    found = set(ERROR.findall(batch.named(done.stderr)))
    return found & set(batch.sources) or ({""} if done.returncode else set())
