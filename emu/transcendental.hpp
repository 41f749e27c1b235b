// SPDX-License-Identifier: Apache-2.0
// Exponential, logarithm, circular and error functions of numbers of 126 bits, by their series and in integers alone: the same
// bits everywhere. Relative errors stay below 2^-100, and where a result hugs its argument or 1 the last step is the exact
// addition of a correction, whose sticky bit keeps it on the right side. Formulas: NIST Digital Library of Mathematical
// Functions (DLMF), chapters 4 and 7. Constants are computed from their series. Host only: device code has no table for them.
#pragma once

#include <cstdint>

#include "emu/bits.hpp"
#include "emu/real.hpp"

namespace ulpscope::emu::detail {

using Real128 = Real<Word128>;

constexpr Real128 operator-(const Real128& a) noexcept { return a.negated(); }
constexpr Real128 operator+(const Real128& a, const Real128& b) noexcept { return add(a, b); }
constexpr Real128 operator-(const Real128& a, const Real128& b) noexcept { return add(a, b.negated()); }
constexpr Real128 operator*(const Real128& a, const Real128& b) noexcept { return multiply(a, b); }
constexpr Real128 operator/(const Real128& a, const Real128& b) noexcept { return divide(a, b); }

constexpr Real128 whole(int n) noexcept {
  return Real128::integer(static_cast<Word128>(n < 0 ? -static_cast<std::int64_t>(n) : n), n < 0);
}
constexpr Real128 real_power_of_two(int exponent) noexcept { return {Word128{1} << Real128::leading_bit, exponent, false}; }
inline constexpr Real128 one = real_power_of_two(0);

/// A stand-in for every number of such size or less: added to 1 or to an operand, only its sign counts.
inline constexpr int vanishing_exponent = -(1 << 14);

/// The integer nearest x; |x| < 2^30.
constexpr int nearest_whole(const Real128& x) noexcept {
  if (x.is_zero() || x.exponent < -1) return 0;
  const int dropped = Real128::leading_bit - x.exponent;
  const int magnitude = static_cast<int>((x.significand + (Word128{1} << (dropped - 1))) >> dropped);
  return x.negative ? -magnitude : magnitude;
}

/// |x| < 1 in units of 2^-128, truncated.
constexpr Word128 fraction_of(const Real128& x) noexcept {
  const int shift = x.exponent + 128 - Real128::leading_bit;
  return shift >= 0 ? x.significand << shift : (shift > -128 ? x.significand >> -shift : 0);
}

/// c(0) + c(1) x + ... + c(terms - 1) x^(terms - 1) in fixed point, for |x| < 1 and 1 >= c(0) > c(1) > ... > 0 that fall fast
/// enough for c(0) to tell the sum's size: the error is below terms * 2^-126.
template <class Coefficient>
constexpr Real128 polynomial(const Real128& x, int terms, Coefficient c) noexcept {
  constexpr int unit = 127;  // log2
  const auto fixed = [](const Real128& value) { return value.exponent > -128 ? value.significand << 2 >> -value.exponent : 0; };
  const Word128 fraction = fraction_of(x);
  Word128 sum = fixed(c(terms - 1));
  for (int k = terms - 2; k >= 0; --k) {
    const Word128 product = multiply_words(sum, fraction).high;
    sum = x.negative ? fixed(c(k)) - product : fixed(c(k)) + product;
  }
  return Real128::normalised(sum, Real128::leading_bit - unit, false);
}

/// A fixed-point number: limb 0 is the integer part, 64 bits of fraction follow in each of the others.
struct Limbs {
  static constexpr int count = 21;  ///< for the arguments of a double, 2^1024, and 256 bits more
  std::uint64_t at[count]{};

