#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many instructions a GPU executes for a product of an emulated inner product: counted in the machine code of a cubin.

    bench/count_instructions.py tests/gpu/counted_kernels.cu --nvcc nvcc

Needs no disassembler. Code of sm_70 and later is a sequence of instructions of 16 bytes whose low 12 bits are the opcode; a
branch back makes a loop (NVIDIA's format is not published: these fields are as nvdisasm 13.5 shows them for sm_90). Counted is the
loop over K, with all that it contains: copies to shared memory, alignment, products, rounding. Loops inside it over the products of
a block run as often as their share of the products says; loops without products are counted once. Where tensor cores add the
products, the loop that does doubtful outputs again, one by one, is not counted: docs/devices.md says how rare they are."""
import argparse
import csv
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 4
FLAGS = ["-std=c++20", "-O3", "--fmad=false", "--expt-relaxed-constexpr", "-arch=sm_90a", "-cubin"]  # as cmake/UlpscopeCuda.cmake
OPCODE_MASK, BRANCH = 0xFFF, 0x947
FUSED = 0x223  # FFMA of registers
TO_INTEGER = 0x305  # F2I
TENSOR = 0x23C  # HMMA
TILE_PRODUCTS, OUTPUTS = 32, 32  # gpu/cuda/aligned_tile.hpp: of each output in shared memory; of a thread


def sections(image):
    """Names and bytes of the sections of a 64-bit ELF file."""
    if image[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file: give a cubin (nvcc -cubin)")
    (offset,) = struct.unpack_from("<Q", image, 0x28)
    count, of_names = struct.unpack_from("<HH", image, 0x3C)
    headers = [struct.unpack_from("<IIQQQQ", image, offset + 64 * i) for i in range(count)]
    names = image[headers[of_names][4] :][: headers[of_names][5]]
    for name, _, _, _, begin, size in headers:
        yield names[name : names.index(b"\0", name)].decode(), image[begin : begin + size]


def instructions(text):
    return [int.from_bytes(text[i : i + 16], "little") for i in range(0, len(text), 16)]


def target(code, index):
    """Of a branch: the index of the instruction that it goes to."""
    high = code >> 34 & (1 << 48) - 1
    words = (high - (1 << 48) if high >> 47 else high) * 256 + (code >> 16 & 0xFF)  # of 4 bytes, from the next instruction
    return index + 1 + words // 4


def loops(codes):
    """(first, last) of every backward branch that is not the trap behind the end, inner loops before the outer ones."""
    found = [(target(code, i), i) for i, code in enumerate(codes) if code & OPCODE_MASK == BRANCH and target(code, i) < i]
    return sorted(found, key=lambda loop: loop[1] - loop[0])


def products_in(codes, cut):
    return sum(code & OPCODE_MASK == cut for code in codes)


def instructions_by_tensor_cores(codes):
    """Of a kernel whose block is all that is in shared memory."""
    with_products = [loop for loop in loops(codes) if products_in(codes[loop[0] : loop[1] + 1], TENSOR) >= 8]
    if not with_products:
        raise ValueError("no loop over products of tensor cores: has the kernel changed?")
    outer = with_products[-1]
    again = [
        last - first + 1
        for first, last in loops(codes)
        if (first, last) not in with_products
        and outer[0] <= first
        and last <= outer[1]
        and products_in(codes[first : last + 1], TO_INTEGER) > 0
    ]
    return (outer[1] - outer[0] + 1 - max(again)) / (TILE_PRODUCTS * OUTPUTS)


def instructions_a_product(codes, block, chained):
    """Of a kernel whose sums have `block` products."""
    cut = FUSED if chained else TO_INTEGER
    with_products = [loop for loop in loops(codes) if products_in(codes[loop[0] : loop[1] + 1], cut) >= 8]
    if not with_products:
        raise ValueError("no loop over products: has the kernel changed?")
    outer = with_products[-1]
    def holds_another(loop):
        return any(other != loop and loop[0] <= other[0] and other[1] <= loop[1] for other in with_products)

    inner = [loop for loop in with_products if not holds_another(loop)]
    inside = sum(products_in(codes[first : last + 1], cut) for first, last in inner)
    trips = 1 if inner == [outer] else block * OUTPUTS // inside
    of_block = next((loop for loop in reversed(with_products) if loop != outer and loop not in inner), None)
    blocks = TILE_PRODUCTS // block

    total = outer[1] - outer[0] + 1
    more = sum(last - first + 1 for first, last in inner if (first, last) != outer) * (trips - 1)
    if blocks > 1:
        if of_block is None:
            of_block, more = inner[0], 0
        total += (of_block[1] - of_block[0] + 1) * (blocks - 1) + more * blocks
    else:
        total += more
    return total / (TILE_PRODUCTS * OUTPUTS)


def kernels(image):
    """(kind, products of a sum, instructions a product) of the kernels gpu::cuda::aligned::multiply without further parts."""
    for name, text in sections(image):
        match = re.match(r"\.text\.\w*?multiplyILb([01])ELb([01])ELb([01])ELb([01])ELi(\d+)ELb0ELb0EE", name)
        if not match:
            continue
        *flags, block = (int(group) for group in match.groups())
        words = [word for word, flag in zip(("half", "wide", "chained", "summed"), flags) if flag]
        codes, chained, summed = instructions(text), flags[2] == 1, flags[3] == 1
        count = instructions_by_tensor_cores(codes) if summed else instructions_a_product(codes, block, chained)
        yield " ".join(words) or "narrow", block, count


def compiled(source, nvcc):
    """The cubin of a .cu file."""
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernels.cubin"
        subprocess.run([nvcc, *FLAGS, f"-I{root}", "-o", str(cubin), source], check=True)
        return cubin.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="a cubin, or with --nvcc a .cu file")
    parser.add_argument("--nvcc", metavar="PROGRAM", help=f"compile the file; exit code {SKIPPED} where there is no such program")
    parser.add_argument("--most", action="append", default=[], metavar="KIND:BLOCK:N", help="fail where it is more than N")
    arguments = parser.parse_args()
    if arguments.nvcc and not shutil.which(arguments.nvcc):
        print(f"skipped: no CUDA compiler {arguments.nvcc}")
        return SKIPPED
    rows = list(kernels(compiled(arguments.file, arguments.nvcc) if arguments.nvcc else Path(arguments.file).read_bytes()))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["kind", "block", "instructions_a_product"])
    writer.writerows([kind, block, f"{count:.2f}"] for kind, block, count in rows)
    failed = False
    for limit in arguments.most:
        kind, block, most = limit.split(":")
        counts = [count for of_kind, of_block, count in rows if of_kind == kind and of_block == int(block)]
        if not counts or counts[0] > float(most):
            found = f"{counts[0]:.2f}" if counts else "no"
            print(f"{kind}, sums of {block}: {found} instructions a product, {most} allowed", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
