#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tests/soak/kills takes for an end that it has caused, and that it says where it has ended nothing."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import random
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.append(str(HERE))
LOADER = importlib.machinery.SourceFileLoader("kills", str(HERE / "kills"))
kills = importlib.util.module_from_spec(importlib.util.spec_from_loader("kills", LOADER))
LOADER.exec_module(kills)

LONG, SHORT = 600, 0.2


class Ends(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.rounds = object.__new__(kills.Rounds)
        self.rounds.program, self.rounds.folder, self.rounds.only = "/bin/sh", pathlib.Path(scratch.name), ""
        self.rounds.temporary, self.rounds.random, self.rounds.expected = self.rounds.folder, random.Random(1), {"key": {}}

    def end(self, script, seconds):
        """A program that a signal would reach so late."""
        self.rounds.some_time = lambda key: seconds
        return self.rounds.signalled("key", ["-c", script], "out")

    def test_an_end_that_no_signal_of_ours_has_caused_is_a_fault(self):
        for script in ("kill -SEGV $$", "kill -ABRT $$", "kill -KILL $$", "kill -TERM $$", "exit 5", "exit 2", "exit 143"):
            with self.assertRaisesRegex(kills.Fault, "ends by itself with exit code .*: why"):
                self.end("echo why >&2; " + script, LONG)

    def test_so_is_another_end_than_that_of_the_signal(self):
        with self.assertRaisesRegex(kills.Fault, "exit code -11"):
            for _ in range(50):  # until it is none that cannot be caught
                self.end("trap 'kill -SEGV $$' TERM INT; while :; do sleep 0.01; done", SHORT)

    def test_an_end_by_the_signal_is_none(self):
        for _ in range(4):
            how, code = self.end("exec sleep 600", SHORT)
            self.assertEqual(code, -getattr(kills.signal, how))

    def test_nor_is_the_end_of_work(self):
        for code in (0, 1, 3):
            self.assertEqual(self.end(f"exit {code}", LONG)[1], code)

    def test_names_that_no_command_has_are_told_from_errors(self):
        self.assertEqual(self.rounds.one_of({"census": 1}.items()), ("census", 1))
        self.rounds.only = "nosuch"
        with self.assertRaises(kills.NoSuchName):
            self.rounds.one_of({"census": 1}.items())


class Main(unittest.TestCase):
    def main(self, one_round):
        rounds = mock.Mock(**{kind: one_round for kind in ("round_of_resumed", "old_or_new", "full", "inputs", "two")})
        with mock.patch.object(kills, "Rounds", lambda *_: rounds), mock.patch.object(sys, "argv", ["kills", "program", "--rounds", "7"]), \
                contextlib.redirect_stdout(io.StringIO()) as said:
            return kills.main(), said.getvalue().splitlines()[-1]

    def test_no_round_at_all_is_no_success(self):
        self.assertEqual(self.main(mock.Mock(side_effect=kills.NoSuchName)), (1, "0 rounds of seed 1: nothing was ended"))

    def test_rounds_that_were_done_are_counted(self):
        some = mock.Mock(side_effect=["", kills.NoSuchName, "", "", kills.NoSuchName, "", ""])
        self.assertEqual(self.main(some), (0, "5 rounds of seed 1: the same bytes each time"))
        self.assertEqual(self.main(mock.Mock(side_effect=kills.Fault)), (1, "7 rounds of seed 1: 7 faults"))

    def test_an_error_of_its_own_ends_it(self):
        with self.assertRaises(IndexError):
            self.main(mock.Mock(side_effect=IndexError))


unittest.main()