  /// this +- other; carries beyond the integer part are lost.
  constexpr void accumulate(const Limbs& other, bool subtract) noexcept {
    std::uint64_t carry = 0;
    for (int i = count - 1; i >= 0; --i) {
      const Word128 sum = subtract ? Word128{at[i]} - other.at[i] - carry : Word128{at[i]} + other.at[i] + carry;
      at[i] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64) & 1;
    }
  }
  constexpr Limbs divided_by(unsigned divisor) const noexcept {
    Limbs quotient;
    std::uint64_t rest = 0;
    for (int i = 0; i < count; ++i) {
      const Word128 dividend = Word128{rest} << 64 | at[i];
      quotient.at[i] = static_cast<std::uint64_t>(dividend / divisor);
      rest = static_cast<std::uint64_t>(dividend % divisor);
    }
    return quotient;
  }
  constexpr bool is_zero() const noexcept {
    for (const std::uint64_t limb : at)
      if (limb != 0) return false;
    return true;
  }
  /// The three leading limbs: at least 129 bits.
  constexpr Real128 real() const noexcept {
    int first = 0;
    while (first < count && at[first] == 0) ++first;
    const auto limb = [&](int i) { return i < count ? at[i] : std::uint64_t{0}; };
    const int unit = Real128::leading_bit - 64 * first;
    return Real128::normalised(limb(first), unit, false) + Real128::normalised(limb(first + 1), unit - 64, false) +
           Real128::normalised(limb(first + 2), unit - 128, false);
  }
};

/// atan(1/n) = sum (-1)^k / ((2k + 1) n^(2k+1))  (DLMF 4.24.3)
constexpr Limbs atan_limbs(unsigned n) noexcept {
  Limbs sum, power{{1}};
  power = power.divided_by(n);
  for (unsigned k = 0; !power.is_zero(); ++k) {
    sum.accumulate(power.divided_by(2 * k + 1), k % 2 == 1);
    power = power.divided_by(n * n);
  }
  return sum;
}
/// pi/2 = 8 atan(1/5) - 2 atan(1/239)  (Machin 1706)
constexpr Limbs machin() noexcept {
  const Limbs fifth = atan_limbs(5), other = atan_limbs(239);
  Limbs sum;
  for (int i = 0; i < 8; ++i) sum.accumulate(fifth, false);
  for (int i = 0; i < 2; ++i) sum.accumulate(other, true);
  return sum;
}

/// What the series need. Templates are computed only where a function that needs them is used.
template <class = void>
inline constexpr Limbs half_pi_limbs = machin();
template <class = void>
inline constexpr Real128 half_pi = half_pi_limbs<>.real();

template <unsigned count>
struct Reciprocals128 {
  Real128 of[count]{};
  constexpr Reciprocals128() noexcept {
    for (unsigned n = 1; n < count; ++n) of[n] = one / whole(static_cast<int>(n));
  }
};
template <class = void>
inline constexpr Reciprocals128<144> reciprocals128{};

template <unsigned count>
struct InverseFactorials128 {
  Real128 of[count]{};
  constexpr InverseFactorials128() noexcept {
    of[0] = one;
    for (unsigned n = 1; n < count; ++n) of[n] = of[n - 1] / whole(static_cast<int>(n));
  }
};
template <class = void>
inline constexpr InverseFactorials128<72> inverse_factorials128{};

/// 2 atanh(s) = ln((1 + s)/(1 - s)) for |s| < 0.34: s^(2 terms) < 2^-126  (DLMF 4.38.5)
constexpr Real128 two_atanh(const Real128& s) noexcept {
  const int terms = s.exponent < -3 ? 22 : 42;
  return s.scaled(1) * polynomial(s * s, terms, [](int k) { return reciprocals128<>.of[2 * k + 1]; });
}
template <class = void>
inline constexpr Real128 ln2_128 = two_atanh(one / whole(3));
template <class = void>
inline constexpr Real128 one_over_ln2_128 = one / ln2_128<>;
template <class = void>
inline constexpr Real128 ln10_128 = whole(3) * ln2_128<> + two_atanh(one / whole(9));  // 10 = 8 * 10/8
template <class = void>
inline constexpr Real128 one_over_ln10_128 = one / ln10_128<>;
template <class = void>
inline constexpr Real128 two_over_root_pi = one.scaled(1) / square_root(half_pi<>.scaled(1));

