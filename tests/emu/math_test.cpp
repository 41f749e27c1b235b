// SPDX-License-Identifier: Apache-2.0
// emu/math.hpp against MPFR, and against the bits that every compiler must give.
#include "emu/math.hpp"

#include <mpfr.h>

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace ulpscope;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

class Real {
 public:
  Real() { mpfr_init2(value, 240); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(value); }

  mpfr_t value;
};

/// |computed - exact| in units of the double spacing at exact (the subnormal spacing at least).
double error_in_ulp(double computed, const Real& exact) {
  Real difference;
  mpfr_sub_d(difference.value, exact.value, computed, MPFR_RNDN);
  const long exponent = mpfr_zero_p(exact.value) != 0 ? -1021 : static_cast<long>(mpfr_get_exp(exact.value));
  const long spacing = std::max(exponent - 53, -1074L);
  mpfr_mul_2si(difference.value, difference.value, -spacing, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.value, MPFR_RNDA));
}

using Exact = void (*)(Real& out, double x);
using Computed = double (*)(double);

struct Worst {
  double error_ulp = 0, at = 0;
};
Worst worst_error(Computed computed, Exact exact, const std::vector<double>& inputs) {
  Worst worst;
  Real truth;
  for (const double x : inputs) {
    exact(truth, x);
    const double error = error_in_ulp(computed(x), truth);
    if (!(error <= worst.error_ulp)) worst = {error, x};
  }
  return worst;
}

void exact_log(Real& out, double x) {
  mpfr_set_d(out.value, x, MPFR_RNDN);
  mpfr_log(out.value, out.value, MPFR_RNDN);
}
void exact_log2(Real& out, double x) {
  mpfr_set_d(out.value, x, MPFR_RNDN);
  mpfr_log2(out.value, out.value, MPFR_RNDN);
}
void exact_log10(Real& out, double x) {
  mpfr_set_d(out.value, x, MPFR_RNDN);
  mpfr_log10(out.value, out.value, MPFR_RNDN);
}
void exact_exp(Real& out, double x) {
  mpfr_set_d(out.value, x, MPFR_RNDN);
  mpfr_exp(out.value, out.value, MPFR_RNDN);
}
void exact_expm1(Real& out, double x) {
  mpfr_set_d(out.value, x, MPFR_RNDN);
  mpfr_expm1(out.value, out.value, MPFR_RNDN);
}
void exact_cos_two_pi(Real& out, double turns) {
  mpfr_const_pi(out.value, MPFR_RNDN);
  mpfr_mul_d(out.value, out.value, turns, MPFR_RNDN);
  mpfr_mul_2ui(out.value, out.value, 1, MPFR_RNDN);
  mpfr_cos(out.value, out.value, MPFR_RNDN);
}

constexpr int many = 20'000;

/// Positive finite doubles: of every exponent, subnormals too; near 1; the borders of the reduction at sqrt(2) 2^k.
std::vector<double> positive_numbers() {
  std::mt19937_64 random(1);
  std::vector<double> out{0x1p-1074, 0x1p-1022, 0x0.fffffffffffffp-1022, std::numeric_limits<double>::max(), 1};
  for (int i = 0; i < many; ++i) {
    out.push_back(std::bit_cast<double>(random() % (std::uint64_t{0x7ff} << 52)));
    out.push_back(0.5 + static_cast<double>(random() >> 11) * 0x1p-52);
    const double step = std::ldexp(static_cast<double>(random() >> 11) * 0x1p-53, -static_cast<int>(random() % 52));
    out.push_back(1 + step);
    out.push_back(1 - step / 2);
    out.push_back(std::ldexp(static_cast<double>(random() >> 12), -1074));
  }
  for (int k = -1000; k < 1000; ++k) {
    const double border = std::ldexp(std::sqrt(2.0), k);
    for (const double x : {border, std::nextafter(border, 0), std::nextafter(border, infinite), std::ldexp(1, k)})
      out.push_back(x);
  }
  return out;
}

