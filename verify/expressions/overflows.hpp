// SPDX-License-Identifier: Apache-2.0
// What an operation makes of operands in whose place a kernel may have an infinity or a NaN, of zeros of either sign, and of
// what is infinite or NaN itself where a kernel may have a number.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/expected.hpp"
#include "verify/expressions/lanes.hpp"

namespace ulpscope::verify {

/// What both have.
constexpr Overflow operator&(Overflow x, Overflow y) noexcept {
  return static_cast<Overflow>(static_cast<int>(x) & static_cast<int>(y));
}
/// `kind` where `is_there`.
constexpr Overflow where(bool is_there, Overflow kind) noexcept { return is_there ? kind : Overflow::none; }
/// What a number itself is; none where it is finite.
inline Overflow overflow_of(double x) noexcept {
  if (std::isfinite(x)) return Overflow::none;
  return std::isnan(x) ? Overflow::undefined : x > 0 ? Overflow::upward : Overflow::downward;
}
/// Of -x.
constexpr Overflow opposite_of(Overflow x) noexcept {
  return where(includes(x, Overflow::upward), Overflow::downward) | where(includes(x, Overflow::downward), Overflow::upward) |
         (x & (Overflow::undefined | Overflow::other_zero));
}
/// Of |x|.
constexpr Overflow overflow_of_size(Overflow x) noexcept {
  return where(includes(x, Overflow::upward | Overflow::downward), Overflow::upward) | (x & Overflow::undefined);
}

/// A number that is not finite, or how a kernel may have it in the place of one that is.
inline Overflow infinities_of(const Approximate& x) noexcept { return (x.overflow & Overflow::any) | overflow_of(x.value); }
/// Whether a kernel may have numbers in the place of what is infinite or NaN.
inline bool is_doubted(const Approximate& x) noexcept { return !std::isfinite(x.value) && x.error > 0; }
/// Whether it has numbers, and nothing else.
inline bool is_plain(const Approximate& x) noexcept { return x.overflow == Overflow::none && std::isfinite(x.value); }
/// Nothing is known of what a kernel has; of the exact value what x says.
inline Approximate unknown(const Approximate& x) noexcept {
  return {x.value, x.radius, std::numeric_limits<double>::infinity(), Overflow::any};
}

/// What a kernel may have in the place of an element.
struct Kinds {
  Overflow special = Overflow::none;  ///< infinities and NaN
  bool finite = true;                 ///< numbers
};
/// Of an element.
inline Kinds kinds_of(const Approximate& x) noexcept { return {infinities_of(x), std::isfinite(x.value) || x.error > 0}; }

/// An infinity or a NaN in whose place a kernel may have `kinds`: numbers only where something that makes it is `doubted`, and
/// not where it is merely beyond the range of double.
inline Approximate not_finite(double value, Kinds kinds, bool doubted, double radius) noexcept {
  if (kinds.finite && doubted) return unknown({.value = value, .radius = radius});
  return {.value = value, .overflow = kinds.special == overflow_of(value) ? Overflow::none : kinds.special};
}

/// Of a sum.
constexpr Kinds sum_of(Kinds x, Kinds y) noexcept {
  const auto infinite = [&](Overflow one) {
    return (includes(x.special, one) && (y.finite || includes(y.special, one))) || (x.finite && includes(y.special, one));
  };
  const auto opposite = [](Kinds a, Kinds b) {
    return includes(a.special, Overflow::upward) && includes(b.special, Overflow::downward);
  };
  const bool is_undefined = includes(x.special | y.special, Overflow::undefined) || opposite(x, y) || opposite(y, x);
  return {where(infinite(Overflow::upward), Overflow::upward) | where(infinite(Overflow::downward), Overflow::downward) |
              where(is_undefined, Overflow::undefined),
          x.finite && y.finite};
}

/// The numbers that a kernel may have in the place of an element, by sign.
struct Signs {
  bool above, below, zero;  ///< greater than 0, less than it, 0
  bool plus, minus;         ///< that 0 may be +0, -0

  /// Of an element.
  explicit Signs(const Approximate& x) noexcept {
    const bool is_number = std::isfinite(x.value), any = is_number || x.error > 0;
    const double middle = is_number ? x.value : 0, reach = is_number ? x.radius + x.error : x.error;
    above = any && middle + reach > 0, below = any && middle - reach < 0, zero = any && std::fabs(middle) <= reach;
    const bool both = zero && (reach > 0 || includes(x.overflow, Overflow::other_zero));
    plus = zero && (both || !std::signbit(middle)), minus = zero && (both || std::signbit(middle));
  }
};

namespace detail {

/// Of infinities times what may be of these signs, or divided by it.
constexpr Overflow signed_by(Overflow infinities, bool positive, bool negative) noexcept {
  const Overflow x = infinities & (Overflow::upward | Overflow::downward);
  return (positive ? x : Overflow::none) | (negative ? opposite_of(x) : Overflow::none);
}

}  // namespace detail

/// Of x y.
inline Kinds product_of(const Approximate& x, const Approximate& y) noexcept {
  const Kinds a = kinds_of(x), b = kinds_of(y);
  const Signs of_x(x), of_y(y);
  constexpr Overflow up = Overflow::upward, down = Overflow::downward;
  const auto by = [&](Overflow infinities, const Signs& signs, Overflow others) {
    return detail::signed_by(infinities, signs.above || includes(others, up), signs.below || includes(others, down));
  };
  const bool is_undefined = includes(a.special | b.special, Overflow::undefined) ||
                            (includes(a.special, up | down) && of_y.zero) || (includes(b.special, up | down) && of_x.zero);
  return {by(a.special, of_y, b.special) | by(b.special, of_x, a.special) | where(is_undefined, Overflow::undefined),
          a.finite && b.finite};
}

/// Of x / y: by an infinity it is 0.
inline Kinds quotient_of(const Approximate& x, const Approximate& y) noexcept {
  const Kinds a = kinds_of(x), b = kinds_of(y);
  const Signs of_x(x), of_y(y);
  constexpr Overflow up = Overflow::upward, infinite = Overflow::upward | Overflow::downward;
  const Overflow of_zero = of_y.zero ? detail::signed_by(up, (of_x.above && of_y.plus) || (of_x.below && of_y.minus),
                                                         (of_x.above && of_y.minus) || (of_x.below && of_y.plus))
                                     : Overflow::none;
  const bool is_undefined = includes(a.special | b.special, Overflow::undefined) || (of_x.zero && of_y.zero) ||
                            (includes(a.special, infinite) && includes(b.special, infinite));
  return {detail::signed_by(a.special, of_y.above || of_y.plus, of_y.below || of_y.minus) | of_zero |
              where(is_undefined, Overflow::undefined),
          a.finite && (of_y.above || of_y.below || includes(b.special, infinite))};
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
  if (includes(x.overflow, Overflow::other_zero)) {
    const double result = value(-x.value);
    out.overflow = overflow_of(result) | where(result == 0 && std::signbit(result) != std::signbit(y), Overflow::other_zero);
  }
  for (const double special : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    if (!includes(x.overflow, overflow_of(special))) continue;
    const double result = value(special);
    out.overflow = out.overflow | overflow_of(result);
    if (std::isfinite(result))
      out.error = std::max(out.error, std::isfinite(y) ? std::fabs(result - y) + own(result) : Limits::infinity());
  }
  return out;
}

}  // namespace ulpscope::verify
