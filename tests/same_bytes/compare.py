#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of the program, byte for byte: standard output, standard error, exit code and every file of the commands in commands.py.

usage: compare.py [--every N] [--only WORD] PROGRAM PROGRAM     from the root of the tree; exit code 1 where they differ

`--every N` runs each N-th command, `--only WORD` those of which WORD is one. What names a machine or a build (the compiler, the
processor, the commit) is put apart first, by the values that each program's own manifest gives.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

from commands import Commands, prepared

ROOT = pathlib.Path(__file__).resolve().parents[2]
LENT = ("studies", "examples", "tests")  # folders that commands read
SECONDS = 1800  # of one command, in an emulator


class Build:
    """One of the two programs, and what is its own."""

    def __init__(self, program):
        self.program = str(pathlib.Path(program).resolve())
        self.own = []
        _, files = self.outcome(["census", "normal:0,1:9", "-o", "report"])
        manifest = json.loads(files["report/manifest.json"])
        self.own = [(manifest[key].encode(), b"<" + key.encode() + b">") for key in ("commit", "compiler", "cpu") if manifest[key]]

    def outcome(self, words):
        """What the command says and leaves: (what is said by name, files by name)."""
        with tempfile.TemporaryDirectory() as folder:
            for name in LENT:
                os.symlink(ROOT / name, os.path.join(folder, name))
            for name, data in prepared().items():
                pathlib.Path(folder, name).write_bytes(data)
            done = subprocess.run([self.program, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
                                  env={**os.environ, "COLUMNS": "120"})
            said = {"exit code": str(done.returncode).encode(), "output": self.apart(done.stdout), "errors": self.apart(done.stderr)}
            files = {}
            for path in sorted(pathlib.Path(folder).rglob("*")):
                if path.is_file() and not path.relative_to(folder).parts[0] in LENT:
                    files[str(path.relative_to(folder))] = self.apart(path.read_bytes())
            return said, self.unhashed(files)

    def apart(self, data):
        for mine, name in self.own:
            data = data.replace(mine, name)
        return data

    def unhashed(self, files):
        """A manifest without the hash of its page, which names the build; the page is compared itself."""
        for name, data in files.items():
            if self.own and name.endswith("manifest.json"):
                manifest = json.loads(data)
                if "index.html" in manifest.get("files", {}):
                    manifest["files"]["index.html"] = ""
                files[name] = json.dumps(manifest, indent=1).encode()
        return files


def difference(ours, theirs):
    """What differs first, in words; nothing where all is the same."""
    for part, other in zip(ours, theirs):
        if part.keys() != other.keys():
            return f"files {sorted(part.keys() ^ other.keys())}"
        for name in part:
            if part[name] != other[name]:
                lines = zip(part[name].split(b"\n"), other[name].split(b"\n"))
                at, pair = next(((i, p) for i, p in enumerate(lines) if p[0] != p[1]), (0, (part[name], other[name])))
                return f"{name}, line {at + 1}:\n    {pair[0][:200]!r}\n    {pair[1][:200]!r}"
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("  ")[0])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("programs", nargs=2)
    options = parser.parse_args()
    builds = [Build(program) for program in options.programs]
    listed = Commands(builds[0].program)
    mistakes = list(listed.mistakes())
    commands = [words for words in [*listed.answered(), *mistakes] if not options.only or options.only in words][::options.every]

    def compare(words):
        ours, theirs = (build.outcome(words) for build in builds)
        code, line = ours[0]["exit code"], ours[0]["errors"].decode(errors="replace").strip()
        refused = code not in (b"0", b"1") and words not in mistakes
        return words, f"exit code {code.decode()}: {line}" if refused else difference(ours, theirs)

    differing = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for words, found in pool.map(compare, commands):
            if found:
                differing += 1
                print(f"{shlex.join(words)}: {found}", flush=True)
    print(f"same_bytes: {len(commands)} commands, {differing} differ")
    return 1 if differing or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
