# SPDX-License-Identifier: Apache-2.0
"""How long a test waits for a program that ought to end: longer where an emulator runs it (the test preset arm64 says so)."""
import os

LIMIT = 120 * (20 if os.environ.get("ULPSCOPE_EMULATED") else 1)  # seconds
