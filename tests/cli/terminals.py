# SPDX-License-Identifier: Apache-2.0
"""Pseudo-terminals, which a bare chroot, where nobody mounted /dev/pts, has none of."""
import os
import subprocess
import unittest


def skip_without_terminals():
    """Call first in what opens one: the test that does is skipped by name where it cannot."""
    try:
        ends = os.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no pseudo-terminal can be opened here ({error}): mount devpts on /dev/pts") from error
    for end in ends:
        os.close(end)


def on_a_terminal(words, folder):
    """What a command says on a terminal that its standard error is."""
    skip_without_terminals()
    ours, its = os.openpty()
    with subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its) as child:
        os.close(its)
        said = b""
        try:
            while some := os.read(ours, 1 << 16):
                said += some
        except OSError:  # the other end is closed
            pass
        os.close(ours)
    assert child.returncode == 0, said[-500:]
    return said.decode()
