# SPDX-License-Identifier: Apache-2.0
"""Files of one array, as NumPy writes them (NEP 1, version 1.0)."""
import struct


def npy(path, shape, values, descr="<f4"):
    """Writes float32 (`<f4`), integers such as unsigned words of 16 bits (`<u2`), or truth values (`|b1`)."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    kind = {"<f4": "f", "<u2": "H", "<i4": "i", "<i8": "q", "|i1": "b", "|b1": "?"}[descr]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}{kind}", *values))
