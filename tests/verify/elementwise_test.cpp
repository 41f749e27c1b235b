// SPDX-License-Identifier: Apache-2.0
// Bounds of elementwise functions, against the C library and planted faults.
#include "verify/operations/elementwise.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "emu/decode.hpp"
#include "tests/verify/big.hpp"
#include "tests/verify/operations_data.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;

/// sin(pi x), cos(pi x) and tan(pi x) in double, of float32 rounded once; their zeros exactly.
double sine_of_half_turns(double x) {
  const double rest = x - std::nearbyint(x), sine = std::sin(std::acos(-1.0) * rest);
  return std::fmod(std::nearbyint(x), 2) == 0 ? sine : -sine;
}
double cosine_of_half_turns(double x) {
  const double rest = x - std::nearbyint(x), cosine = std::sin(std::acos(-1.0) * (0.5 - std::fabs(rest)));
  return std::fmod(std::nearbyint(x), 2) == 0 ? cosine : -cosine;
}
double tangent_of_half_turns(double x) { return sine_of_half_turns(x) / (cosine_of_half_turns(x) + 0.0); }

/// The C library's functions in float: within 2 ulp of float32, and compositions as frameworks write them.
const std::map<std::string, std::function<float(float)>> kernels{
    {"acos", [](float x) { return std::acos(x); }},
    {"acosh", [](float x) { return std::acosh(x); }},
    {"asin", [](float x) { return std::asin(x); }},
    {"asinh", [](float x) { return std::asinh(x); }},
    {"atan", [](float x) { return std::atan(x); }},
    {"atanh", [](float x) { return std::atanh(x); }},
    {"cbrt", [](float x) { return std::cbrt(x); }},
    {"cos", [](float x) { return std::cos(x); }},
    {"cosh", [](float x) { return std::cosh(x); }},
    {"cospi", [](float x) { return static_cast<float>(cosine_of_half_turns(static_cast<double>(x))); }},
    {"erf", [](float x) { return std::erf(x); }},
    {"erfc", [](float x) { return static_cast<float>(std::erfc(static_cast<double>(x))); }},
    {"exp", [](float x) { return std::exp(x); }},
    {"exp10", [](float x) { return std::pow(10.0F, x); }},
    {"exp2", [](float x) { return std::exp2(x); }},
    {"expm1", [](float x) { return std::expm1(x); }},
    {"gelu", [](float x) { return 0.5F * x * (1 + std::erf(x * 0.70710678F)); }},
    {"gelu_tanh", [](float x) { return 0.5F * x * (1 + std::tanh(0.79788456F * (x + 0.044715F * x * x * x))); }},
    {"log", [](float x) { return std::log(x); }},
    {"log10", [](float x) { return std::log10(x); }},
    {"log1p", [](float x) { return std::log1p(x); }},
    {"log2", [](float x) { return std::log2(x); }},
    {"rcp", [](float x) { return 1 / x; }},
    {"relu", [](float x) { return x < 0 ? 0.0F : x; }},
    {"rsqrt", [](float x) { return 1 / std::sqrt(x); }},
    {"sigmoid", [](float x) { return 1 / (1 + std::exp(-x)); }},
    {"silu", [](float x) { return x / (1 + std::exp(-x)); }},
    {"sin", [](float x) { return std::sin(x); }},
    {"sinh", [](float x) { return std::sinh(x); }},
    {"sinpi", [](float x) { return static_cast<float>(sine_of_half_turns(static_cast<double>(x))); }},
    {"softplus", [](float x) { return std::fmax(x, 0.0F) + std::log1p(std::exp(-std::fabs(x))); }},
    {"sqrt", [](float x) { return std::sqrt(x); }},
    {"tan", [](float x) { return std::tan(x); }},
    {"tanh", [](float x) { return std::tanh(x); }},
    {"tanpi", [](float x) { return static_cast<float>(tangent_of_half_turns(static_cast<double>(x))); }},
};

const std::set<std::string> undefined_at_infinity{"acos", "asin", "atanh", "cos", "cospi", "sin", "sinpi", "tan", "tanpi"};

