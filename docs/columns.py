#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints chosen columns of the CSV on standard input, aligned, numbers with three significant digits. With --markdown it prints
them as a Markdown table. usage: columns.py [--markdown] NAME..."""
import csv
import sys


def shown(word):
    try:
        return f"{float(word):.3g}" if "." in word or "e" in word else word
    except ValueError:
        return word


names = [word for word in sys.argv[1:] if word != "--markdown"]
table = [names] + [[shown(row[name]) for name in names] for row in csv.DictReader(sys.stdin)]
if "--markdown" in sys.argv[1:]:
    table.insert(1, ["---"] * len(names))
    for row in table:
        print("| " + " | ".join(word.replace("|", r"\|") for word in row) + " |")
else:
    widths = [max(map(len, column)) for column in zip(*table)]
    for row in table:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())
