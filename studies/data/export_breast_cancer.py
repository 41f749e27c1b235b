#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes breast-cancer.csv: the 30 measured columns of the Wisconsin diagnostic table, with a row of names.

The numbers are copied as they stand in the table that scikit-learn ships; the last column there, the class, is left out.
"""

import argparse
import csv
import pathlib

TABLE = pathlib.Path("/usr/lib/python3/dist-packages/sklearn/datasets/data/breast_cancer.csv")  # Debian's python3-sklearn
MEASURES = ["radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave_points", "symmetry",
            "fractal_dimension"]
# Fields 0-9 are means, 10-19 standard errors, 20-29 the means of the three largest (scikit-learn's description of the table).
COLUMNS = [f"{kind}_{measure}" for kind in ("mean", "se", "worst") for measure in MEASURES]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=pathlib.Path, default=TABLE, help="scikit-learn's breast_cancer.csv (%(default)s)")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path(__file__).parent / "breast-cancer.csv")
    options = parser.parse_args()

    with open(options.table, newline="") as file:
        reader = csv.reader(file)
        count, features, *_ = next(reader)
        rows = [row[: int(features)] for row in reader]
    if len(rows) != int(count) or int(features) != len(COLUMNS):
        raise SystemExit(f"{len(rows)} rows of {features} columns where {count} rows of {len(COLUMNS)} are expected")
    with open(options.output, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main()
