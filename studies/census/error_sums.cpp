// SPDX-License-Identifier: Apache-2.0
// Means and ratios from sums.
#include "studies/census/error_sums.hpp"

#include <algorithm>
#include <cmath>

#include "emu/math.hpp"

namespace ulpscope::studies {

double root_mean(const SquareSum& sum, std::uint64_t n) {
  const auto [significand, exponent] = sum.value();
  return std::sqrt(significand / static_cast<double>(n)) * std::ldexp(1.0, exponent / 2);  // both exact or correctly rounded
}

double decibels(const SquareSum& signal, const SquareSum& error) {
  if (error.is_zero()) return std::numeric_limits<double>::infinity();
  const auto s = signal.value(), e = error.value();
  const double ratio = 10 * emu::log10(s.significand / e.significand);
  return s.exponent == e.exponent ? ratio : ratio + 10 * emu::log10(2.0) * (s.exponent - e.exponent);
}

void ErrorSums::merge(const ErrorSums& next) noexcept {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += next.counts[i];
  nonzero += next.nonzero;
  lost += next.lost;
  lost_when_saturating += next.lost_when_saturating;
  max_abs = std::max(max_abs, next.max_abs);
  max_rel = std::max(max_rel, next.max_rel);
  max_ulp = std::max(max_ulp, next.max_ulp);
  sum_abs += next.sum_abs;
  sum_signed += next.sum_signed;
  sum_rel += next.sum_rel;
  large_abs.merge(next.large_abs);
  large_signed.merge(next.large_signed);
  input.merge(next.input);
  error.merge(next.error);
  saturating_error.merge(next.saturating_error);
  if (next.largest.magnitude > largest.magnitude) largest = next.largest;
  if (next.smallest.magnitude < smallest.magnitude) smallest = next.smallest;
}

}  // namespace ulpscope::studies
