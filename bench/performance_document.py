# SPDX-License-Identifier: Apache-2.0
"""docs/performance.md as text, from recorded figures alone.

A record is {"machine", "builds": [{"compiler", "simd_path"}], "repetitions", "rows", "peers"}; a row, by the name of a benchmark,
{"limit": what its name begins with that limits it, "speeds": for each build the G elements/s of each repetition, and where it was
counted "instructions": for each build those on vectors for an element}. Repetitions are compared pairwise, since what else a
machine does changes from one to the next; the median of the ratios is the figure.
"""
import statistics

SIZES = {"4096": "4 Ki", "1048576": "1 Mi", "67108864": "64 Mi"}
SMALL, LARGE = "4096", "67108864"
OPERATIONS = {
    "encode": "float to code, in the narrowest word",
    "round_to": "float to the float nearest in the format",
    "round_to_in_place": "the same, in place",
    "decode": "code to float",
    "convert": "code to code of another format",
    "encode_double": "double to code",
    "census": "counts and errors of a format on floats, by one thread; the limit reads as much",
    "census_2_threads": "the same by two threads, the limit by one",
    "sweep": "the census at 48 powers of two in four formats",
    "sweep_2_threads": "the same by two threads, the limit by one",
}
ROUNDED = ("encode", "round_to", "round_to_in_place")
ARITHMETIC = "arithmetic/registers/vectors/any/" + SMALL  # the speed of instructions that neither load nor store
THIRD, HALF = 0.333, 0.5  # of what limits them, asked of operations in the first cache and of the census


class Case:
    """A benchmark's name, operation/format/rounding/data/elements. Those of a census may have fewer parts."""

    def __init__(self, name):
        parts = name.split("/")
        self.name, self.operation, self.size = name, parts[0], parts[-1]
        self.format, self.rounding, self.data = (parts[1:-1] + ["", "", ""])[:3]

    def but(self, rounding=None, data=None):
        return "/".join(p for p in (self.operation, self.format, rounding or self.rounding, data or self.data, self.size) if p)


class Figures:
    """What follows from a record."""

    def __init__(self, record):
        self.rows, self.builds = record["rows"], record["builds"]
        self.cases = [Case(name) for name in self.rows if name.split("/")[0] in OPERATIONS]

    def speeds(self, name, build):
        row = self.rows.get(name)
        return row["speeds"][build] if row and build < len(row["speeds"]) else None

    def speed(self, name, build):
        speeds = self.speeds(name, build)
        return statistics.median(speeds) if speeds else None

    def limit_speeds(self, case, build):
        """Of each repetition, the fastest of the rows that do as much and compute nothing."""
        prefix = self.rows[case.name]["limit"] + "/"
        limits = [self.speeds(name, build) for name in self.rows if name.startswith(prefix) and name.endswith("/" + case.size)]
        limits = [speeds for speeds in limits if speeds]
        return [max(together) for together in zip(*limits)] if limits else None

    def of_limit(self, case, build):
        return median_ratio(self.speeds(case.name, build), self.limit_speeds(case, build))

    def instructions(self, name, build):
        counts = self.rows[name].get("instructions")
        return counts[build] if counts else None

    def copy_instructions(self, case, build):
        """Of the loop with whole vectors that does as much; of memcpy's nothing is known."""
        return self.instructions(f"{self.rows[case.name]['limit']}/vectors/any/{case.size}", build)

    def rate(self, case, build):
        """Instructions of the case, of what the processor does where none loads or stores."""
        ratio, count = median_ratio(self.speeds(case.name, build), self.speeds(ARITHMETIC, build)), self.instructions(case.name, build)
        return ratio * count if ratio and count else None

    def most_instructions(self, case, build, of_limit):
        """For an element, at that speed, with no more than the processor does."""
        ratio = median_ratio(self.speeds(ARITHMETIC, build), self.limit_speeds(case, build))
        return ratio / of_limit if ratio else None

    def relative(self, case, other, build):
        return median_ratio(self.speeds(case.name, build), self.speeds(other, build))

    def of_second_build(self, case):
        return median_ratio(self.speeds(case.name, 0), self.speeds(case.name, 1))


def median_ratio(ours, theirs):
    return statistics.median(a / b for a, b in zip(ours, theirs)) if ours and theirs else None


def is_plain(case):
    return case.rounding == "nearest_even" and case.data == "normal"


def of_limit(figures, build, keep):
    return ((c.name, figures.of_limit(c, build)) for c in figures.cases if keep(c))


def other_directions(figures, build, keep):
    return ((c.name, figures.relative(c, c.but(rounding="nearest_even"), build))
            for c in figures.cases if c.rounding not in ("", "nearest_even") and keep(c))