std::vector<double> exponents(double low, double high) {
  std::mt19937_64 random(2);
  std::vector<double> out{0.0, low, high};
  for (int i = 0; i < many; ++i) {
    out.push_back(low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53));
    const double size = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, -static_cast<int>(random() % 80));
    out.push_back(size);
    out.push_back(-size);
  }
  for (int k = -1500; k < 1500; ++k) {  // the borders of the reduction, (k + 1/2) ln 2
    const double border = (k + 0.5) * std::log(2.0);
    for (const double x : {border, std::nextafter(border, -infinite), std::nextafter(border, infinite)})
      if (low <= x && x <= high) out.push_back(x);
  }
  return out;
}

std::vector<double> turns() {
  std::mt19937_64 random(3);
  std::vector<double> out{0, 0x1p-1074, 0.125, 0.375, 0.5, 0.625, 0.875, 1};
  for (int i = 0; i < many; ++i) {
    const double anywhere = static_cast<double>(random() >> 11) * 0x1p-53;
    out.push_back(anywhere);
    for (int eighth = 0; eighth <= 8; ++eighth) {
      const double near = eighth * 0.125 + (anywhere - 0.5) * std::ldexp(1, -static_cast<int>(random() % 50));
      if (near >= 0 && near <= 1 && near != 0.25 && near != 0.75) out.push_back(near);
    }
  }
  return out;
}

double emu_log(double x) { return emu::log(x); }
double emu_log2(double x) { return emu::log2(x); }
double emu_log10(double x) { return emu::log10(x); }
double emu_exp(double x) { return emu::exp(x); }
double emu_expm1(double x) { return emu::expm1(x); }
double emu_cos(double x) { return emu::cos_two_pi(x); }

void check_below(double bound_ulp, Computed computed, Exact exact, const std::vector<double>& inputs) {
  const Worst worst = worst_error(computed, exact, inputs);
  INFO("worst " << worst.error_ulp << " ulp at " << worst.at << " over " << inputs.size() << " inputs");
  CHECK(worst.error_ulp < bound_ulp);
  CHECK(worst.error_ulp > 0.49);  // else the measure itself sees nothing
}

}  // namespace

TEST_CASE("the natural logarithm errs by less than 0.9 ulp", "[emu][math]") {
  check_below(0.9, emu_log, exact_log, positive_numbers());
}

TEST_CASE("the logarithms to base 2 and 10 err by less than 0.501 ulp", "[emu][math]") {
  check_below(0.501, emu_log2, exact_log2, positive_numbers());
  check_below(0.501, emu_log10, exact_log10, positive_numbers());
}

TEST_CASE("the exponential errs by less than 0.8 ulp, its subnormal results by less than 1.1 of their spacing", "[emu][math]") {
  check_below(0.8, emu_exp, exact_exp, exponents(-708, 709.78));
  check_below(1.1, emu_exp, exact_exp, exponents(-746, -708));
}

TEST_CASE("e^x - 1 errs by less than 0.95 ulp", "[emu][math]") {
  check_below(0.95, emu_expm1, exact_expm1, exponents(-60, 709.78));
  check_below(0.95, emu_expm1, exact_expm1, exponents(-3, 3));
}

TEST_CASE("the cosine of turns errs by less than 0.95 ulp, near its zeros too", "[emu][math]") {
  check_below(0.95, emu_cos, exact_cos_two_pi, turns());
}

TEST_CASE("logarithms of the base's powers are exact", "[emu][math]") {
  for (int k = -1074; k <= 1023; ++k) CHECK(emu::log2(std::ldexp(1, k)) == k);
  double power = 1;
  for (int k = 0; k <= 22; ++k, power *= 10) CHECK(emu::log10(power) == k);  // 10^22 is the last that a double holds
}

TEST_CASE("the log10 of the double nearest to a power of ten is its exponent", "[emu][math]") {
  Real power;
  for (int k = -307; k <= 308; ++k) {
    mpfr_set_ui(power.value, 10, MPFR_RNDN);
    mpfr_pow_si(power.value, power.value, k, MPFR_RNDN);
    CAPTURE(k);

    CHECK(emu::log10(mpfr_get_d(power.value, MPFR_RNDN)) == k);
  }
}

