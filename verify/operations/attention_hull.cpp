// SPDX-License-Identifier: Apache-2.0
// Roundings of a weighted mean, weights not among them.
#include "verify/operations/attention_hull.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "emu/math.hpp"

namespace ulpscope::verify {

namespace {

/// Parts of so many keys that have any of these, which ascend.
double parts_of(const std::vector<std::uint64_t>& keys, std::uint64_t block) {
  if (keys.empty()) return 1;
  const std::uint64_t parts = keys.back() / block - keys.front() / block + 1;
  return static_cast<double>(std::min<std::uint64_t>(parts, keys.size()));
}

}  // namespace

MeanReach::MeanReach(const Attention& operation, const std::optional<emu::Format>& probabilities, const AttentionScores& scores,
                     const AttentionWeights& weights, double value_scale) {
  const KernelArithmetic& arithmetic = operation.arithmetic;
  const double u = unit(arithmetic.format), f = function_relative(arithmetic), tiny = underflow(arithmetic.format);
  const double n = static_cast<double>(scores.each.size()), parts = parts_of(scores.keys, operation.block);
  // The sum in the denominator, and its rescalings, of which each rounds a product.
  const double below = sum_relative(arithmetic, scores.each.size()) + gamma(4 * parts, u);
  // Exponentials that are found anew for the second product, of another maximum: those of less than the least number are 0.
  const double arguments = -arithmetic.format.min_spacing_exponent() * 0x1.62e42fefa39efp-1;
  const double anew = 2 * f * (1 + parts) + 8 * u * arguments;
  const double above = below + anew + (probabilities ? unit(*probabilities) : 0) + (value_scale > 0 ? 3 * u : 0);
  const double mean = below < 1 ? (above + below) / (1 - below) : std::numeric_limits<double>::infinity();
  relative_ = mean + (2 * f + 2 * u) * (1 + mean);
  // The greatest numerator is 1 or more, and so is the sum of them, but for its roundings.
  of_size_ = 2 * n * (tiny + (probabilities ? underflow(*probabilities) : 0));
  absolute_ = 2 * tiny * (n + 8) * (1 + value_scale);
  // Parts of the keys are each a mean. What they are multiplied by adds up to 1, but for the errors of their log-sum-exp, and
  // is at most 1 for each, as that of all is not less than any.
  const double factor = emu::exp(2 * weights.merged + 4 * f);
  least_factor_ = parts > 1 ? 1 / factor : 1;
  most_factor_ = parts > 1 ? std::min(factor, parts * (1 + 8 * f)) : 1;
  constexpr double stale_maximum = 0x1p8;  // numerators of FlashAttention-4 may be so large
  sums_ = stale_maximum * n * (1 + relative_);
}

ValueRange MeanReach::around(const ValueRange& values) const {
  const double size = std::max(std::abs(values.least), std::abs(values.greatest));
  const double beside = most_factor_ * ((relative_ + of_size_) * size + absolute_);
  return {values.least * (values.least < 0 ? most_factor_ : least_factor_) - beside,
          values.greatest * (values.greatest > 0 ? most_factor_ : least_factor_) + beside};
}

}  // namespace ulpscope::verify
