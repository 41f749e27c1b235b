# SPDX-License-Identifier: Apache-2.0
"""docs/performance-engines.md as text, from recorded figures alone: speeds of matrix products on emulated engines.

A record is that of performance_document.py; rows are named engine/ENGINE/INPUT/ACCUMULATOR/N, sgemm/N and dgemm/N, with _all_threads
after the first word where all threads took part, and count two operations a product. Block scales that an engine applies are named
after the input, with a plus between them.
"""
from performance_document import Figures, median_ratio, number, ratio, table

MARK = 1 / 8  # of GEMM on one thread


def sizes_of(rows):
    return sorted({int(name.rsplit("/", 1)[1]) for name in rows})


def ratio_of(figures, name, suffix, size):
    ours, limit = f"engine{suffix}/{name}/{size}", f"{limit_of(name)}{suffix}/{size}"
    return median_ratio(figures.speeds(ours, 0), figures.speeds(limit, 0))


def cells(figures, name, suffix, size):
    ours = f"engine{suffix}/{name}/{size}"
    if ours not in figures.rows:
        return ["", ""]
    return [number(figures.speed(ours, 0)), ratio(ratio_of(figures, name, suffix, size))]


def limit_of(name):
    return "dgemm" if name.endswith("/float64") else "sgemm"


def engines(rows):
    return list(dict.fromkeys(name.split("/", 1)[1].rsplit("/", 1)[0] for name in rows if name.startswith("engine/")))


def verdict(figures, sizes):
    ratios = {f"{name}/{size}": ratio_of(figures, name, "", size)
              for name in engines(figures.rows) for size in sizes if f"engine/{name}/{size}" in figures.rows}
    least = min(ratios, key=ratios.get)
    missed = [f"`{name}` {value:.2f}" for name, value in sorted(ratios.items(), key=lambda item: item[1]) if value < MARK]
    return (f"The mark is {MARK:.3f} of GEMM on one thread: " +
            (f"missed by {len(missed)} of {len(ratios)} cases, {', '.join(missed)}.\n" if missed else
             f"reached by all {len(ratios)} cases, the least being {ratios[least]:.2f} (`{least}`).\n"))


def render(record):
    figures, sizes = Figures(record), sizes_of(record["rows"])
    machine, builds = record["machine"], record["builds"]
    header = ["engine", "input", "accumulator"]
    for threads in ("1 thread", "all threads"):
        for size in sizes:
            header += [f"{size}, {threads}", "of GEMM"]
    rows = []
    for name in engines(record["rows"]):
        engine, form, accumulator = name.rsplit("/", 2)
        rows.append([engine, form, accumulator] +
                    [c for suffix in ("", "_all_threads") for size in sizes for c in cells(figures, name, suffix, size)])
    for limit, form in (("sgemm", "float32"), ("dgemm", "float64")):
        if f"{limit}/{sizes[0]}" in figures.rows:
            rows.append([f"OpenBLAS {limit}", form, form] +
                        [c for suffix in ("", "_all_threads") for size in sizes
                         for c in (number(figures.speed(f"{limit}{suffix}/{size}", 0)), "")])
    return "\n".join([
        "# Performance of matrix engines\n",
        "Written by `bench/report --engines build/release` from `bench/engines.json`; a test holds it to that file. Products of "
        "square matrices of N(0,1), in GFLOP/s: 10^9 operations a second, two a product. Beside each stands its ratio to OpenBLAS "
        "sgemm (dgemm where the accumulator is float64) of the same size in the same process. One thread is timed by what it has of the "
        "processor, all threads by the clock. An input of two formats is one with block scales.\n",
        f"{machine['cpu']}, {machine['cores']} cores, caches {machine['caches']}. Program by {builds[0]['compiler']} (SIMD path "
        f"{builds[0]['simd_path']}). Medians of {record['repetitions']} repetitions; a ratio is the median of the ratios within "
        "each repetition.\n",
        verdict(figures, sizes), table(header, rows)])
