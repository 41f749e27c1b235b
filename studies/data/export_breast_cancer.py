#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the 30 measurements of the UCI breast-cancer (diagnostic) table as CSV with a header, numbers as the source spells them."""
import argparse
import csv

TABLE = "/usr/lib/python3/dist-packages/sklearn/datasets/data/breast_cancer.csv"
MEASURED = ("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave_points", "symmetry",
            "fractal_dimension")

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--table", default=TABLE, help="breast_cancer.csv of scikit-learn")
parser.add_argument("-o", "--output", default="breast-cancer.csv")
arguments = parser.parse_args()

with open(arguments.table, newline="") as source, open(arguments.output, "w", newline="") as target:
    rows = list(csv.reader(source))[1:]  # the first row holds counts and class names
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow([f"{statistic}_{name}" for statistic in ("mean", "error", "worst") for name in MEASURED])
    writer.writerows(row[:30] for row in rows)
