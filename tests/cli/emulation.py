# SPDX-License-Identifier: Apache-2.0
"""Programs for another processor, started by scripts in an emulator: what they cannot do is skipped by the tests beside this file."""
import unittest


def is_emulated(program):
    with open(program, "rb") as file:
        return file.read(2) == b"#!"


def not_emulated(program, why):
    """A decorator for tests of `program` that need it to be itself."""
    return unittest.skipIf(is_emulated(program), f"{program} is started in an emulator: {why}")
