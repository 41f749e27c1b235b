// SPDX-License-Identifier: Apache-2.0
// What a sum becomes as an expected element.
#include "verify/operations/product_sum.hpp"

namespace ulpscope::verify {

Expected ProductSum::expected(const KernelArithmetic& arithmetic) const {
  const double grown = 1 + sum_relative(arithmetic, terms_);
  const Overflow overflow = overflow_of_sum(value_, signed_, grown, largest(arithmetic.format));
  if (!std::isfinite(value_)) return {.value = value_, .magnitude = magnitude_, .may_overflow = overflow};
  const double n = static_cast<double>(terms_), radius = terms_ < 2 ? 0 : gamma(n, 0x1p-53) * magnitude_ * (1 + 0x1p-40);
  const double allowed = magnitude_ == 0 ? 0 : sum_relative(arithmetic, terms_) * magnitude_ + n * underflow(arithmetic.format);
  Expected out = within(value_, radius, allowed, magnitude_);
  out.may_overflow = overflow;
  return out;
}

Precise ExactProductSum::precise(const LastRounding& last) const {
  const double high = sum_.value();
  emu::ExactSum rest = sum_;
  rest.subtract(high);
  return {high, rest.is_zero() ? 0 : rest.value(), sum_.rounded(last.out, last.options).value};
}

}  // namespace ulpscope::verify
