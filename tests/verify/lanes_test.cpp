// SPDX-License-Identifier: Apache-2.0
// Balls in vectors are those of one element at a time, which the portable path computes and expressions_test.cpp holds to MPFR.
#include "verify/expressions/lanes.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/simd.hpp"
#include "verify/expressions/evaluation.hpp"
#include "verify/expressions/expression.hpp"

namespace {

using namespace ulpscope;
using verify::Approximate;

/// Numbers of all sizes, zeros and powers of two; before `special` some NaN, from there on some that are not finite.
std::vector<float> numbers(std::size_t count, std::size_t special, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned kind = random() % 32;
    const int exponent = kind < 20 ? 0 : static_cast<int>(random() % 200) - 100;
    float x = std::ldexp(normal(random), exponent);
    if (kind == 20) x = std::ldexp(1.0F, exponent);
    if (kind == 21) x = random() % 2 == 0 ? 0.0F : -0.0F;
    if (i >= special / 2 && i < special && kind == 22) x = NAN;
    if (i >= special && kind == 22) x = std::ldexp(normal(random), 126);
    if (i >= special && kind == 23)
      x = std::array{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), NAN}[random() % 3];
    out.push_back(x);
  }
  return out;
}

using Bits = std::array<std::uint64_t, 3>;
struct Element {
  Bits bits;
  verify::Overflow overflow;
  bool operator==(const Element&) const = default;
};
std::vector<Element> elements(const verify::Evaluation& evaluation, std::size_t count) {
  std::vector<Approximate> values(count);
  evaluation.values(0, values);
  std::vector<Element> out;
  for (const Approximate& x : values) {
    const auto bits = [](double v) { return std::isnan(v) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(v); };
    out.push_back({{bits(x.value), bits(x.radius), bits(x.error)}, x.overflow});
  }
  return out;
}

}  // namespace

TEST_CASE("balls are the same on every path", "[verify]") {
  constexpr std::size_t count = 256 * 40 + 77;
  const std::vector<float> x = numbers(count, count / 2, 1), y = numbers(count, count / 2, 2);
  std::vector<verify::KernelArithmetic> kinds;
  for (const emu::Format format : {emu::float32, emu::bfloat16, emu::float16})
    for (const double ulp : {0.0, 2.0})
      for (const double absolute : {0.0, 1e-7})
        kinds.push_back({.format = format, .function_ulp = ulp, .function_abs = absolute});
  // max and min keep what gelu and silu take in the ranges that these have in vectors.
  const std::array formulas{"x + y",
                            "x - y",
                            "x * y",
                            "x / y",
                            "x / 4",
                            "x / 3",
                            "x * 0.25",
                            "exp(x)",
                            "sigmoid(x)",
                            "silu(x)",
                            "tanh(x)",
                            "tanh(x * y) * y",
                            "gelu_tanh(x)",
                            "gelu(x)",
                            "gelu(x * y) + x",
                            "erf(x)",
                            "erf(x * y) - x",
                            "gelu_tanh(x * y) + x",
                            "gelu(max(min(x, 14), -14))",
                            "gelu(max(min(x * 0.3, 14), -14)) + x",
                            "gelu_tanh(max(min(x, 14), -14))",
                            "gelu_tanh(max(min(x * 0.3, 14), -14)) + x",
                            "silu(max(x, -600))",
                            "silu(max(x * 0.3, -600))",
                            "exp(min(x, 1))",
                            "sigmoid(max(min(x, 9), -9))",
                            "exp(x * y)",
                            "silu(x * y)",
                            "sigmoid(x-y)",
                            "x * y + x",
                            "(x - y) / (x*y)",
                            "silu(x) * y",
                            "x * y - x * y",
                            "-x * abs(y) + 1",
                            "exp(x) / (1 + exp(x))",
                            "max(x, y) * x",
                            "min(x, 0)",
                            "abs(x) - abs(-y)",
                            "maximum(x * y + x, 0)",
                            "minimum(x * y, y * x * 1.0000001) * x",
                            "max(x * y, exp(x)) - x",
                            "where(x > y, x * y, x - y)",
                            "where(x * y >= y * x * 1.0000001, x, -y)",
                            "where(x * y == y * x, x * x, 3) + 1",
                            "where((x * y < y * x * 0.9999999) & (x - y != y - x), exp(x), y)",
                            "where(~(x * y < x) | (y > 1), x, x / y)",
                            "where(x * y - y * x, x, inf)",
                            "log(x * y - y * x) + x",
                            "sqrt(x * y) * y",
                            "x * x / (y - y)",
                            "x / max(-x * 0, x * 0)",
                            "min(1 / (x * y - x * y), x)",
                            "exp(-abs(x) * inf) + where(1 / (x * y - y * x) > 0, x, y)",
                            "bf16(x * y) + y",
                            "(x + y) * (x - y) / (x * x + y * y)"};
  for (const verify::KernelArithmetic& arithmetic : kinds)
    for (const char* formula : formulas) {
      INFO(formula << " " << arithmetic.function_ulp << " " << arithmetic.function_abs);
      verify::Expression expression{.formula = formula, .arithmetic = arithmetic, .last = {emu::float32}, .threads = 1};
      expression.inputs.push_back({"x", {{count}, x}});
      if (std::string_view(formula).find('y') != std::string_view::npos) expression.inputs.push_back({"y", {{count}, y}});
      emu::use_simd_path(emu::simd_paths().back());
      const verify::Evaluation evaluation = verify::evaluation_of(expression);
      const std::vector<Element> one_by_one = elements(evaluation, count);
      for (const emu::SimdPath path : emu::simd_paths()) {
        emu::use_simd_path(path);
        CHECK((elements(evaluation, count) == one_by_one));
      }
    }
  emu::use_simd_path(emu::simd_paths().front());
}

