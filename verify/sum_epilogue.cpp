// SPDX-License-Identifier: Apache-2.0
// Terms of both signs, each summed by itself: an order that has all of one sign first overflows where their sum does.
#include "verify/sum_epilogue.hpp"

#include <algorithm>
#include <cmath>

namespace ulpscope::verify {

/// What becomes of a sum that overflows, its sign being that of alpha * sum, when alpha multiplies it and beta * c joins it.
Overflow SumEpilogue::after_alpha(Overflow of_sum, double c) const noexcept {
  if (of_sum == Overflow::none) return of_sum;
  if (options_.alpha == 0) return Overflow::undefined;  // 0 * infinity
  const double addend = options_.c_is_last ? options_.beta * c * grown() : 0;
  const bool meets_other = includes(of_sum, addend < 0 ? Overflow::upward : Overflow::downward);
  return std::fabs(addend) > options_.largest && meets_other ? of_sum | Overflow::undefined : of_sum;
}

Overflow SumEpilogue::overflow_of_sums(double sum, double magnitude, double c, double errors) const noexcept {
  const auto overflow = [&](double value, double size) {
    return overflow_of_sum(value, size + errors * 2 * error_of(size), grown(), options_.largest);
  };
  const double size = size_of(magnitude, c);
  if (!std::isfinite(size)) return Overflow::none;
  const Overflow after = overflow(value_of(sum, c), size);
  if (std::fabs(options_.alpha) >= 1) return after;
  const double from = options_.c_is_last ? 0 : c;  // before alpha makes it small
  return after | after_alpha(overflow(std::copysign(1, options_.alpha) * (sum + from), magnitude + std::fabs(from)), c);
}

Overflow SumEpilogue::overflow_of_terms(std::span<const double> products, double c, double value) const noexcept {
  const double before = std::copysign(std::max(std::fabs(options_.alpha), 1.0), options_.alpha);
  SignedTerms of_sum, of_all;
  for (const double x : products) of_sum.add(before * x), of_all.add(options_.alpha * x);
  if (!options_.c_is_last) of_sum.add(before * c);
  of_all.add((options_.c_is_last ? options_.beta : options_.alpha) * c);
  const Overflow all = after_alpha(overflow_of_sum(0, of_sum, grown(), options_.largest), c) |
                       overflow_of_sum(0, of_all, grown(), options_.largest);
  if (std::isfinite(value)) return all;
  return includes(all, Overflow::undefined) ? Overflow::undefined : Overflow::none;
}

}  // namespace ulpscope::verify
