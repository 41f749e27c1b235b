# SPDX-License-Identifier: Apache-2.0
"""What `--help` says of every command, and a folder that examples run in: for the tests beside this file."""
import contextlib
import os
import re
import subprocess
import sys
import tempfile

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop(1))
ROOT = os.path.abspath(sys.argv.pop(1))


def run(*words, cwd=None, env=None):
    done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, cwd=cwd, env={**os.environ, "COLUMNS": "4000", **(env or {})}, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


class Command:
    """One command's help, taken apart."""

    def __init__(self, *path):
        code, self.help, err = run(*path, "--help")
        assert (code, err) == (0, ""), (path, code, err)
        self.path = path
        self.sections = {heading: re.findall(r"^  (\S.*)$", lines, re.M)
                         for heading, lines in re.findall(r"^([a-z][a-z ]*):\n((?:  .*\n)+)", self.help, re.M)}
        self.options = {}  # name: what it takes
        for line in self.sections.get("options", []):
            for name, value in re.findall(r"(?:^|, )(--?[a-z][a-z0-9-]*)(?: (?! )(\S+))?", line.split("  ")[0]):
                self.options[name] = value
        example = self.help.rpartition("\nExample: ")[2].rstrip("\n") if "\nExample: " in self.help else ""
        self.example = re.sub(r"\\\n *", "", example)
        groups = [heading for heading in self.sections if heading not in ("inputs", "options", "exit codes")]
        self.below = [Command(*path, line.split()[0]) for heading in groups for line in self.sections[heading]]

    def all(self):
        yield self
        for command in self.below:
            yield from command.all()


@contextlib.contextmanager
def scratch():
    """A folder with links to what lies in the root of the tree."""
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(ROOT):
            if name not in ("out", "build", ".git"):
                os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        yield folder