TEST_CASE("what is computed in a format may round what comes in, and need not", "[verify]") {
  constexpr std::size_t count = 600;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(count), y(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = normal(random), y[i] = i % 3 == 0 ? -x[i] * 1.001F : normal(random);
  struct Case {
    const char* formula;
    double (*exact)(double x, double y);
  };
  const std::array cases{Case{"x * 2 + 0 * y", [](double a, double) { return a * 2; }},
                         Case{"x + y", [](double a, double b) { return a + b; }},
                         Case{"x - y", [](double a, double b) { return a - b; }},
                         Case{"maximum(x, y)", [](double a, double b) { return std::fmax(a, b); }},
                         Case{"-abs(x) + 0 * y", [](double a, double) { return -std::fabs(a); }},
                         Case{"where(x > y, x[:], 0)", [](double a, double b) { return a > b ? a : 0; }},
                         Case{"max(x, y) * max(y, 0)", [](double a, double b) { return std::fmax(a, b) * std::fmax(b, 0); }}};
  for (const emu::Format format : {emu::bfloat16, emu::float16})
    for (const Case& test : cases) {
      const std::string formula = (format == emu::bfloat16 ? "bf16: " : "fp16: ") + std::string(test.formula);
      verify::Expression expression{.formula = formula, .last = {emu::float32}, .threads = 1};
      expression.inputs = {{"x", {{count}, x}}, {"y", {{count}, y}}};
      std::vector<Approximate> all(count);
      verify::evaluation_of(expression).values(0, all);
      const auto rounded = [&](double v) { return emu::round_to(format, v).value; };
      for (std::size_t i = 0; i < count; ++i) {
        const double a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
        for (const double kernel : {rounded(test.exact(rounded(a), rounded(b))), rounded(test.exact(a, b))}) {
          CAPTURE(formula, a, b, kernel, all[i].value, all[i].error);
          CHECK(std::fabs(kernel - all[i].value) <= all[i].radius + all[i].error);
        }
      }
    }
}

TEST_CASE("what is of the format that is computed in comes in as it is", "[verify]") {
  const std::vector<float> x{1.5F, -3, 0, 0.75F};
  for (const char* formula : {"bf16: x * 2", "bf16: max(x, 0)", "bf16: bf16(x) * 2", "fp32: x * 4", "bf16: x[1:]"}) {
    verify::Expression expression{.formula = formula, .last = {emu::float32}, .threads = 1};
    expression.inputs = {{"x", {{x.size()}, x}}};
    std::vector<Approximate> all(3);
    verify::evaluation_of(expression).values(0, all);
    CAPTURE(formula);
    for (const Approximate& element : all) CHECK(element.error == 0);
  }
}
