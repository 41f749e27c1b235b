#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells on a terminal of their own, where they are installed, and manual pages as man(1) shows them.

usage: completion_test.py PROGRAM ROOT"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

from commands_of import PROGRAM, Command, run
from terminals import skip_without_terminals
from time_limit import LIMIT

COMMANDS = list(Command().all())


class Shell:
    """An interactive shell in a folder of its own, with the completion of the program loaded."""

    START = {"bash": (["bash", "--norc", "--noprofile", "-i"], "source '{script}'; bind 'set enable-bracketed-paste off'"),
             "zsh": (["zsh", "-f", "-i"],
                     "fpath=('{folder}' $fpath); autoload -Uz compinit; compinit -u -D; bindkey -e; unsetopt zle_bracketed_paste 2>/dev/null"),
             "fish": (["fish", "--no-config", "-i"], "source '{script}'")}
    SCRIPT = {"bash": "ulpscope", "zsh": "_ulpscope", "fish": "ulpscope.fish"}

    def __init__(self, name, folder):
        script = os.path.join(folder, self.SCRIPT[name])
        pathlib.Path(script).write_text(run("completion", name)[1])
        command, setup = self.START[name]
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            path = os.pathsep.join([os.path.dirname(PROGRAM), os.environ["PATH"]])
            os.execvpe(command[0], command, {"PATH": path, "HOME": folder, "TERM": "dumb" if name != "fish" else "xterm", "PS1": "",
                                             "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder})
        self.number = 0
        self.send(setup.format(script=script, folder=folder) + "\n")
        self.answer("true")

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, pattern, seconds=20):
        shown, end = "", time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                shown += os.read(self.terminal, 65536).decode(errors="replace")
            found = re.search(pattern, shown)
            if found:
                return found
        raise AssertionError(f"{pattern} does not appear in {shown!r}")

    def answer(self, line, keys=""):
        """What the line is after the keys: it is made the argument of an echo."""
        self.number += 1
        self.send(line + keys)
        if keys:
            time.sleep(0.3)
        self.send(f"\x01echo \"A\"{self.number}: \x05 :\"Z\"\n")
        return self.wait_for(rf"A{self.number}: ([^\r\n]*?) *:Z").group(1)

    def complete(self, line):
        return self.answer(line, "\t").strip()

    def close(self):
        os.close(self.terminal)
        os.kill(self.process, 9)
        os.waitpid(self.process, 0)


class Completion:
    CASES = {
        "ulpscope cens": "ulpscope census",
        "ulpscope verify layer": "ulpscope verify layer_norm",
        "ulpscope ledger record some.ledger mat": "ulpscope ledger record some.ledger matmul",
        "ulpscope census some.npy --random": "ulpscope census some.npy --random-bits",
        "ulpscope census some.npy --rounding toward": "ulpscope census some.npy --rounding toward_zero",
        "ulpscope census some.npy --rounding=toward": "ulpscope census some.npy --rounding=toward_zero",
        "ulpscope census some.npy --policy sat": "ulpscope census some.npy --policy saturating",
        "ulpscope census some.npy --to fp16,bfloat": "ulpscope census some.npy --to fp16,bfloat16",
        "ulpscope census some.npy --to=fp16,bfloat": "ulpscope census some.npy --to=fp16,bfloat16",
        "ulpscope census some.npy --scale mx:fl": "ulpscope census some.npy --scale mx:floor",
        "ulpscope matmul --engine amx_b": "ulpscope matmul --engine amx_bf16",
        "ulpscope verify sum some.npy --axis al": "ulpscope verify sum some.npy --axis all",
        "ulpscope formats bfloat": "ulpscope formats bfloat16",
        "ulpscope generate matmul cancel": "ulpscope generate matmul cancellation",
        "ulpscope completion fi": "ulpscope completion fish",
        "ulpscope info tens": "ulpscope info tensor.npy",
        "ulpscope census some.npy -o fold": "ulpscope census some.npy -o folder",  # and not the file
        "ulpscope census some.npy --seed tens": "ulpscope census some.npy --seed tens",  # a number is no file
    }

    def test_words_are_completed(self):
        if shutil.which(self.SHELL) is None:
            self.skipTest(self.SHELL + " is not installed")
        skip_without_terminals()
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "tensor.npy").touch()
            pathlib.Path(folder, "folder").mkdir()
            pathlib.Path(folder, "folded.txt").touch()
            shell = Shell(self.SHELL, folder)
            try:
                for line, wanted in self.CASES.items():
                    with self.subTest(line):
                        self.assertEqual(shell.complete(line).rstrip("/"), wanted)  # zsh takes it away again
            finally:
                shell.close()


class Bash(Completion, unittest.TestCase):
    SHELL = "bash"

    def test_every_command_and_option_is_there(self):
        script = run("completion", "bash")[1]
        for command in COMMANDS:
            options = re.search(rf"'{' '.join(['ulpscope', *command.path])}'\)\n +options='([^']*)' commands='([^']*)'", script)
            self.assertEqual(set(options.group(1).split()), set(command.options), command.path)
            self.assertEqual(options.group(2).split(), [below.path[-1] for below in command.below])


class Zsh(Completion, unittest.TestCase):
    SHELL = "zsh"


class Fish(Completion, unittest.TestCase):
    SHELL = "fish"


class Manual(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = self.scratch.name + "/man1"
        self.assertEqual(run("man", "-o", self.folder), (0, "", ""))

    def test_there_is_a_page_for_every_command(self):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted("-".join(["ulpscope", *c.path]) + ".1" for c in COMMANDS))
        self.assertEqual(pathlib.Path(self.folder, "ulpscope-verify-matmul.1").read_text(), run("man", "verify", "matmul")[1])

    def render(self, tool, *words):
        if shutil.which(tool) is None:
            self.skipTest(tool + " is not installed")
        done = subprocess.run([tool, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""}, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)

    def test_groff_has_nothing_to_warn_of(self):
        for page in sorted(os.listdir(self.folder)):
            self.render("groff", "-man", "-ww", "-z", "-Tutf8", os.path.join(self.folder, page))

    def test_man_shows_each_option_and_the_example(self):
        for command in COMMANDS:
            page = os.path.join(self.folder, "-".join(["ulpscope", *command.path]) + ".1")
            shown = self.render("man", "--warnings", "-E", "UTF-8", "-l", page)
            flat = " ".join(shown.split())
            for name in command.options:
                self.assertIn(name, flat)
            for line in command.example.splitlines():
                self.assertIn(" ".join(line.split()), flat.replace("\\ ", ""))


unittest.main()