std::vector<float> every_float16(emu::Code step) {
  std::vector<float> x;
  for (emu::Code code = 0; code < 1U << 16; code += step) x.push_back(static_cast<float>(emu::decode(emu::float16, code)));
  return x;
}

void check_functions(emu::Code step) {
  const std::vector<float> x = every_float16(step);
  REQUIRE(kernels.size() == verify::elementwise_words().size());
  for (const std::string& name : verify::elementwise_words()) {
    CAPTURE(name);
    const verify::LastRounding last{emu::float32};
    const auto exact = verify::expect_elementwise({.function = name, .x = values({x.size()}, x), .last = last});
    std::vector<float> y, shifted;
    for (const float v : x) y.push_back(kernels.at(name)(v)), shifted.push_back(y.back() * (1 + 0x1p-10F));
    // At an infinity the limit is expected; compositions give NaN for 0 times infinity there.
    for (std::size_t i = 0; i < x.size(); ++i)
      if (std::isinf(x[i]) && std::isnan(y[i]) && undefined_at_infinity.count(name) == 0 &&
          !(x[i] < 0 && std::isnan(kernels.at(name)(-1.5F))))
        y[i] = 0;
    const Tally right = judge_all(*exact, y, last), wrong = judge_all(*exact, shifted, last);
    CAPTURE(right.beyond, right.nonfinite, wrong.beyond);
    CHECK(right.wrong() == 0);
    CHECK(wrong.beyond > 4000 / step);
    const std::uint64_t index = (name == "acosh" ? 0x3F00 : 0x3A00) / step;  // near 1.75, 0.75
    const auto precise = exact->precise(index);
    std::vector<verify::Expected> one(1);
    exact->expect(index, one);
    CHECK((Big(precise.high) + Big(precise.low) - Big(one[0].value)).magnitude() <= Big(one[0].radius));
  }
}

}  // namespace

TEST_CASE("functions: the C library on every 23rd float16 is within 2 ulp of float32, a shift of 2^-10 is not", "[verify]") {
  check_functions(23);
}
TEST_CASE("functions: the C library on every float16 is within 2 ulp of float32", "[verify][exhaustive]") {
  check_functions(1);
}

TEST_CASE("functions: correctly rounded means equal", "[verify][elementwise]") {
  const std::vector<float> x{0.1F, 1, 2.5F, 88, -3};
  const verify::LastRounding last{emu::float32};
  const auto exact =
      verify::expect_elementwise({.function = "exp", .x = values({5}, x), .arithmetic = {.function_ulp = 0}, .last = last});
  std::vector<float> y, next;
  for (const float v : x)
    y.push_back(Big(static_cast<double>(v)).exponential().nearest_float()), next.push_back(std::nextafter(y.back(), 0.0F));
  CHECK(judge_all(*exact, y, last).equal == 5);
  CHECK(judge_all(*exact, next, last).beyond == 5);
  CHECK_THROWS(verify::expect_elementwise({.function = "gellu", .x = values({1}, {1}), .last = last}));
}

TEST_CASE("functions: results too small for a double are not 0, but where they are", "[verify][elementwise]") {
  const float least = std::numeric_limits<float>::denorm_min();
  const auto judged = [&](const std::vector<float>& x, const std::vector<float>& y, emu::Rounding rounding) {
    const verify::LastRounding last{emu::float32, {.rounding = rounding}};
    const auto count = static_cast<std::uint64_t>(x.size());
    return judge_all(*verify::expect_elementwise({.function = "exp", .x = values({count}, x), .last = last}), y, last);
  };
  const std::vector<float> x{-800, -1e4F, -infinite};
  CHECK(judged(x, {least, least, 0}, emu::Rounding::upward).equal == 3);
  CHECK(judged(x, {0, 0, least}, emu::Rounding::upward).wrong() == 1);  // a kernel's own exponential may be 0; of -inf it is
  CHECK(judged(x, {0, 0, 0}, emu::Rounding::nearest_even).equal == 3);
  CHECK(judged(x, {-least, 0, 0}, emu::Rounding::nearest_even).equal == 2);
}

