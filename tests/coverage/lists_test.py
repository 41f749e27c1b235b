#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `tests/coverage/run` counts and explains is there.   usage: lists_test.py ROOT"""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(sys.argv.pop()).resolve()
sys.path.insert(0, str(ROOT / "tests/check"))
import changes  # noqa: E402


def load(path):
    """A program as a module."""
    spec = importlib.util.spec_from_loader("run", importlib.machinery.SourceFileLoader("run", str(path)))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUN = load(ROOT / "tests/coverage/run")


class Lists(unittest.TestCase):
    maxDiff = None

    def test_files_are_there_each_once(self):
        names = RUN.counted_files()
        self.assertGreater(len(names), 50)
        self.assertEqual([name for name in names if not (ROOT / name).is_file()], [])
        self.assertEqual(names, sorted(set(names)))

    def test_every_explained_line_stands_in_a_file_that_is_counted(self):
        explained, names = RUN.explained(), RUN.counted_files()
        self.assertGreater(len(explained), 10)
        self.assertEqual(sorted(set(explained) - set(names)), [])
        missing = []
        for name, texts in explained.items():
            lines = {line.strip() for line in (ROOT / name).read_text().splitlines()}
            missing += [f"{name}: {text}" for text in sorted(texts) if text not in lines]
        self.assertEqual(missing, [])

    def test_the_sources_of_fuzzed_readers_are_counted(self):
        """Those that readers.txt names by themselves: of a folder some only compute."""
        sources = {part for parts in changes.readers(ROOT).values() for part in parts if part.endswith(".cpp")}
        self.assertEqual(sorted(sources - set(RUN.counted_files())), [])


unittest.main()
