#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `ulpscope train` on emulated devices and on those of a plugin that stands in for CUDA's: files of weights, exit codes, lines.
usage: train_devices_test.py PROGRAM PLUGINS ROOT"""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from emulation import is_emulated

ROOT, PLUGINS, PROGRAM = (os.path.abspath(sys.argv.pop()) for _ in range(3))
STUDY = os.path.join(ROOT, "studies/training/digits.toml")
IS_ARM = is_emulated(PROGRAM) or os.uname().machine == "aarch64"  # crossed programs are Arm's
# One of the machine's own units, and why it is of no use to bf16.
OWN_UNIT, USELESS = (("cpu:neon", "bf16_amp, layer 0, linear output: cpu:neon does not multiply bfloat16 x bfloat16 into float32; it has ")
                     if IS_ARM else ("cpu:sse2", "cpu:sse2 multiplies no matrices"))


def run(*words):
    done = subprocess.run([PROGRAM, "train", STUDY, "--seed", "0", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=300,
                          env={**os.environ, "ULPSCOPE_PLUGINS": PLUGINS})
    return done.returncode, done.stdout, done.stderr


class TrainDevices(unittest.TestCase):
    def test_a_report_has_the_files_of_the_emulated_run(self):
        words = ("--recipe", "bf16_amp", "--steps", "6", "--record", "weights:2", "--record", "gradients:3", "-o")
        sums = []
        for device in ((), ("--device", "emulated:sm_80"), ("--device", "emulated:sm_80", "--check")):
            with tempfile.TemporaryDirectory() as folder:
                code, _, err = run(*words, os.path.join(folder, "out"), *device)
                self.assertEqual(code, 0, err)
                self.assertEqual("34 products on emulated:sm_80 mma.sync.m16n8k16.f32.bf16.bf16" in err, device != (), err)
                files = sorted(pathlib.Path(folder).rglob("*.safetensors")) + [pathlib.Path(folder, "out/curves.csv"),
                                                                                pathlib.Path(folder, "out/tensors.csv")]
                sums.append([(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files])
        self.assertEqual(len(sums[0]), 6)
        self.assertEqual(sums[0], sums[1])
        self.assertEqual(sums[0], sums[2])

    def test_the_first_difference_ends_the_run(self):
        code, out, err = run("--recipe", "bf16_amp", "--steps", "3", "--device", "emulated:sm_90", "--instruction", "wgmma", "--check")
        self.assertEqual((code, out, err.count("\n")), (1, "", 1), err)
        self.assertTrue(err.startswith("bf16_amp, seed 0, step 0, layer 0, linear output: element (14, 93) is "), err)

    def test_a_gpu_that_is_not_what_it_claims(self):
        words = ("--recipe", "fp16_amp", "--engine", "sm_90", "--steps", "2", "--device", "cuda:0")
        code, _, err = run(*words, "--check")
        self.assertEqual(code, 0, err)
        self.assertIn("products on cuda:0 right", err)
        code, out, err = run(*words, "--check", "--instruction", "wrong")
        self.assertEqual((code, out, err.count("\n")), (1, "", 1), err)
        self.assertIn(" on cuda:0 wrong and ", err)
        code, out, err = run(*words, "--instruction", "broken")
        self.assertEqual((code, out), (2, ""), err)
        self.assertEqual(err, "ulpscope: fp16_amp, seed 0, step 0, layer 0, linear output: launch of broken: cudaErrorIllegalInstruction\n")

    def test_what_is_refused(self):
        for words, expected, start in (
                (("--recipe", "bf16_amp", "--device", "emulated:sm_90"), 2, "bf16_amp, layer 0, linear output: emulated:sm_90 has no "),
                (("--recipe", "bf16_amp,float32", "--device", "emulated:sm_80"), 2, "float32, layer 0, linear output: emulated:sm_80 does"),
                (("--recipe", "bf16_amp", "--device", "emulated:sm_80,cuda:99"), 4, "no device 'cuda:99'; there are "),
                (("--recipe", "bf16_amp", "--device", OWN_UNIT), 2, USELESS),
                (("--recipe", "bf16_amp", "--check"), 2, "--instruction, --check and --emulate-rest: --device is missing"),
                (("--recipe", "bf16_amp", "--seed", str(2**63)), 2, "--seed: '9223372036854775808': give a whole number from 0 to 9223372036854775807"),
                (("--recipe", "bf16_amp", "--engine", "sm_91"), 2, "layer 0: unknown engine 'sm_91'; nearest: ")):
            code, out, err = run("--steps", "2", *words)
            self.assertEqual((code, out, err.count("\n")), (expected, "", 1), err)
            self.assertTrue(err.startswith("ulpscope: " + start), err)

    def test_the_rest_is_emulated_where_asked_for(self):
        code, _, err = run("--recipe", "float32,bf16_amp", "--steps", "2", "--device", "emulated:sm_80", "--emulate-rest")
        self.assertEqual(code, 0, err)
        self.assertIn("; 14 products emulated.", err.split("\n")[0])
        self.assertIn("; 14 products on emulated:sm_80 mma.sync.m16n8k16.f32.bf16.bf16.", err.split("\n")[1])


if __name__ == "__main__":
    unittest.main()