TEST_CASE("conversion: the declared rounding and policy, and no other", "[verify][elementwise]") {
  const std::vector<float> x{464, 465, 1.0625F, -0.0009F, no_number, infinite};
  const auto judged = [&](const std::vector<float>& y, emu::RoundingOptions options) {
    const verify::LastRounding last{emu::float8_e4m3fn, options};
    return judge_all(*verify::expect_conversion({.x = values({6}, x), .last = last}), y, last);
  };
  CHECK(judged({448, no_number, 1, -0.0F, no_number, no_number}, {}).equal == 6);
  CHECK(judged({448, 448, 1, -0.0F, no_number, 448}, {.policy = emu::Policy::saturating}).equal == 6);
  CHECK(judged({448, 448, 1, -0.0F, no_number, 448}, {}).wrong() == 2);
  CHECK(judged({448, no_number, 1.125F, -0.0F, no_number, no_number}, {}).beyond == 1);
  CHECK(judged({448, no_number, 1.125F, -0.0F, no_number, no_number}, {.rounding = emu::Rounding::upward}).wrong() ==
        1);  // 464 overflows
}

TEST_CASE("conversion: a zero has the sign that one rounding gives", "[verify][elementwise]") {
  const auto judged = [](emu::Format out, const std::vector<float>& x, const std::vector<float>& y) {
    const auto count = static_cast<std::uint64_t>(x.size());
    return judge_all(*verify::expect_conversion({.x = values({count}, x), .last = {out}}), y, {out}).equal;
  };
  CHECK(judged(emu::bfloat16, {-0.0F, 0, -1e-45F}, {-0.0F, 0, -0.0F}) == 3);
  CHECK(judged(emu::bfloat16, {-0.0F, 0, -1e-45F}, {0, -0.0F, 0}) == 0);
  CHECK(judged(emu::float8_e4m3fn, {-1e-9F, 1e-9F, 3}, {-0.0F, 0, 3}) == 3);
  CHECK(judged(emu::float8_e4m3fnuz, {-1e-9F, 1e-9F, -0.0F}, {0, 0, 0}) == 3);  // it has one zero
}

TEST_CASE("conversion: NaN in a format without NaN is its greatest number", "[verify][elementwise]") {
  for (const emu::Format out : {emu::float4_e2m1fn, emu::float6_e2m3fn, emu::float6_e3m2fn}) {
    const auto most = static_cast<float>(emu::max_finite(out));
    const auto expected = verify::expect_conversion({.x = values({3}, {1, no_number, 2}), .last = {out}});
    CHECK(judge_all(*expected, {1, most, 2}, {out}).equal == 3);
    CHECK(judge_all(*expected, {1, no_number, 2}, {out}).wrong() == 1);
    CHECK(judge_all(*expected, {1, -most, 2}, {out}).wrong() == 1);
  }
}

TEST_CASE("a function that overflows is the infinity of its sign", "[verify][elementwise]") {
  const auto wrong = [](const char* function, const std::vector<float>& x, const std::vector<float>& y,
                        verify::LastRounding last = {emu::float32}) {
    const auto count = static_cast<std::uint64_t>(x.size());
    const auto expected = verify::expect_elementwise({.function = function, .x = values({count}, x), .last = last});
    return judge_all(*expected, y, last).wrong();
  };
  for (const char* function : {"exp", "cosh", "exp2"}) {
    CHECK(wrong(function, {200, 300}, {infinite, infinite}) == 0);
    CHECK(wrong(function, {200, 300}, {-infinite, no_number}) == 2);
  }
  CHECK(wrong("sinh", {-200, 200}, {-infinite, infinite}) == 0);
  CHECK(wrong("sinh", {-200, 200}, {infinite, -infinite}) == 2);
  const verify::LastRounding saturating{emu::float8_e4m3fn, {.policy = emu::Policy::saturating}};
  CHECK(wrong("exp", {100, 100}, {448, no_number}, saturating) == 1);
  CHECK(wrong("sigmoid", {infinite, 3e38F, 1e38F}, {1, 1, 1}) == 0);
  CHECK(wrong("sigmoid", {infinite, infinite, 3e38F, 1e38F}, {no_number, -7e8F, 4, 2}) == 4);
}
