// SPDX-License-Identifier: Apache-2.0
// Argument reduction in parts, then series or a table of them.
#include "emu/special_functions.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "emu/bits.hpp"
#include "emu/catalogue.hpp"
#include "emu/math.hpp"
#include "emu/transcendental.hpp"

namespace ulpscope::emu {
namespace {

using detail::erf_is_one, detail::erf_series_end, detail::erf_table_size, detail::erf_table_step, detail::normal_tail_step;
using detail::ErfExpansion, detail::ErfSeries, detail::NormalTail, detail::Pair, detail::polynomial, detail::Real128;

constexpr double infinity = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

constexpr bool is_negative(double x) { return detail::bit_cast<std::uint64_t>(x) >> 63 != 0; }
constexpr double magnitude(double x) { return is_negative(x) ? -x : x; }
constexpr double with_sign_of(double sign, double x) { return is_negative(sign) ? -x : x; }

Real128 real_of(double x) { return detail::real_of<detail::Word128>(float64, detail::bit_cast<std::uint64_t>(x)); }

/// The leading 106 bits of a number whose size is that of a normal double.
Pair pair_of(const Real128& x) {
  if (x.is_zero()) return {0, 0};
  constexpr int low_bits = Real128::leading_bit + 1 - 53;
  const auto high = static_cast<double>(static_cast<std::uint64_t>(x.significand >> low_bits));
  const auto low =
      static_cast<double>(static_cast<std::uint64_t>(x.significand >> (low_bits - 53)) & ((std::uint64_t{1} << 53) - 1));
  const double unit = power_of_two(x.exponent - 52);
  const Pair sum = detail::fast_two_sum(high * unit, low * unit * 0x1p-53);
  return x.negative ? Pair{-sum.high, -sum.low} : sum;
}

/// x modulo pi/2: |angle| <= pi/4 but for rounding, and the quarter turns taken out, modulo 4.
struct Reduced {
  Pair angle;
  unsigned quarters;
};

/// pi/2 in three parts, two of 33 bits: their products with 20 bits are exact.
struct ThreeParts {
  double first, second, third;
};
ThreeParts split_half_pi() {
  const double first = detail::leading(pair_of(detail::half_pi<>).high, 33);
  const Real128 rest = detail::half_pi<> - real_of(first);
  const double second = detail::leading(pair_of(rest).high, 33);
  return {first, second, pair_of(rest - real_of(second)).high};
}

/// Three parts (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980) while they suffice: the error is
/// below 2^-98, so that 2^-68 of an angle of 2^-30 is. Integers beyond.
Reduced reduce(double x) {
  static const ThreeParts half_pi = split_half_pi();
  const double size = magnitude(x);
  if (size <= 0.78) return {{x, 0}, 0};
  if (size < 0x1p19) {
    const double k = detail::nearest_integer(x * (1 / half_pi.first));
    const Pair difference = detail::two_sum(x - k * half_pi.first, -(k * half_pi.second));
    const Pair angle = detail::fast_two_sum(difference.high, difference.low - k * half_pi.third);
    if (magnitude(angle.high) > 0x1p-30) return {angle, static_cast<unsigned>(static_cast<int>(k))};
  }
  const detail::Reduced exact = detail::reduce(real_of(x));
  return {pair_of(exact.angle), exact.quarters};
}

/// The sine of quarters quarter turns and `in.angle`.
double sine(const Reduced& in, unsigned quarters) {
  const bool negative = is_negative(in.angle.high);
  const Pair angle = negative ? Pair{-in.angle.high, -in.angle.low} : in.angle;
  const bool odd = quarters % 2 == 1;
  const double cosine = 1 - 0.5 * angle.high * angle.high;  // sin(a + low) = sin a + low cos a
  const double value = odd ? detail::cos_of(angle) : detail::sin_of({angle.high, angle.low * cosine});
  return (quarters % 4 >= 2) != (negative && !odd) ? -value : value;
}

std::array<ErfExpansion, erf_table_size> make_erf_table() {
  std::array<ErfExpansion, erf_table_size> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Real128 c = real_of(erf_series_end + static_cast<double>(i) * erf_table_step);
    table[i].value = pair_of(detail::erf_real(c));
    Real128 before{}, g = detail::two_over_root_pi<> * detail::exp_real(-(c * c));
    for (std::size_t n = 0; n < ErfExpansion::terms; ++n) {
      const Real128& reciprocal = detail::reciprocals128<>.of[n + 1];
      table[i].coefficient[n] = pair_of(g * reciprocal).high;
      const Real128 next = (c * g + before).scaled(1).negated() * reciprocal;
      before = g;
      g = next;
    }
  }
  return table;
}

ErfSeries make_erf_series() {
  ErfSeries series{pair_of(detail::two_over_root_pi<>), {}};
  for (std::size_t n = 1; n <= ErfSeries::terms; ++n) {
    const double value =
        pair_of(detail::two_over_root_pi<> * detail::inverse_factorials128<>.of[n] * detail::reciprocals128<>.of[2 * n + 1])
            .high;
    series.coefficient[n - 1] = n % 2 == 1 ? -value : value;
  }
  return series;
}

std::array<NormalTail, detail::normal_tail_size> make_normal_tails() {
  const Real128 root_half = detail::square_root(detail::real_power_of_two(-1));
  const Real128 density = (detail::two_over_root_pi<> * root_half).scaled(-1);  // 1/sqrt(2 pi)
  std::array<NormalTail, detail::normal_tail_size> tails{};
  for (std::size_t i = 0; i < tails.size(); ++i) {
    const Real128 c = real_of(static_cast<double>(i) * normal_tail_step);
    Real128 before = (detail::exp_real((c * c).scaled(-1)) * detail::erfc_real(c * root_half)).scaled(-1);
    tails[i].value = pair_of(before);
    Real128 f = c * before - density;
    for (std::size_t n = 1; n <= NormalTail::terms; ++n) {
      tails[i].coefficient[n - 1] = pair_of(f).high;
      const Real128 next = (c * f + before) * detail::reciprocals128<>.of[n + 1];
      before = f;
      f = next;
    }
  }
  return tails;
}

/// The numbers of which atan is in a table: atan t = atan c + atan((t - c)/(1 + t c)), and the latter is of half a step at
/// most.
constexpr double atan_step = 1.0 / 16;
constexpr std::size_t atan_size = 17;  // from 0 to 1

std::array<Pair, atan_size> make_atan_table() {
  std::array<Pair, atan_size> table{};
  for (std::size_t i = 1; i < table.size(); ++i)
    table[i] = pair_of(detail::atan_real(real_of(static_cast<double>(i) * atan_step)));
  return table;
}

}  // namespace

