// SPDX-License-Identifier: Apache-2.0
// Each function by exponentials, logarithms and erf where these keep its relative error small, and by 128-bit numbers
// elsewhere. An error of e ulp of the parts is a relative one of e 2^-52 at most; half an ulp is added by each operation.
#include "emu/quick_functions.hpp"

#include <cmath>
#include <limits>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/elementary.hpp"
#include "emu/encode.hpp"
#include "emu/math.hpp"
#include "emu/special_functions.hpp"

namespace ulpscope::emu {
namespace {

using detail::Pair;

/// emu/elementary.hpp in float64: within 2^-40 ulp of the correct rounding, and some hundred times slower.
double in_float64(Result (*function)(Format, Code, const RoundingOptions&, std::uint32_t), double x) {
  return decode(float64, function(float64, encode(float64, x), {}, 0).code);
}

/// e^(a + b), |b| being far below |a|: 0.8 ulp of e^a, half of the product.
double exp_of(Pair x) { return exp(x.high) * (1 + x.low); }

/// 1/(1 + e^-w): no exponential beyond 1. Of a pair, whose second number counts where w is large.
double sigmoid_of(Pair w) {
  const double e = exp_of(w.high > 0 ? Pair{-w.high, -w.low} : w);
  return (w.high > 0 ? 1 : e) / (1 + e);
}

constexpr Pair ln_10 = detail::log_pair(10);
constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
constexpr double all_even = 0x1p53;  ///< from there on all doubles are even integers

/// |x| modulo 2, exactly; |x| < all_even.
double modulo_two(double x) {
  const double size = std::fabs(x);
  return size - 2 * std::floor(0.5 * size);
}
/// pi z
Pair half_turns(double z) {
  const Pair product = detail::two_product(z, detail::pi.high);
  return {product.high, product.low + z * detail::pi.low};
}
/// sin(pi z) and cos(pi z), 0 <= z <= 1/2; 1/2 - z is exact where it is asked for.
double sine_of_half_turns(double z) { return z <= 0.25 ? detail::sin_of(half_turns(z)) : detail::cos_of(half_turns(0.5 - z)); }
double cosine_of_half_turns(double z) {
  return z <= 0.25 ? detail::cos_of(half_turns(z)) : detail::sin_of(half_turns(0.5 - z));
}

/// From there on, 1 beside x^2 is too small to count.
constexpr double only_logarithm = 0x1p28;
/// ln(2x)
double log_of_twice(double x) { return log(x) + detail::ln2.high; }

/// e^(-x^2)/sqrt(pi) / (x + (1/2)/(x + 1/(x + (3/2)/(x + ...)))), DLMF 7.9.1, x > 10: what follows the twelfth is below 2^-60.
double erfc_far(double x) {
  double fraction = x;
  for (int n = 12; n >= 1; --n) fraction = x + 0.5 * n / fraction;
  const Pair square = detail::two_product(x, x);
  return exp_of({-square.high, -square.low}) * (0.5 * detail::erf_series_near_zero().first.high / fraction);
}

}  // namespace

detail::Pair detail::gelu_tanh_factor() {
  static const Pair factor = [] {
    const Pair square = divide({2, 0}, pi);
    const double root = std::sqrt(square.high);
    const Pair back = two_product(root, root);
    const double rest = ((square.high - back.high) - back.low) + square.low;
    return Pair{2 * root, rest / root};
  }();
  return factor;
}

/// 1 + x = u with an error of half an ulp; ln(u) x/(u - 1) has that error of 1 + x made good, for ln(u)/(u - 1) hardly changes
/// (W. Kahan, cited by D. Goldberg, "What Every Computer Scientist Should Know About Floating-Point Arithmetic", 1991, theorem
/// 4).
double log1p(double x) noexcept {
  const double u = 1 + x;
  if (u == 1 || !(x < std::numeric_limits<double>::infinity())) return x;
  return u > 0 ? log(u) * (x / (u - 1)) : log(u);
}

double exp2(double x) noexcept {
  if (!(std::fabs(x) < 1100)) return exp(x);  // infinite, zero or NaN all the same
  const double k = detail::nearest_integer(x), rest = x - k;
  const Pair product = detail::two_product(rest, detail::ln2.high);
  return detail::scale_by(exp_of({product.high, product.low + rest * detail::ln2.low}), k);
}

double exp10(double x) noexcept {
  if (!(std::fabs(x) < 400)) return exp(2 * x);  // infinite, zero or NaN all the same
  const Pair product = detail::two_product(x, ln_10.high);
  return exp_of({product.high, product.low + x * ln_10.low});
}

double sinpi(double x) noexcept {
  if (!std::isfinite(x)) return no_value;
  const double turns = std::fabs(x) < all_even ? modulo_two(x) : 0, z = turns < 1 ? turns : turns - 1;
  const double sine = sine_of_half_turns(z <= 0.5 ? z : 1 - z);
  return sine == 0 ? std::copysign(0, x) : (turns >= 1) != std::signbit(x) ? -sine : sine;
}

double cospi(double x) noexcept {
  if (!std::isfinite(x)) return no_value;
  const double turns = std::fabs(x) < all_even ? modulo_two(x) : 0, z = turns <= 1 ? turns : 2 - turns;
  return z <= 0.5 ? cosine_of_half_turns(z) : -cosine_of_half_turns(1 - z);
}

double tanpi(double x) noexcept { return sinpi(x) / cospi(x); }

/// atan(x/sqrt(1 - x^2)), the square as a pair.
double asin(double x) noexcept {
  if (!(std::fabs(x) <= 1)) return no_value;
  const Pair square = detail::two_product(x, x), rest = detail::fast_two_sum(1, -square.high);
  return atan(x / std::sqrt(rest.high + (rest.low - square.low)));
}

double acos(double x) noexcept {
  if (!(std::fabs(x) <= 1)) return no_value;
  return 2 * atan(std::sqrt((1 - x) / (1 + x)));
}

double asinh(double x) noexcept {
  const double size = std::fabs(x), square = x * x;
  if (!(size >= 0x1p-28)) return x;  // x^3/6 < 2^-58 x
  if (size >= only_logarithm) return std::copysign(log_of_twice(size), x);
  return std::copysign(log1p(size + square / (1 + std::sqrt(1 + square))), x);
}

/// x - 1 is exact below 2.
double acosh(double x) noexcept {
  if (!(x >= 1)) return no_value;
  if (x >= only_logarithm) return log_of_twice(x);
  return log1p((x - 1) + std::sqrt((x - 1) * (x + 1)));
}

double atanh(double x) noexcept {
  const double size = std::fabs(x);
  if (size < 0x1p-28 || x != x) return x;  // x^3/3 < 2^-57 x
  return size > 1 ? no_value : std::copysign(0.5 * log1p(2 * size / (1 - size)), x);
}

/// 2 Phi(-sqrt(2) x), Phi(-t) being e^(-t^2/2) times what is in a table.
double erfc(double x) noexcept {
  if (x < 0.5) return 1 - erf(x);
  if (!(x < 10.5)) return x > 28 ? 0 : x > 0 ? erfc_far(x) : x;  // erfc(28) < 2^-1100
  const double t = x * 1.4142135623730951, step = detail::nearest_integer(t / detail::normal_tail_step);
  const double h = t - step * detail::normal_tail_step;
  const detail::NormalTail& near = detail::normal_tails()[static_cast<std::size_t>(step)];
  const double factor = near.value.high + (near.value.low + h * detail::polynomial(near.coefficient, h));
  const Pair square = detail::two_product(x, x);
  return 2 * (exp_of({-square.high, -square.low}) * factor);
}

double rsqrt(double x) noexcept { return x > 0 ? 1 / std::sqrt(x) : in_float64(rsqrt, x); }

double sigmoid(double x) noexcept { return x == x ? sigmoid_of({x, 0}) : x; }

double silu(double x) noexcept {
  if (x > -700) return x * sigmoid_of({x, 0});
  return x < -760 ? -0.0 : in_float64(silu, x);  // the exponential may be subnormal, or x e^x be below half of the least double
}

/// max(x, 0) + ln(1 + e^-|x|): e^-|x| in [0, 1], of which ln(1 + e) keeps the relative error.
double softplus(double x) noexcept {
  const double tail = log1p(exp(x > 0 ? -x : x));
  return x > 0 ? x + tail : tail;
}

/// x sigmoid(w), w = 2 sqrt(2/pi) (x + 0.044715 x^3) in pairs: its relative error counts |w| times in the result.
double gelu_tanh(double x) noexcept {
  if (x >= 15) return x;     // what it lacks is below 2^-300 of it
  if (x < -30) return -0.0;  // sigmoid(w) < 2^-2000
  if (!(x > -15)) return in_float64(gelu_tanh, x);
  const Pair factor = detail::gelu_tanh_factor();
  const Pair square = detail::two_product(x, x);
  const Pair sum = detail::add({1, 0}, detail::multiply(square, detail::gelu_tanh_cubic));
  const Pair w = detail::multiply(detail::multiply({x, 0}, factor), sum);
  return x * sigmoid_of(w);
}

/// x Phi(x) = x (1 - Phi(-x)), Phi(-t) being e^(-t^2/2) times what is in a table.
double gelu(double x) noexcept {
  const double t = std::fabs(x);
  if (!(t < detail::normal_tail_end)) return x > 0 ? x : x < -40 ? -0.0 : in_float64(gelu, x);  // Phi(-40) < 2^-1100
  const double step = detail::nearest_integer(t / detail::normal_tail_step), h = t - step * detail::normal_tail_step;
  const detail::NormalTail& near = detail::normal_tails()[static_cast<std::size_t>(step)];
  const double factor = near.value.high + (near.value.low + h * detail::polynomial(near.coefficient, h));
  const Pair square = detail::two_product(t, t);
  const double tail = exp_of({-0.5 * square.high, -0.5 * square.low}) * factor;
  return x * (x > 0 ? 1 - tail : tail);
}

double cosh(double x) noexcept {
  const double size = std::fabs(x);
  if (!(size < 700)) return size > 720 ? HUGE_VAL : in_float64(cosh, x);
  const double e = exp(size);
  return 0.5 * (e + 1 / e);
}

/// (m + m/(1 + m))/2 with m = e^|x| - 1: a sum of two that are positive.
double sinh(double x) noexcept {
  const double size = std::fabs(x);
  if (!(size < 700)) return size > 720 ? std::copysign(HUGE_VAL, x) : in_float64(sinh, x);
  const double m = expm1(size);
  return std::copysign(0.5 * (m + m / (1 + m)), x);
}

double tan(double x) noexcept { return sin(x) / cos(x); }

}  // namespace ulpscope::emu
