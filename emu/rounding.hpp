// SPDX-License-Identifier: Apache-2.0
// How a value is rounded, what may happen to it, and what is reported about it.
// IEEE 754-2019 clauses 4.3 (directions), 7 (exceptions); OFP8 1.0 section 5 (overflow policies).
#pragma once

#include <cstdint>

#include "emu/config.hpp"
#include "emu/format.hpp"

namespace ulpscope::emu {

/// The direction of a rounding (IEEE 754-2019, 4.3), and two that IEEE 754 does not have.
enum class Rounding : std::uint8_t {
  nearest_even,  ///< ties to the even significand; without fraction bits to the larger magnitude (4.3.1)
  nearest_away,  ///< ties to the larger magnitude
  toward_zero,
  upward,
  downward,
  to_odd,      ///< truncates, then sets the last significand bit if anything was lost
  stochastic,  ///< away from zero with probability floor(f 2^r)/2^r, f the discarded fraction, r = random_bits
};

/// What an overflow becomes, per conversion (OFP8 1.0).
enum class Policy : std::uint8_t {
  nonsaturating,  ///< infinity where the direction allows it; without infinity NaN; without NaN the largest finite
  saturating,     ///< the largest finite value, also for infinite inputs; NaN stays NaN (CUDA's SATFINITE, P3109's SatFinite)
};

/// When a result counts as tiny (IEEE 754-2019, 7.5).
enum class Tininess : std::uint8_t { after_rounding, before_rounding };

/// How a result is rounded, and what becomes of overflow and of subnormal numbers.
struct RoundingOptions {
  Rounding rounding = Rounding::nearest_even;    ///< the direction
  Policy policy = Policy::nonsaturating;         ///< what overflow gives
  Tininess tininess = Tininess::after_rounding;  ///< decides the flag `underflow` alone
  bool flush_subnormals = false;                 ///< a subnormal result becomes zero of its sign
  bool subnormals_are_zero = false;  ///< an input subnormal in its own format counts as zero, of its sign where there is -0
  int random_bits = 32;              ///< stochastic only, 1..32

  friend constexpr bool operator==(const RoundingOptions&, const RoundingOptions&) = default;
};

/// What happened to one value: exactly one class each, so that counts of classes add up to the number of values.
enum class Outcome : std::uint8_t {
  nan,        ///< input NaN
  infinite,   ///< input infinite
  zero,       ///< input zero
  exact,      ///< finite nonzero, represented exactly, normal result
  rounded,    ///< finite nonzero, inexact, normal result
  subnormal,  ///< nonzero result in the subnormal range, exact or not
  to_zero,    ///< nonzero input, zero result
  overflow,   ///< finite input whose rounded magnitude exceeds the largest finite value, or is negative where there is no sign
};
inline constexpr int outcome_count = 8;  ///< classes of Outcome

/// IEEE exception flags, with the values of Berkeley TestFloat's flag column.
enum Flags : std::uint8_t {
  no_flags = 0,
  inexact = 1,
  underflow = 2,
  overflow = 4,
  divide_by_zero = 8,
  invalid = 16,
};
/// Both sets of flags.
ULPSCOPE_HD constexpr Flags operator|(Flags a, Flags b) noexcept {
  return static_cast<Flags>(static_cast<int>(a) | static_cast<int>(b));
}

/// A rounded value and everything known about it.
struct Rounded {
  Code code;        ///< the result
  double value;     ///< what the code stands for; exact
  Outcome outcome;  ///< its class
  Flags flags;      ///< the exceptions signaled
};

}  // namespace ulpscope::emu
