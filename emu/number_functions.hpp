// SPDX-License-Identifier: Apache-2.0
// The functions of <cmath> for Number, found by argument-dependent lookup: `using std::sqrt; sqrt(x)` works for double and
// Number alike. Each rounds its exact result once, as the type says. Semantics: ISO C23, 7.12 and annex F, and
// emu/arithmetic.hpp. In the functions of several operands those of built-in types become Numbers first.
#pragma once

#include <climits>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "emu/arithmetic.hpp"
#include "emu/bits.hpp"
#include "emu/comparison.hpp"
#include "emu/config.hpp"
#include "emu/format.hpp"
#include "emu/integral.hpp"
#include "emu/number_type.hpp"
#include "emu/real.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

namespace detail {

template <class T>
inline constexpr bool is_number = false;
template <Format F, RoundingOptions O>
inline constexpr bool is_number<Number<F, O>> = true;

/// The Number that operands of which at least one is a Number are computed in; none for operands of two Number types.
template <class... Operands>
using CommonNumber = std::enable_if_t<(is_number<Operands> || ...), std::common_type_t<Operands...>>;

template <class N>
ULPSCOPE_HD constexpr N number(const Result& result) noexcept {
  return N::from_code(result.code);
}

/// x rounded to a whole number in a direction of its own.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> to_whole(Number<F, O> x, Rounding rounding) noexcept {
  RoundingOptions options = O;
  options.rounding = rounding;
  return number<Number<F, O>>(round_to_integral(F, x.code(), options));
}

}  // namespace detail

// Classification and signs. They look at the code alone; neither policy nor flush switches matter.

/// Whether x is a NaN.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr bool isnan(Number<F, O> x) noexcept {
  return F.is_nan(x.code());
}
/// Whether x is an infinity.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr bool isinf(Number<F, O> x) noexcept {
  return F.is_infinite(x.code());
}
/// Whether x is neither NaN nor infinite.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr bool isfinite(Number<F, O> x) noexcept {
  return !isnan(x) && !isinf(x);
}
/// Whether x is finite, not zero and not subnormal.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr bool isnormal(Number<F, O> x) noexcept {
  return isfinite(x) && !F.is_zero(x.code()) && !F.is_subnormal(x.code());
}
/// The class of x, FP_NAN to FP_ZERO, as of a built-in number.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr int fpclassify(Number<F, O> x) noexcept {
  if (isnan(x)) return FP_NAN;
  if (isinf(x)) return FP_INFINITE;
  if (F.is_zero(x.code())) return FP_ZERO;
  return F.is_subnormal(x.code()) ? FP_SUBNORMAL : FP_NORMAL;
}
/// The sign bit, which the NaN in place of -0 has.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr bool signbit(Number<F, O> x) noexcept {
  return F.is_negative(x.code());
}
/// x without its sign.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> abs(Number<F, O> x) noexcept {
  return signbit(x) ? -x : x;
}
/// x without its sign.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> fabs(Number<F, O> x) noexcept {
  return abs(x);
}
/// |x| with the sign of y, as far as the format has one for it.
template <class A, class B, class N = detail::CommonNumber<A, B>>
ULPSCOPE_HD constexpr N copysign(A x, B y) noexcept {
  const N number = x;
  return signbit(number) == signbit(N(y)) ? number : -number;
}

// Arithmetic.

/// The square root; NaN of what is less than zero.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> sqrt(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(sqrt(F, x.code(), O));
}
/// a * b + c with one rounding
template <class A, class B, class C, class N = detail::CommonNumber<A, B, C>>
ULPSCOPE_HD constexpr N fma(A a, B b, C c) noexcept {
  return detail::number<N>(fma(N::format(), N(a).code(), N(b).code(), N(c).code(), N::options()));
}
/// x minus y times the integer nearest to x / y, ties to even; exact (IEEE 754-2019, 5.3.1).
template <class A, class B, class N = detail::CommonNumber<A, B>>
ULPSCOPE_HD constexpr N remainder(A x, B y) noexcept {
  return detail::number<N>(remainder(N::format(), N(x).code(), N(y).code(), N::options()));
}

// The lesser and the greater. A NaN is a missing number to fmin and fmax (IEEE 754-2019's minimumNumber and maximumNumber), and
// propagates from minimum and maximum. -0 is less than +0.

