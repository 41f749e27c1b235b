#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of tensors at their edges: endings in capitals, an index that leaves tensors out, types that are not known, codes that do not
fit their scales.   usage: tensor_edges_test.py PROGRAM"""
import io
import json
import math
import struct
import unittest
import zipfile

from files_test import Folder, npy, safetensors


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


class TensorEdges(Folder):
    def test_endings_in_capitals(self):
        self.write("A.NPY", npy("<f4", (2,), struct.pack("<2f", 1, -2)))
        self.assertEqual([row["min"] for row in self.rows("info", "A.NPY")[0]], ["-2"])

    def test_codes_are_asked_of_files_that_may_hold_them(self):
        self.write("a.safetensors", safetensors({"w": ("F32", [2], bytes(8))}))
        self.assertEqual(self.refused("info", "a.safetensors", "--dtype", "e4m3"),
                         "a.safetensors: --dtype is for codes in .npy and .npz files; this file says what it holds")
        self.write("b.npy", npy("|b1", (2,), b"\1\0"))
        self.assertEqual(self.refused("info", "b.npy", "--dtype", "e4m3"), "b.npy: dtype |b1 holds no codes of float8_e4m3fn; leave --dtype out")
        self.write("some.npz", zipped({"codes.npy": npy("|u1", (2,), b"\x38\x40"), "more.npy": npy("|u1", (2,), b"\x38\x38"), "x.npy": npy("<f4", (1,), bytes(4))}))
        self.assertEqual([(row["tensor"], row["max"]) for row in self.rows("info", "some.npz", "--dtype", "e4m3")[0]],
                         [("some.npz:codes", "2"), ("some.npz:more", "1"), ("some.npz:x", "0")])
        self.write("none.npz", zipped({"x.npy": npy("<f4", (1,), bytes(4)), "y.npy": npy("<f4", (1,), bytes(4))}))
        self.assertEqual(self.refused("info", "none.npz", "--dtype", "e4m3"), "none.npz:x: dtype <f4 already says float32; leave --dtype out")

    def test_an_index_chooses_among_the_tensors_of_its_files(self):
        (self.path / "m").mkdir()
        for name, tensors in (("a", ("v", "w")), ("b", ("w", "x"))):
            self.write(f"m/{name}.safetensors", safetensors({one: ("F32", [1], struct.pack("<f", 1 if name == "a" else 2)) for one in tensors}))
        self.write("m/model.safetensors.index.json", json.dumps({"weight_map": {"w": "b.safetensors", "v": "a.safetensors"}}).encode())
        self.assertEqual([(row["tensor"].split(":")[-1], row["max"]) for row in self.rows("info", "m")[0]], [("v", "1"), ("w", "2")])

    def test_types_of_ggml_that_are_not_known(self):
        def text(word):
            return struct.pack("<Q", len(word)) + word.encode()
        for extent in (0, 32):
            info = text("w") + struct.pack("<I", 1) + struct.pack("<Q", extent) + struct.pack("<IQ", 999, 0)
            self.write("m.gguf", b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + info + bytes(-(24 + len(info)) % 32 + 32))
            code, out, err = self.run_here("info", "m.gguf", "--csv")
            self.assertEqual((code, "ggml_type_999" in out), (0, True), (out, err))
        said = self.refused("cast", "m.gguf", "--to", "bf16", "--copy", "w", "-o", "o.safetensors")
        self.assertTrue(said.startswith("m.gguf:w: type 999 of ggml is not known; known are float32 "), said)

    def test_rotations_of_what_has_no_rows(self):
        self.write("m.safetensors", safetensors({"scalar": ("F32", [], bytes(4)), "none": ("F32", [0, 16], b""), "w": ("F32", [16], bytes(64)),
                                                 "odd": ("F32", [15], bytes(60))}))
        self.write("i.safetensors", safetensors({"ids": ("I64", [16], bytes(128))}))
        self.assertEqual(self.refused("census", "i.safetensors", "--integers", "--to", "e4m3", "--hadamard", "16"),
                         "--hadamard 16: no tensor has rows of floating-point numbers that are a multiple of 16")
        for name in ("scalar", "none", "odd"):
            self.assertEqual(self.refused("census", f"m.safetensors:{name}", "--to", "e4m3", "--hadamard", "16"),
                             "--hadamard 16: no tensor has rows of floating-point numbers that are a multiple of 16")
        self.assertEqual(self.run_here("census", "m.safetensors", "--to", "e4m3", "--hadamard", "16", "--csv")[0], 0)

    def test_codes_that_do_not_fit_their_scales_are_not_put_together(self):
        one = struct.pack("<f", 0.5)
        for codes, scales, together in (((1, 40), (1, 1), True), ((1, 40), (1, 3), True), ((1, 40), (1, 7), False), ((7, 40), (3, 1), False), ((2, 40), (2, 1), True),
                                        ((2, 2, 32), (2, 2, 1), True), ((2, 2, 32), (3, 2, 1), False), ((), (), True), ((0, 4), (1, 1), True), ((40,), (40,), True)):
            count, blocks = (math.prod(shape) for shape in (codes, scales))
            self.write("q.safetensors", safetensors({"w": ("F8_E4M3", list(codes), b"\x38" * count), "w.scale": ("F32", list(scales), one * blocks)}))
            self.write("v.safetensors", safetensors({"w": ("F32", list(codes), one * count)}))
            code, out, err = self.run_here("diff", "v.safetensors", "q.safetensors", "--csv")
            self.assertEqual("compared by their values" in err, together, (codes, scales, out, err))
            if together:
                self.assertEqual(code, 0, (codes, scales, out, err))


    def test_tensors_that_only_have_the_names_of_codes_and_scales(self):
        def f8(*shape):
            return "F8_E4M3", list(shape), b"\x38" * math.prod(shape)
        def u8(*shape):
            return "U8", list(shape), b"\x7f" * math.prod(shape)
        def f32(*shape):
            return "F32", list(shape), struct.pack("<f", 0.5) * math.prod(shape)
        for tensors, together in (
                ({"w._rowwise_data": f8(32, 32), "w._rowwise_scale_inv": u8(128, 4)}, True),  # scales that fill up tiles
                ({"w._rowwise_data": f8(32, 32), "w._rowwise_scale_inv": u8(32, 1)}, False),
                ({"w._rowwise_data": f8(32, 33), "w._rowwise_scale_inv": u8(128, 4)}, False),
                ({"w._rowwise_data": f8(), "w._rowwise_scale_inv": u8(128, 4)}, False),
                ({"w_blocks": u8(2, 1, 16), "w_scales": u8(2, 1)}, True), ({"w_blocks": u8(16), "w_scales": u8(1)}, False),
                ({"w_blocks": u8(), "w_scales": u8()}, False),
                ({"w": f8(2, 16), "w.scale": f32(2, 1), "w.global_scale": f32()}, True),
                ({"w": f8(2, 16), "w.scale": f32(2, 1), "w.zero_point": f32(2, 1)}, True),
                ({"w": f8(2, 16), "w.scale": f32(2, 1), "w.zero_point": f32(2)}, False),
                ({"w": f8(2, 16), "w.scale": ("I32", [2, 1], bytes(8))}, False),
                ({"w": f32(2, 16), "w.scale": f32(2, 1)}, False),
                ({"w": f8(2, 16), "w.scale": f32(2, 1), "w.global_scale": f32(2)}, False)):  # of which none is that of all
            self.write("q.safetensors", safetensors(tensors))
            code, _, err = self.run_here("diff", "q.safetensors", "q.safetensors", "--csv")
            self.assertEqual((code, "compared by their values" in err), (0, together), (tensors.keys(), err))


if __name__ == "__main__":
    unittest.main()
