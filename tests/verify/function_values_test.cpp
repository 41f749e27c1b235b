// SPDX-License-Identifier: Apache-2.0
// The quick values of functions against 200 digits of MPFR, and against emu/elementary.hpp at zeros, infinities and NaN.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/elementary.hpp"
#include "emu/encode.hpp"
#include "verify/expressions/function_slopes.hpp"
#include "verify/operations/elementwise_functions.hpp"

namespace {

using namespace ulpscope;
using verify::Function;
using verify::Real;

constexpr double inf = std::numeric_limits<double>::infinity();

/// Doubles of every exponent and of moderate size; those where an implementation changes its way, and their neighbours.
std::vector<double> arguments() {
  std::mt19937_64 random(7);
  std::vector<double> out;
  const auto both = [&](double x) {
    for (const double y : {x, -x}) out.insert(out.end(), {y, std::nextafter(y, inf), std::nextafter(y, -inf)});
  };
  constexpr int many = 4000;
  for (int i = 0; i < many; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    out.push_back(std::bit_cast<double>(random()));
    for (const double reach : {0.01, 1.0, 6.0, 40.0, 760.0, 1100.0}) out.push_back((2 * unit - 1) * reach);
    out.push_back(static_cast<double>(static_cast<float>((2 * unit - 1) * 8)));
    both(std::ldexp(1 + unit, -static_cast<int>(random() % 80)));
    if (i % 4 != 0) continue;
    // Beside whole numbers and halves, where functions of half turns are 0 or infinite, and the ends of domains are.
    for (const double side : {1.0, -1.0}) {
      const double half = static_cast<double>(random() % 9) / 2;
      const int bits = static_cast<int>(random() % 60);
      both(half + side * std::ldexp(unit, -bits));
    }
    out.push_back(std::nearbyint(std::ldexp(unit, static_cast<int>(random() % 60))) / 2);
  }
  for (const double x : {0.25,
                         0.5,
                         1.0,
                         2.0,
                         15.0,
                         20.0,
                         30.0,
                         36.7368005696771,
                         37.0,
                         40.0,
                         50.0,
                         88.72,
                         100.0,
                         200.0,
                         690.0,
                         700.0,
                         720.0,
                         708.4,
                         709.7827128933840,
                         710.4758600739439,
                         740.0,
                         744.4400719213812,
                         745.1332191019412,
                         750.0,
                         760.0,
                         1022.0,
                         1023.0,
                         1024.0,
                         1074.0,
                         1075.0,
                         1100.0,
                         0x1p52,
                         0x1p53,
                         0x1p-53,
                         0x1p-54,
                         0x1p-1022,
                         0x1p-1074,
                         1e300,
                         0.75,
                         1.5,
                         2.5,
                         10.5,
                         26.5,
                         28.0,
                         0x1p-27,
                         0x1p-28,
                         0x1p28,
                         307.6526555685888,
                         308.2547155599167,
                         323.3062153431158,
                         400.0})
    both(x);
  return out;
}

std::string said(const Function& f, double x, double y) {
  return std::string(f.name) + "(" + std::to_string(x) + ") is " + std::to_string(y);
}

/// Whether the value is where it may be. Beyond the largest double the exact value decides.
bool is_near(const Function& f, double x, double y) {
  const Real exact = f.precise(Real(x));
  if (isnan(exact)) return std::isnan(y);
  if (std::isinf(y))
    return abs(exact) > Real(std::numeric_limits<double>::max()) * (1 - Real(0x1p-50)) && (exact > 0) == (y > 0);
  return abs(exact - Real(y)) <= Real(verify::value_radius(y));
}

double in_float64(emu::Result (*function)(emu::Format, emu::Code, const emu::RoundingOptions&, std::uint32_t), double x) {
  return emu::decode(emu::float64, function(emu::float64, emu::encode(emu::float64, x), {}, 0).code);
}

double reference(std::string_view name, double x) {
  if (name == "acos") return in_float64(emu::acos, x);
  if (name == "acosh") return in_float64(emu::acosh, x);
  if (name == "asin") return in_float64(emu::asin, x);
  if (name == "asinh") return in_float64(emu::asinh, x);
  if (name == "atanh") return in_float64(emu::atanh, x);
  if (name == "cospi") return in_float64(emu::cospi, x);
  if (name == "erfc") return in_float64(emu::erfc, x);
  if (name == "exp10") return in_float64(emu::exp10, x);
  if (name == "sinpi") return in_float64(emu::sinpi, x);
  if (name == "tanpi") return in_float64(emu::tanpi, x);
  if (name == "atan") return in_float64(emu::atan, x);
  if (name == "cbrt") return in_float64(emu::cbrt, x);
  if (name == "cosh") return in_float64(emu::cosh, x);
  if (name == "exp2") return in_float64(emu::exp2, x);
  if (name == "gelu") return in_float64(emu::gelu, x);
  if (name == "gelu_tanh") return in_float64(emu::gelu_tanh, x);
  if (name == "log1p") return in_float64(emu::log1p, x);
  if (name == "rsqrt") return in_float64(emu::rsqrt, x);
  if (name == "sigmoid") return in_float64(emu::sigmoid, x);
  if (name == "silu") return in_float64(emu::silu, x);
  if (name == "sinh") return in_float64(emu::sinh, x);
  if (name == "softplus") return in_float64(emu::softplus, x);
  if (name == "cos") return in_float64(emu::cos, x);
  if (name == "erf") return in_float64(emu::erf, x);
  if (name == "exp") return in_float64(emu::exp, x);
  if (name == "expm1") return in_float64(emu::expm1, x);
  if (name == "log") return in_float64(emu::log, x);
  if (name == "log10") return in_float64(emu::log10, x);
  if (name == "log2") return in_float64(emu::log2, x);
  if (name == "sin") return in_float64(emu::sin, x);
  if (name == "tan") return in_float64(emu::tan, x);
  if (name == "tanh") return in_float64(emu::tanh, x);
  return std::numeric_limits<double>::signaling_NaN();  // of the others nothing is quick
}

}  // namespace