/// e^x - 1 for |x| < 0.36: the terms after n = 29 are below 2^-146 of the sum (DLMF 4.2.19).
constexpr Real128 expm1_series(const Real128& x) noexcept {
  const int terms = x.exponent < -8 ? 14 : 28;
  return x + x * x * polynomial(x, terms, [](int n) { return inverse_factorials128<>.of[n + 2]; });
}
/// e^x. Beyond +-2^11, outside of every format, something huge or vanishing.
constexpr Real128 exp_real(const Real128& x) noexcept {
  if (x.exponent >= 11) return real_power_of_two(x.negative ? vanishing_exponent : -vanishing_exponent);
  const int k = nearest_whole(x * one_over_ln2_128<>);
  return (one + expm1_series(k == 0 ? x : x - whole(k) * ln2_128<>)).scaled(k);
}
constexpr Real128 expm1_real(const Real128& x) noexcept { return x.exponent < -2 ? expm1_series(x) : exp_real(x) - one; }
/// 2^x; x - n is exact.
constexpr Real128 exp2_real(const Real128& x) noexcept {
  if (x.exponent >= 14) return real_power_of_two(x.negative ? vanishing_exponent : -vanishing_exponent);
  const int n = nearest_whole(x);
  return (one + expm1_series((x - whole(n)) * ln2_128<>)).scaled(n);
}

/// 10^x; exact where that has no more bits than there are here.
constexpr Real128 exp10_real(const Real128& x, bool& exact) noexcept {
  constexpr int most = 54;  // 5^54 < 2^126
  const int n = x.exponent < 6 && !x.negative ? nearest_whole(x) : most + 1;
  exact = n <= most && compare_magnitudes(whole(n), x) == 0;
  if (!exact) return exp_real(x * ln10_128<>);
  Word128 power_of_five = 1;
  for (int i = 0; i < n; ++i) power_of_five *= 5;
  return Real128::integer(power_of_five, false).scaled(n);
}

/// x = m 2^exponent with m in [0.7, 1.4]; x > 0. ln m = 2 atanh((m - 1)/(m + 1)).
struct SplitReal {
  int exponent;
  Real128 ln_m;
};
constexpr SplitReal split_logarithm(const Real128& x) noexcept {
  const bool upper = x.significand >> (Real128::leading_bit - 4) >= 23;  // m >= 23/16
  const Real128 m{x.significand, upper ? -1 : 0};
  return {x.exponent + (upper ? 1 : 0), two_atanh((m - one) / (m + one))};
}
constexpr Real128 log_real(const Real128& x) noexcept {
  const SplitReal parts = split_logarithm(x);
  return whole(parts.exponent) * ln2_128<> + parts.ln_m;
}
constexpr Real128 log2_real(const Real128& x) noexcept {
  const SplitReal parts = split_logarithm(x);
  return whole(parts.exponent) + parts.ln_m * one_over_ln2_128<>;
}
/// ln(1 + x), x > -1. Near 0: x - x^2 (1/2 - x/3 + ...), the terms left out below 2^-130 of x.
constexpr Real128 log1p_real(const Real128& x) noexcept {
  if (x.exponent >= -10) return log_real(one + x);
  return x - x * x * polynomial(-x, 14, [](int k) { return reciprocals128<>.of[k + 2]; });
}

/// |x| >= 1/2 modulo pi/2, in [-pi/4, pi/4], and the number of quarter turns taken out, modulo 4.
struct Reduced {
  Real128 angle;
  unsigned quarters;
};
/// Doubling by doubling: with r = (x's leading bits) mod pi/2, the next bit gives 2r + bit, less pi/2 once or more. The error
/// of the limbs grows to x times the last limb's unit: 256 bits below 1, of which a double can cancel 64 (J.-M. Muller,
/// "Elementary Functions", 11.2: the double nearest to a multiple of pi/2 lies 2^-61 from it).
constexpr Reduced reduce(const Real128& x) noexcept {
  Limbs r;
  unsigned quarters = 0;
  const auto settle = [&] {
    const auto reaches = [&] {
      for (int i = 0; i < Limbs::count; ++i)
        if (r.at[i] != half_pi_limbs<>.at[i]) return r.at[i] > half_pi_limbs<>.at[i];
      return true;
    };
    for (; reaches(); ++quarters) r.accumulate(half_pi_limbs<>, true);
  };
  for (int bit = x.exponent; bit >= 0; --bit) {  // the integer part of x
    quarters *= 2;
    const Limbs copy = r;
    r.accumulate(copy, false);
    const int position = Real128::leading_bit - (x.exponent - bit);
    r.at[0] += position >= 0 ? static_cast<std::uint64_t>(x.significand >> position) & 1 : 0;
    settle();
  }
  // The fraction of x: two limbs.
  Limbs fraction;
  const int shift = x.exponent + 128 - Real128::leading_bit;  // at least 2: x is 1/2 or more
  const Word128 rest = shift < 128 ? x.significand << shift : 0;
  fraction.at[1] = static_cast<std::uint64_t>(rest >> 64);
  fraction.at[2] = static_cast<std::uint64_t>(rest);
  r.accumulate(fraction, false);
  settle();
  Limbs twice = r;
  twice.accumulate(r, false);
  const bool upper = twice.real().exponent > 0 || compare_magnitudes(twice.real(), half_pi<>) > 0;
  if (upper) {  // r - pi/2, as minus (pi/2 - r)
    Limbs complement = half_pi_limbs<>;
    complement.accumulate(r, true);
    ++quarters;
    r = complement;
  }
  const Real128 angle = r.real();
  return {angle.with_sign(upper != x.negative), x.negative ? 0u - quarters : quarters};
}

