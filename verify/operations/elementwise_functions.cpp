// SPDX-License-Identifier: Apache-2.0
// The table of functions, and the error of each composition.
#include "verify/operations/elementwise_functions.hpp"

#include <array>
#include <boost/math/constants/constants.hpp>
#include <cmath>

#include "emu/math.hpp"
#include "emu/quick_functions.hpp"
#include "emu/special_functions.hpp"

namespace ulpscope::verify {
namespace {

template <int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
Real in_mpfr(const Real& x) {
  Real y;
  function(y.backend().data(), x.backend().data(), MPFR_RNDN);
  return y;
}

Real sigmoid(const Real& x) { return 1 / (1 + exp(-x)); }
Real gelu(const Real& x) { return x / 2 * in_mpfr<mpfr_erfc>(-x / sqrt(Real(2))); }
/// (1 + tanh z)/2 = sigmoid(2z): no cancellation.
Real gelu_tanh(const Real& x) {
  const Real z = sqrt(2 / boost::math::constants::pi<Real>()) * (x + Real("0.044715") * x * x * x);
  return x * sigmoid(2 * z);
}

/// x times (1 + f)/2, where |f| <= 1 errs by `of_f`: the sum, and the products.
double of_gate(const KernelArithmetic& a, double x, double of_f, double f, double y) {
  const double u = unit(a.format), size = std::abs(x) / 2;
  return size * (of_f + u * (1 + std::abs(f) + of_f)) + 3 * u * (std::abs(y) + size * of_f) + underflow(a.format) * (1 + size);
}

/// erf(x / sqrt(2)): its own error, and that of its argument times its derivative.
double of_gelu(const KernelArithmetic& a, double x, double y) {
  constexpr double two_over_root_pi = 1.1283791670955126;  // 2/sqrt(pi), DLMF 7.2.1
  const double z = x * 0.7071067811865476, f = emu::erf(z), u = unit(a.format);
  const double slope = two_over_root_pi * emu::exp(-z * z * (1 - 4 * u));
  return of_gate(a, x, function_error(a, f) + 2 * u * std::abs(z) * slope * (1 + 0x1p-20), f, y);
}

/// z = c (x + 0.044715 x^3), of two constants, three products and a sum, all of one sign. tanh' = 1 - tanh^2 <= 4 e^-2|z|.
double of_gelu_tanh(const KernelArithmetic& a, double x, double y) {
  const double u = unit(a.format), z = 0.7978845608028654 * (x + 0.044715 * x * x * x);  // sqrt(2/pi)
  const double f = emu::tanh(z), of_z = 7 * u * std::abs(z);
  const double slope = std::fmin(1, 4 * emu::exp(-2 * (std::abs(z) - of_z)));
  return of_gate(a, x, function_error(a, f) + of_z * slope * (1 + 0x1p-20), f, y);
}

/// 1/(1 + e^-x), or x times it, `factor` being 1 or |x|. e^-x may overflow: the result is 0 then. An absolute error of the
/// exponential, of a tanh in (1 + tanh(x/2))/2 or of all of it is multiplied by 1 at most.
double of_quotient(const KernelArithmetic& a, double x, double y, double factor) {
  const double u = unit(a.format), f = function_relative(a), e = emu::exp(-x);
  if (e * (1 + f) >= largest(a.format)) return std::abs(y) + underflow(a.format);
  const double inherited = 1.0625 * f * e / (1 + e);  // of e, relatively; to second order while f < 1/16
  return std::abs(y) * (inherited + 2 * f + 4 * u) + (1 + factor) * underflow(a.format) + factor * a.function_abs;
}
double of_sigmoid(const KernelArithmetic& a, double x, double y) { return of_quotient(a, x, y, 1); }
double of_silu(const KernelArithmetic& a, double x, double y) { return of_quotient(a, x, y, std::abs(x)); }

/// max(x, 0) + log1p(e^-|x|), or log1p(e^x).
double of_softplus(const KernelArithmetic& a, double x, double y) {
  const double u = unit(a.format), f = function_relative(a), e = emu::exp(x < 0 ? x : -x);
  return y * (2.125 * f + 4 * u) + (x > 0 ? e * f : 0) + underflow(a.format) + 2 * a.function_abs;
}

double exactly(const KernelArithmetic&, double, double) { return 0; }

/// Without an exponential beyond 1.
Real softplus(const Real& x) {
  const Real tail = in_mpfr<mpfr_log1p>(exp(x > 0 ? Real(-x) : x));
  return x > 0 ? Real(x + tail) : tail;
}
Real reciprocal(const Real& x) { return 1 / x; }
/// IEEE 754-2019, 9.2.1: of -0 it is -infinity, not that of MPFR.
Real reciprocal_root(const Real& x) { return x == 0 ? reciprocal(x) : in_mpfr<mpfr_rec_sqrt>(x); }
double reciprocal(double x) { return 1 / x; }
double rectified(double x) { return x > 0 || std::isnan(x) ? x : 0; }
Real rectified(const Real& x) { return x > 0 ? x : Real(0); }

const Real& pi() { return boost::math::constants::pi<Real>(); }
/// x less the nearest whole number, which is odd or not: both are exact.
struct HalfTurns {
  Real rest;
  bool is_odd;
};
HalfTurns half_turns(const Real& x) {
  const Real whole = in_mpfr<mpfr_rint>(x), half = whole / 2;
  return {x - whole, half != in_mpfr<mpfr_rint>(half)};
}
/// IEEE 754-2019, 9.2.1: the zeros have the sign of x, those of the cosine are +0.
Real sine_of_half_turns(const Real& x) {
  const HalfTurns in = half_turns(x);
  if (in.rest == 0) return x < 0 || mpfr_signbit(x.backend().data()) ? Real(-0.0) : Real(0);
  return in.is_odd ? Real(-sin(pi() * in.rest)) : sin(pi() * in.rest);
}
Real cosine_of_half_turns(const Real& x) {
  const HalfTurns in = half_turns(x);
  if (abs(in.rest) == Real(0.5)) return 0;
  return in.is_odd ? Real(-cos(pi() * in.rest)) : cos(pi() * in.rest);
}
Real tangent_of_half_turns(const Real& x) { return sine_of_half_turns(x) / cosine_of_half_turns(x); }

constexpr std::array all{
    Function{"acos", [](double x) { return emu::acos(x); }, in_mpfr<mpfr_acos>},
    Function{"acosh", [](double x) { return emu::acosh(x); }, in_mpfr<mpfr_acosh>},
    Function{"asin", [](double x) { return emu::asin(x); }, in_mpfr<mpfr_asin>},
    Function{"asinh", [](double x) { return emu::asinh(x); }, in_mpfr<mpfr_asinh>},
    Function{"atan", [](double x) { return emu::atan(x); }, in_mpfr<mpfr_atan>},
    Function{"atanh", [](double x) { return emu::atanh(x); }, in_mpfr<mpfr_atanh>},
    Function{"cbrt", [](double x) { return emu::cbrt(x); }, in_mpfr<mpfr_cbrt>},
    Function{"cos", [](double x) { return emu::cos(x); }, in_mpfr<mpfr_cos>},
    Function{"cosh", [](double x) { return emu::cosh(x); }, in_mpfr<mpfr_cosh>},
    Function{"cospi", [](double x) { return emu::cospi(x); }, cosine_of_half_turns},
    Function{"erf", [](double x) { return emu::erf(x); }, in_mpfr<mpfr_erf>},
    Function{"erfc", [](double x) { return emu::erfc(x); }, in_mpfr<mpfr_erfc>},
    Function{"exp", [](double x) { return emu::exp(x); }, in_mpfr<mpfr_exp>},
    Function{"exp10", [](double x) { return emu::exp10(x); }, in_mpfr<mpfr_exp10>},
    Function{"exp2", [](double x) { return emu::exp2(x); }, in_mpfr<mpfr_exp2>},
    Function{"expm1", [](double x) { return emu::expm1(x); }, in_mpfr<mpfr_expm1>},
    Function{"gelu", [](double x) { return emu::gelu(x); }, gelu, of_gelu},
    Function{"gelu_tanh", [](double x) { return emu::gelu_tanh(x); }, gelu_tanh, of_gelu_tanh},
    Function{"log", [](double x) { return emu::log(x); }, in_mpfr<mpfr_log>},
    Function{"log10", [](double x) { return emu::log10(x); }, in_mpfr<mpfr_log10>},
    Function{"log1p", [](double x) { return emu::log1p(x); }, in_mpfr<mpfr_log1p>},
    Function{"log2", [](double x) { return emu::log2(x); }, in_mpfr<mpfr_log2>},
    Function{"rcp", reciprocal, reciprocal},
    Function{"relu", rectified, rectified, exactly},
    Function{"rsqrt", [](double x) { return emu::rsqrt(x); }, reciprocal_root},
    Function{"sigmoid", [](double x) { return emu::sigmoid(x); }, sigmoid, of_sigmoid},
    Function{"silu", [](double x) { return emu::silu(x); }, [](const Real& x) { return Real(x * sigmoid(x)); }, of_silu},
    Function{"sin", [](double x) { return emu::sin(x); }, in_mpfr<mpfr_sin>},
    Function{"sinh", [](double x) { return emu::sinh(x); }, in_mpfr<mpfr_sinh>},
    Function{"sinpi", [](double x) { return emu::sinpi(x); }, sine_of_half_turns},
    Function{"softplus", [](double x) { return emu::softplus(x); }, softplus, of_softplus},
    Function{"sqrt", [](double x) { return std::sqrt(x); }, in_mpfr<mpfr_sqrt>},
    Function{"tan", [](double x) { return emu::tan(x); }, in_mpfr<mpfr_tan>},
    Function{"tanh", [](double x) { return emu::tanh(x); }, in_mpfr<mpfr_tanh>},
    Function{"tanpi", [](double x) { return emu::tanpi(x); }, tangent_of_half_turns},
};

}  // namespace

std::span<const Function> functions() { return all; }

}  // namespace ulpscope::verify