def mixes(figures, build, keep):
    return ((c.name, figures.relative(c, c.but(data="normal"), build)) for c in figures.cases if c.data == "mix" and keep(c))


def two_threads(figures, build, keep):
    names = ((c, c.name.replace("census_2_threads/", "census/", 1)) for c in figures.cases if keep(c))
    return ((c.name, figures.relative(c, one, build)) for c, one in names)


def sweeps_of_census(figures, build, keep):
    slowest = [c for c in figures.cases if c.operation == "census"]
    return ((c.name, min(figures.relative(c, one.name, build) for one in slowest)) for c in figures.cases if slowest and keep(c))


def builds_apart(figures, build, keep):
    ratios = ((c.name, figures.of_second_build(c)) for c in figures.cases if build == 0 and keep(c))
    return ((name, ratio and min(ratio, 1 / ratio)) for name, ratio in ratios)


# What is held, the least ratio, and (name, ratio) of all cases that must reach it.
MARKS = [
    ("encode and round_to of 64 Mi, of the fastest copy", 0.9, of_limit,
     lambda c: c.operation in ROUNDED and c.size == LARGE and is_plain(c)),
    ("encode and round_to of 4 Ki, of the fastest copy", THIRD, of_limit,
     lambda c: c.operation in ROUNDED and c.size == SMALL and is_plain(c)),
    ("decode of 64 Mi, of the fastest copy", 0.9, of_limit,
     lambda c: c.operation == "decode" and c.size == LARGE and is_plain(c)),
    ("decode of 4 Ki, of the fastest copy", THIRD, of_limit,
     lambda c: c.operation == "decode" and c.size == SMALL and is_plain(c)),
    ("a fifth subnormal or overflowing, of normal results", 0.95, mixes, lambda c: True),
    ("other deterministic directions, of nearest_even", 0.8, other_directions, lambda c: c.rounding != "stochastic"),
    ("stochastic of 64 Mi, of the fastest copy", HALF, of_limit,
     lambda c: c.operation in ROUNDED and c.size == LARGE and c.rounding == "stochastic"),
    ("census of 64 Mi in one format, of reading it", HALF, of_limit,
     lambda c: c.operation == "census" and c.rounding != "stochastic"),
    ("stochastic census, of the one to nearest_even", HALF, other_directions,
     lambda c: c.operation == "census" and c.rounding == "stochastic"),
    ("two threads of the census, of one", 1.9, two_threads, lambda c: c.operation == "census_2_threads"),
    ("48 scales in four formats, of a census in one", 0.1, sweeps_of_census, lambda c: c.operation == "sweep"),
    ("one compiler's program, of the other's", 0.85, builds_apart, lambda c: True),
]


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def number(x):
    return "" if x is None else f"{x:.3g}" if x < 100 else f"{x:.0f}"


def ratio(x):
    return "" if x is None else f"{x:.2f}"


def marks(figures):
    rows = []
    for text, least, cases, keep in MARKS:
        measured = sorted((r, name, build) for build in range(len(figures.builds)) for name, r in cases(figures, build, keep)
                          if r is not None)
        if not measured:
            rows.append((text, f"{least:.2f}", "", "", "", "not measured"))
            continue
        value, name, build = measured[0]
        where = f"`{name}`" + (f", {figures.builds[build]['compiler']}" if len(figures.builds) > 1 and cases != builds_apart else "")
        below = sum(r < least for r, _, _ in measured)
        verdict = f"missed by {below} of {len(measured)}" if below else "reached"
        rows.append((text, f"{least:.2f}", ratio(statistics.median(r for r, _, _ in measured)), ratio(value), where, verdict))
    return table(("mark", "at least", "median", "worst", "where", ""), rows)


def sizes_of(figures, cases):
    found = {c.size for c in cases}
    return sorted(found, key=lambda s: int(s) if s.isdigit() else 0)


def label(size):
    return SIZES.get(size, size)


def by_row(cases):
    """Cases that differ in size only, together: {(format, rounding, data): {size: case}}."""
    rows = {}
    for c in cases:
        rows.setdefault((c.format, c.rounding, c.data), {})[c.size] = c
    return rows


def operation_table(figures, operation):
    cases = [c for c in figures.cases if c.operation == operation]
    sizes = sizes_of(figures, cases)
    header = ["format", "rounding", "data"]
    two = len(figures.builds) > 1
    for size in sizes:
        header += [label(size), "of the limit"] + ([figures.builds[1]["compiler"], "ratio"] if two else [])
    rows = []
    for key, at in by_row(cases).items():
        row = list(key)
        for size in sizes:
            case = at.get(size)
            row += [number(case and figures.speed(case.name, 0)), ratio(case and figures.of_limit(case, 0))]
            if two:
                row += [number(case and figures.speed(case.name, 1)), ratio(case and figures.of_second_build(case))]
        rows.append(row)
    return table(header, rows)


