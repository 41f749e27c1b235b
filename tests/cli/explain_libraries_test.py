#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of the OpenBLAS that is installed, by each of its kernels that this processor runs: `ulpscope explain` says how their
sums were formed. Skips by name where there is no libopenblas.so.0, or it is of another processor's.   usage: explain_libraries_test.py PROGRAM"""
import array
import csv
import ctypes
import os
import pathlib
import platform
import random
import subprocess
import sys
import tempfile
import unittest

from files_test import npy, run
from time_limit import LIMIT

CORES = ("Haswell", "SkylakeX", "Sandybridge")
SHAPES = ((24, 300, 40), (32, 1003, 16))  # about one block of K, and several


def multiply(folder):
    """In a process of its own: OpenBLAS reads the kernel to use, and the threads, from the environment when it is loaded."""
    blas = ctypes.CDLL("libopenblas.so.0")
    blas.openblas_get_corename.restype = ctypes.c_char_p
    drawn = random.Random(3)
    for letter, real, gemm in (("f", ctypes.c_float, blas.cblas_sgemm), ("d", ctypes.c_double, blas.cblas_dgemm)):
        for m, k, n in SHAPES:
            a, b = ((real * size)(*(drawn.gauss(0, 1) for _ in range(size))) for size in (m * k, k * n))
            d = (real * (m * n))()
            gemm(101, 111, 111, m, n, k, real(1), a, k, b, n, real(0), d, n)  # row-major, none transposed
            for name, shape, numbers in (("a", (m, k), a), ("b", (k, n), b), ("d", (m, n), d)):
                data = array.array(letter, numbers).tobytes()
                (folder / f"{letter}{k}{name}.npy").write_bytes(npy("<f4" if letter == "f" else "<f8", shape, data))
    print(blas.openblas_get_corename().decode())


class OpenBlas(unittest.TestCase):
    def products(self, core, threads):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        done = subprocess.run([sys.executable, __file__, sys.argv[0], "multiply", scratch.name], capture_output=True, text=True, timeout=LIMIT,
                              env=os.environ | {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": threads})
        if "libopenblas" in done.stderr:
            self.skipTest("no libopenblas.so.0")
        self.assertEqual(done.returncode, 0, done.stderr)
        return pathlib.Path(scratch.name), done.stdout.strip()

    @unittest.skipUnless(platform.machine() == "x86_64", "kernels for x86-64")
    def test_every_kernel_is_explained(self):
        seen = set()
        for core in CORES:
            for threads in ("1", "2"):
                folder, used = self.products(core, threads)
                if used.lower() != core.lower() or (used, threads) in seen:
                    continue
                seen.add((used, threads))
                for letter, accumulator in (("f", "float32"), ("d", "float64")):
                    for _, k, _ in SHAPES if threads == "1" else SHAPES[1:]:
                        code, out, err = run("explain", "matmul", f"{letter}{k}a.npy", f"{letter}{k}b.npy", "--output", f"{letter}{k}d.npy",
                                             "--acc", accumulator, "--csv", "--seconds", "0", cwd=folder)
                        with self.subTest(core=core, threads=threads, k=k, accumulator=accumulator):
                            self.assertIn(code, (0, 1), err)
                            rows = list(csv.DictReader(out.splitlines()))
                            self.assertTrue(code == 0 or any(row["explains"] == "yes" for row in rows), err)
        if not seen:
            self.skipTest("this OpenBLAS has none of the kernels " + ", ".join(CORES))


if __name__ == "__main__":
    if sys.argv[1:2] == ["multiply"]:
        multiply(pathlib.Path(sys.argv[2]))
    else:
        unittest.main()
