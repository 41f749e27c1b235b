# SPDX-License-Identifier: Apache-2.0
"""A folder with a model, censuses and sweeps of all of it, and of parts of it."""
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import unittest

from files_test import PROGRAM, safetensors

LAUNCHERS = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_ARRAY_TASK_ID",
             "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_STEP")


def floats(kind, values):
    return struct.pack(f"<{len(values)}{kind}", *values)


class Model(unittest.TestCase):
    """A folder with a model, for whole runs and for parts."""
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.path = pathlib.Path(cls.scratch.name)
        drawn = random.Random(4)
        many = [drawn.gauss(0, 1) * 2.0 ** drawn.randint(-12, 12) for _ in range(400 * 700)]
        some = [drawn.gauss(0, 1e-3) for _ in range(70_000)] + [float("nan"), float("inf"), 0.0, -0.0, 1e300]
        model = cls.path / "model"
        model.mkdir()
        (model / "a.safetensors").write_bytes(safetensors({
            "l.0.w": ("F32", [400, 700], floats("f", many)), "l.0.b": ("F32", [7], floats("f", many[:7])), "none": ("F32", [0, 4], b"")}))
        (model / "b.safetensors").write_bytes(safetensors({
            "l.1.w": ("F64", [len(some)], floats("d", some)), "l.1.b": ("BF16", [3, 4], bytes(range(24))), "ids": ("I64", [2], bytes(16))}))

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.path))
        for name in ("whole", "parts"):
            (self.folder / name).mkdir()
            (self.folder / name / "model").symlink_to(self.path / "model")

    def program(self, where, *words, wanted=0, environment=None):
        known = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
        done = subprocess.run([PROGRAM, *words], cwd=self.folder / where, capture_output=True, text=True, timeout=300, env=known | (environment or {}))
        self.assertEqual(done.returncode, wanted, done.stderr)
        return done.stderr

    def shard(self, command, count, *words):
        for index in range(count):
            self.program("parts", command, "model", *words, "--shard", f"{index}/{count}", "-o", f"p{count}/{index}")

    def merged(self, *parts):
        shutil.rmtree(self.folder / "parts/R", ignore_errors=True)
        self.program("parts", "merge", *parts, "-o", "R")
        return {path.name: path.read_bytes() for path in (self.folder / "parts/R").iterdir()}

    def whole(self, command, *words):
        self.program("whole", command, "model", *words, "-o", "R")
        return {path.name: path.read_bytes() for path in (self.folder / "whole/R").iterdir()}

    def refused(self, *words, environment=None):
        err = self.program("parts", *words, wanted=2, environment=environment)
        self.assertEqual(err.count("\n"), 1, err)
        return err.removeprefix("ulpscope: ").rstrip("\n")
