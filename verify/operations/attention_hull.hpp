// SPDX-License-Identifier: Apache-2.0
// Between which values an attention's output lies whatever its weights are: they are at least 0 and divided by their own sum.
#pragma once

#include <optional>

#include "emu/format.hpp"
#include "verify/operations/attention_scores.hpp"

namespace ulpscope::verify {

/// The least and the greatest value that a query sees in a column of V.
struct ValueRange {
  double least = 0, greatest = 0;  ///< infinity and -infinity before there are any
};

/// How far a kernel's weighted means may be outside of the range of their values. docs/verify-attention.md derives it.
class MeanReach {
 public:
  /// Of a row's weights. `value_scale`: the greatest factor of V, 0 where it has none.
  MeanReach(const Attention& operation, const std::optional<emu::Format>& probabilities, const AttentionScores& scores,
            const AttentionWeights& weights, double value_scale);
  /// The same range, with what a kernel may return beside it.
  ValueRange around(const ValueRange& values) const;
  /// No partial sum of a kernel's numerators times values of such magnitude is greater.
  double largest_sum(double magnitude) const { return sums_ * magnitude; }

 private:
  double relative_, of_size_, absolute_;  ///< of the greatest magnitude, by roundings and by underflow; and whatever that is
  double least_factor_, most_factor_;     ///< of means whose parts are put together by their log-sum-exp
  double sums_;                           ///< of numerators
};

}  // namespace ulpscope::verify