const std::array<ErfExpansion, erf_table_size>& detail::erf_table() {
  static const auto table = make_erf_table();
  return table;
}
const ErfSeries& detail::erf_series_near_zero() {
  static const ErfSeries series = make_erf_series();
  return series;
}
const std::array<NormalTail, detail::normal_tail_size>& detail::normal_tails() {
  static const auto tails = make_normal_tails();
  return tails;
}

double sin(double x) noexcept {
  if (!(magnitude(x) < infinity)) return not_a_number;
  if (x == 0) return x;
  const Reduced in = reduce(x);
  return sine(in, in.quarters);
}

double cos(double x) noexcept {
  if (!(magnitude(x) < infinity)) return not_a_number;
  const Reduced in = reduce(x);
  return sine(in, in.quarters + 1);
}

double tanh(double x) noexcept {
  if (x != x) return x;
  const double size = magnitude(x);
  if (size < 0x1p-28) return x;              // x^3/3 < 2^-57 x
  if (size > 20) return with_sign_of(x, 1);  // 2 e^-40 < 2^-56
  // (e^2x - 1)/(e^2x + 1) with e^2x = 2^k (1 + head + tail)
  const detail::ExpParts e = detail::exp_parts(2 * size);
  const double scale = detail::normal_power_of_two(e.k);
  const Pair growth{scale * e.head, scale * e.tail};
  const Pair quotient = detail::divide(detail::add({scale - 1, 0}, growth), detail::add({scale + 1, 0}, growth));
  return with_sign_of(x, quotient.high);
}

