#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints chosen columns of the CSV on standard input, aligned, numbers with three significant digits. usage: columns.py NAME..."""
import csv
import sys


def shown(word):
    try:
        return f"{float(word):.3g}" if "." in word or "e" in word else word
    except ValueError:
        return word


table = [sys.argv[1:]] + [[shown(row[name]) for name in sys.argv[1:]] for row in csv.DictReader(sys.stdin)]
widths = [max(map(len, column)) for column in zip(*table)]
for row in table:
    print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())
