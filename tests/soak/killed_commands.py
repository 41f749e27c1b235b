# SPDX-License-Identifier: Apache-2.0
"""The commands that tests/soak/kills ends, and what they read: files of moderate size, of random numbers."""
import dataclasses
import json
import pathlib
import random
import struct
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

STUDY = """
[[study]]
kind = "census"
name = "blocks"
inputs = ["normal:0,1:512x1024", "laplace:0,1:512x1024", "studentt:3:512x1024"]
to = ["e4m3", "e2m1"]
scale = ["none", "amax", "1x128", "mx:even", "nvfp4"]

[[study]]
kind = "accumulation"
name = "sums"
engine = ["sm_90", "fma"]
in = ["e4m3", "fp16"]
k = [256, 1024]
"""
# Rejects by what an output holds.
CHECK = """#!/bin/sh
cmp -s "$1" "$2" && exit 0
[ $(($(cksum < "$2" | cut -d' ' -f1) % 2)) = 1 ]
"""


@dataclasses.dataclass
class Command:
    words: list
    output: str  # what -o names
    reads: str = ""  # an input that can become shorter or go
    older: list = None  # a command that writes something else to the same place; none: a report, or a copy of v.safetensors
    option: str = "-o"
    keeps_unasked: bool = False  # what it has, without --resume


def block_of_numbers(seed):
    words = random.Random(seed)
    return b"".join(struct.pack("<f", words.gauss(0, 1)) for _ in range(4096))


