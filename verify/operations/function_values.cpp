// SPDX-License-Identifier: Apache-2.0
// Each function by exponentials, logarithms and erf where these keep its relative error small, and by 128-bit numbers
// elsewhere. An error of e ulp of the parts is a relative one of e 2^-52 at most; half an ulp is added by each operation.
#include "verify/operations/function_values.hpp"

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/elementary.hpp"
#include "emu/encode.hpp"
#include "emu/math.hpp"
#include "emu/special_functions.hpp"

namespace ulpscope::verify {
namespace {

using emu::detail::Pair;

/// emu/elementary.hpp in float64: within 2^-40 ulp of the correct rounding, and some hundred times slower.
template <class Elementary>
double in_float64(Elementary function, double x) {
  return emu::decode(emu::float64, function(emu::float64, emu::encode(emu::float64, x), emu::RoundingOptions{}, 0U).code);
}

/// e^(a + b), |b| being far below |a|: 0.8 ulp of e^a, half of the product.
double exp_of(Pair x) { return emu::exp(x.high) * (1 + x.low); }

/// 1/(1 + e^-w): no exponential beyond 1. Of a pair, whose second number counts where w is large.
double sigmoid_of(Pair w) {
  const double e = exp_of(w.high > 0 ? Pair{-w.high, -w.low} : w);
  return (w.high > 0 ? 1 : e) / (1 + e);
}

/// 2 sqrt(2/pi)
Pair twice_root_two_over_pi() {
  const Pair square = emu::detail::divide({2, 0}, emu::detail::pi);
  const double root = std::sqrt(square.high);
  const Pair back = emu::detail::two_product(root, root);
  const double rest = ((square.high - back.high) - back.low) + square.low;
  return {2 * root, rest / root};
}

}  // namespace

/// 1 + x = u with an error of half an ulp; ln(u) x/(u - 1) has that error of 1 + x made good, for ln(u)/(u - 1) hardly changes
/// (W. Kahan, cited by D. Goldberg, "What Every Computer Scientist Should Know About Floating-Point Arithmetic", 1991, theorem
/// 4).
double quick_log1p(double x) noexcept {
  const double u = 1 + x;
  if (u == 1 || !(x < std::numeric_limits<double>::infinity())) return x;
  return u > 0 ? emu::log(u) * (x / (u - 1)) : emu::log(u);
}

double quick_exp2(double x) noexcept {
  if (!(std::fabs(x) < 1100)) return emu::exp(x);  // infinite, zero or NaN all the same
  const double k = emu::detail::nearest_integer(x), rest = x - k;
  const Pair product = emu::detail::two_product(rest, emu::detail::ln2.high);
  return emu::detail::scale_by(exp_of({product.high, product.low + rest * emu::detail::ln2.low}), k);
}

double quick_rsqrt(double x) noexcept { return x > 0 ? 1 / std::sqrt(x) : in_float64(emu::rsqrt, x); }

double quick_sigmoid(double x) noexcept { return x == x ? sigmoid_of({x, 0}) : x; }

double quick_silu(double x) noexcept {
  return x > -700 ? x * sigmoid_of({x, 0}) : in_float64(emu::silu, x);  // else the exponential may be subnormal
}

/// max(x, 0) + ln(1 + e^-|x|): e^-|x| in [0, 1], of which ln(1 + e) keeps the relative error.
double quick_softplus(double x) noexcept {
  const double tail = quick_log1p(emu::exp(x > 0 ? -x : x));
  return x > 0 ? x + tail : tail;
}

/// x sigmoid(w), w = 2 sqrt(2/pi) (x + 0.044715 x^3) in pairs: its relative error counts |w| times in the result.
double quick_gelu_tanh(double x) noexcept {
  if (!(std::fabs(x) < 15)) return in_float64(emu::gelu_tanh, x);
  static const Pair factor = twice_root_two_over_pi();
  constexpr Pair cubic = emu::detail::divide({44715, 0}, {1e6, 0});
  const Pair square = emu::detail::two_product(x, x);
  const Pair sum = emu::detail::add({1, 0}, emu::detail::multiply(square, cubic));
  const Pair w = emu::detail::multiply(emu::detail::multiply({x, 0}, factor), sum);
  return x * sigmoid_of(w);
}

/// x (1 + erf(x/sqrt 2))/2; where the sum cancels, below -1/2, by 128-bit numbers.
double quick_gelu(double x) noexcept {
  constexpr double root_half = 0.70710678118654752440;
  return x > -0.5 && x != 0 ? 0.5 * x * (1 + emu::erf(x * root_half)) : in_float64(emu::gelu, x);
}

double quick_cosh(double x) noexcept {
  const double size = std::fabs(x);
  if (!(size < 700)) return in_float64(emu::cosh, x);
  const double e = emu::exp(size);
  return 0.5 * (e + 1 / e);
}

/// (m + m/(1 + m))/2 with m = e^|x| - 1: a sum of two that are positive.
double quick_sinh(double x) noexcept {
  const double size = std::fabs(x);
  if (!(size < 700)) return in_float64(emu::sinh, x);
  const double m = emu::expm1(size);
  return std::copysign(0.5 * (m + m / (1 + m)), x);
}

double quick_tan(double x) noexcept { return emu::sin(x) / emu::cos(x); }

}  // namespace ulpscope::verify
