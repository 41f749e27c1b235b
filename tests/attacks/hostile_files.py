# SPDX-License-Identifier: Apache-2.0
"""Files that are made to do harm: each function gives the bytes of one, which a reader has to refuse or to survive."""
import io
import json
import struct
import zipfile
import zlib

ESCAPES = ["\x1b[31m", "\u009b31m", "\x07", "\x7f", "\r", "\n::error ::owned", "\u202e", "\u2066", "\u2028", "\u0085", "\x00"]
NAME = "w" + "".join(ESCAPES) + "ok \u00e9 \u91cd"
COMMANDS = ["::error file=x::owned", "  ::set-output name=a::b", "##[error]owned", "##vso[task.setvariable variable=a]b"]


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def one_tensor(name="w", dtype="F32", shape=(1,), size=4, **more):
    return safetensors({name: {"dtype": dtype, "shape": list(shape), "data_offsets": [0, size]}, **more}, bytes(size))


def nested(depth, key="x"):
    """An object in an object in an object."""
    return f'{{"{key}":' * depth + "1" + "}" * depth


def npy(descr="<f4", shape="(1,)", data=bytes(4), header=None):
    text = header if header is not None else f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + data


def npz(members, method=zipfile.ZIP_DEFLATED):
    """`members`: name -> bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def zeros_deflated(count, start=b"", claimed=None):
    """A zip archive with the one member w.npy: `start` and then zeros, deflated in pieces, which takes no memory; `claimed` is the size
    that it says."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece, packed, checksum = bytes(1 << 20), [packer.compress(start)], zlib.crc32(start)
    for at in range(0, count, len(piece)):
        some = piece[:min(len(piece), count - at)]
        packed.append(packer.compress(some))
        checksum = zlib.crc32(some, checksum)
    packed = b"".join(packed) + packer.flush()
    return zip_of({"w.npy": (packed, checksum, len(start) + count if claimed is None else claimed)})


def zip_of(members):
    """name -> (deflated bytes, checksum, size that is claimed)"""
    out, directory = b"", b""
    for name, (packed, checksum, size) in members.items():
        facts = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0x21, checksum, len(packed), size, len(name), 0)
        directory += b"PK\x01\x02\x14\x00" + facts + struct.pack("<HHHII", 0, 0, 0, 0, len(out)) + name.encode()
        out += b"PK\x03\x04" + facts + name.encode() + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(out), 0)
    return out + directory + b"PK\x05\x06" + end


def npy_start(shape, descr="<f4"):
    return npy(descr, shape, b"")


def ledger(name, **more):
    """A ledger of one case of that name."""
    digest = {"format": "float32", "shape": [1], "sha256": "0" * 64}
    case = {"case": name, "operation": "matmul", "declared": {}, "options": {"in": "float32,float32", "acc": "float32", "out": "float32"},
            "inputs": [{"role": "A", "words": "a.npy", **digest}, {"role": "B", "words": "b.npy", **digest}], "bound": "engine",
            "figures": {"verdict": "pass", "equal": 1, "within": 0, "beyond": 0, "nonfinite": 0, "max_ulp_error": 0.0, "bias_ulp": 0.0,
                        "rel_frobenius_error": 0.0, "max_of_bound": 0.0},
            "output": {"role": "output", "words": "", **digest}, **more}
    return (json.dumps({"ulpscope_ledger": 1}) + "\n" + json.dumps(case) + "\n").encode()


def gguf(tensors, keys=(), data=bytes(128)):
    """`tensors`: (name, elements of float32, offset)."""
    def text(word):
        return struct.pack("<Q", len(word.encode())) + word.encode()
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(text(key) + struct.pack("<IB", 0, 1) for key in keys)
    header += b"".join(text(name) + struct.pack("<IQIQ", 1, count, 0, offset) for name, count, offset in tensors)
    return header + bytes(-len(header) % 32) + data


def onnx_field(number, value):
    """A field of a protocol buffer, as short as it must be; `value` is a whole number, words, or bytes."""
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx(*fields, location=None, count=8):
    """A model of the one initializer w, of float32: `location` is of data beside it, `fields` are more of its TensorProto."""
    tensor = onnx_field(1, count) + onnx_field(2, 1) + onnx_field(8, "w") + b"".join(fields)
    if location is not None:
        tensor += onnx_field(13, onnx_field(1, "location") + onnx_field(2, location)) + onnx_field(14, 1)
    return onnx_field(1, 8) + onnx_field(7, onnx_field(5, tensor))
