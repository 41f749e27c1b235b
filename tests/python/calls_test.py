#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long calls: Ctrl-C ends them, progress shows where somebody looks, and nothing is written unasked.

usage: calls_test.py, with the package on PYTHONPATH"""
import importlib.util
import io
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import ulpscope as us

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from terminals import skip_without_terminals  # noqa: E402

# An hour's work, in a process of its own that says when it begins and how it ended.
LONG = """
import signal, ulpscope as us
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have set aside
{before}
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
CALLS = {
    "census": 'us.census("normal:0,1:30000x100000", to=["e4m3", "fp16", "bf16"])',
    "sweep": 'us.sweep("normal:0,1:30000x100000", to=["e4m3"])',
    "run": 'us.run("long.toml", "report")',
    "one cell": 'us.study("accumulation", {"engine": "sm_90", "in_": "e4m3", "k": str(2**15), "shape": "1024x1024"})',
    "scales of rows": 'us.census("normal:0,1:30000x100000", to=["e4m3"], scale="row")',
    "product": 'us.matmul("normal:0,1:4096x4096", "normal:0,2:4096x65536", in_="bf16", engine="sm_90")',
    "exact product": 'us.matmul("normal:0,1:2048x4096", "normal:0,2:4096x4096", in_="float32", engine="exact")',
    "quantized": 'us.quantize("normal:0,1:5000x20000", "e2m1", scale="nvfp4")',
    "encoded": 'import numpy; x = numpy.ones(10**8, "f4"); [us.encode(x, "e4m3", rounding="stochastic") for _ in range(1000)]',
    "decoded": 'import numpy; x = numpy.ones(10**8, "u1"); [us.decode(x, "e4m3") for _ in range(1000)]',
    "check": 'us.verify.matmul("normal:0,1:4096x4096", "normal:0,1:4096x4096", "normal:0,2:4096x4096", in_="bf16")',
    "explanation": 'us.explain.matmul("normal:0,1:1024x1024", "normal:0,1:1024x4096", "normal:0,2:4096x1024", in_="bf16", engine="sm_90")',
}


BEFORE = {}
if importlib.util.find_spec("torch"):
    BEFORE["operation of a model"] = "import torch; layer, x = torch.nn.Linear(4096, 4096), torch.ones(8192, 4096); run = us.torch.emulate('bf16_amp').__enter__()"
    CALLS["operation of a model"] = "layer(x)"


class Interrupted(unittest.TestCase):
    def test_within_a_second(self):
        for name in CALLS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                text = f'[[study]]\nname = "a"\nkind = "accumulation"\nengine = "sm_90"\nin = "e4m3"\nk = {list(range(2048, 3072))}\n'
                pathlib.Path(folder, "long.toml").write_text(text)
                self.assertTrue(any(self.seconds(name, folder) < 1 for _ in range(3)), name)  # other programs may hold it up

    def seconds(self, name, folder):
        command = [sys.executable, "-c", LONG.format(call=CALLS[name], before=BEFORE.get(name, ""))]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "begun\n")
            time.sleep(0.3)
            self.assertIsNone(process.poll())
            begun = time.monotonic()
            process.send_signal(signal.SIGINT)
            timer = threading.Timer(20, process.kill)  # should it go on
            timer.start()
            said = process.stdout.readline()
            seconds = time.monotonic() - begun  # without the time that Python takes to end
            timer.cancel()
            self.assertEqual((said, *process.communicate(timeout=60)), ("interrupted\n", "", ""))
        return seconds


class Shown(unittest.TestCase):
    def call(self, **options):
        us.sweep("normal:0,1:512x1024", to="e4m3", log2_scale=range(3), **options)

    def test_nothing_unasked(self):
        with mock.patch("sys.stderr", io.StringIO()) as err, mock.patch("sys.stdout", io.StringIO()) as out:
            self.call()
            self.call(progress=False)
        self.assertEqual(err.getvalue() + out.getvalue(), "")

    def test_a_line_that_goes(self):
        with mock.patch("sys.stderr", io.StringIO()) as err, mock.patch("sys.stdout", io.StringIO()) as out:
            us.census("normal:0,1:4096x4096", to="e4m3", progress=True)
        self.assertEqual(out.getvalue(), "")
        lines = err.getvalue().split("\r")
        for line in lines:
            self.assertRegex(line, r"^(census: \d+ %(, about \d+ s left)? *| *)$")
        self.assertGreater(len(lines), 2)
        self.assertEqual(lines[-1].strip(), "")

    def test_a_terminal_is_shown_what_takes_longer_than_a_second(self):
        skip_without_terminals()
        main, other = pty.openpty()
        code = f"import ulpscope as us\n{CALLS['census']}"
        with subprocess.Popen([sys.executable, "-c", code], stderr=other, stdout=subprocess.PIPE) as process:
            os.close(other)
            seen, until = b"", time.monotonic() + 60
            while b" %" not in seen and time.monotonic() < until:
                seen += os.read(main, 1000)
            process.send_signal(signal.SIGINT)
            self.assertRegex(seen.decode(), r"census: \d+ %")
            process.kill()
            self.assertEqual(process.stdout.read(), b"")
        os.close(main)

    def test_a_function_is_told(self):
        told = []
        us.study("accumulation", {"engine": "sm_90", "in_": "e4m3", "k": "64"}, progress=lambda done, total: told.append((done, total)))
        self.assertTrue(all(0 <= done <= total for done, total in told))


if __name__ == "__main__":
    unittest.main()