def write_weights(path, seed, count=1 << 22, tensors=1, name="w"):
    """A .safetensors file of float32 numbers of moderate size."""
    each = count // tensors
    header = json.dumps({name if tensors == 1 else f"{name}{i}": {"dtype": "F32", "shape": [each // 1024, 1024],
                                                                  "data_offsets": [4 * each * i, 4 * each * (i + 1)]}
                         for i in range(tensors)}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + block_of_numbers(seed) * (count // 4096))


def npy_of(seed, rows):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 1024)}}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + block_of_numbers(seed) * (rows // 4)


def gguf_of(seed, rows):
    """One tensor of float32 (GGUF 3), its numbers at the next multiple of 32 bytes."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"w" + struct.pack("<IQQIQ", 2, 1024, rows, 0, 0)
    return head + bytes(-len(head) % 32) + block_of_numbers(seed) * (rows // 4)


def write_inputs(folder):
    (folder / "study.toml").write_text(STUDY)
    (folder / "check").write_text(CHECK)
    (folder / "check").chmod(0o755)
    write_weights(folder / "w.safetensors", 1)
    write_weights(folder / "v.safetensors", 2)
    write_weights(folder / "many.safetensors", 3, 1 << 20, tensors=32)
    write_weights(folder / "other.safetensors", 4, 1 << 20, tensors=32)
    write_weights(folder / "a.safetensors", 5, 1 << 16)
    write_weights(folder / "b.safetensors", 6, 1 << 16)
    (folder / "w.npy").write_bytes(npy_of(7, 1024))
    (folder / "w.gguf").write_bytes(gguf_of(8, 1024))
    with zipfile.ZipFile(folder / "w.npz", "w") as file:
        file.writestr("w.npy", npy_of(9, 1024))
    words = random.Random(10)
    (folder / "w.csv").write_text("".join(f"{words.gauss(0, 1)},{words.gauss(0, 1)}\n" for _ in range(1 << 16)))
    (folder / "model").mkdir()
    for i in range(6):
        write_weights(folder / f"model/{i}.safetensors", 4 + i, 1 << 20, name=f"w{i}")


def resumed():
    """Commands that keep what they have: name -> command."""
    many, model = "many.safetensors", "model/3.safetensors"
    training = ["train", str(ROOT / "studies/training/digits.toml"), "--recipe", "float32,bf16_amp", "--steps", "150"]
    audit = ["--rule", "program:./check {ref} {out}", "--rule", "bound"]
    return {
        "run": Command(["run", "study.toml"], "out", keeps_unasked=True),
        "run of a part": Command(["run", "study.toml", "--shard", "1/2"], "part", keeps_unasked=True),
        "train": Command(training, "out", keeps_unasked=True),
        "train of a part": Command([*training, "--shard", "1/2"], "part", keeps_unasked=True),
        "census": Command(["census", many, "--to", "e4m3,e2m1", "--scale", "nvfp4"], "out", many),
        "blocks": Command(["census", many, "--to", "e2m1", "--scale", "nvfp4", "--blocks", "--all-tensors"], "out", many),
        "history": Command(["census", "--history", many, "other.safetensors", "--all-tensors"], "out", many),
        "sweep": Command(["sweep", many, "--to", "e4m3", "--rounding", "stochastic"], "out", many),
        "part": Command(["sweep", many, "--to", "e4m3", "--rounding", "stochastic", "--shard", "1/2"], "part", many),
        "choose": Command(["choose", many, "--to", "e4m3,e5m2", "--scale", "none,row,mx:rceil", "--sqnr", "30"], "plan.toml", many),
        "cast": Command(["cast", "model", "--to", "e4m3", "--rounding", "stochastic", "--scale", "mx:even"], "cast", model),
        "cast by a list": Command(["cast", *(f"model/{i}.safetensors" for i in range(6)), "--to", "e2m1", "--scale", "nvfp4"], "cast", model),
        "diff": Command(["diff", many, "other.safetensors"], "out", many),
        "audit matmul": Command(["audit", "matmul", "a.safetensors", "b.safetensors", "--transpose-b", "--in", "bf16", "--out", "fp32", "--engine",
                                 "sm_90", *audit], "out", "a.safetensors"),
        "audit softmax": Command(["audit", "softmax", "a.safetensors", "--out", "bf16", *audit], "out", "a.safetensors")}


def written(folder, do):
    """Commands that write over something older: name -> command."""
    for i in range(2):
        do("census", "w.safetensors", "--to", "e4m3,e2m1", "--scale", "nvfp4", "--shard", f"{i}/2", "-o", f"part{i}")
    for name, rounding in (("one", "nearest_even"), ("two", "toward_zero")):
        do("cast", "a.safetensors", "--to", "bf16", "--rounding", rounding, "-o", f"{name}.safetensors")
    small, other = ["normal:0,1:64x256", "normal:0,1:256x64", "--engine", "sm_90", "--in", "e4m3"], ["--seed", "5,6"]
    outputs = ["--output", "one=one.safetensors", "--output", "two=two.safetensors"]
    generate = ["generate", "matmul", "ties", "--m", "64", "--n", "64", "--k", "512", "--in", "bf16", "--engine", "sm_90"]
    return {
        "census": Command(["census", "w.safetensors", "--to", "e4m3,e2m1", "--scale", "mx:even"], "out"),
        "sweep": Command(["sweep", "w.safetensors", "--to", "e4m3"], "out"),
        "figure": Command(["sweep", "a.safetensors", "--to", "e4m3"], "sweep.svg", older=["sweep", "b.safetensors", "--to", "e5m2"], option="--svg"),
        "cast": Command(["cast", "w.safetensors", "--to", "e4m3", "--scale", "amax"], "out.safetensors"),
        "cast to npy": Command(["cast", "w.npy", "--to", "e4m3", "--codes"], "out.npy", older=["cast", "w.npy", "--to", "e5m2"]),
        "merge": Command(["merge", "part0", "part1"], "out"),
        "choose": Command(["choose", "w.safetensors", "--to", "e4m3,bf16", "--sqnr", "30"], "plan.toml",
                          older=["choose", "v.safetensors", "--to", "bf16", "--sqnr", "30"]),
        "diff": Command(["diff", "w.safetensors", "v.safetensors"], "out"),
        "matmul": Command(["matmul", *small, "--against", "none"], "d.npy", older=["matmul", *small, "--against", "none", *other]),
        "accumulation": Command(["accumulation", "--engine", "sm_90", "fma", "--in", "e4m3", "--k", "64:512"], "out"),
        "scale": Command(["scale", str(ROOT / "studies/data/digits-amax.csv"), "--scaler", "pytorch,megatron"], "out"),
        "invariance": Command(["invariance", "cast", "a.safetensors", *outputs, "--out", "bf16"], "out"),
        "audit": Command(["audit", "softmax", "a.safetensors", "--out", "bf16", "--rule", "bound"], "out"),
        "evidence": Command(["evidence", "--products", "20", "--plants", "1", "--k", "1:16"], "out"),
        "generate": Command(generate, "case", older=[*generate, "--seed", "3"]),
        "generate cast": Command(["generate", "cast", "--to", "fp16"], "case", older=["generate", "cast", "--to", "e4m3"]),
        "junit": Command(["verify", "softmax", "a.safetensors", "--output", "b.safetensors", "--csv"], "junit.xml",
                         older=["verify", "softmax", "b.safetensors", "--output", "a.safetensors"], option="--junit"),
        "failing case": Command(["verify", "softmax", "a.safetensors", "--output", "b.safetensors"], "kept",
                                older=["verify", "softmax", "b.safetensors", "--output", "a.safetensors"], option="--save"),
        "recording": Command(["devices", "record", "--device", "emulated:sm_90", "--tests", "300"], "d.recording",
                             older=["devices", "record", "--device", "emulated:sm_90", "--tests", "100"])}


def check_covers(program, commands):
    """That each command with --resume is among them: one that gets it is ended from then on."""
    sys.path.append(str(ROOT / "tests/cli"))
    sys.argv = [sys.argv[0], program, str(ROOT)]
    from commands_of import Command
    missing = {one.path[0] for one in Command().all() if "--resume" in one.options} - {command.words[0] for command in commands.values()}
    assert not missing, f"no command here of: {missing}"


def read():
    """Commands, and the file among their inputs that changes."""
    formats = [[command, name, *more, "--csv"] for name in ("x.safetensors", "x.npy", "x.npz", "x.gguf", "x.csv")
               for command, more in (("info", []), ("census", ["--to", "e4m3"]))]
    return [(words, words[1]) for words in formats] + [
        (["census", "x.safetensors", "--to", "e2m1", "--scale", "nvfp4", "--csv"], "x.safetensors"),
        (["sweep", "x.safetensors", "--to", "e4m3", "--csv"], "x.safetensors"),
        (["choose", "x.safetensors", "--to", "e4m3,bf16", "--sqnr", "30", "--csv"], "x.safetensors"),
        (["diff", "x.safetensors", "w.safetensors", "--csv"], "x.safetensors"),
        (["diff", "w.npy", "x.npy", "--csv"], "x.npy"),
        (["matmul", "x.npy", "normal:0,1:1024x16", "--engine", "sm_90", "--in", "e4m3", "--csv"], "x.npy"),
        (["verify", "softmax", "x.npy", "--output", "w.npy", "--csv"], "x.npy"),
        (["verify", "expr", "silu(x)", "--input", "x=w.npy", "--output", "x.npy", "--csv"], "x.npy"),
        (["audit", "softmax", "x.npy", "--out", "bf16", "--rule", "bound", "--csv"], "x.npy"),
        (["invariance", "softmax", "w.npy", "--output", "one=w.npy", "--output", "two=x.npy", "--csv"], "x.npy"),
        (["merge", "x", "part1", "-o", "merged"], "x/part.json"),
        (["report", "check", "y", "--csv"], "y/census.csv")]
