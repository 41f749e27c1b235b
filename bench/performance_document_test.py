#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each mark names its worst case and says whether it is reached; figures are medians, ratios those within a repetition. Engines stand
beside the GEMM of their own program."""
import copy
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import engines_document  # noqa: E402
import performance_document as document  # noqa: E402


def sample():
    """Two builds, three repetitions: G elements/s."""
    def row(limit, first, second):
        return {"limit": limit, "speeds": [first, second]}

    rows = {"copy/4to1/vectors/any/67108864": row("copy/4to1", [2, 4, 8], [2, 2, 2]),
            "copy/4to1/streaming/any/67108864": row("copy/4to1", [4, 2, 10], [1, 1, 1]),
            "encode/e/nearest_even/normal/67108864": row("copy/4to1", [3.8, 3.8, 9.5], [1.9, 1.9, 1.9]),
            "encode/f/nearest_even/normal/67108864": row("copy/4to1", [4, 4, 10], [2, 2, 2]),
            "encode/e/upward/normal/67108864": row("copy/4to1", [3.8, 3.8, 9.5], [1.9, 1.9, 1.9]),
            "encode/e/nearest_even/mix/67108864": row("copy/4to1", [3.8, 3.8, 9.5], [1.9, 1.9, 1.9])}
    return {"machine": {"cpu": "C", "cores": 2, "caches": "L1"}, "repetitions": 3, "rows": rows, "peers": [],
            "builds": [{"compiler": "A", "simd_path": "p"}, {"compiler": "B", "simd_path": "p"}]}


def mark(record, beginning):
    return next(line for line in document.render(record).splitlines() if line.startswith("| " + beginning))


class MarksTest(unittest.TestCase):
    LARGE = "encode and round_to of 64 Mi"

    def test_the_limit_is_the_fastest_copy_of_each_repetition(self):
        self.assertEqual(document.Figures(sample()).limit_speeds(document.Case("encode/e/nearest_even/normal/67108864"), 0),
                         [4, 4, 10])

    def test_the_worst_case_of_both_builds_is_shown_and_reached(self):
        self.assertIn("| 0.90 | 0.97 | 0.95 | `encode/e/nearest_even/normal/67108864`, A | reached |", mark(sample(), self.LARGE))

    def test_one_disturbed_repetition_changes_no_ratio(self):
        record = sample()
        record["rows"]["encode/e/nearest_even/normal/67108864"]["speeds"][0][0] = 0.38
        self.assertEqual(mark(record, self.LARGE), mark(sample(), self.LARGE))

    def test_one_slow_case_of_one_build_misses_the_mark(self):
        record = sample()
        record["rows"]["encode/f/nearest_even/normal/67108864"]["speeds"][1] = [1.6, 1.7, 1.8]
        self.assertIn("| 0.85 | `encode/f/nearest_even/normal/67108864`, B | missed by 1 of 4 |", mark(record, self.LARGE))

    def test_what_was_not_measured_is_not_reached(self):
        self.assertIn("not measured", mark(sample(), "encode and round_to of 4 Ki"))

    def test_directions_and_data_are_compared_with_their_own_plain_case(self):
        for slow, beginning, ratio in (("encode/e/upward/normal/67108864", "other deterministic directions", "0.50"),
                                       ("encode/e/nearest_even/mix/67108864", "a fifth subnormal", "0.50")):
            record = sample()
            self.assertIn("| 1.00 |", mark(record, beginning))
            record["rows"][slow]["speeds"][0] = [1.9, 1.9, 4.75]
            self.assertIn(f"| {ratio} | `{slow}`, A | missed by 1 of 2 |", mark(record, beginning))

    def test_builds_are_compared_both_ways_round(self):
        for factor in (0.5, 2):
            record = sample()
            for name, row in record["rows"].items():
                row["speeds"][1] = [x * (factor if name.startswith("encode/f") else 1) for x in row["speeds"][0]]
            self.assertIn("| 0.50 | `encode/f/nearest_even/normal/67108864` | missed by 1 of 4 |", mark(record, "one compiler's program"))

    def test_a_census_is_shown_beside_the_read_that_limits_it(self):
        record = sample()
        record["rows"]["read/float/67108864"] = {"limit": "", "speeds": [[10, 10, 10], [10, 10, 10]]}
        record["rows"]["census/e/67108864"] = {"limit": "read", "speeds": [[5, 5, 5], [5, 5, 5]]}
        self.assertIn("| e |  |  | 5 | 0.50 | 5 | 1.00 |", document.render(record))

    def test_instructions_are_shown_beside_what_the_processor_does_and_the_mark_allows(self):
        record = sample()
        record["rows"] |= {document.ARITHMETIC: {"limit": "", "speeds": [[8, 8, 16], [4, 4, 4]]},
                           "copy/4to1/vectors/any/4096": {"limit": "copy/4to1", "speeds": [[12, 12, 24], [9, 9, 9]], "instructions": [0.25, 1]},
                           "encode/e/nearest_even/normal/4096": {"limit": "copy/4to1", "speeds": [[3, 3, 6], [1, 1, 1]],
                                                                 "instructions": [2.5, 1]},
                           "encode/e/stochastic/normal/4096": {"limit": "copy/4to1", "speeds": [[1, 1, 2], [1, 1, 1]], "instructions": [4, 1]},
                           "read/all/67108864": {"limit": "", "speeds": [[4, 4, 8], [1, 1, 1]]},
                           "census/e/nearest_even/normal/67108864": {"limit": "read", "speeds": [[1, 1, 2], [1, 1, 1]],
                                                                     "instructions": [6, None]}}
        text = document.render(record)
        self.assertIn("| encode | e | nearest_even | 160 | 16 | 128 | 0.94 |", text)
        self.assertIn("| encode | e | stochastic | 256 | 16 |  | 0.50 |", text)
        self.assertIn("| census | e | nearest_even | 384 |  | 256 | 0.75 |", text)
        del record["rows"][document.ARITHMETIC]
        self.assertNotIn("## Instructions", document.render(record))

    def test_every_figure_reaches_the_document(self):
        before = document.render(sample())
        for name in sample()["rows"]:
            record = copy.deepcopy(sample())
            record["rows"][name]["speeds"][0] = [x * 3 for x in record["rows"][name]["speeds"][0]]
            self.assertNotEqual(document.render(record), before)


class EnginesTest(unittest.TestCase):
    @staticmethod
    def record():
        """An engine on two programs, the second of which has a slower GEMM."""
        return {"machine": {"cpu": "C", "cores": 2, "caches": "L1"}, "repetitions": 3, "peers": [],
                "builds": [{"compiler": "A", "simd_path": "p"}, {"compiler": "B", "simd_path": "q"}],
                "rows": {"sgemm/256": {"limit": "", "speeds": [[100, 50, 100], [40, 40, 40]]},
                         "engine/e/x/float32/256": {"limit": "sgemm", "speeds": [[12, 6, 60], [20, 20, 20]]},
                         "call/e": {"overhead_us": [[2, 1, 4], [8, 6, 7]]}}}

    def test_each_program_has_a_verdict_and_a_column(self):
        text = engines_document.render(self.record())
        self.assertIn("| A, p | 1 | missed by 1: `e/x/float32/256` 0.12 | 0.12, `e/x/float32/256` | reached by 0 |", text)
        self.assertIn("| B, q | 1 | reached | 0.50, `e/x/float32/256` | reached by 1 |", text)
        self.assertIn("| e | x | float32 | 0.12 | 0.50 |", text)

    def test_what_a_call_takes_is_a_median(self):
        self.assertIn("| e | 2 | 7 |", engines_document.render(self.record()))


unittest.main()
