// SPDX-License-Identifier: Apache-2.0
// A factor of all of D that is not claimed, read off D: half of what it should be, the negative, a scale applied once more.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/explain/explain_sample.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {

/// The median of D by the claim, and numbers beside it that a kernel may have multiplied by.
struct Factors {
  /// Powers of two, alpha, its inverse, and 1/K, sqrt(K), 1/sqrt(K) of the claim.
  std::vector<Cause> simple = {};
  /// The median itself, its neighbours, and numbers of few digits or bits.
  std::vector<Cause> others = {};
  std::uint64_t tried = 0;  ///< for those: the factors that could have been read off
  bool is_likely = false;   ///< whether nearly all elements are about that multiple
};

/// Those of a claim's D. Empty where the median is about 1.
Factors factors(const Claim& claim, const ReplayedOutputs& outputs);

}  // namespace ulpscope::verify