def relative_table(figures, cases, other, named):
    sizes = sizes_of(figures, cases)
    rows = [[at[min(at)].operation] + [key[i] for i in named] +
            [ratio(size in at and figures.relative(at[size], other(at[size]), 0) or None) for size in sizes]
            for operation in OPERATIONS for key, at in by_row(c for c in cases if c.operation == operation).items()]
    return table(["operation"] + [("format", "rounding")[i] for i in named] + [label(s) for s in sizes], rows)


def limits_table(figures):
    names = [Case(name) for name in figures.rows if name.split("/")[0] not in OPERATIONS]
    sizes = sizes_of(figures, names)
    stems = dict.fromkeys(c.name.rsplit("/", 1)[0] for c in names)
    return table(["limit"] + [label(s) for s in sizes],
                 [[f"`{stem}`"] + [number(figures.speed(f"{stem}/{s}", 0)) for s in sizes] for stem in stems])


def instructions_table(figures):
    rows = []
    for c in figures.cases:
        if figures.instructions(c.name, 0) is None or c.data == "mix":
            continue
        is_census = c.operation == "census"
        most = None if c.rounding == "stochastic" else figures.most_instructions(c, 0, HALF if is_census else THIRD)
        copied = None if is_census else figures.copy_instructions(c, 0)
        per_vector = (64 * x if x is not None else None for x in (figures.instructions(c.name, 0), copied, most))
        rows.append((c.operation, c.format, c.rounding, *map(number, per_vector), ratio(figures.rate(c, 0))))
    return table(("operation", "format", "rounding", "for 64 elements", "copy", "the mark allows", "of the processor's"), rows)


def peers_table(record, figures):
    rows = []
    for peer in record["peers"]:
        if "skipped" in peer:
            rows.append((peer["library"], "", "", "skipped: " + peer["skipped"], "", ""))
            continue
        ours = figures.speed(f"{peer['operation']}/{peer['format']}/nearest_even/normal/{peer['elements']}", 0)
        rows.append((peer["library"], peer["operation"], peer["format"], number(peer["speed"]), number(ours),
                     number(ours / peer["speed"] if ours else None)))
    return table(("library", "operation", "format", "theirs", "ours", "ratio"), rows)


def sentence_of(machine, builds, repetitions):
    programs = " and ".join(f"{b['compiler']} (SIMD path {b['simd_path']})" for b in builds)
    return (f"{machine['cpu']}, {machine['cores']} cores, caches {machine['caches']}; one thread. Programs by {programs}. "
            f"Figures are medians of {repetitions} repetitions of all cases, taken in turn; a ratio is the median of the ratios "
            "within each repetition.")


def render(record):
    figures = Figures(record)
    present = [o for o in OPERATIONS if any(c.operation == o for c in figures.cases)]
    parts = ["# Performance\n",
             "Written by `bench/report` from `bench/performance.json`; a test holds it to that file. Speeds are G elements/s, 10^9 "
             "a second. The limit of an operation is the fastest loop in the same process that reads and writes as many bytes and "
             "computes nothing: memcpy, whole vectors, or stores that pass the caches by.\n",
             sentence_of(record["machine"], record["builds"], record["repetitions"]) + "\n",
             "## Marks\n", marks(figures)]
    for operation in present:
        parts += [f"## {operation}: {OPERATIONS[operation]}\n", operation_table(figures, operation)]
    others = [c for c in figures.cases if c.rounding not in ("", "nearest_even") and c.operation in ROUNDED]
    if others:
        parts += ["## Other directions, of nearest_even\n",
                  relative_table(figures, others, lambda c: c.but(rounding="nearest_even"), (0, 1))]
    mixed = [c for c in figures.cases if c.data == "mix"]
    if mixed:
        parts += ["## A fifth subnormal or overflowing, of normal results\n",
                  relative_table(figures, mixed, lambda c: c.but(data="normal"), (0,))]
    if figures.speed(ARITHMETIC, 0):
        parts += ["## Instructions\n",
                  "Instructions on vectors, loads and stores among them: how many the first program executes for 64 elements, counted by "
                  "stepping through it, and how many a copy by whole vectors does. `of the processor's` compares how many it executes in "
                  f"a second with how many the processor does where none loads or stores, `{ARITHMETIC}` below. An operation near 1 is "
                  "bound by their number, whatever their order. `the mark allows` is the number at which such an operation would have a "
                  "third of the copy's speed, a census half of the reading's: the mark cannot be reached with more. Stochastic rounding "
                  "has other marks.\n",
                  instructions_table(figures)]
    parts += ["## Limits\n", limits_table(figures)]
    if record["peers"]:
        parts += ["## Peers\n", peers_table(record, figures)]
    return "\n".join(parts)
