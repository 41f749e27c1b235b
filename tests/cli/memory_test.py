#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files larger than the address space that a command may have are read in pieces, to their last element.
usage: memory_test.py PROGRAM [--sanitized] [--gibibytes N] [TEST...]"""
import csv
import io
import json
import os
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

from emulation import is_emulated
from time_limit import LIMIT

SANITIZED = "--sanitized" in sys.argv and (sys.argv.remove("--sanitized") or True)
GIBIBYTES = int(sys.argv.pop(sys.argv.index("--gibibytes") + 1)) if "--gibibytes" in sys.argv else 0
if GIBIBYTES:
    sys.argv.remove("--gibibytes")
PROGRAM = os.path.abspath(sys.argv.pop(1))
FREE = SANITIZED or is_emulated(PROGRAM)  # of the limit: they reserve more address space than there is memory
MEBIBYTE = 1 << 20
MEMORY = 512 * MEBIBYTE
COUNT = (1024 * GIBIBYTES or (96 if FREE else 1280)) * MEBIBYTE // 4  # elements of a file: more than twice the memory
TIME = LIMIT * max(1, GIBIBYTES // 4)
# Element -> value, among zeros: the first, around the borders of windows and of blocks, and the last.
VALUES = {0: 1.0, (28 * MEBIBYTE >> 2) - 1: 2.0, 28 * MEBIBYTE >> 2: 4.0, COUNT // 2: 0.1, COUNT - 1: 500.0}


def run(*words, memory=MEMORY, cwd=None):
    """(exit code, rows of standard output, standard error), of at most so much address space and two processors: each thread reserves
    addresses of its own"""
    def before():
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
        if not FREE:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, timeout=TIME,
                          preexec_fn=before)
    return done.returncode, list(csv.DictReader(io.StringIO(done.stdout.decode()))), done.stderr.decode()


def write_sparse(path, values, count=COUNT):
    """A .safetensors file with the one float32 tensor w, of which only what is not zero takes room."""
    text = json.dumps({"w": {"dtype": "F32", "shape": [count // 256, 256], "data_offsets": [0, 4 * count]}}).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for index, value in values.items():
            file.seek(8 + len(text) + 4 * index)
            file.write(struct.pack("<f", value))
        file.truncate(8 + len(text) + 4 * count)


def write_npz(path, values, method):
    """An .npz with the one float32 array w, stored (0) or deflated (8), written in pieces."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({COUNT},), }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    piece = 4 * MEBIBYTE
    zeros, packer, checksum, packed = bytes(piece), zlib.compressobj(1, zlib.DEFLATED, -15), 0, 0
    with open(path, "wb") as file:
        file.write(bytes(30 + 5))
        for first in range(-1, 4 * COUNT // piece):
            data = b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() if first < 0 else zeros
            here = {4 * at - first * piece: value for at, value in values.items() if first >= 0 and 0 <= 4 * at - first * piece < piece}
            if here:
                data = bytearray(data)
                for at, value in here.items():
                    data[at:at + 4] = struct.pack("<f", value)
            checksum = zlib.crc32(data, checksum)
            if method == 8:
                packed += file.write(packer.compress(data))
            elif data is zeros:
                file.seek(piece, 1)
                packed += piece
            else:
                packed += file.write(data)
        if method == 8:
            packed += file.write(packer.flush())
        facts = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 0x21, checksum, packed, 10 + len(text) + 4 * COUNT, 5, 0)
        directory = b"PK\1\2\x14\0" + facts + bytes(14) + b"w.npy"
        end = struct.pack("<HHHHIIH", 0, 0, 1, 1, len(directory), 35 + packed, 0)
        file.write(directory + b"PK\5\6" + end)
        file.seek(0)
        file.write(b"PK\3\4" + facts + b"w.npy")


def write_many(path, count):
    """A .safetensors file of so many tensors of four elements."""
    header = {f"model.layers.{i // 100}.mlp.experts.{i % 100}.weight": {"dtype": "F32", "shape": [4], "data_offsets": [16 * i, 16 * i + 16]}
              for i in range(count)}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<4f", 1, 2, 3, 4) * (count - 1) + struct.pack("<4f", 1, 1e-9, 1000, 1e-30))


