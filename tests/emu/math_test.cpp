// SPDX-License-Identifier: Apache-2.0
// emu/math.hpp against MPFR, and against the bits that every compiler must give.
#include "emu/math.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "emu/hypotenuse.hpp"
#include "tests/emu/ulp_laws.hpp"

using namespace ulpscope;
using namespace ulpscope::laws;

namespace {

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
    const int binades = static_cast<int>(random() % 52);
    const double step = std::ldexp(static_cast<double>(random() >> 11) * 0x1p-53, -binades);
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
    const int binades = static_cast<int>(random() % 80);
    const double size = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, -binades);
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

TEST_CASE("e^x - 1 errs by less than 1 ulp", "[emu][math]") {
  check_below(1, emu_expm1, exact_expm1, exponents(-60, 709.78));
  check_below(1, emu_expm1, exact_expm1, exponents(-3, 3));
}

TEST_CASE("the cosine of turns errs by less than 1 ulp, near its zeros too", "[emu][math]") {
  check_below(1, emu_cos, exact_cos_two_pi, turns());
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

namespace {

struct Golden {
  const char* name;
  Computed function;
  double x, y;
};
// What g++ 12 and clang 19 gave at -O0, -O2 and -O3 -march=native; the tests above say how far each is from the true value.
const Golden golden[] = {
    {"log", emu_log, 0x1.999999999999ap-4, -0x1.26bb1bbb55515p+1},
    {"log", emu_log, 0x1p-1, -0x1.62e42fefa39efp-1},
    {"log", emu_log, 0x1.fae147ae147aep-1, -0x1.495453e6fd4bcp-7},
    {"log", emu_log, 0x1.8p+0, 0x1.9f323ecbf984cp-2},
    {"log", emu_log, 0x1p+1, 0x1.62e42fefa39efp-1},
    {"log", emu_log, 0x1.8p+1, 0x1.193ea7aad030bp+0},
    {"log", emu_log, 0x1.2a05f2p+33, 0x1.7069e2aa2aa5bp+4},
    {"log", emu_log, 0x0.012688b70e62bp-1022, -0x1.64e69394d9508p+9},
    {"log2", emu_log2, 0x1.999999999999ap-4, -0x1.a934f0979a371p+1},
    {"log2", emu_log2, 0x1.8p+0, 0x1.2b803473f7ad1p-1},
    {"log2", emu_log2, 0x1.8p+1, 0x1.95c01a39fbd68p+0},
    {"log2", emu_log2, 0x1.2a05f2p+33, 0x1.09c1165ec0627p+5},
    {"log10", emu_log10, 0x1.999999999999ap-4, -0x1p+0},
    {"log10", emu_log10, 0x1p+1, 0x1.34413509f79ffp-2},
    {"log10", emu_log10, 0x1.8p+1, 0x1.e8927964fd5fdp-2},
    {"log10", emu_log10, 0x1.2a05f2p+33, 0x1.4p+3},
    {"exp", emu_exp, -0x1.72p+9, 0x0.0000000000055p-1022},
    {"exp", emu_exp, -0x1p+0, 0x1.78b56362cef38p-2},
    {"exp", emu_exp, 0x1.999999999999ap-4, 0x1.1aec7b35a00d4p+0},
    {"exp", emu_exp, 0x1p-1, 0x1.a61298e1e069cp+0},
    {"exp", emu_exp, 0x1p+0, 0x1.5bf0a8b145769p+1},
    {"exp", emu_exp, 0x1.4p+3, 0x1.5829dcf95056p+14},
    {"exp", emu_exp, 0x1.5ep+9, 0x1.d945df4f8ec8ep+1009},
    {"expm1", emu_expm1, -0x1.4p+4, -0x1.ffffffee4b79bp-1},
    {"expm1", emu_expm1, -0x1p+0, -0x1.43a54e4e98864p-1},
    {"expm1", emu_expm1, -0x1.999999999999ap-4, -0x1.85c933156a62cp-4},
    {"expm1", emu_expm1, 0x1.b7cdfd9d7bdbbp-34, 0x1.b7cdfd9dda4e3p-34},
    {"expm1", emu_expm1, 0x1.999999999999ap-4, 0x1.aec7b35a00d3ap-4},
    {"expm1", emu_expm1, 0x1p+0, 0x1.b7e151628aed3p+0},
    {"expm1", emu_expm1, 0x1.4p+5, 0x1.a220d397972ebp+57},
    {"cos", emu_cos, 0x1.999999999999ap-4, 0x1.9e3779b97f4a8p-1},
    {"cos", emu_cos, 0x1.fbe76c8b43958p-4, 0x1.6c4e677f1a28ep-1},
    {"cos", emu_cos, 0x1.999999999999ap-3, 0x1.3c6ef372fe94ep-2},
    {"cos", emu_cos, 0x1.fdf3b645a1cacp-3, 0x1.9bc5a9d91f68p-8},
    {"cos", emu_cos, 0x1.3333333333333p-2, -0x1.3c6ef372fe94ep-2},
    {"cos", emu_cos, 0x1.3333333333333p-1, -0x1.9e3779b97f4a8p-1},
    {"cos", emu_cos, 0x1.999999999999ap-1, 0x1.3c6ef372fe954p-2},
    {"cos", emu_cos, 0x1.fae147ae147aep-1, 0x1.fefd5bfe443fep-1},
};

}  // namespace

TEST_CASE("every compiler gives the same bits", "[emu][math]") {
  for (const Golden& row : golden) {
    CAPTURE(row.name, row.x, row.y);
    CHECK(std::bit_cast<std::uint64_t>(row.function(row.x)) == std::bit_cast<std::uint64_t>(row.y));
  }
}

TEST_CASE("the compiler computes the same bits as the program", "[emu][math]") {
  constexpr double x = 0x1.999999999999ap-4;
  constexpr double at_compile_time[] = {emu::log(x), emu::log2(x),  emu::log10(x),
                                        emu::exp(x), emu::expm1(x), emu::cos_two_pi(x)};
  const volatile double hidden = x;

  const double at_run_time[] = {emu::log(hidden), emu::log2(hidden),  emu::log10(hidden),
                                emu::exp(hidden), emu::expm1(hidden), emu::cos_two_pi(hidden)};

  CHECK(std::equal(std::begin(at_compile_time), std::end(at_compile_time), std::begin(at_run_time)));
}

TEST_CASE("a hypotenuse is within an ulp wherever it lies, and has no order", "[emu][math]") {
  std::mt19937_64 random(3);
  Real truth, other;
  double worst = 0;
  for (int i = 0; i < 10 * many; ++i) {
    const double x = std::bit_cast<double>(random() % (std::uint64_t{0x7fd} << 52));
    const int apart = static_cast<int>(random() % 60);
    const double y = std::min(std::ldexp(x, apart - 30) * (1 + static_cast<double>(random() >> 12) * 0x1p-52), 0x1p1022);
    const double length = emu::hypotenuse(x, y);
    mpfr_set_d(truth.value, x, MPFR_RNDN), mpfr_set_d(other.value, y, MPFR_RNDN);
    mpfr_hypot(truth.value, truth.value, other.value, MPFR_RNDN);
    worst = std::max(worst, error_in_ulp(length, truth));
    if (emu::hypotenuse(-y, x) != length) FAIL(x << ", " << y);
  }
  CHECK(worst < 1);

  CHECK(emu::hypotenuse(0, -0.0) == 0);
  CHECK(emu::hypotenuse(0x1p-1074, 0) == 0x1p-1074);
  CHECK(emu::hypotenuse(3, -4) == 5);
  CHECK(emu::hypotenuse(3 * 0x1p-1074, 4 * 0x1p-1074) == 5 * 0x1p-1074);
  CHECK(emu::hypotenuse(3 * 0x1p1020, 4 * 0x1p1020) == 5 * 0x1p1020);
  CHECK(emu::hypotenuse(infinite, 1) == infinite);
  CHECK(std::isnan(emu::hypotenuse(not_a_number, 1)));
  CHECK(std::isnan(emu::hypotenuse(1, not_a_number)));
}
