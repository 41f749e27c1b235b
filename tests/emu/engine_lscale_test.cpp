// SPDX-License-Identifier: Apache-2.0
// Matrix products on engines that scale products down, against the reference, whose sums are multiplied back here.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "tests/emu/engine_problems.hpp"

namespace {
using namespace ulpscope::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

constexpr float infinite = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();

/// The same mode with products times 2^-lscale.
EngineMode scaled_down(const EngineMode& mode, int lscale) {
  EngineMode scaled = mode;
  scaled.model.product_exponent = -lscale;
  return scaled;
}

/// 2^lscale times the reference's sum from 0, and c.
float expected(const Problem& p, std::size_t i, std::size_t j, bool has_c) {
  Problem from_zero = p;
  from_zero.c.assign(p.m * p.n, 0.0F);
  const float back = std::ldexp(from_zero.reference(i, j), -p.mode->model.product_exponent);
  const float d = has_c ? back + p.c[i * p.n + j] : back;
  return d == d ? d : not_a_number;
}

/// One output of two equal rows of `a` and `b`.
float one(const char* words, Format accumulator, const std::vector<float>& a, const std::vector<float>& b) {
  EngineMatmul<float> request{};
  request.engine = parse_engine(words, {float8_e5m2, float8_e5m2, accumulator});
  request.a = {float8_e5m2, a, {1, a.size()}};
  request.b = {float8_e5m2, b, {b.size(), 1}};
  std::vector<float> d(1);
  engine_matmul(request, std::span(d));
  return d.front();
}
}  // namespace

