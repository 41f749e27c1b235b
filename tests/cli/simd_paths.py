# SPDX-License-Identifier: Apache-2.0
"""The SIMD paths of a program, as it names them itself: for the tests beside this file."""
import os
import re
import subprocess


def last_path(program):
    """The one without vectors where there is one; on Arm NEON is all there is."""
    done = subprocess.run([program, "census", "normal:0,1:1"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "ULPSCOPE_SIMD": "none of them"})
    return re.search(r"this machine has (.*)", done.stderr)[1].split(", ")[-1]
