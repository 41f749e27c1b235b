#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the package writes, and what it shows of names that come from others.

usage: written_test.py, with the package on PYTHONPATH"""
import json
import os
import pathlib
import resource
import signal
import tempfile
import unittest

import numpy as np
import ulpscope as us
import ulpscope.testing
from ulpscope._safetensors import Writer
from ulpscope._table import Table


class Written(unittest.TestCase):
    """Files appear whole or not at all, and through no link."""

    def writers(self, folder):
        with self.assertRaises(AssertionError) as raised:
            us.testing.assert_sum(np.float32(7), np.ones(3, np.float32), axis="all", out="float32")

        def record(path):
            recorder = Writer(path)
            recorder.add("a", np.arange(40000, dtype=np.float32))
            recorder.close()
            return recorder
        return {"t.csv": lambda: us.formats().to_csv(folder / "t.csv"), "r.safetensors": lambda: record(folder / "r.safetensors"),
                "output.npy": lambda: raised.exception.ulpscope.save(folder)}

    def test_links_are_not_followed(self):
        for name in ("t.csv", "r.safetensors", "output.npy"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                (folder / "victim").write_text("years of work")
                for planted in (name, name + ".part"):
                    (folder / planted).symlink_to("victim")
                with self.assertRaisesRegex(OSError, f"{name}: cannot be written: it is a link"):
                    self.writers(folder)[name]()
                (folder / name).unlink()
                self.writers(folder)[name]()
                self.assertEqual((folder / "victim").read_text(), "years of work")
                self.assertFalse((folder / name).is_symlink())

    def test_what_is_there_stays_where_the_disk_is_full(self):
        for name in ("t.csv", "r.safetensors", "output.npy"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                (folder / name).write_text("years of work")
                write, before = self.writers(folder)[name], resource.getrlimit(resource.RLIMIT_FSIZE)
                handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
                try:
                    with self.assertRaises(OSError):
                        write()
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, before), signal.signal(signal.SIGXFSZ, handler)
                self.assertEqual((folder / name).read_text(), "years of work")
                self.assertTrue({p.name for p in folder.iterdir()} <= {name, "x.npy"})
                self.writers(folder)[name]()
                self.assertNotEqual((folder / name).read_bytes()[:5], b"years")

    def test_a_recording_is_what_was_added(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "r.safetensors"
            path.write_text("former"), path.chmod(0o640)
            self.writers(pathlib.Path(folder))["r.safetensors"]().close()
            self.assertEqual(path.stat().st_mode & 0o777, 0o640)
            data = path.read_bytes()
            size = int.from_bytes(data[:8], "little")
            self.assertEqual(json.loads(data[8:8 + size]), {"a": {"dtype": "F32", "shape": [40000], "data_offsets": [0, 160000]}})
            self.assertEqual(data[8 + size:], np.arange(40000, dtype=np.float32).tobytes())

    def test_paths_are_those_of_open(self):
        with tempfile.TemporaryDirectory() as folder:
            right = us.formats().to_csv()
            for name in (folder + "/a.csv", pathlib.Path(folder) / "b.csv", folder.encode() + b"/c.csv", folder + "/d\udcff.csv"):
                us.formats().to_csv(name)
                self.assertEqual(pathlib.Path(os.fsdecode(name)).read_text(), right)
            with open(folder + "/e.csv", "wb") as file:
                us.formats().to_csv(file.fileno())
            self.assertEqual(pathlib.Path(folder + "/e.csv").read_text(), right)
            with self.assertRaisesRegex(FileNotFoundError, "no/such/f.csv: cannot be written"):
                us.formats().to_csv(folder + "/no/such/f.csv")
            with self.assertRaises(OSError):
                us.formats().to_csv(folder)

    def test_names_in_notebooks_act_on_nothing(self):
        table = Table("x", ["a\u202e"], [["n\u202e\x1b[31m<b>"], ["z"]])
        self.assertIn(r"n\u202e\x1b[31m&lt;b&gt;", table._repr_html_())
        self.assertFalse({"\u202e", "\x1b"} & set(table._repr_html_()))


if __name__ == "__main__":
    unittest.main()
