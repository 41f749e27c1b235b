// SPDX-License-Identifier: Apache-2.0
// What an operation makes of operands in whose place a kernel may have an infinity or a NaN. Each may be finite as well.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/expected.hpp"
#include "verify/expressions/lanes.hpp"

namespace ulpscope::verify {

/// What either has.
constexpr Overflow operator|(Overflow x, Overflow y) noexcept {
  return static_cast<Overflow>(static_cast<int>(x) | static_cast<int>(y));
}
/// What a number itself is; none where it is finite.
inline Overflow overflow_of(double x) noexcept {
  if (std::isfinite(x)) return Overflow::none;
  return std::isnan(x) ? Overflow::undefined : x > 0 ? Overflow::upward : Overflow::downward;
}
/// Of -x.
constexpr Overflow opposite_of(Overflow x) noexcept {
  return (includes(x, Overflow::upward) ? Overflow::downward : Overflow::none) |
         (includes(x, Overflow::downward) ? Overflow::upward : Overflow::none) |
         (includes(x, Overflow::undefined) ? Overflow::undefined : Overflow::none);
}
/// Of |x|.
constexpr Overflow overflow_of_size(Overflow x) noexcept { return includes(x, Overflow::downward) ? opposite_of(x) : x; }
/// Of a sum whose terms have these: infinities of both signs make NaN.
constexpr Overflow overflow_of_terms(Overflow terms) noexcept {
  const bool both = includes(terms, Overflow::upward) && includes(terms, Overflow::downward);
  return both ? terms | Overflow::undefined : terms;
}

/// A number that is not finite, or how a kernel may have it in the place of one that is.
inline Overflow infinities_of(const Approximate& x) noexcept { return x.overflow | overflow_of(x.value); }

/// Of x + y, as far as it is not of the sum's own size.
inline Overflow overflow_of_sum(const Approximate& x, const Approximate& y) noexcept {
  if (x.overflow == Overflow::none && y.overflow == Overflow::none) return Overflow::none;
  return overflow_of_terms(infinities_of(x) | infinities_of(y));
}

namespace detail {

/// Of infinities in the place of x, times what a kernel has for y; or divided by it, where that is not 0.
inline Overflow scaled(Overflow x, const Approximate& y, bool by_zero) noexcept {
  if (x == Overflow::none) return x;
  const double reach = y.radius + y.error;
  const Overflow other = infinities_of(y);
  Overflow out = other == Overflow::undefined ? Overflow::undefined : Overflow::none;
  if (y.value + reach > 0 || includes(other, Overflow::upward)) out = out | x;
  if (y.value - reach < 0 || includes(other, Overflow::downward)) out = out | opposite_of(x);
  if (by_zero && std::fabs(y.value) <= reach) out = out | Overflow::undefined;
  return out;
}

}  // namespace detail

/// Of x y, likewise.
inline Overflow overflow_of_product(const Approximate& x, const Approximate& y) noexcept {
  if (x.overflow == Overflow::none && y.overflow == Overflow::none) return Overflow::none;
  const Overflow a = infinities_of(x), b = infinities_of(y);
  const bool is_undefined = includes(a | b, Overflow::undefined);
  return detail::scaled(a, y, true) | detail::scaled(b, x, true) | (is_undefined ? Overflow::undefined : Overflow::none);
}

/// Of x / y where a finite y is not 0: by an infinity it is 0.
inline Overflow overflow_of_quotient(const Approximate& x, const Approximate& y) noexcept {
  if (x.overflow == Overflow::none && y.overflow == Overflow::none) return Overflow::none;
  const Overflow a = infinities_of(x), b = infinities_of(y);
  const bool is_undefined = includes(a | b, Overflow::undefined) || (a != Overflow::none && b != Overflow::none);
  return detail::scaled(a, y, false) | (is_undefined ? Overflow::undefined : Overflow::none);
}

/// Of the greater of two: -infinity where both may be that.
constexpr Overflow overflow_of_maximum(Overflow x, Overflow y) noexcept {
  const bool both_down = includes(x, Overflow::downward) && includes(y, Overflow::downward);
  const auto kept = [&](Overflow one) { return includes(x | y, one) ? one : Overflow::none; };
  return kept(Overflow::upward) | kept(Overflow::undefined) | (both_down ? Overflow::downward : Overflow::none);
}

/// What a kernel makes of infinities and NaN in the place of an argument: the like, or numbers that are off by `error`.
struct OfInfinities {
  Overflow overflow = Overflow::none;  ///< what is not finite
  double error = 0;                    ///< of what is
};
/// Of a function whose exact result is y: value(x), which a kernel has to within own(value(x)).
template <class Value, class OwnError>
OfInfinities of_infinities(const Approximate& x, double y, Value value, OwnError own) {
  using Limits = std::numeric_limits<double>;
  OfInfinities out;
  if (x.overflow == Overflow::none) return out;
  for (const double special : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    if (!includes(x.overflow, overflow_of(special))) continue;
    const double result = value(special);
    out.overflow = out.overflow | overflow_of(result);
    if (std::isfinite(result)) out.error = std::max(out.error, std::fabs(result - y) + own(result));
  }
  return out;
}

}  // namespace ulpscope::verify
