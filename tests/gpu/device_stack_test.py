# SPDX-License-Identifier: Apache-2.0
"""The machine code of the CUDA plugin: no function that a kernel calls takes stack of its own. What the plugin declares for a
kernel (EIATTR_MIN_STACK_SIZE) is what the driver gives each thread; ptxas leaves callees out of it where it cannot know how
deep they go.

Since sm_70 an instruction is 128 bits wide, its destination register is in bits 16 to 23, and register 1 is the stack pointer.
usage: device_stack_test.py PLUGIN, an ELF file with uncompressed cubins in it"""
import struct
import sys

EM_CUDA, STT_FUNC, STO_CUDA_ENTRY = 190, 2, 0x10
EIFMT_SVAL, EIATTR_MIN_STACK_SIZE = 4, 0x12
STACK_POINTER = 1
# Opcodes (bits 0 to 11) whose bits 16 to 23 are a barrier register: BSYNC, BREAK, BSSY.
BARRIER_OPCODES = {0x941, 0x942, 0x945}


class Cubin:
    def __init__(self, data):
        self.data = data
        start, = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
        self.names = [self.text(self.sections[names], section[0]) for section in self.sections]
        table = self.sections[self.names.index(".symtab")]
        strings = self.sections[table[6]]
        self.symbols = []
        for at in range(table[4], table[4] + table[5], 24):
            name, info, other, section, value, length = struct.unpack_from("<IBBHQQ", data, at)
            self.symbols.append((self.text(strings, name), info & 15, other, section, value, length))

    def text(self, strings, offset):
        begin = strings[4] + offset
        return self.data[begin:self.data.index(b"\0", begin)].decode()

    def code(self, symbol):
        """The instructions of a function, as their lower 64 bits."""
        _, _, _, section, value, length = symbol
        begin = self.sections[section][4] + value
        return [struct.unpack_from("<Q", self.data, at)[0] for at in range(begin, begin + length, 16)]

    def moves_stack(self, symbol):
        return any(word >> 16 & 0xFF == STACK_POINTER and word & 0xFFF not in BARRIER_OPCODES for word in self.code(symbol))

    def declared_stack(self):
        """Bytes of stack by kernel."""
        info, stack = self.sections[self.names.index(".nv.info")], {}
        at, end = info[4], info[4] + info[5]
        while at < end:
            form, attribute, size = struct.unpack_from("<BBH", self.data, at)
            if form == EIFMT_SVAL:
                if attribute == EIATTR_MIN_STACK_SIZE:
                    symbol, stack_bytes = struct.unpack_from("<II", self.data, at + 4)
                    stack[self.symbols[symbol][0]] = stack_bytes
                at += size
            at += 4
        return stack

    def functions(self):
        return [symbol for symbol in self.symbols if symbol[1] == STT_FUNC and symbol[5] > 0]


def cubins(data):
    at = data.find(b"\x7fELF", 1)
    while at >= 0:
        if struct.unpack_from("<H", data, at + 18)[0] == EM_CUDA:
            yield Cubin(data[at:])
        at = data.find(b"\x7fELF", at + 1)


def check(cubin):
    """Kernels, those with a stack, functions they call, and what is wrong."""
    declared, wrong, kernels, stacked, called = cubin.declared_stack(), [], 0, 0, 0
    for symbol in cubin.functions():
        entry = symbol[2] & STO_CUDA_ENTRY
        # A symbol of a kernel spans the functions that it calls: they lie behind its own code.
        inside = [s for s in cubin.functions() if s[3] == symbol[3] and not s[2] & STO_CUDA_ENTRY]
        if not entry:
            called += 1
            if cubin.moves_stack(symbol):
                wrong.append(f"{symbol[0]} takes stack of its own")
            continue
        kernels += 1
        own = min([s[4] for s in inside], default=symbol[5])
        stack = declared.get(symbol[0], 0)
        stacked += stack > 0
        if stack > 0 and not cubin.moves_stack(symbol[:5] + (own,)):
            wrong.append(f"{symbol[0]} declares {stack} bytes of stack and never takes them: is the machine code read rightly?")
    return kernels, stacked, called, wrong


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    counts, wrong, found = [0, 0, 0], [], list(cubins(data))
    if not found:
        return print("skipped: the plugin holds PTX alone, no machine code")
    for cubin in found:
        *some, more = check(cubin)
        counts = [x + y for x, y in zip(counts, some)]
        wrong += more
    kernels, stacked, called = counts
    print(f"{kernels} kernels, {stacked} with a stack, {called} functions that they call")
    print("\n".join(wrong))
    # Without kernels, stacks and callees nothing was looked at.
    sys.exit(1 if wrong or not all(counts) else 0)


main()