TEST_CASE("products scaled down are the reference's in every bit: kinds of operands, lscale, SIMD paths") {
  Random random(11);
  for (const EngineMode& mode : engine_modes()) {
    const auto greatest = greatest_lscale(mode);
    if (!greatest) continue;
    for (const int lscale : {1, 8, 15, 77, 127}) {
      if (lscale > *greatest) continue;
      const EngineMode scaled = scaled_down(mode, lscale);
      for (const Kind kind : all_kinds) {
        const Problem p = problem_of(scaled, kind, random, {.m = 20, .n = 70, .k = 60});
        for (const SimdPath path : simd_paths()) {
          const ChosenPath chosen(path);
          for (const bool has_c : {false, true}) {
            EngineMatmul<float> request = p.request();
            if (!has_c) request.c = {};
            const std::vector<float> d = product(request);
            std::size_t differing = 0;
            for (std::size_t at = 0; at < d.size(); ++at)
              differing += same(d[at], expected(p, at / p.n, at % p.n, has_c)) ? 0 : 1;
            CAPTURE(mode.engine, format_name(mode.model.accumulator), lscale, static_cast<int>(kind), name_of(path), has_c);
            CHECK(differing == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("a power of two of products is one of their exponents, whatever the engine") {
  Random random(12);
  for (const EngineMode& mode : engine_modes()) {
    if (mode.inputs.empty() || mode.inputs.front().bits() > 8 || mode.model.scales != EngineScales::none) continue;
    for (const int exponent : {-40, -7, 3}) {
      const EngineMode scaled = scaled_down(mode, -exponent);
      for (const Kind kind : {Kind::ordinary, Kind::finite_code, Kind::tiny, Kind::full, Kind::sparse}) {
        const Problem p = problem_of(scaled, kind, random, {.m = 6, .n = 70, .k = 70});
        EngineMatmul<float> request = p.request();
        request.c = {};
        const std::vector<float> d = product(request);
        std::size_t differing = 0;
        for (std::size_t at = 0; at < d.size(); ++at) differing += same(d[at], expected(p, at / p.n, at % p.n, false)) ? 0 : 1;
        CAPTURE(mode.engine, format_name(mode.model.accumulator), exponent, static_cast<int>(kind));
        CHECK(differing == 0);
      }
    }
  }
}

TEST_CASE("lscale keeps a float16 sum from overflow, and loses small products") {
  const std::vector<float> great(8, 57344.0F), small(8, 0x1p-8F), ones(8, 1.0F);
  CHECK(one("arm_fp8", float16, great, ones) == infinite);
  CHECK(one("arm_fp8:lscale=2", float16, great, ones) == infinite);
  CHECK(one("arm_fp8:lscale=3", float16, great, ones) == 8 * 57344.0F);
  CHECK(one("arm_fp8:lscale=15", float16, great, ones) == 8 * 57344.0F);
  CHECK(one("arm_fp8:lscale=15", float16, great, great) == infinite);  // 8 * 57344^2 / 2^15 is beyond 65504
  CHECK(one("arm_fp8", float16, small, ones) == 0x1p-5F);
  CHECK(one("arm_fp8:lscale=15", float16, small, ones) == 0x1p-5F);
  CHECK(one("arm_fp8:lscale=15", float16, {0x1p-10F}, {1}) == 0);  // a half of 2^-24, to even
  CHECK(one("arm_fp8:lscale=15", float16, {0x1.4p-10F}, {1}) == 0x1p-9F);
  CHECK(one("arm_fp8:lscale=127", float32, {0x1p-16F}, {0x1p-16F}) == 0);
  CHECK(one("arm_fp8:lscale=127", float32, great, great) == 8 * 57344.0F * 57344.0F);
}

TEST_CASE("infinities and NaNs pass through the scaling") {
  for (const char* const words : {"arm_fp8:lscale=4", "arm_fp8/fmlal:lscale=4", "arm_fp8/fmmla:lscale=4"})
    for (const Format accumulator : {float32, float16}) {
      CHECK(one(words, accumulator, {1, infinite}, {1, 1}) == infinite);
      CHECK(one(words, accumulator, {1, infinite}, {1, -1}) == -infinite);
      CHECK(std::isnan(one(words, accumulator, {infinite, infinite}, {1, -1})));
      CHECK(std::isnan(one(words, accumulator, {infinite, 1}, {0, 1})));
      CHECK(std::isnan(one(words, accumulator, {1, not_a_number}, {1, 1})));
    }
}

TEST_CASE("float64 storage takes scaled products, too, and operands without room for them are refused") {
  EngineMatmul<double> wide{};
  wide.engine = fma_chain(float64);
  wide.engine.product_exponent = -40;
  const std::vector<double> a{3, 0.5}, b{7, 1};
  wide.a = {float32, a, {1, 2}};
  wide.b = {float32, b, {2, 1}};
  wide.out = float64;
  std::vector<double> d(1);
  engine_matmul(wide, std::span(d));
  CHECK(d.front() == 21.5);

  EngineMatmul<float> narrow{};
  narrow.engine = fma_chain(float32);
  narrow.engine.product_exponent = -1;
  const std::vector<float> x{1};
  narrow.a = {float32, x, {1, 1}};
  narrow.b = {float32, x, {1, 1}};
  std::vector<float> y(1);
  CHECK_THROWS_MATCHES(engine_matmul(narrow, std::span(y)), ulpscope::Error,
                       MessageMatches(ContainsSubstring("beyond what float32 holds")));

  narrow.engine.product_exponent = -100;
  narrow.a.format = narrow.b.format = float8_e5m2;
  narrow.scale_a.whole = 0x1p40F;
  CHECK_THROWS_MATCHES(engine_matmul(narrow, std::span(y)), ulpscope::Error,
                       MessageMatches(ContainsSubstring("are beyond float32")));
}

TEST_CASE("an element that is no number of its format is named as it was given") {
  EngineMatmul<float> request{};
  request.engine = parse_engine("arm_fp8:lscale=4", {float8_e5m2, float8_e5m2});
  const std::vector<float> a{1, 1.1F}, b{1, 1};
  request.a = {float8_e5m2, a, {1, 2}};
  request.b = {float8_e5m2, b, {2, 1}};
  std::vector<float> d(1);
  CHECK_THROWS_MATCHES(engine_matmul(request, std::span(d)), ulpscope::Error, MessageMatches(ContainsSubstring("float8_e5m2")));
}