/// sin and cos for |r| <= pi/4: the terms after n = 35 are below 2^-128 (DLMF 4.19.1, 4.19.2).
constexpr Real128 sin_series(const Real128& r) noexcept {
  return r - r * r * r * polynomial(-(r * r), 17, [](int k) { return inverse_factorials128<>.of[2 * k + 3]; });
}
constexpr Real128 cos_series(const Real128& r) noexcept {
  return one - r * r * polynomial(-(r * r), 17, [](int k) { return inverse_factorials128<>.of[2 * k + 2]; });
}
constexpr Reduced reduced_angle(const Real128& x) noexcept { return x.exponent < -1 ? Reduced{x, 0} : reduce(x); }

constexpr Real128 sin_real(const Real128& x) noexcept {
  const Reduced in = reduced_angle(x);
  const Real128 value = in.quarters % 2 == 0 ? sin_series(in.angle) : cos_series(in.angle);
  return in.quarters % 4 >= 2 ? -value : value;
}
constexpr Real128 cos_real(const Real128& x) noexcept {
  const Reduced in = reduced_angle(x);
  const Real128 value = in.quarters % 2 == 0 ? cos_series(in.angle) : sin_series(in.angle);
  return (in.quarters + 1) % 4 >= 2 ? -value : value;
}
/// Near 0 by x + x^3/3 and -x^3/3: the next term is below 2^-120 of x.
inline constexpr int cubic_exponent = -31;
constexpr Real128 third_of_cube(const Real128& x) noexcept { return x * x * x * reciprocals128<>.of[3]; }

constexpr Real128 tan_real(const Real128& x) noexcept {
  if (x.exponent < cubic_exponent) return x + third_of_cube(x);
  const Reduced in = reduced_angle(x);
  const Real128 s = sin_series(in.angle), c = cos_series(in.angle);
  return in.quarters % 2 == 0 ? s / c : -(c / s);
}
/// atan, after three halvings t -> t/(1 + sqrt(1 + t^2)) of an angle of at most pi/4 (DLMF 4.24.3).
constexpr Real128 atan_real(const Real128& x) noexcept {
  if (x.exponent < cubic_exponent) return x - third_of_cube(x);
  const Real128 magnitude = x.magnitude();
  const bool steep = x.exponent >= 0;
  Real128 t = steep ? one / magnitude : magnitude;
  for (int i = 0; i < 3; ++i) t = t / (one + square_root(one + t * t));
  const Real128 angle = (t * polynomial(-(t * t), 20, [](int k) { return reciprocals128<>.of[2 * k + 1]; })).scaled(3);
  const Real128 result = steep ? half_pi<> - angle : angle;
  return result.with_sign(x.negative);
}

/// asin and acos of |x| < 1, from tangents (DLMF 4.23): 1 - x and 1 + x are exact but for a sticky bit. Near 0 by x + x^3/6:
/// the next term is below 2^-120 of x.
constexpr Real128 asin_real(const Real128& x) noexcept {
  if (x.exponent < cubic_exponent) return x + third_of_cube(x).scaled(-1);
  return atan_real(x / square_root((one - x) * (one + x)));
}
constexpr Real128 acos_real(const Real128& x) noexcept { return atan_real(square_root((one - x) / (one + x))).scaled(1); }