double erf(double x) noexcept {
  const ErfSeries& series = detail::erf_series_near_zero();
  if (x != x) return x;
  const double size = magnitude(x);
  if (size >= erf_is_one) return with_sign_of(x, 1);
  if (size < 0x1p-500) return x * series.first.high;
  if (size < erf_series_end) {
    const Pair head = detail::two_product(x, series.first.high);
    return head.high + (head.low + (x * series.first.low + x * x * x * polynomial(series.coefficient, x * x)));
  }
  const double step = detail::nearest_integer((size - erf_series_end) / erf_table_step);
  const ErfExpansion& near = detail::erf_table()[static_cast<std::size_t>(step)];
  const double h = size - (erf_series_end + step * erf_table_step);
  return with_sign_of(x, near.value.high + (near.value.low + h * polynomial(near.coefficient, h)));
}

/// atan t of t = |x| or, where that is above 1, 1/|x|: then pi/2 less it.
double atan(double x) noexcept {
  static const auto table = make_atan_table();
  const double size = magnitude(x);
  if (!(size >= 0x1p-27)) return x;  // x^3/3 < 2^-55 x
  const double t = size > 1 ? 1 / size : size, step = detail::nearest_integer(t / atan_step), c = step * atan_step;
  const double h = (t - c) / (1 + t * c), square = h * h;
  double sum = 0;  // |h| <= 1/32: h^13/13 < 2^-63 h
  for (int n = 11; n >= 3; n -= 2) sum = (detail::reciprocals.of[n].high - sum) * square;
  const Pair near = table[static_cast<std::size_t>(step)];
  const Pair head = detail::fast_two_sum(near.high, h);
  const double rest = head.low + (near.low - h * sum);
  if (size <= 1) return with_sign_of(x, head.high + rest);
  const Pair turned = detail::two_sum(0.5 * detail::pi.high, -head.high);
  return with_sign_of(x, turned.high + (turned.low + (0.5 * detail::pi.low - rest)));
}

/// Halley's steps y (y^3 + 2m)/(2y^3 + m), m in [1, 8): of a relative error e they leave 2/3 e^3. The last one's difference m -
/// y^3 is in a pair.
double cbrt(double x) noexcept {
  if (x == 0 || !(magnitude(x) < infinity)) return x;
  int exponent = 0;
  const double fraction = std::frexp(magnitude(x), &exponent);
  const int third = static_cast<int>(std::floor((exponent - 1) / 3.0));
  const double m = std::ldexp(fraction, exponent - 3 * third);
  double y = 1 + (m - 1) / 7;
  for (int i = 0; i < 2; ++i) {
    const double cube = y * y * y;
    y = y * ((cube + 2 * m) / (2 * cube + m));
  }
  const Pair cube = detail::multiply(detail::two_product(y, y), {y, 0});
  const double missing = (m - cube.high) - cube.low;
  return with_sign_of(x, std::ldexp(y + y * (missing / (3 * m)), third));
}

double normal_quantile(double p) noexcept {
  if (!(p >= 0 && p <= 1)) return not_a_number;
  if (p == 0 || p == 1) return p == 0 ? -infinity : infinity;
  const double q = p - 0.5;
  if (magnitude(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q *
           polynomial<8>({3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                          4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
                         r) /
           polynomial<8>({1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                          2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3},
                         r);
  }
  const double r = __builtin_sqrt(-log(q < 0 ? p : 1 - p));
  if (r <= 5) {
    const double t = r - 1.6;
    return with_sign_of(q, polynomial<8>({1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                                          3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                                          2.27238449892691845833e-2, 7.74545014278341407640e-4},
                                         t) /
                               polynomial<8>({1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
                                              6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                                              5.47593808499534494600e-4, 1.05075007164441684324e-9},
                                             t));
  }
  const double t = r - 5;
  return with_sign_of(q, polynomial<8>({6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                                        2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                        2.71155556874348757815e-5, 2.01033439929228813265e-7},
                                       t) /
                             polynomial<8>({1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                                            1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                            1.42151175831644588870e-7, 2.04426310338993978564e-15},
                                           t));
}

}  // namespace ulpscope::emu
