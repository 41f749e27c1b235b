// SPDX-License-Identifier: Apache-2.0
// emu/special_functions.hpp against MPFR, and against the bits that every compiler must give.
#include "emu/special_functions.hpp"

#include <mpfr.h>

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/emu/ulp_laws.hpp"

using namespace ulpscope;
using namespace ulpscope::laws;

namespace {

template <int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
void exact(Real& out, double x) {
  mpfr_set_d(out.value, x, MPFR_RNDN);
  function(out.value, out.value, MPFR_RNDN);
}

/// Phi(z) - p = 0 by Newton's iteration from the answer to be judged, whose relative error it squares twice.
void exact_quantile(Real& out, double p) {
  Real tail, density;
  mpfr_set_d(out.value, emu::normal_quantile(p), MPFR_RNDN);
  for (int i = 0; i < 2; ++i) {
    mpfr_sqrt_ui(tail.value, 2, MPFR_RNDN);
    mpfr_div(tail.value, out.value, tail.value, MPFR_RNDN);
    mpfr_neg(tail.value, tail.value, MPFR_RNDN);
    mpfr_erfc(tail.value, tail.value, MPFR_RNDN);
    mpfr_div_2ui(tail.value, tail.value, 1, MPFR_RNDN);
    mpfr_sub_d(tail.value, tail.value, p, MPFR_RNDN);
    mpfr_sqr(density.value, out.value, MPFR_RNDN);
    mpfr_div_2ui(density.value, density.value, 1, MPFR_RNDN);
    mpfr_exp(density.value, density.value, MPFR_RNDN);
    mpfr_mul(tail.value, tail.value, density.value, MPFR_RNDN);
    mpfr_const_pi(density.value, MPFR_RNDN);
    mpfr_mul_2ui(density.value, density.value, 1, MPFR_RNDN);
    mpfr_sqrt(density.value, density.value, MPFR_RNDN);
    mpfr_mul(tail.value, tail.value, density.value, MPFR_RNDN);
    mpfr_sub(out.value, out.value, tail.value, MPFR_RNDN);
  }
}

constexpr int many = 20'000;

double uniform(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
}
/// A number in [low, high) times 2^-k, k in [least, least + count).
double scattered(std::mt19937_64& random, double low, double high, int least, unsigned count) {
  const double x = uniform(random, low, high);
  return std::ldexp(x, -least - static_cast<int>(random() % count));
}

std::vector<double> everywhere() {
  std::mt19937_64 random(1);
  std::vector<double> out{0x1p-1074, 0x1p-1022, -0x1p-1022, 0x1.fffffffffffffp1023, 1, -1};
  for (int i = 0; i < many; ++i) {
    out.push_back(std::bit_cast<double>(random() % (std::uint64_t{0x7ff} << 52)));
    out.push_back(-std::bit_cast<double>(random() % (std::uint64_t{0x7ff} << 52)));
    out.push_back(uniform(random, -1, 1));
    out.push_back(uniform(random, -7, 7));
    out.push_back(scattered(random, -2, 2, 0, 60));
  }
  return out;
}

/// Angles large and small, and the doubles nearest to multiples of pi/4, where sine and cosine cancel.
std::vector<double> angles() {
  std::mt19937_64 random(2);
  std::vector<double> out = everywhere();
  out.push_back(
      0x1.6ac5b262ca1ffp+849);  // of all doubles nearest to a multiple of pi/2, 2^-61 (Muller, "Elementary Functions", 11.2)
  for (int i = 0; i < many; ++i) {
    out.push_back(uniform(random, -1000, 1000));
    out.push_back(uniform(random, -0x1p21, 0x1p21));
    const double multiple = std::nearbyint(uniform(random, 0, 0x1p21)) * 0x1.921fb54442d18p-1;
    for (const double x : {multiple, std::nextafter(multiple, 0), std::nextafter(multiple, infinite)}) out.push_back(x);
  }
  return out;
}

std::vector<double> probabilities() {
  std::mt19937_64 random(3);
  std::vector<double> out{0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp-1, 0.075, 0.925, 0.25, 0.75};
  for (int i = 0; i < many / 40; ++i) {
    out.push_back(uniform(random, 0, 1));
    out.push_back(0.5 + scattered(random, -1, 1, 2, 50));
    out.push_back(scattered(random, 0.5, 1, 0, 1070));
    out.push_back(1 - scattered(random, 0.5, 1, 1, 52));
  }
  return out;
}

void require_bound(Computed computed, Exact exact_value, const std::vector<double>& inputs, double bound) {
  const Worst worst = worst_error(computed, exact_value, inputs);
  INFO("worst error " << worst.error_ulp << " ulp at " << std::hexfloat << worst.at);
  CHECK(worst.error_ulp < bound);
  CHECK(worst.error_ulp > 0.4);  // the inputs are not all easy
}

TEST_CASE("sine and cosine err by less than 0.9 ulp, large arguments and multiples of pi/4 too", "[special][long]") {
  require_bound(emu::sin, exact<mpfr_sin>, angles(), 0.9);
  require_bound(emu::cos, exact<mpfr_cos>, angles(), 0.9);
}
TEST_CASE("tanh and erf err by less than 0.8 ulp", "[special]") {
  require_bound(emu::tanh, exact<mpfr_tanh>, everywhere(), 0.8);
  require_bound(emu::erf, exact<mpfr_erf>, everywhere(), 0.8);
}

TEST_CASE("atan errs by less than 2.5 ulp, cbrt by less than 0.6", "[special]") {
  std::vector<double> ends = everywhere();  // of the table's steps
  for (int i = 0; i <= 32; ++i)
    for (const double x : {i / 32.0, i == 0 ? 1.0 : 32.0 / i})
      ends.insert(ends.end(), {std::nextafter(x, 0), x, std::nextafter(x, 4)});
  std::mt19937_64 random(3);
  for (int i = 0; i < many; ++i) ends.push_back(uniform(random, 1, 1.0005) / 32);  // half a step above a power of two
  require_bound(emu::atan, exact<mpfr_atan>, ends, 2.5);
  require_bound(emu::cbrt, exact<mpfr_cbrt>, everywhere(), 0.6);
}
TEST_CASE("the normal quantile errs by less than 8 ulp", "[special]") {
  require_bound(emu::normal_quantile, exact_quantile, probabilities(), 8);
}

TEST_CASE("functions of double keep zeros, NaN and limits", "[special]") {
  const auto same = [](double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); };
  for (const auto odd : {emu::sin, emu::tanh, emu::erf, emu::atan, emu::cbrt}) {
    CHECK(same(odd(0.0), 0.0));
    CHECK(same(odd(-0.0), -0.0));
    CHECK(std::isnan(odd(not_a_number)));
  }
  CHECK(emu::cos(0) == 1);
  for (const double x : {infinite, -infinite, not_a_number}) {
    CHECK(std::isnan(emu::sin(x)));
    CHECK(std::isnan(emu::cos(x)));
  }
  CHECK(emu::tanh(infinite) == 1);
  CHECK(emu::tanh(-infinite) == -1);
  CHECK(emu::erf(infinite) == 1);
  CHECK(emu::erf(-infinite) == -1);
  CHECK(emu::normal_quantile(0) == -infinite);
  CHECK(emu::normal_quantile(1) == infinite);
  CHECK(emu::normal_quantile(0.5) == 0);
  for (const double p : {-0.1, 1.1, not_a_number}) CHECK(std::isnan(emu::normal_quantile(p)));
}

// The same constant from GCC and Clang, optimised or not: a compiler that contracts or reorders gives another.
TEST_CASE("functions of double give the same bits with every compiler", "[special]") {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](double y) {
    const auto word = y != y ? 0 : std::bit_cast<std::uint64_t>(y);
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3;
  };
  for (const double x : angles())
    for (const auto function : {emu::sin, emu::cos, emu::tanh, emu::erf}) add(function(x));
  for (const double p : probabilities()) add(emu::normal_quantile(p));

  CHECK(hash == 0xb260a053fce02c01);
}

}  // namespace