TEST_CASE("quick values of functions are within their radius of the exact ones", "[verify][long]") {
  const std::vector<double> all = arguments();
  for (const Function& f : verify::functions()) {
    std::size_t wrong = 0;
    std::string first;
    for (const double x : all) {
      if (!std::isfinite(x) || x == 0) continue;  // these are below
      const double y = f.value(x);
      if (is_near(f, x, y)) continue;
      if (wrong++ == 0) first = said(f, x, y);
    }
    INFO(first);
    CHECK(wrong == 0);
  }
}

TEST_CASE("no function moves more than its slope says", "[verify]") {
  std::mt19937_64 random(8);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (const Function& f : verify::functions()) {
    INFO(f.name);
    const verify::Slope slope = verify::slope_of(f.name);
    REQUIRE(slope != nullptr);
    int bounded = 0;
    for (int i = 0; i < 400; ++i) {
      const int exponent = static_cast<int>(random() % 12) - 8, bits = static_cast<int>(random() % 30);
      const double size = std::ldexp(1 + unit(), exponent), x = i % 2 == 0 ? size : -size;
      const double reach = std::ldexp(unit(), -bits), most = slope(x, reach);
      if (std::isinf(most)) continue;
      ++bounded;
      // Differences of neighbouring points, the ends too.
      for (int k = -4; k < 4; ++k) {
        const Real a = Real(x) + Real(reach) * k / 4, b = Real(x) + Real(reach) * (k + 1) / 4;
        const Real moved = abs(f.precise(b) - f.precise(a));
        CAPTURE(x, reach, k, most);
        REQUIRE(!isnan(moved));
        REQUIRE(moved <= Real(most) * (b - a) * (1 + Real(0x1p-40)));
      }
    }
    CHECK(bounded > 50);
  }
}

TEST_CASE("quick values of functions are the slow ones at zeros, infinities and NaN", "[verify]") {
  for (const Function& f : verify::functions()) {
    for (const double x : {0.0, -0.0, inf, -inf, std::numeric_limits<double>::quiet_NaN(), -1.0, -2.0, 1.0}) {
      const double wanted = reference(f.name, x), y = f.value(x);
      if (std::isnan(wanted) && f.name != "rsqrt" && reference(f.name, 1.0) != reference(f.name, 1.0)) continue;
      INFO(said(f, x, y) << ", wanted " << wanted);
      CHECK(std::isnan(y) == std::isnan(wanted));
      if (std::isnan(wanted)) continue;
      CHECK(std::isinf(y) == std::isinf(wanted));
      if (wanted == 0 || std::isinf(wanted)) {
        CHECK(y == wanted);
        CHECK(std::signbit(y) == std::signbit(wanted));
      }
    }
  }
}

TEST_CASE("functions of the zeros are those of IEEE 754 in 200 digits", "[verify]") {
  const auto precise = [](const char* name, double x) {
    for (const Function& f : verify::functions())
      if (f.name == name) return mpfr_get_d(f.precise(Real(x)).backend().data(), MPFR_RNDN);
    return std::numeric_limits<double>::quiet_NaN();
  };
  // 754-2019, 9.2.1: log(+-0) is -infinity, rSqrt(+-0) the infinity of its sign; 6.1: 1 / +-0 too.
  CHECK(precise("rsqrt", -0.0) == -inf);
  CHECK(precise("rsqrt", 0.0) == inf);
  CHECK(precise("rcp", -0.0) == -inf);
  CHECK(precise("rcp", 0.0) == inf);
  CHECK(precise("sinpi", 2) == 0);
  CHECK(!std::signbit(precise("sinpi", 3)));
  CHECK(std::signbit(precise("sinpi", -3)));
  CHECK(precise("cospi", -2.5) == 0);
  CHECK(!std::signbit(precise("cospi", -2.5)));
  CHECK(precise("tanpi", 2.5) == inf);  // n + 1/2 for even n, for odd n -infinity
  CHECK(precise("tanpi", -0.5) == -inf);
  CHECK(precise("log", -0.0) == -inf);
  CHECK(precise("log2", 0.0) == -inf);
}