TEST_CASE("the ends of the domains are what mathematics and IEEE 754 say", "[emu][math]") {
  for (const Computed logarithm : {emu_log, emu_log2, emu_log10}) {
    CHECK(logarithm(0.0) == -infinite);
    CHECK(logarithm(-0.0) == -infinite);
    CHECK(logarithm(infinite) == infinite);
    CHECK(std::isnan(logarithm(-1)));
    CHECK(std::isnan(logarithm(-infinite)));
    CHECK(std::isnan(logarithm(not_a_number)));
    CHECK(std::bit_cast<std::uint64_t>(logarithm(1)) == 0);
  }
  CHECK(emu::exp(0.0) == 1);
  CHECK(emu::exp(infinite) == infinite);
  CHECK(emu::exp(-infinite) == 0);
  CHECK(emu::exp(710) == infinite);
  CHECK(emu::exp(709.78) < infinite);
  CHECK(emu::exp(-746) == 0);
  CHECK(emu::exp(-745) == 0x1p-1074);
  CHECK(std::isnan(emu::exp(not_a_number)));
  CHECK(emu::expm1(infinite) == infinite);
  CHECK(emu::expm1(-infinite) == -1);
  CHECK(std::signbit(emu::expm1(-0.0)));
  CHECK(emu::expm1(0x1p-1074) == 0x1p-1074);
  CHECK(std::isnan(emu::expm1(not_a_number)));
  CHECK(emu::cos_two_pi(0) == 1);
  CHECK(emu::cos_two_pi(0.25) == 0);
  CHECK(emu::cos_two_pi(0.5) == -1);
  CHECK(emu::cos_two_pi(0.75) == 0);
  CHECK(emu::cos_two_pi(1) == 1);
}

TEST_CASE("log, exp and the cosine never turn back by more than their error", "[emu][math]") {
  // Neighbours a few thousand ulp apart: their true values are further apart than the errors are.
  std::mt19937_64 random(4);
  for (int i = 0; i < many; ++i) {
    const double x = 0.01 + static_cast<double>(random() >> 11) * 0x1p-50, y = x * (1 + 0x1p-40);
    REQUIRE(emu::log(x) < emu::log(y));
    REQUIRE(emu::exp(x) < emu::exp(y));
    REQUIRE(emu::expm1(-x) >= emu::expm1(-y));
    const double u = 0.001 + static_cast<double>(random() >> 11) * 0x1.fep-55, v = u + 0x1p-30;
    REQUIRE(emu::cos_two_pi(u) > emu::cos_two_pi(v));
  }
}

TEST_CASE("the constants are correct to 100 bits", "[emu][math]") {
  const auto relative_error = [](emu::detail::Pair pair, Real& exact) {
    Real difference;
    mpfr_sub_d(difference.value, exact.value, pair.high, MPFR_RNDN);
    mpfr_sub_d(difference.value, difference.value, pair.low, MPFR_RNDN);
    mpfr_div(difference.value, difference.value, exact.value, MPFR_RNDN);
    return std::fabs(mpfr_get_d(difference.value, MPFR_RNDN));
  };
  Real exact;

  mpfr_const_log2(exact.value, MPFR_RNDN);
  CHECK(relative_error(emu::detail::ln2, exact) < 0x1p-100);
  mpfr_const_pi(exact.value, MPFR_RNDN);
  CHECK(relative_error(emu::detail::pi, exact) < 0x1p-100);
  for (int n = 1; n < 48; ++n) {
    mpfr_set_ui(exact.value, 1, MPFR_RNDN);
    mpfr_div_ui(exact.value, exact.value, static_cast<unsigned long>(n), MPFR_RNDN);
    CHECK(relative_error(emu::detail::reciprocals.of[n], exact) < 0x1p-100);
  }
  for (int n = 1; n < 20; ++n) {
    mpfr_fac_ui(exact.value, static_cast<unsigned long>(n), MPFR_RNDN);
    mpfr_ui_div(exact.value, 1, exact.value, MPFR_RNDN);
    CHECK(emu::detail::inverse_factorials.of[n] == mpfr_get_d(exact.value, MPFR_RNDN));
  }
}
