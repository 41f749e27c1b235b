// SPDX-License-Identifier: Apache-2.0
// The vector loops of a verdict: ends of what is right, where most elements stand, and how far each is off. They decide what
// needs no second look; the rest is left open for judge(). No bit depends on the instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "verify/expected.hpp"

namespace ulpscope::verify {

/// Elements on their way to a verdict, few enough to stay in the first cache.
struct JudgedBlock {
  static constexpr std::size_t size = 256;  ///< the most elements
  /// One for each element.
  struct alignas(64) Numbers : std::array<double, size> {};
  /// Results from `low` to `high`, before the last rounding and then after it.
  struct Ends {
    Numbers low;   ///< least
    Numbers high;  ///< greatest
  };
  static constexpr std::uint8_t open = 4;           ///< a state: the standing is not decided
  static constexpr std::uint8_t zero_may_pass = 8;  ///< in a state: zero_passes() is to be asked

  std::size_t count;                       ///< of the elements
  Numbers value, radius, allowed, output;  ///< of Expected; what the kernel returned
  Ends exact;                              ///< where the exact result lies
  Ends outer;                              ///< beyond them nothing is right
  Ends inner;                              ///< between them all is, where `allowed` is no less than `radius`
  Numbers error, error_ulp, of_bound;      ///< of WorstElement; `of_bound` may exceed 1
  std::array<std::uint8_t, size> state;    ///< a Standing or `open`, and `zero_may_pass`
};

/// What the loops need to know of the last rounding.
struct JudgedQuestion {
  int min_exponent, fraction_bits;  ///< of the output's format, which fits float
  double least_normal;              ///< of it
  double greatest;                  ///< values beyond it are not judged by their distance
  bool signs_of_zero;               ///< zeros of opposite signs differ
  bool admits_zero;                 ///< Expectation::may_admit_zero()
};

/// What is greatest or least of a block's elements.
struct JudgedExtremes {
  bool plain;  ///< all is finite, and squares neither overflow nor underflow; else errors mean nothing
  double max_abs_error, max_ulp, max_of_bound;  ///< of the errors
  double unseen_share;                          ///< the least (allowed + radius) / |value|; infinite where every value is 0
};

/// Fills the ends, before the last rounding.
void find_ends(JudgedBlock& block);
/// Rounds them to float32, to nearest even.
void round_ends_to_float(JudgedBlock& block);
/// Fills states and errors, from rounded ends.
JudgedExtremes find_states(const JudgedQuestion& question, JudgedBlock& block);

}  // namespace ulpscope::verify
