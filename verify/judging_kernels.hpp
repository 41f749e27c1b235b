// SPDX-License-Identifier: Apache-2.0
// The vector loops of a verdict: ends of what is right, where most elements stand, and how far each is off. They decide what
// needs no second look; the rest is left open for judge(). No bit depends on the instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "verify/expected.hpp"
#include "verify/ulp_histogram.hpp"

namespace ulpscope::verify {

/// Elements of an ExpectedBlock on their way to a verdict.
struct JudgedBlock {
  using Numbers = ExpectedBlock::Numbers;  ///< one for each element
  /// Results from `low` to `high`, before the last rounding and then after it.
  struct Ends {
    Numbers low;   ///< least
    Numbers high;  ///< greatest
  };
  static constexpr std::uint8_t open = 4;           ///< a state: the standing is not decided
  static constexpr std::uint8_t zero_may_pass = 8;  ///< in a state: zero_passes() is to be asked

  Numbers output;                                       ///< what the kernel returned
  Ends exact;                                           ///< where the exact result lies
  Ends outer;                                           ///< beyond them nothing is right
  Ends inner;                                           ///< between them all is, where `allowed` is no less than `radius`
  Numbers error, error_ulp, of_bound;                   ///< of WorstElement; `of_bound` may exceed 1
  std::array<std::uint8_t, ExpectedBlock::size> state;  ///< a Standing or `open`, and `zero_may_pass`
};

/// What the loops need to know of the last rounding.
struct JudgedQuestion {
  int min_exponent, fraction_bits;  ///< of the output's format, which fits float
  double least_normal;              ///< of it
  double greatest;                  ///< values beyond it are not judged by their distance
  bool signs_of_zero;               ///< zeros of opposite signs differ
  bool admits_zero;                 ///< Expectation::may_admit_zero()
};

/// What the elements of a block come to.
struct JudgedSums {
  bool plain;    ///< all is finite, and squares neither overflow nor underflow; else errors mean nothing
  bool decided;  ///< no state is `open` or has `zero_may_pass`
  double max_abs_error, max_ulp, max_of_bound;  ///< of the errors
  double max_unequal;                           ///< the greatest `of_bound` of elements that are not `equal`
  double unseen_share;                          ///< the least (allowed + radius) / |value|; infinite where every value is 0
  double signed_ulp, abs_ulp;                   ///< sums of errors in ulps
  double exact_squares, error_squares;          ///< sums of the squares of values and errors
  std::uint64_t zeros_pass;                     ///< elements for which zero would be right, of those that are not to be asked
  std::uint64_t equal, within;                  ///< elements of each Standing, where all are decided
  UlpHistogram histogram;                       ///< of errors in ulps, where all are decided
};

/// Fills the ends, before the last rounding. What follows the last element of a block must be 0.
void find_ends(const ExpectedBlock& expected, JudgedBlock& block);
/// Rounds them to float32, to nearest even.
void round_ends_to_float(std::size_t count, JudgedBlock& block);
/// Fills states and errors, from rounded ends.
JudgedSums find_states(const JudgedQuestion& question, const ExpectedBlock& expected, JudgedBlock& block);

}  // namespace ulpscope::verify