/// x = (quarters + rest)/2, |rest| <= 1/2, without any error; quarters modulo 4. The angle of x half turns is rest pi/2 beyond
/// quarters pi/2. A number of a format has at most 64 bits, so that 2x is a multiple of 4 where x is beyond 2^80.
struct QuarterTurns {
  Real128 rest;
  unsigned quarters;
};
constexpr QuarterTurns quarter_turns(const Real128& x) noexcept {
  const Real128 twice = x.scaled(1);
  if (twice.exponent < -1) return {twice, 0};
  if (twice.exponent > 80) return {{}, 0};
  const int dropped = Real128::leading_bit - twice.exponent;  // bits below the point
  const Word128 nearest = (twice.significand + (Word128{1} << (dropped - 1))) >> dropped;
  const auto quarters = static_cast<unsigned>(nearest & 3);
  return {twice - Real128::integer(nearest, x.negative), x.negative ? 0u - quarters : quarters};
}
/// The sine of quarters quarter turns and the rest.
constexpr Real128 sine_of_turns(const QuarterTurns& in) noexcept {
  const Real128 angle = in.rest * half_pi<>;
  const Real128 value = in.quarters % 2 == 0 ? sin_series(angle) : cos_series(angle);
  return in.quarters % 4 >= 2 ? -value : value;
}
constexpr Real128 tangent_of_turns(const QuarterTurns& in) noexcept {
  return sine_of_turns(in) / sine_of_turns({in.rest, in.quarters + 1});
}

/// Beyond 1 from the exponential, else sum x^(2k+1)/(2k+1)! and its like (DLMF 4.33.1, 4.33.2).
constexpr Real128 sinh_real(const Real128& x) noexcept {
  if (x.exponent >= 0) return (exp_real(x) - exp_real(-x)).scaled(-1);
  return x + x * x * x * polynomial(x * x, 17, [](int k) { return inverse_factorials128<>.of[2 * k + 3]; });
}
constexpr Real128 cosh_real(const Real128& x) noexcept {
  if (x.exponent >= 0) return (exp_real(x) + exp_real(-x)).scaled(-1);
  return one + x * x * polynomial(x * x, 17, [](int k) { return inverse_factorials128<>.of[2 * k + 2]; });
}
constexpr Real128 tanh_real(const Real128& x) noexcept {
  if (x.exponent < cubic_exponent) return x - third_of_cube(x);
  const Real128 magnitude = x.magnitude();
  const Real128 e = x.exponent < 0 ? expm1_real(magnitude.scaled(1)) : exp_real(magnitude.scaled(1)) + one;
  const Real128 result = x.exponent < 0 ? e / (e + whole(2)) : one - whole(2) / e;
  return result.with_sign(x.negative);
}

/// The logarithms that they are (DLMF 4.37), of 1 and what is added to it. Near 0 by x - x^3/6 and x + x^3/3.
constexpr Real128 asinh_real(const Real128& x) noexcept {
  if (x.exponent < cubic_exponent) return x - third_of_cube(x).scaled(-1);
  const Real128 magnitude = x.magnitude(), square = x * x;
  return log1p_real(magnitude + square / (one + square_root(one + square))).with_sign(x.negative);
}
/// x > 1
constexpr Real128 acosh_real(const Real128& x) noexcept {
  const Real128 above = x - one;
  return log1p_real(above + square_root(above * (x + one)));
}
/// |x| < 1
constexpr Real128 atanh_real(const Real128& x) noexcept {
  if (x.exponent < cubic_exponent) return x + third_of_cube(x);
  const Real128 magnitude = x.magnitude();
  return log1p_real(magnitude.scaled(1) / (one - magnitude)).scaled(-1).with_sign(x.negative);
}

