# SPDX-License-Identifier: Apache-2.0
"""Whether this system gives pseudo-terminals: a bare chroot, where nobody mounted /dev/pts, has none."""
import os
import unittest


def skip_without_terminals():
    """Call first in what opens one: the test that does is skipped by name where it cannot."""
    try:
        ends = os.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no pseudo-terminal can be opened here ({error}): mount devpts on /dev/pts") from error
    for end in ends:
        os.close(end)