/// The lesser of two; a number wins over a NaN. -0 is less than +0.
template <class A, class B, class N = detail::CommonNumber<A, B>>
ULPSCOPE_HD constexpr N fmin(A x, B y) noexcept {
  return detail::number<N>(minimum_number(N::format(), N(x).code(), N(y).code(), N::options()));
}
/// The greater of two; a number wins over a NaN.
template <class A, class B, class N = detail::CommonNumber<A, B>>
ULPSCOPE_HD constexpr N fmax(A x, B y) noexcept {
  return detail::number<N>(maximum_number(N::format(), N(x).code(), N(y).code(), N::options()));
}
/// The lesser of two; a NaN propagates.
template <class A, class B, class N = detail::CommonNumber<A, B>>
ULPSCOPE_HD constexpr N minimum(A x, B y) noexcept {
  return detail::number<N>(minimum(N::format(), N(x).code(), N(y).code(), N::options()));
}
/// The greater of two; a NaN propagates.
template <class A, class B, class N = detail::CommonNumber<A, B>>
ULPSCOPE_HD constexpr N maximum(A x, B y) noexcept {
  return detail::number<N>(maximum(N::format(), N(x).code(), N(y).code(), N::options()));
}

// Whole numbers. `round` takes ties away from zero; `rint` and `nearbyint` round as the type does.

/// The nearest whole number that is not above x.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> floor(Number<F, O> x) noexcept {
  return detail::to_whole(x, Rounding::downward);
}
/// The nearest whole number that is not below x.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> ceil(Number<F, O> x) noexcept {
  return detail::to_whole(x, Rounding::upward);
}
/// The nearest whole number toward zero.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> trunc(Number<F, O> x) noexcept {
  return detail::to_whole(x, Rounding::toward_zero);
}
/// The nearest whole number, ties away from zero.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> round(Number<F, O> x) noexcept {
  return detail::to_whole(x, Rounding::nearest_away);
}
/// The nearest whole number, ties to even.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> roundeven(Number<F, O> x) noexcept {
  return detail::to_whole(x, Rounding::nearest_even);
}
/// To a whole number in the rounding direction of the type.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> rint(Number<F, O> x) noexcept {
  return detail::to_whole(x, O.rounding);
}
/// The same as rint: no exceptions are recorded.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> nearbyint(Number<F, O> x) noexcept {
  return detail::to_whole(x, O.rounding);
}
/// The whole part goes to *whole, the rest is returned; both have the sign of x.
template <Format F, RoundingOptions O>
  requires(F.has_zero())
ULPSCOPE_HD constexpr Number<F, O> modf(Number<F, O> x, Number<F, O>* whole) noexcept {
  *whole = trunc(x);
  if (isnan(x)) return *whole;
  return copysign(isinf(x) ? Number<F, O>(0) : x - *whole, x);
}

// Neighbours.

/// The next number above; the greatest stays.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> nextup(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(next_up(F, x.code()));
}
/// The next number below; the least stays.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> nextdown(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(next_down(F, x.code()));
}
/// The next number after x in the direction of y; y itself where they are equal.
template <class A, class B, class N = detail::CommonNumber<A, B>>
ULPSCOPE_HD constexpr N nextafter(A x, B y) noexcept {
  const N from = x, to = y;
  switch (compare_quiet(N::format(), from.code(), to.code()).order) {  // subnormals are numbers here
    case Order::less: return nextup(from);
    case Order::greater: return nextdown(from);
    case Order::equal: return to;
    default: return detail::number<N>(detail::nan_result(N::format(), no_flags));
  }
}

// Exponents.

/// x * 2^count, rounded once
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> scalbln(Number<F, O> x, long count) noexcept {
  return detail::number<Number<F, O>>(scale_b(F, x.code(), count, O));
}
/// x * 2^count, rounded once.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> scalbn(Number<F, O> x, int count) noexcept {
  return scalbln(x, count);
}
/// x * 2^count, rounded once.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> ldexp(Number<F, O> x, int count) noexcept {
  return scalbln(x, count);
}
/// The exponent of x in its binade [1, 2) 2^exponent.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr int ilogb(Number<F, O> x) noexcept {
  const Code code = detail::operand(F, x.code(), O);
  if (F.is_nan(code)) return FP_ILOGBNAN;
  if (F.is_infinite(code)) return INT_MAX;
  return F.is_zero(code) ? FP_ILOGB0 : detail::real_of<std::uint64_t>(F, code).exponent;
}
/// The same as a Number, rounded once.
template <Format F, RoundingOptions O>
ULPSCOPE_HD constexpr Number<F, O> logb(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(log_b(F, x.code(), O));
}
/// x = result * 2^exponent, the result in [1/2, 1); for formats whose numbers there are normal, so that it is exact.
template <Format F, RoundingOptions O>
  requires(F.min_exponent() <= -1)
ULPSCOPE_HD constexpr Number<F, O> frexp(Number<F, O> x, int* exponent) noexcept {
  *exponent = 0;
  const Code code = detail::operand(F, x.code(), O);
  if (isnan(x)) return detail::number<Number<F, O>>(detail::nan_result(F, no_flags));
  if (isinf(x) || F.is_zero(code)) return Number<F, O>::from_code(code);
  *exponent = ilogb(x) + 1;
  return scalbn(x, -*exponent);
}

}  // namespace ulpscope::emu