/// erf z = 2/sqrt(pi) sum (-1)^n z^(2n+1)/(n! (2n+1)) for |z| < 2, where it cancels 6 bits (DLMF 7.6.1).
constexpr Real128 erf_series(const Real128& z) noexcept {
  const int terms = z.exponent < -3 ? 22 : 70;
  const Real128 minus_square = -(z * z);
  Real128 sum{};
  for (int n = terms - 1; n >= 0; --n)
    sum = sum * minus_square + inverse_factorials128<>.of[n] * reciprocals128<>.of[2 * n + 1];
  return two_over_root_pi<> * z * sum;
}
/// erfc z = e^(-z^2)/sqrt(pi) / (z + (1/2)/(z + (2/2)/(z + (3/2)/(z + ...)))) for z >= 2 (DLMF 7.9.1), the fraction by its
/// numerators and denominators, all positive.
constexpr Real128 erfc_tail(const Real128& z) noexcept {
  if (z.exponent >= 6) return real_power_of_two(vanishing_exponent);
  const int depth = z.exponent >= 3 ? 48 : (z.exponent == 2 ? 128 : 400);
  Real128 above_before = one, above = z, below_before{}, below = one;
  for (int n = 1; n <= depth; ++n) {
    const Real128 half_n = whole(n).scaled(-1);
    const Real128 next_above = z * above + half_n * above_before, next_below = z * below + half_n * below_before;
    above_before = above;
    below_before = below;
    above = next_above;
    below = next_below;
  }
  return exp_real(-(z * z)) * two_over_root_pi<>.scaled(-1) * below / above;
}
constexpr Real128 erfc_real(const Real128& z) noexcept {
  if (z.exponent < 1) return one - erf_series(z);
  return z.negative ? whole(2) - erfc_tail(z.magnitude()) : erfc_tail(z);
}
constexpr Real128 erf_real(const Real128& z) noexcept {
  if (z.exponent < 1) return erf_series(z);
  const Real128 result = one - erfc_tail(z.magnitude());
  return result.with_sign(z.negative);
}

/// factor / (1 + e^-y), which is factor/2 + factor tanh(y/2)/2 near 0 and factor - factor/(1 + e^y) far above.
constexpr Real128 times_sigmoid(const Real128& factor, const Real128& y) noexcept {
  if (y.exponent < 0) return factor.scaled(-1) + (factor * tanh_real(y.scaled(-1))).scaled(-1);
  const Real128 e = exp_real(y);
  return y.negative ? factor * e / (one + e) : factor - factor / (one + e);
}
/// ln(1 + e^x), which is x + ln(1 + e^-x).
constexpr Real128 softplus_real(const Real128& x) noexcept {
  if (x.negative || x.exponent < 0) return log1p_real(exp_real(x));
  return x + log1p_real(exp_real(-x));
}
/// x Phi(x) = x (1 + erf(x/sqrt(2)))/2 = x - x erfc(x/sqrt(2))/2
constexpr Real128 gelu_real(const Real128& x) noexcept {
  const Real128 z = x * square_root(real_power_of_two(-1));
  if (x.exponent < 0) return x.scaled(-1) + (x * erf_series(z)).scaled(-1);
  const Real128 tail = (x * erfc_real(z.magnitude())).scaled(-1);
  return x.negative ? tail : x - tail;
}
/// x (1 + tanh(u))/2, u = sqrt(2/pi) (x + 0.044715 x^3), which is x / (1 + e^(-2u)).
constexpr Real128 gelu_tanh_real(const Real128& x) noexcept {
  const Real128 cubic = whole(44715) / whole(1000000);
  const Real128 u = square_root(one / half_pi<>) * (x + cubic * x * x * x);
  return times_sigmoid(x, u.scaled(1));
}

/// The real cube root, by Newton's iteration; exact if it has at most 18 bits, as the roots of doubles do that have one.
constexpr Real128 cbrt_real(const Real128& x, bool& exact) noexcept {
  const int remainder = ((x.exponent % 3) + 3) % 3;
  const Real128 m{x.significand, remainder};                // in [1, 8)
  Real128 root = one + (m - one) * reciprocals128<>.of[5];  // off by less than a third
  for (int i = 0; i < 8; ++i) root = (root.scaled(1) + m / (root * root)) * reciprocals128<>.of[3];
  constexpr int dropped = Real128::leading_bit + 1 - 20;
  const Word128 nearest = (root.significand + (Word128{1} << (dropped - 1))) >> dropped << dropped;
  const Real128 short_root = Real128::normalised(nearest, root.exponent, false);
  exact = compare_magnitudes(short_root * short_root * short_root, m) == 0;
  const Real128 result = (exact ? short_root : root).scaled((x.exponent - remainder) / 3);
  return result.with_sign(x.negative);
}

}  // namespace ulpscope::emu::detail
