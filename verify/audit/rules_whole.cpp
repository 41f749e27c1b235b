// SPDX-License-Identifier: Apache-2.0
// Rules about the whole tensor: sums in float64.
#include <algorithm>
#include <cmath>

#include "emu/math.hpp"
#include "verify/audit/rule_kinds.hpp"

namespace ulpscope::verify {
namespace {

/// Sums over all elements, in float64: within chunks in the order of the elements, chunk by chunk.
struct Sums {
  double reference = 0, output = 0, product = 0, error = 0;  ///< of squares, except `product`
};

Sums sums_of(std::span<const double> reference, std::span<const double> output) {
  constexpr std::size_t chunk = 1024;
  Sums total;
  for (std::size_t first = 0; first < reference.size(); first += chunk) {
    Sums part;
    for (std::size_t i = first; i < std::min(first + chunk, reference.size()); ++i) {
      const double r = reference[i], o = output[i];
      part.reference += r * r, part.output += o * o, part.product += r * o, part.error += (o - r) * (o - r);
    }
    total.reference += part.reference, total.output += part.output;
    total.product += part.product, total.error += part.error;
  }
  return total;
}

RuleVerdict verdict_of(bool passes, double figure, double limit) {
  return {.passes = passes, .figure = figure, .limit = limit, .violations = passes ? 0U : 1U};
}

}  // namespace

RuleVerdict judge_calc_diff(double limit, std::span<const double> reference, std::span<const double> output) {
  const Sums sums = sums_of(reference, output);
  const double difference = 1 - 2 * sums.product / (sums.reference + sums.output);
  return verdict_of(difference < limit, difference, limit);
}

RuleVerdict judge_cosine(double limit, std::span<const double> reference, std::span<const double> output) {
  constexpr double least_norm = 1e-8;  // `eps` of torch.nn.functional.cosine_similarity
  const Sums sums = sums_of(reference, output);
  // Not std::max: a NaN stays one.
  const auto at_least = [](double norm) { return norm < least_norm ? least_norm : norm; };
  const double cosine = sums.product / (at_least(std::sqrt(sums.reference)) * at_least(std::sqrt(sums.output)));
  return verdict_of(cosine >= limit, cosine, limit);
}

RuleVerdict judge_sqnr(double limit, std::span<const double> reference, std::span<const double> output) {
  const Sums sums = sums_of(reference, output);
  const double decibels = 20 * emu::log10(std::sqrt(sums.reference) / std::sqrt(sums.error));
  return verdict_of(decibels >= limit, decibels, limit);
}

RuleVerdict judge_frobenius(double limit, std::span<const double> reference, std::span<const double> output) {
  const Sums sums = sums_of(reference, output);
  const double relative = std::sqrt(sums.error) / std::sqrt(sums.reference);
  return verdict_of(relative <= limit, relative, limit);
}

}  // namespace ulpscope::verify
