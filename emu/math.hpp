// SPDX-License-Identifier: Apache-2.0
// Logarithm, exponential and cosine in double from add, multiply, divide and bit operations alone: the same bits on every
// machine and with every compiler (-ffp-contract=off, round to nearest), which the C library's are not. Coefficients are
// computed from their series. Where a last bit decides, values are carried as sums of two doubles (T. J. Dekker, "A
// floating-point technique for extending the available precision", Numer. Math. 18 (1971)). tests/emu/math_test.cpp holds the
// bounds against MPFR.
#pragma once

#include <cstdint>
#include <limits>

#include "emu/bits.hpp"
#include "emu/config.hpp"

namespace ulpscope::emu {

namespace detail {

/// high + low, |low| <= ulp(high)/2.
struct Pair {
  double high, low;
};

ULPSCOPE_INLINE constexpr Pair fast_two_sum(double a, double b) noexcept {  // |a| >= |b| or a = 0
  const double s = a + b;
  return {s, b - (s - a)};
}
ULPSCOPE_INLINE constexpr Pair two_sum(double a, double b) noexcept {
  const double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
constexpr Pair two_product(double a, double b) noexcept {  // Dekker's: no fma needed; |a|, |b| < 2^996
  constexpr double splitter = 0x1p27 + 1;
  const double p = a * b;
  const double ca = splitter * a, ah = ca - (ca - a), al = a - ah;
  const double cb = splitter * b, bh = cb - (cb - b), bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}
constexpr Pair add(Pair a, Pair b) noexcept {
  const Pair s = two_sum(a.high, b.high);
  return fast_two_sum(s.high, s.low + (a.low + b.low));
}
constexpr Pair multiply(Pair a, Pair b) noexcept {
  const Pair p = two_product(a.high, b.high);
  return fast_two_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}
constexpr Pair divide(Pair a, Pair b) noexcept {
  const double q = a.high / b.high;
  const Pair back = two_product(q, b.high);
  const double rest = (((a.high - back.high) - back.low) + a.low) - q * b.low;
  return fast_two_sum(q, rest / b.high);
}

/// The `bits` leading significand bits of x; x minus it is exact.
ULPSCOPE_INLINE constexpr double leading(double x, int bits) noexcept {
  return bit_cast<double>(bit_cast<std::uint64_t>(x) & ~std::uint64_t{0} << (53 - bits));
}

/// 1/1, 1/2, ... 1/(count - 1) at index 1, 2, ...
template <int count>
struct Reciprocals {
  Pair of[count];
  constexpr Reciprocals() noexcept : of{} {
    for (int n = 1; n < count; ++n) of[n] = divide({1, 0}, {static_cast<double>(n), 0});
  }
};
inline constexpr Reciprocals<48> reciprocals{};

/// 1/0!, 1/1!, ... Nearest doubles: the pairs they are rounded from hold 100 bits.
template <int count>
struct InverseFactorials {
  double of[count];
  constexpr InverseFactorials() noexcept : of{} {
    Pair value{1, 0};
    for (int n = 0; n < count; ++n) {
      if (n > 0) value = divide(value, {static_cast<double>(n), 0});
      of[n] = value.high;
    }
  }
};
inline constexpr InverseFactorials<20> inverse_factorials{};

/// atanh(r) / r for |r| <= 0.172 from the series sum r^2k / (2k + 1): the first terms as pairs, the others in double, where
/// they weigh less than 0.172^10 < 2^-25 and so err by less than 2^-77.
constexpr Pair atanh_over_r(Pair r) noexcept {
  const Pair square = multiply(r, r);
  constexpr int terms = 22, exact_terms = 5;  // 0.172^(2*22) < 2^-111
  double tail = 0;
  for (int k = terms; k >= exact_terms; --k) tail = tail * square.high + reciprocals.of[2 * k + 1].high;
  Pair sum{tail, 0};
  for (int k = exact_terms - 1; k >= 0; --k) sum = add(multiply(sum, square), reciprocals.of[2 * k + 1]);
  return sum;
}

/// ln 2 = 2 atanh(1/3) = 2 sum 1/((2k+1) 3^(2k+1)), summed from the small end.
constexpr Pair ln_2() noexcept {
  Pair sum{0, 0};
  const Pair ninth = divide({1, 0}, {9, 0});
  for (int k = 36; k >= 0; --k) sum = add(multiply(sum, ninth), divide({1, 0}, {static_cast<double>(2 * k + 1), 0}));
  const Pair third = divide({2, 0}, {3, 0});
  return multiply(sum, third);
}
inline constexpr Pair ln2 = ln_2();
/// ln 2 in two parts, the first of 32 bits: its product with an exponent (11 bits) is exact.
inline constexpr double ln2_short = leading(ln2.high, 32), ln2_rest = (ln2.high - ln2_short) + ln2.low;

/// pi = 16 atan(1/5) - 4 atan(1/239) (Machin 1706).
constexpr Pair atan_inverse(double n) noexcept {
  Pair sum{0, 0};
  const Pair square = divide({-1, 0}, {n * n, 0});
  for (int k = 40; k >= 0; --k) sum = add(multiply(sum, square), divide({1, 0}, {static_cast<double>(2 * k + 1), 0}));
  return divide(sum, {n, 0});
}
inline constexpr Pair pi = add(multiply({16, 0}, atan_inverse(5)), multiply({-4, 0}, atan_inverse(239)));
/// 2 pi in two parts, the first of 26 bits: its product with another 26 bits is exact.
inline constexpr double two_pi_short = leading(2 * pi.high, 26), two_pi_rest = (2 * pi.high - two_pi_short) + 2 * pi.low;

/// x = m 2^exponent with m in [sqrt(1/2), sqrt(2)), x positive and normal. Adding 1 - sqrt(1/2) to the words moves the binade's
/// border to sqrt(1/2); the exponent becomes a double by writing it below the point of 2^52.
struct Split {
  double m, exponent;
};
ULPSCOPE_INLINE constexpr Split split(double x) noexcept {
  constexpr auto bits_of_one = std::uint64_t{1023} << 52, border = bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1);  // sqrt(1/2)
  const std::uint64_t moved = bit_cast<std::uint64_t>(x) + (bits_of_one - border);
  const double biased = bit_cast<double>(bit_cast<std::uint64_t>(0x1p52) | moved >> 52) - 0x1p52;
  return {bit_cast<double>((moved & ((std::uint64_t{1} << 52) - 1)) + border), biased - 1023};
}

/// ln x of a finite positive x as a pair, relative error below 2^-90.
constexpr Pair log_pair(double x) noexcept {
  const bool subnormal = x < 0x1p-1022;
  const Split parts = split(subnormal ? x * 0x1p54 : x);
  // ln m = 2 atanh((m - 1)/(m + 1)); m - 1 is exact, m + 1 is not.
  const Pair r = divide({parts.m - 1, 0}, two_sum(parts.m, 1));
  const Pair ln_m = multiply(r, atanh_over_r(r));
  const Pair scaled = multiply({parts.exponent - (subnormal ? 54 : 0), 0}, ln2);
  return add(scaled, {2 * ln_m.high, 2 * ln_m.low});
}

constexpr double log_in_base(double x, Pair inverse_of_ln_base) noexcept {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -inf;
  if (!(x > 0)) return nan;
  if (x == inf) return inf;
  if (x == 1) return 0;
  const Pair result = multiply(log_pair(x), inverse_of_ln_base);
  return result.high + result.low;
}

inline constexpr Pair one_over_ln2 = divide({1, 0}, ln2);
inline constexpr Pair one_over_ln10 = divide({1, 0}, log_pair(10));

}  // namespace detail

/// ln x of a positive normal x, without branches. With f = m - 1 and s = f / (2 + f):
/// ln m = 2 atanh(s) = f - f^2/2 + s (f^2/2 + R), R = sum over k > 0 of 2 s^2k / (2k + 1) (the arrangement of FreeBSD's
/// e_log.c). |s| <= 0.1716: the terms after k = 10 are below 2^-60 of the result.
ULPSCOPE_INLINE constexpr double log_of_normal(double x) noexcept {
  const detail::Split parts = detail::split(x);
  const double f = parts.m - 1, s = f / (2 + f), square = s * s, half_square = 0.5 * f * f;
  double r = 0;
  for (int k = 10; k >= 1; --k) r = (r + 2 * detail::reciprocals.of[2 * k + 1].high) * square;
  const detail::Pair head = detail::fast_two_sum(parts.exponent * detail::ln2_short, f);  // ln2 > |f|, or the exponent is 0
  return head.high + (head.low - (half_square - (s * (half_square + r) + parts.exponent * detail::ln2_rest)));
}

namespace detail {

/// Adding 1.5 2^52 leaves no bits below the point. |x| < 2^51.
ULPSCOPE_INLINE constexpr double nearest_integer(double x) noexcept { return (x + 0x1.8p52) - 0x1.8p52; }

/// e^x = 2^k (1 + head + tail), k an integer, for |x| < 1100, without branches. |x - k ln2| <= ln2/2 = 0.347: the Taylor terms
/// after n = 14 are below 2^-61.
struct ExpParts {
  double k, head, tail;
};
ULPSCOPE_INLINE constexpr ExpParts exp_parts(double x) noexcept {
  const double k = nearest_integer(x * one_over_ln2.high);
  const double high = x - k * ln2_short, low = k * ln2_rest;  // high is exact
  const Pair r = fast_two_sum(high, -low);
  double sum = 0;
  for (int n = 14; n >= 3; --n) sum = (sum + inverse_factorials.of[n]) * r.high;
  return {k, r.high, r.low + r.high * r.low + r.high * r.high * (0.5 + sum)};
}
/// 2^k, k an integer in [-1022, 1023]: the biased exponent stands in the low bits of 2^52 + 1023 + k.
ULPSCOPE_INLINE constexpr double normal_power_of_two(double k) noexcept {
  return bit_cast<double>(bit_cast<std::uint64_t>(k + (0x1p52 + 1023)) << 52);
}
/// value * 2^k for k in [-1100, 1100], with one rounding: each factor is normal, and the first product too.
ULPSCOPE_INLINE constexpr double scale_by(double value, double k) noexcept {
  const double half = nearest_integer(0.5 * k);
  return value * normal_power_of_two(half) * normal_power_of_two(k - half);
}

}  // namespace detail

/// Natural logarithm; error below 0.9 ulp. log(0) = -inf, log of negative numbers and NaN is NaN.
constexpr double log(double x) noexcept {
  if (x == 0 || !(x > 0) || x == std::numeric_limits<double>::infinity()) return detail::log_in_base(x, {1, 0});
  return x < 0x1p-1022 ? detail::log_in_base(x, {1, 0}) : log_of_normal(x);
}
/// Base 2 and base 10, error below 0.501 ulp; exact for powers of the base.
/// log2 x, error below 0.501 ulp; exact for powers of two.
constexpr double log2(double x) noexcept { return detail::log_in_base(x, detail::one_over_ln2); }
/// log10 x, error below 0.501 ulp; exact for powers of ten.
constexpr double log10(double x) noexcept { return detail::log_in_base(x, detail::one_over_ln10); }

/// e^x, error below 0.8 ulp (subnormal results: below 1.1 of their spacing).
ULPSCOPE_INLINE constexpr double exp(double x) noexcept {
  const double inside = x > -750 ? (x < 750 ? x : 750) : -750;  // beyond: infinite or zero all the same
  const detail::ExpParts e = detail::exp_parts(inside);
  const detail::Pair sum = detail::fast_two_sum(1, e.head);
  const double result = detail::scale_by(sum.high + (sum.low + e.tail), e.k);
  return x == x ? result : x;
}
/// e^x - 1, error below 1 ulp.
ULPSCOPE_INLINE constexpr double expm1(double x) noexcept {
  const double inside = x > -50 ? (x < 750 ? x : 750) : -50;  // e^-50 is less than a quarter ulp of 1
  const detail::ExpParts e = detail::exp_parts(inside);
  const double k = e.k < 200 ? e.k : 200;  // 1 - 2^-200 is 1 here
  const detail::Pair offset = detail::two_sum(1, -detail::normal_power_of_two(-k));
  const detail::Pair sum = detail::two_sum(offset.high, e.head);
  const double result = detail::scale_by(sum.high + (sum.low + (offset.low + e.tail)), e.k);
  return x == x && x != 0 ? result : x;
}

namespace detail {

/// sin(a) and cos(a) for 0 <= a <= pi/4, without branches.
ULPSCOPE_INLINE constexpr double sin_of(Pair a) noexcept {
  const double square = a.high * a.high;  // <= 0.617: the terms after n = 17 are below 2^-62
  double sine = 0;
  for (int n = 17; n >= 5; n -= 2) sine = (inverse_factorials.of[n] - sine) * square;
  return a.high + (a.low - a.high * square * (inverse_factorials.of[3] - sine));
}
ULPSCOPE_INLINE constexpr double cos_of(Pair a) noexcept {
  const double square = a.high * a.high;  // the terms after n = 18 are below 2^-62
  double cosine = 0;
  for (int n = 18; n >= 6; n -= 2) cosine = (inverse_factorials.of[n] - cosine) * square;
  // 1 - a^2/2 with the half square in two parts, the first exact.
  const double a_short = leading(a.high, 26), first = 0.5 * a_short * a_short;
  const double second = 0.5 * (a.high - a_short) * (a.high + a_short) + a.high * a.low;
  const Pair head = fast_two_sum(1, -first);
  return head.high + ((head.low - second) + square * square * (inverse_factorials.of[4] - cosine));
}

}  // namespace detail

/// cos(2 pi turns) for 0 <= turns <= 1, without branches; error below 1 ulp, near the zeros too.
ULPSCOPE_INLINE constexpr double cos_two_pi(double turns) noexcept {
  // Exact reductions: cos(2 pi (1 - u)) = cos(2 pi u), cos(2 pi (1/2 - u)) = -cos(2 pi u), cos(2 pi (1/4 - u)) = sin(2 pi u).
  constexpr auto least = [](double a, double b) { return a < b ? a : b; };
  const double half = least(turns, 1 - turns), quarter = least(half, 0.5 - half), u = least(quarter, 0.25 - quarter);
  const double u_short = detail::leading(u, 26);
  const detail::Pair a =  // the angle, 0 to pi/4
      detail::fast_two_sum(u_short * detail::two_pi_short, (u - u_short) * detail::two_pi_short + u * detail::two_pi_rest);
  const double sine = detail::sin_of(a), cosine = detail::cos_of(a);
  const double result = quarter > 0.125 ? sine : cosine;
  return half > 0.25 ? -result : result;
}

}  // namespace ulpscope::emu
