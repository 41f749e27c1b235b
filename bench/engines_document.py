# SPDX-License-Identifier: Apache-2.0
"""docs/performance-engines.md as text, from recorded figures alone: speeds of matrix products on emulated engines.

A record is that of performance_document.py; rows are named engine/ENGINE/INPUT/ACCUMULATOR/N, sgemm/N and dgemm/N, with _all_threads
after the first word where all threads took part, and count two operations a product. Block scales that an engine applies are named
after the input, with a plus between them. Rows call/ENGINE have {"overhead_us": for each build those of each repetition}.
"""
import statistics

from performance_document import Figures, median_ratio, number, ratio, table

MARK, USUAL = 1 / 8, 1 / 3  # of GEMM on one thread: the least of all, and what the usual ones should have
ONE, ALL = ("", "1 thread"), ("_all_threads", "all threads")


def limit_of(name):
    return "dgemm" if name.endswith("/float64") else "sgemm"


class Engines:
    """What follows from a record."""

    def __init__(self, record):
        self.figures, self.builds = Figures(record), record["builds"]
        products = [name for name in record["rows"] if not name.startswith("call/")]
        self.sizes = sorted({int(name.rsplit("/", 1)[1]) for name in products})
        self.names = list(dict.fromkeys(name.split("/", 1)[1].rsplit("/", 1)[0] for name in products if name.startswith("engine/")))
        self.calls = {name: row["overhead_us"] for name, row in record["rows"].items() if name.startswith("call/")}

    def programs(self):
        return [f"{build['compiler']}, {build['simd_path']}" for build in self.builds]

    def ratio_of(self, name, size, build=0, suffix=""):
        ours, limit = f"engine{suffix}/{name}/{size}", f"{limit_of(name)}{suffix}/{size}"
        return median_ratio(self.figures.speeds(ours, build), self.figures.speeds(limit, build))

    def speed(self, name, size, suffix):
        return self.figures.speed(f"engine{suffix}/{name}/{size}", 0)

    def verdict(self, build):
        ratios = {f"{name}/{size}": self.ratio_of(name, size, build) for name in self.names for size in self.sizes}
        ratios = {case: value for case, value in ratios.items() if value is not None}
        least = min(ratios, key=ratios.get)
        missed = [f"`{case}` {value:.2f}" for case, value in sorted(ratios.items(), key=lambda item: item[1]) if value < MARK]
        usual = sum(value >= USUAL for value in ratios.values())
        return [f"{len(ratios)}", f"missed by {len(missed)}: {', '.join(missed)}" if missed else "reached",
                f"{ratios[least]:.2f}, `{least}`", f"reached by {usual}"]

    def ratios_table(self):
        header = ["engine", "input", "accumulator"] + [f"{program}: {size}" for program in self.programs() for size in self.sizes]
        return table(header, [name.rsplit("/", 2) + [ratio(self.ratio_of(name, size, build))
                                                     for build in range(len(self.builds)) for size in self.sizes]
                              for name in self.names])

    def speeds_table(self):
        header = ["engine", "input", "accumulator"]
        for _, threads in (ONE, ALL):
            for size in self.sizes:
                header += [f"{size}, {threads}", "of GEMM"]
        rows = [name.rsplit("/", 2) + [cell for suffix, _ in (ONE, ALL) for size in self.sizes
                                       for cell in (number(self.speed(name, size, suffix)), ratio(self.ratio_of(name, size, 0, suffix)))]
                for name in self.names]
        for limit, form in (("sgemm", "float32"), ("dgemm", "float64")):
            if f"{limit}/{self.sizes[0]}" in self.figures.rows:
                rows.append([f"OpenBLAS {limit}", form, form] +
                            [cell for suffix, _ in (ONE, ALL) for size in self.sizes
                             for cell in (number(self.figures.speed(f"{limit}{suffix}/{size}", 0)), "")])
        return table(header, rows)

    def calls_table(self):
        return table(["engine", *self.programs()],
                     [[name.split("/", 1)[1], *(number(statistics.median(times)) for times in overheads)]
                      for name, overheads in self.calls.items()])


def render(record):
    engines, machine = Engines(record), record["machine"]
    parts = [
        "# Performance of matrix engines\n",
        "Written by `bench/report --engines BUILD...` from `bench/engines.json`; a test holds it to that file. Products of square matrices "
        "of N(0,1). A ratio is that to OpenBLAS sgemm (dgemm where the accumulator is float64) of the same size in the same process, with "
        "kernels for the same instruction set. One thread is timed by what it has of the processor, all threads by the clock. An input of "
        "two formats is one with block scales.\n",
        f"{machine['cpu']}, {machine['cores']} cores, caches {machine['caches']}. Figures are medians of {record['repetitions']} "
        "repetitions; a ratio is the median of the ratios within each repetition.\n",
        table(["program", "cases on one thread", f"mark: {MARK:.3f} of GEMM", "the least", "a third of GEMM"],
              [[program, *engines.verdict(build)] for build, program in enumerate(engines.programs())]),
        "## Of GEMM, on one thread\n", engines.ratios_table(),
        f"## GFLOP/s\n\nOf {engines.programs()[0]}: 10^9 operations a second, two a product.\n", engines.speeds_table()]
    if engines.calls:
        parts += ["## Of a call\n",
                  "Microseconds that a product of 32 by 32 by 32 takes beside its products: twice the time of that less the time of "
                  "32 by 32 by 64.\n", engines.calls_table()]
    return "\n".join(parts)
