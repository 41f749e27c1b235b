# SPDX-License-Identifier: Apache-2.0
"""`ulpscope verify attention` with what serving adds: files of every kind are read, two outputs have one exit code, errors are one line.

usage: served_test.py PROGRAM
"""
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop())
LETTERS = {"<f4": "f", "<i4": "i", "|b1": "?"}


def write(path, shape, values, kind="<f4"):
    words = "".join(f"{extent}," for extent in shape)
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({words}), }}"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117).encode() + b"\n"
    path.write_bytes(head + struct.pack(f"<{len(values)}{LETTERS[kind]}", *values))


def single(values):
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


class Case:
    """Two sequences of two heads: four queries and six keys each."""

    B, H, L, N, D = 2, 2, 4, 6, 8

    def __init__(self):
        draws = random.Random(5)
        normal = lambda count: single([draws.gauss(0, 1) for _ in range(count)])
        self.q, self.k, self.v = normal(2 * 2 * 4 * 8), normal(2 * 2 * 6 * 8), normal(2 * 2 * 6 * 8)
        self.sinks = single([0.5, 1.5])
        self.seen = [draws.random() < 0.8 for _ in range(2 * 4 * 6)]  # (1, H, L, N)
        for row in range(8):
            self.seen[row * 6] = True

    def attention(self, softcap=None, masked=False, sinks=False, window=None, lengths=(6, 6), descale=1.0):
        out, lse = [], []
        for b in range(2):
            for h in range(2):
                for i in range(4):
                    q = self.q[((b * 2 + h) * 4 + i) * 8:][:8]
                    scores = {}
                    diagonal = i + lengths[b] - 4
                    for j in range(lengths[b]):
                        if masked and not self.seen[(h * 4 + i) * 6 + j]:
                            continue
                        if window is not None and not diagonal - window <= j <= diagonal:
                            continue
                        k = self.k[((b * 2 + h) * 6 + j) * 8:][:8]
                        s = math.fsum(x * y for x, y in zip(q, k)) / math.sqrt(8) * descale
                        scores[j] = softcap * math.tanh(s / softcap) if softcap else s
                    powers = {j: math.exp(s) for j, s in scores.items()}
                    total = math.fsum(powers.values()) + (math.exp(self.sinks[h]) if sinks else 0)
                    lse.append(math.log(total))
                    out += [math.fsum(e * self.v[((b * 2 + h) * 6 + j) * 8 + c] for j, e in powers.items()) / total
                            for c in range(8)]
        return out, lse


