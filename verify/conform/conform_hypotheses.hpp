// SPDX-License-Identifier: Apache-2.0
// What a converter may have done instead: other computations, each with the class that its mismatches belong to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verify/conform/computation.hpp"

namespace ulpscope::verify {

/// What is wrong with one result.
enum class Fault : std::uint8_t {
  nan,              ///< a NaN where a number is right, or the other way about, or a NaN of other bits where bits count
  nan_sign,         ///< a NaN of the other sign
  negative_zero,    ///< a zero of the other sign; NaN for zero where the code of -0 is NaN
  overflow,         ///< wrong treatment of what is beyond the largest finite number
  flush,            ///< zero for a subnormal result
  tie,              ///< the other neighbour of a tie
  double_rounding,  ///< rounded to another format first
  rounding_mode,    ///< what another rounding mode gives
  subnormal,        ///< one of the two neighbours, but not the right one, in the subnormal range
  off_by_one,       ///< the same in the normal range: faithful, not nearest
  other,
};
inline constexpr int fault_count = 11;  ///< classes of Fault

/// The word of a class, as in tables.
std::string_view name_of(Fault fault) noexcept;
/// What the class means, in one line for the reader of a report.
std::string_view meaning_of(Fault fault) noexcept;

/// A rule that the subject may follow in place of the right one.
struct ConformHypothesis {
  Fault fault;              ///< the class of mismatches that it explains
  std::string name;         ///< `toward_zero`, `ties to odd`, `through float16`, `saturating`, `flush_subnormals`
  Computation computation;  ///< what it would give
};

/// All that are tried, in the order in which they are preferred when they explain equally much. At most 32.
std::vector<ConformHypothesis> hypotheses(const Computation& right);

}  // namespace ulpscope::verify