class Memory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.path = pathlib.Path(scratch.name)
        write_sparse(cls.path / "w.safetensors", VALUES)

    def rows(self, *words, codes=(0,)):
        code, rows, err = run(*words, "--csv", cwd=self.path)
        self.assertIn(code, codes, (words, err))
        return rows

    def counted(self, row):
        """Five values are not zero: three powers of two, one that is rounded, and one beyond e4m3."""
        self.assertEqual({name: int(row[name]) for name in ("count", "zero", "exact", "rounded", "overflow")},
                         {"count": COUNT, "zero": COUNT - 5, "exact": 3, "rounded": 1, "overflow": 1})

    def test_census(self):
        self.counted(self.rows("census", "w.safetensors", "--to", "e4m3")[0])
        self.assertEqual(self.rows("census", "w.safetensors", "--to", "e4m3", "--scale", "amax")[0]["overflow"], "0")

    def test_census_of_blocks(self):
        """Scales take four bytes for each block, of few of them at a time."""
        row, = self.rows("census", "w.safetensors", "--to", "e2m1", "--scale", "nvfp4")
        self.assertEqual((int(row["zero"]), row["overflow"]), (COUNT - 5, "0"))
        row, = self.rows("census", "w.safetensors", "--to", "e2m1", "--scale", "nvfp4", "--blocks")
        self.assertEqual([int(row[name]) for name in ("blocks", "zero")], [COUNT // 16, COUNT // 16 - len({index // 16 for index in VALUES})])

    def test_info(self):
        row, = self.rows("info", "w.safetensors")
        self.assertEqual((int(row["zero"]), float(row["max"])), (COUNT - 5, 500))

    def test_sweep(self):
        rows = self.rows("sweep", "w.safetensors", "--to", "e4m3", "--log2-scale", "-1:1")
        self.assertEqual([(row["log2_scale"], row["overflow"]) for row in rows], [("-1", "0"), ("0", "1"), ("1", "1")])

    def test_many_tensors(self):
        """Of what is found of a tensor no more is kept than is printed at the end, and a page shows so many."""
        many, tensors = self.path / "many.safetensors", 1000 if FREE else 10000
        write_many(many, tensors)
        memory = 256 * MEBIBYTE
        for words, rows in ((["--best"], tensors), (["--where", "overflow > 0", "--where", "log2_scale == 0"], 1)):
            code, printed, err = run("sweep", "many.safetensors", "--to", "e4m3", *words, "--csv", memory=memory, cwd=self.path)
            self.assertEqual((code, len(printed)), (0, rows), err)
        for command in ("sweep", "census"):
            code, _, err = run(command, "many.safetensors", "--to", "e4m3", "--all-tensors", "-o", command, memory=memory, cwd=self.path)
            self.assertEqual(code, 0, err)
            with open(self.path / command / "census.csv", newline="") as file:
                labels = [row["tensor"] for row in csv.DictReader(file)]
            self.assertEqual((len(labels), labels[-1]), (tensors + 1, "all"))
            page = (self.path / command / "index.html").read_text()
            if not FREE:
                self.assertIn("This page shows the 1000 tensors that lose most; census.csv and findings.csv have all 10000.", page)
                self.assertIn(f"model.layers.{(tensors - 1) // 100}.mlp.experts.{(tensors - 1) % 100}.weight", page)

    def test_shards_of_many_tensors(self):
        """Parts are written and read tensor by tensor, and what is merged is the report of one run, byte for byte."""
        reports = {}
        for folder in ("undivided", "shards"):
            (self.path / folder).mkdir()
            write_many(self.path / folder / "many.safetensors", 1000 if FREE else 10000)
        commands = {"undivided": [("census", "many.safetensors", "--to", "e4m3", "-o", "R")],
                    "shards": [*(("census", "many.safetensors", "--to", "e4m3", "--shard", f"{i}/2", "-o", f"P/{i}") for i in range(2)),
                               ("merge", "P", "-o", "R")]}
        for folder, all_words in commands.items():
            for words in all_words:
                code, _, err = run(*words, memory=256 * MEBIBYTE, cwd=self.path / folder)
                self.assertEqual(code, 0, (words, err))
            reports[folder] = {path.name: path.read_bytes() for path in (self.path / folder / "R").iterdir()}
        self.assertEqual(reports["shards"], reports["undivided"])

    def test_many_tensors_are_chosen_for_cast_and_compared(self):
        """Each of them is found by its name in a plan, in a file and in another file."""
        many, tensors = self.path / "several.safetensors", 1000 if FREE else 10000
        write_many(many, tensors)
        memory = 256 * MEBIBYTE
        code, chosen, err = run("choose", "several.safetensors", "--to", "e4m3", "--scale", "none", "--sqnr", "20", "-o", "plan.toml", "--csv", memory=memory, cwd=self.path)
        self.assertEqual((code, len(chosen), [row["format"] for row in chosen[-2:]]), (0, tensors, ["float8_e4m3fn", "copy"]), err)
        code, _, err = run("cast", "several.safetensors", "--plan", "plan.toml", "-o", "several_cast.safetensors", memory=memory, cwd=self.path)
        self.assertEqual(code, 0, err)
        self.assertIn(f"{tensors - 1} tensors as float8_e4m3fn", err)
        code, compared, err = run("diff", "several.safetensors", "several_cast.safetensors", "--csv", memory=memory, cwd=self.path)
        self.assertEqual((code, len(compared)), (0, tensors), err)  # 1, 2, 3 and 4 are numbers of e4m3

    def test_choose(self):
        row, = self.rows("choose", "w.safetensors", "--to", "e4m3,bf16", "--sqnr", "20")
        self.assertEqual(row["format"], "float8_e4m3fn")

    def test_diff(self):
        write_sparse(self.path / "other.safetensors", VALUES | {COUNT - 2: 3.0})
        rows = self.rows("diff", "w.safetensors", "other.safetensors", codes=(1,))
        self.assertEqual(float(rows[0]["max_abs_error"]), 3)

    def entries(self, name):
        """(header, begin of the data) of a .safetensors file"""
        with open(self.path / name, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            return header, file.tell()

    def bytes_at(self, name, begin, places):
        with open(self.path / name, "rb") as file:
            return [file.seek(begin + place) and file.read(1)[0] for place in places]

    def test_cast(self):
        code, _, err = run("cast", "w.safetensors", "--to", "e2m1", "-o", "cast.safetensors", cwd=self.path)
        self.assertEqual(code, 0, err)
        header, begin = self.entries("cast.safetensors")
        first, last = header["w"]["data_offsets"]
        self.assertEqual(last - first, COUNT // 2)
        codes = {0: 2, (28 * MEBIBYTE >> 2) - 1: 4, 28 * MEBIBYTE >> 2: 6, COUNT - 1: 7}  # 1, 2, 4, and 6 for 500
        pairs = self.bytes_at("cast.safetensors", begin, [index // 2 for index in codes])
        self.assertEqual([pair >> 4 * (index % 2) & 15 for pair, index in zip(pairs, codes)], list(codes.values()))

    def test_cast_of_many_blocks(self):
        """Of 20 million, a few bytes for each of which would be more than there are: the tensor's scale is 448 * 6 / 500, a block's that
        times its only number over 6 in e4m3, and its code that of 6."""
        code, _, err = run("cast", "w.safetensors", "--to", "e2m1", "--scale", "nvfp4", "-o", "blocks.safetensors", memory=320 * MEBIBYTE, cwd=self.path)
        self.assertEqual(code, 0, err)
        header, begin = self.entries("blocks.safetensors")
        codes, scales = header["w"]["data_offsets"][0], header["w.scale"]["data_offsets"][0]
        pairs = self.bytes_at("blocks.safetensors", begin + codes, [index // 2 for index in VALUES])
        self.assertEqual([pair >> 4 * (index % 2) for pair, index in zip(pairs, VALUES)], [7, 7, 7, 7, 7])  # the higher code of a pair is 0, or it
        stored = self.bytes_at("blocks.safetensors", begin + scales, [index // 16 for index in VALUES])
        self.assertEqual(stored, [0x36, 0x3e, 0x46, 0x1b, 0x7e])  # 0.896, 1.792, 3.584, 0.0896 and 448

    def test_members_of_archives(self):
        for method in (0, 8):
            write_npz(self.path / "w.npz", VALUES, method)
            self.counted(self.rows("census", "w.npz:w", "--to", "e4m3")[0])
            (self.path / "w.npz").unlink()

    def test_a_hundred_files(self):
        """Of 30 MiB each, which are mapped whole: six times the memory together."""
        for number in range(4 if FREE else 100):
            write_sparse(self.path / f"part{number:03}.safetensors", {30 * MEBIBYTE // 4 - 1: 1.0}, 30 * MEBIBYTE // 4)
        rows = self.rows("census", "part*.safetensors", "--to", "e4m3", "--all-tensors", "--where", "exact > 0", "--rows", "all")
        self.assertEqual(int(rows[-1]["exact"]), 4 if FREE else 100)


class StudyFiles(unittest.TestCase):
    def test_cells_are_made_one_at_a_time(self):
        """Each of 20,000 has a request of 16 kB, which together are more than twice the memory as text and as values."""
        inputs, seeds = ["nothere"] + ["normal:0,1:8"] * 1000, list(range(2000 if FREE else 20_000))
        with tempfile.TemporaryDirectory() as scratch:
            (pathlib.Path(scratch) / "s.toml").write_text(f'[[study]]\nkind = "census"\ninputs = {json.dumps(inputs)}\nseed = {seeds}\n')
            code, _, err = run("run", "s.toml", "--dry-run", cwd=scratch)
        self.assertEqual((code, err), (2, "ulpscope: study 'census', seed = 0: nothere: no such file\n"))


class ManyTensors(unittest.TestCase):
    def test_a_hundred_thousand(self):
        """In twice the memory: most of it is the header, which has some hundred bytes for each."""
        count = 1000 if FREE else 100_000
        header = {f"model.layers.{i // 10}.experts.{i % 10}.weight": {"dtype": "BF16", "shape": [4, 2], "data_offsets": [16 * i, 16 * i + 16]}
                  for i in range(count)}
        text = json.dumps(header).encode()
        with tempfile.TemporaryDirectory() as scratch:
            (pathlib.Path(scratch) / "m.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<8H", *range(8)) * count)
            for words, each in ((["census"], 1), (["sweep", "--log2-scale", "0:1"], 2), (["sweep", "--log2-scale", "0:1", "--where", "count<0"], 0)):
                code, rows, err = run(*words, "m.safetensors", "--to", "e4m3", "--csv", memory=2 * MEMORY, cwd=scratch)
                self.assertEqual((code, len(rows)), (0, each * count), err)
                self.assertEqual(err, "" if each else f"--where leaves none of {2 * count} rows\n")
                if each:
                    self.assertEqual(rows[-1]["tensor"], f"m.safetensors:model.layers.{(count - 1) // 10}.experts.9.weight")


if __name__ == "__main__":
    unittest.main()
