# SPDX-License-Identifier: Apache-2.0
"""The program `ulpscope` that the wheel holds."""
import os
import pathlib
import sys


def main():
    """Becomes the program, with this command's arguments."""
    program = pathlib.Path(__file__).parent / "bin" / "ulpscope"
    os.execv(program, [str(program), *sys.argv[1:]])
