#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of .gguf made by hand: what is read of them, and what is said of broken ones. usage: gguf_test.py PROGRAM"""
import csv
import pathlib
import struct
import tempfile
import unittest

from files_test import run

F32, F16, Q4_0, Q8_0, Q4_K = 0, 1, 2, 8, 12


def text(word):
    word = word.encode() if isinstance(word, str) else word
    return struct.pack("<Q", len(word)) + word


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def gguf(tensors, pairs=(), version=3, alignment=32, magic=b"GGUF", counts=None):
    """`tensors`: (name, dimensions with the fastest first, type, data)."""
    header = magic + struct.pack("<I", version) + struct.pack("<QQ", *(counts or (len(tensors), len(pairs)))) + b"".join(pairs)
    data = b""
    for name, shape, kind, some in tensors:
        header += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += some + bytes(-len(some) % alignment)
    return header + bytes(-len(header) % alignment) + data


def q8_0(scale, values):
    return struct.pack("<e32b", scale, *values)


class Files(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)

    def info(self, data, *words, wanted=0):
        (self.path / "m.gguf").write_bytes(data)
        code, out, err = run("info", "m.gguf", "--csv", *words, cwd=self.path)
        self.assertEqual(code, wanted, err)
        return list(csv.DictReader(out.splitlines())), err

    def refused(self, data):
        _, err = self.info(data, wanted=2)
        self.assertEqual(err.count("\n"), 1, err)
        return err.removeprefix("ulpscope: m.gguf: ").rstrip("\n")

    def test_tensors_metadata_and_shapes(self):
        pairs = (pair("general.architecture", 8, text("llama")), pair("general.alignment", 4, struct.pack("<I", 64)),
                 pair("tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("")), pair("nested", 9, struct.pack("<IQIQ", 9, 1, 0, 3) + b"abc"),
                 pair("flag", 7, b"\1"), pair("n", 10, bytes(8)))
        rows, _ = self.info(gguf([("w", [3, 2], F32, struct.pack("<6f", 1, -2, 3, 0, 5, 6)), ("q", [64], Q8_0, q8_0(0.5, range(32)) + q8_0(-1, [-128] * 32)),
                                  ("s", [], F16, struct.pack("<e", 1.5))], pairs, alignment=64))
        self.assertEqual([(row["tensor"], row["dtype"], row["shape"]) for row in rows],
                         [("m.gguf:w", "float32", "2x3"), ("m.gguf:q", "q8_0", "64"), ("m.gguf:s", "float16", "")])
        self.assertEqual((rows[1]["min"], rows[1]["max"], rows[1]["zero"]), ("0", "128", "1"))
        self.assertEqual(len(self.info(gguf([("w", [1], F32, bytes(4))], version=2))[0]), 1)

    def test_blocks_in_census_choose_and_cast(self):
        data = gguf([("q", [32, 2], Q4_0, struct.pack("<e16B", 2, *[0x80 + i for i in range(16)]) + struct.pack("<e16B", 0.25, *[0x7f] * 16))])
        self.info(data)
        code, out, err = run("cast", "m.gguf", "--to", "fp32", "-o", "out.npy", cwd=self.path)
        self.assertEqual(code, 0, err)
        values = struct.unpack("<64f", (self.path / "out.npy").read_bytes()[-256:])
        self.assertEqual(values, tuple([2.0 * (i - 8) for i in range(16)] + [0.0] * 16 + [0.25 * 7] * 16 + [0.25 * -1] * 16))
        code, out, err = run("census", "m.gguf", "--to", "e4m3,int4", "--scale", "row", "--csv", cwd=self.path)
        self.assertEqual((code, out.count("\n")), (0, 3), err)
        code, _, err = run("cast", "m.gguf", "--to", "e4m3", "--copy", "q", "-o", "out.safetensors", cwd=self.path)
        self.assertEqual((code, err), (0, "copied as float32, for a .safetensors holds no blocks: 1 tensor (m.gguf:q)\n"))
        code, out, err = run("diff", "m.gguf", "out.safetensors:q", cwd=self.path)
        self.assertEqual(code, 0, err)  # copied as float32
        code, out, err = run("info", "m.gguf:q", "m.gguf:*", ".", "--csv", cwd=self.path)
        self.assertEqual(code, 0, err)  # `.`: the .safetensors of the folder
        self.assertEqual([row["tensor"] for row in csv.DictReader(out.splitlines())], ["m.gguf:q", "m.gguf:q", "./out.safetensors:q"])

    def test_blocks_that_are_no_wider_than_a_choice_stay(self):
        """4.5 bits an element, as nvfp4 has without its scale of the tensor; of the second, float32, there is something to save."""
        some = struct.pack("<e16B", 2, *[0x80 + i for i in range(16)]) * 32
        self.info(gguf([("q", [32, 32], Q4_0, some), ("w", [32, 32], F32, struct.pack("<1024f", *[1 + i % 13 for i in range(1024)]))]))
        code, out, err = run("choose", "m.gguf", "--to", "e2m1,e4m3", "--scale", "nvfp4", "--sqnr", "15", "--csv", "-o", "p.toml", cwd=self.path)
        self.assertEqual(code, 0, err)
        stays, saves = csv.DictReader(out.splitlines())
        self.assertEqual((stays["bits_before"], stays["format"], saves["format"]), ("4.5", "copy", "float4_e2m1fn"))
        self.assertIn("has no fewer bits than the 4.5 that are stored; copied into a .safetensors it takes 32", stays["reason"])
        self.assertIn("match = 'q'\nto = 'copy'", (self.path / "p.toml").read_text())

    def test_types_that_are_not_known_concern_their_tensors(self):
        rows, _ = self.info(gguf([("iq", [256], 19, bytes(50)), ("w", [1], F32, bytes(4))]))
        self.assertEqual([(row["dtype"], row["count"]) for row in rows], [("ggml_type_19", "256"), ("float32", "1")])
        code, _, err = run("census", "m.gguf", "--to", "e4m3", cwd=self.path)
        self.assertEqual(code, 0)
        self.assertIn("left out: 1 tensor (m.gguf:iq): type 19 of ggml is not known; known are float32 ", err)
        code, _, err = run("census", "m.gguf:iq", "--to", "e4m3", cwd=self.path)
        self.assertEqual((code, err.count("\n")), (2, 1), err)

    def test_broken_files_are_refused_in_one_line(self):
        w = ("w", [4], F32, bytes(16))
        whole = gguf([w])
        for size in range(len(whole) - 16):  # behind it is padding
            self.refused(whole[:size])
        self.assertEqual(self.refused(b"GGML" + whole[4:]), "does not begin with GGUF; is it a .gguf file?")
        self.assertIn("is of version 1; ", self.refused(gguf([w], version=1)))
        self.assertIn("is of version 50331648; ", self.refused(gguf([w], version=3 << 24)))  # big-endian
        self.assertEqual(self.refused(gguf([w, w])), "lists tensor 'w' twice")
        self.assertEqual(self.refused(gguf([])), "holds no tensors")
        self.assertIn("ends in its header", self.refused(gguf([w], counts=(2**63, 0))))
        self.assertIn("ends in its header", self.refused(gguf([w], counts=(1, 2**63))))
        for pairs, wanted in (((pair("a", 13, b""),), "has metadata of type 13, which there is not"),
                              ((pair("a", 9, struct.pack("<IQ", 0, 2**63)),), "ends in its metadata"),
                              ((pair("a", 9, struct.pack("<IQ", 9, 1) * 9),), "deeper than 8"),
                              ((pair("a", 9, struct.pack("<IQ", 99, 1)),), "has metadata of type 99"),
                              ((pair("general.alignment", 4, struct.pack("<I", 0)),), "general.alignment is no power of two"),
                              ((pair("general.alignment", 4, struct.pack("<I", 48)),), "general.alignment is no power of two"),
                              ((pair("general.alignment", 5, struct.pack("<I", 32)),), "general.alignment is no uint32"),
                              ((text(b"x" * 65536),), "has a name of 65536 bytes")):
            self.assertIn(wanted, self.refused(gguf([w], pairs)))
        for tensor, wanted in ((("w", [2**40, 2**40], F32, b""), "extents of the shape overflow"), (("w", [1] * 5, F32, bytes(4)), "has 5 dimensions"),
                               (("w", [33], Q8_0, bytes(34)), "rows of 33 are no whole blocks of 32"),
                               (("w", [2**46], F32, b""), "its data end beyond the file"), (("w", [256, 2], Q4_K, bytes(144)), "its data end beyond the file")):
            self.assertIn(wanted, self.refused(gguf([tensor])))
        self.assertIn("whose name is no UTF-8", self.refused(whole.replace(text("w"), text(b"\xff"))))
        place = 24 + len(text("w")) + 4 + 8 + 4
        self.assertIn("does not begin at a multiple of 32", self.refused(whole[:place] + struct.pack("<Q", 4) + whole[place + 8:]))
        self.assertNotIn("\x1b", self.refused(gguf([("\x1b[31m", [33], Q8_0, bytes(34))])))


unittest.main()
