// SPDX-License-Identifier: Apache-2.0
// Derivatives, bounded over an interval by what is monotone in them (DLMF, chapters 4 and 7).
#include "verify/expressions/function_slopes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "emu/math.hpp"
#include "emu/quick_functions.hpp"
#include "emu/special_functions.hpp"

namespace ulpscope::verify {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double ln_2 = 0.6931471805599453, ln_10 = 2.302585092994046;
constexpr double pi = 3.1415926535897936;  // rounded up

/// The least and the greatest |t| of the interval.
double nearest_to_zero(double x, double reach) { return std::max(std::fabs(x) - reach, 0.0); }
double furthest_from_zero(double x, double reach) { return std::fabs(x) + reach; }

double one(double, double) { return 1; }
double of_exp(double x, double reach) { return emu::exp(x + reach); }
double of_exp2(double x, double reach) { return ln_2 * emu::exp((x + reach) * ln_2 * (1 + 0x1p-50)); }
double of_exp10(double x, double reach) { return ln_10 * emu::exp((x + reach) * ln_10 * (1 + 0x1p-50)); }
double of_cosh(double x, double reach) {
  const double t = furthest_from_zero(x, reach);
  return emu::exp(t) / 2 + 0.5;
}
double of_erf(double x, double reach) {
  const double t = nearest_to_zero(x, reach);
  return 1.1283791670955127 * emu::exp(-t * t);  // 2/sqrt(pi)
}
double of_log(double x, double reach) { return x > reach ? 1 / (x - reach) : unbounded; }
double of_log2(double x, double reach) { return of_log(x, reach) / ln_2; }
double of_log10(double x, double reach) { return of_log(x, reach) / ln_10; }
double of_log1p(double x, double reach) { return of_log(1 + x, reach); }
double of_cbrt(double x, double reach) {
  const double t = nearest_to_zero(x, reach);
  return t > 0 ? std::sqrt(1 / t) * std::max(1.0, std::sqrt(1 / t)) : unbounded;  // t^(-2/3) / 3 is less
}
/// 1/sqrt(1 - t^2) and 1/(1 - t^2), 1 - t being what is left to the end of the domain.
double of_asin(double x, double reach) {
  const double left = (1 - std::fabs(x)) - reach;
  return left > 0 ? 1 / std::sqrt(left * (2 - left)) : unbounded;
}
double of_atanh(double x, double reach) {
  const double left = (1 - std::fabs(x)) - reach;
  return left > 0 ? 1 / (left * (2 - left)) : unbounded;
}
/// 1/sqrt(t^2 - 1)
double of_acosh(double x, double reach) {
  const double left = (x - 1) - reach;
  return left > 0 ? 1 / std::sqrt(left) / std::sqrt(left + 2) : unbounded;
}
double of_asinh(double x, double reach) {
  const double t = nearest_to_zero(x, reach);
  return std::min(1.0, 1 / t);  // 1/sqrt(1 + t^2) is less
}
double of_rcp(double x, double reach) {
  const double t = nearest_to_zero(x, reach);
  return t > 0 ? 1 / t / t : unbounded;
}
double of_sqrt(double x, double reach) { return x > reach ? 0.5 / std::sqrt(x - reach) : unbounded; }
double of_rsqrt(double x, double reach) { return x > reach ? 0.5 / (x - reach) / std::sqrt(x - reach) : unbounded; }
/// sigmoid' = sigmoid (1 - sigmoid) <= min(1/4, e^-|t|).
double of_sigmoid(double x, double reach) { return std::min(0.25, emu::exp(-nearest_to_zero(x, reach))); }
double of_softplus(double x, double reach) { return std::min(1.0, emu::exp(x + reach)); }
/// tanh' = 1 / cosh^2 <= 4 e^-2|t|.
double of_tanh(double x, double reach) { return std::min(1.0, 4 * emu::exp(-2 * nearest_to_zero(x, reach))); }
/// 1 / cos^2, cos having slope 1.
double of_tan(double x, double reach) {
  const double t = std::fabs(emu::cos(x)) * (1 - 0x1p-40) - reach;
  return t > 0 ? 1 / t / t : unbounded;
}
double of_sinpi(double, double) { return pi; }
/// pi / cos^2, cos having slope pi.
double of_tanpi(double x, double reach) {
  const double t = std::fabs(emu::cospi(x)) * (1 - 0x1p-40) - pi * reach;
  return t > 0 ? pi / t / t : unbounded;
}
/// Phi(t) + t phi(t): at most 1.129 (at sqrt 2); of negative t at most (1 + |t|) e^(-t^2/2).
double of_gelu(double x, double reach) {
  if (x + reach >= 0) return 1.1296;
  const double t = -(x + reach);
  return std::min(1.0, (1 + furthest_from_zero(x, reach)) * emu::exp(-t * t / 2));
}
/// The same with tanh in the place of erf: the slopes differ by less than 0.01 (measured over all floats).
double of_gelu_tanh(double x, double reach) { return of_gelu(x, reach) + 0.01; }
/// sigmoid(t) (1 + t (1 - sigmoid(t))): at most 1.0999; of negative t at most (1 + |t|) e^t.
double of_silu(double x, double reach) {
  if (x + reach >= 0) return 1.1;
  return std::min(1.1, (1 + furthest_from_zero(x, reach)) * emu::exp(x + reach));
}

constexpr std::array<std::pair<std::string_view, Slope>, 35> slopes{
    {{"acos", of_asin},   {"acosh", of_acosh},         {"asin", of_asin},         {"asinh", of_asinh},
     {"atan", one},       {"atanh", of_atanh},         {"cbrt", of_cbrt},         {"cos", one},
     {"cosh", of_cosh},   {"cospi", of_sinpi},         {"erf", of_erf},           {"erfc", of_erf},
     {"exp", of_exp},     {"exp10", of_exp10},         {"exp2", of_exp2},         {"expm1", of_exp},
     {"gelu", of_gelu},   {"gelu_tanh", of_gelu_tanh}, {"log", of_log},           {"log10", of_log10},
     {"log1p", of_log1p}, {"log2", of_log2},           {"rcp", of_rcp},           {"relu", one},
     {"rsqrt", of_rsqrt}, {"sigmoid", of_sigmoid},     {"silu", of_silu},         {"sin", one},
     {"sinh", of_cosh},   {"sinpi", of_sinpi},         {"softplus", of_softplus}, {"sqrt", of_sqrt},
     {"tan", of_tan},     {"tanh", of_tanh},           {"tanpi", of_tanpi}}};

}  // namespace

Slope slope_of(std::string_view function) {
  for (const auto& [name, slope] : slopes)
    if (name == function) return slope;
  return nullptr;
}

}  // namespace ulpscope::verify