class Served(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.case = Case()
        for name, rows in (("q", 4), ("k", 6), ("v", 6)):
            write(self.folder / f"{name}.npy", (2, 2, rows, 8), getattr(self.case, name))

    def put(self, name, shape, values, kind="<f4"):
        write(self.folder / name, shape, values, kind)
        return name

    def verify(self, *options, inputs=("q.npy", "k.npy", "v.npy")):
        return subprocess.run([PROGRAM, "verify", "attention", *inputs, "--output", "o.npy", *map(str, options)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, timeout=LIMIT)

    def returned(self, **declared):
        out, lse = self.case.attention(**declared)
        self.put("o.npy", (2, 2, 4, 8), out)
        self.put("lse.npy", (2, 2, 4), lse)

    def right(self, *options, **how):
        done = self.verify(*options, **how)
        self.assertEqual(done.returncode, 0, (options, done.stdout, done.stderr))
        return done

    def wrong(self, *options, **how):
        done = self.verify(*options, **how)
        self.assertEqual(done.returncode, 1, (options, done.stdout, done.stderr))
        return done

    def refused(self, words, *options, **how):
        done = self.verify(*options, **how)
        self.assertEqual(done.returncode, 2, (options, done.stdout, done.stderr))
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_truth_values_and_numbers_are_masks(self):
        self.returned(masked=True)
        shape = (1, 2, 4, 6)
        self.right("--mask", self.put("seen.npy", shape, self.case.seen, "|b1"))
        self.right("--mask", self.put("whole.npy", shape, [int(x) for x in self.case.seen], "<i4"))
        self.right("--mask", self.put("added.npy", shape, [0.0 if x else -math.inf for x in self.case.seen]))
        self.wrong("--mask", self.put("other.npy", shape, [not x or not i % 6 for i, x in enumerate(self.case.seen)], "|b1"))
        self.wrong()
        self.refused("element 0 is the integer 2", "--mask", self.put("two.npy", shape, [2] * 48, "<i4"))
        self.refused("the mask has shape 2x4x5", "--mask", self.put("short.npy", (2, 4, 5), [0.0] * 40))

    def test_what_is_done_to_scores(self):
        self.returned(softcap=1.5, sinks=True, window=2, descale=0.25)
        sinks = self.put("sinks.npy", (2,), self.case.sinks)
        all_of = ["--softcap", 1.5, "--sinks", sinks, "--window", "2,0", "--q-descale", 0.5, "--k-descale", 0.5, "--lse", "lse.npy"]
        self.right(*all_of)
        self.right(*all_of[:4], "--window=2,-1", "--causal", "bottom_right", *all_of[6:])
        said = self.wrong(*all_of[2:]).stderr
        self.assertIn("lse: FAIL", said)
        self.assertIn("--softcap: a finite number above 0", self.verify("--softcap", 0).stderr)
        for words in ("2", "2,", "-2,0", "a,b", "1,2,3"):
            self.refused("--window '" + words + "'", "--window=" + words)
        self.refused("--sinks of shape 3", "--sinks", self.put("three.npy", (3,), [0.0] * 3))
        self.refused("--q-descale of shape 3", "--q-descale", "three.npy")

    def test_one_exit_code_for_output_and_logarithms(self):
        self.returned(sinks=True)
        sinks = ["--sinks", self.put("sinks.npy", (2,), self.case.sinks), "--lse", "lse.npy"]
        whole = json.loads(self.right(*sinks, "--json", "--junit", "all.xml").stdout)
        self.assertIn("pass", whole["lse"]["sentence"])
        self.assertEqual(whole["lse"]["verify"][0]["count"], 16)
        self.put("lse.npy", (2, 2, 4), [x / math.log(2) for x in self.case.attention(sinks=True)[1]])
        done = self.wrong(*sinks, "--text", "--junit", "all.xml", "--save", "kept")
        self.assertIn("are right as logarithms to base 2", done.stdout)
        cases = list(xml.etree.ElementTree.parse(self.folder / "all.xml").iter("testcase"))
        self.assertEqual([(case.get("classname"), len(list(case.iter("failure")))) for case in cases],
                         [("ulpscope.verify.attention", 0), ("ulpscope.verify.attention.lse", 1)])
        again = (self.folder / "kept" / "command.txt").read_text().split()[1:]
        self.assertIn("kept/lse.npy", again)
        done = subprocess.run([PROGRAM, *again], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder, timeout=LIMIT)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.refused("--lse: is judged against the exact value", *sinks, "--against", "o.npy")
        self.put("lse.npy", (2, 4, 2), [0.0] * 16)
        self.refused("the result of these inputs is 2x2x4", *sinks)

    def test_a_kept_mask_of_truth_values_says_the_same(self):
        self.returned()
        done = self.wrong("--mask", self.put("seen.npy", (1, 2, 4, 6), self.case.seen, "|b1"), "--save", "kept")
        again = (self.folder / "kept" / "command.txt").read_text().split()[1:]
        other = subprocess.run([PROGRAM, *again], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, timeout=LIMIT)
        self.assertEqual(other.stderr.splitlines()[0], done.stderr.splitlines()[0])

    def test_pages_and_lengths(self):
        self.returned(lengths=(6, 4), window=9)
        lengths = self.put("lengths.npy", (2,), [6, 4], "<i4")
        self.right("--key-lengths", lengths, "--causal", "bottom_right")
        self.wrong("--causal", "bottom_right")
        pages = [4, 1, 0, 2, 5, -1]  # two rows each; the sequences' blocks in this order
        cache = {"k": [math.nan] * (6 * 2 * 2 * 8), "v": [math.nan] * (6 * 2 * 2 * 8)}
        for name in cache:
            for b, length in enumerate((6, 4)):
                for j in range(length):
                    for h in range(2):
                        to = ((pages[b * 3 + j // 2] * 2 + j % 2) * 2 + h) * 8
                        cache[name][to:to + 8] = getattr(self.case, name)[((b * 2 + h) * 6 + j) * 8:][:8]
            self.put(name + "_cache.npy", (6, 2, 2, 8), cache[name])
        table = ["--block-table", self.put("table.npy", (2, 3), pages, "<i4"), "--causal", "bottom_right"]
        inputs = ("q.npy", "k_cache.npy", "v_cache.npy")
        self.right(*table, "--key-lengths", lengths, inputs=inputs)
        self.put("table.npy", (2, 3), [4, 0, 1, 2, 5, -1], "<i4")
        self.wrong(*table, "--key-lengths", lengths, inputs=inputs)
        self.refused("say with --key-lengths", *table, inputs=inputs)
        self.put("lengths.npy", (2,), [6, 7], "<i4")
        self.refused("--key-lengths: sequence 1 has 7 keys; there is room for 0 to 6", *table, "--key-lengths", lengths, inputs=inputs)
        self.put("lengths.npy", (2,), [6, 5], "<i4")
        self.refused("block 2 of sequence 1 is number -1; K has blocks 0 to 5", *table, "--key-lengths", lengths, inputs=inputs)
        self.refused("--key-lengths lengths.npy: element 1 is 4.5", "--key-lengths", self.put("lengths.npy", (2,), [6, 4.5]))


unittest.main()
