// SPDX-License-Identifier: Apache-2.0
// Matrix products whose operands are chosen for one kernel: bounds that do not decide, midpoints, exponents of subnormal
// scales.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "emu/simd.hpp"
#include "tests/emu/engine_problems.hpp"

namespace {
using namespace ulpscope::test;
}  // namespace

TEST_CASE("an exact sum next to the middle of two floats is decided by its least product, or comes to zero") {
  const std::size_t m = 5, n = 70, k = 40;
  for (const double least : {0x1p-120, -0x1p-120, 0.0}) {
    std::vector<float> a(m * k), b(k * n);
    // Rows whose sums are not zero: few are left undecided by bounds, and these are added term by term.
    for (std::size_t x = 0; x < m * k; ++x) a[x] = x < 3 * k ? 1.0F : 0.0F;
    for (std::size_t x = 0; x < k * n; ++x) b[x] = static_cast<float>(1 + x % 2);
    // Row 3, column 7: 1 + 2^-24 + least; row 4, column 9: 1 + least - 1.
    const auto put = [&](std::size_t i, std::size_t j, std::size_t x, float of_a, float of_b) {
      a[i * k + x] = of_a;
      b[x * n + j] = of_b;
    };
    put(3, 7, 0, 1, 1);
    put(3, 7, 20, 0x1p-12F, 0x1p-12F);
    put(3, 7, 39, 0x1p-60F, static_cast<float>(least * 0x1p60));
    put(4, 9, 1, 1, 1);
    put(4, 9, 2, 0x1p-60F, static_cast<float>(least * 0x1p60));
    put(4, 9, 3, -2, 0.5F);
    EngineMatmul<float> request{};
    request.engine = find_engine("exact", {bfloat16, bfloat16}).model;
    request.a = {bfloat16, a, {m, k}};
    request.b = {bfloat16, b, {k, n}};
    for (const SimdPath path : simd_paths()) {
      const ChosenPath chosen(path);
      std::vector<float> d(m * n);

      engine_matmul(request, std::span(d));

      CAPTURE(least, name_of(path));
      CHECK(d[3 * n + 7] == (least > 0 ? 0x1.000002p0F : 1.0F));
      CHECK(d[4 * n + 9] == static_cast<float>(least));
    }
  }
}

TEST_CASE("an exact sum next to the middle of two float16 is decided by its least product, alone and among many") {
  const std::size_t m = 5, n = 70;
  // 1 + 2^-11 and the least product, between terms that cancel.
  const std::vector<float> row{0x1p15F, 1, 0x1p-5F, 0x1p-24F, -0x1p15F};
  for (const float least : {0x1p-24F, -0x1p-24F, 0.0F}) {
    const std::vector<float> column{0x1p15F, 1, 0x1p-6F, least, 0x1p15F}, simple{0, 1, 0, 0, 0};
    const std::size_t k = row.size();
    for (const std::size_t every : {std::size_t{1}, n}) {
      std::vector<float> a, b(k * n);
      for (std::size_t i = 0; i < m; ++i) a.insert(a.end(), row.begin(), row.end());
      for (std::size_t x = 0; x < k; ++x)
        for (std::size_t j = 0; j < n; ++j) b[x * n + j] = j % every == 0 ? column[x] : simple[x];
      EngineMatmul<float> request{};
      request.engine = find_engine("exact", {float16, float16}).model;
      request.engine.accumulator = float16;
      request.engine.nan_code = float16.nan_code();
      request.out = float16;
      request.a = {float16, a, {m, k}};
      request.b = {float16, b, {k, n}};
      for (const SimdPath path : simd_paths()) {
        const ChosenPath chosen(path);
        std::vector<float> d(m * n);

        engine_matmul(request, std::span(d));

        CAPTURE(least, every, name_of(path));
        std::size_t wrong = 0;
        for (std::size_t at = 0; at < m * n; ++at) wrong += d[at] != (at % n % every == 0 && least > 0 ? 0x1.004p0F : 1.0F);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("fused float16 sums next to a midpoint are rounded once") {
  struct Case {
    float a, b, c;
  };
  // c and half its unit, give or take a product that float32 does not hold beside it; and the greatest finite number's
  // midpoint.
  for (const Case& x :
       {Case{0x1.004p0F, 0x1.ffcp-12F, 1}, Case{0x1.004p0F, -0x1.ffcp-13F, 1}, Case{0x1p-24F, 0x1p-24F, 0x1p-24F},
        Case{0x1.ffcp3F, 0x1.004p0F, 65504}, Case{0x1p-24F, 0x1.8p-1F, 0x1p-24F}, Case{0x1p-13F, 0x1p-12F, -0.0F}}) {
    for (const char* const name : {"fma", "x86_fma", "arm_fma", "fp16_chain"}) {
      Problem p{&find_engine(name, {float16, float16, float16}), float16, float16, 1, 64, 1, {}, {}, {}, {}, {}};
      p.a = {x.a};
      p.b.assign(p.n, x.b);
      p.c.assign(p.n, x.c);
      for (const SimdPath path : simd_paths()) {
        const ChosenPath chosen(path);
        std::vector<float> d(p.n);

        engine_matmul(p.request(), std::span(d));

        CAPTURE(name, x.a, x.b, x.c, name_of(path));
        CHECK(first_difference(p, d) == std::nullopt);
      }
    }
  }
}

TEST_CASE("zeros keep or lose their signs, and subnormal addends are taken or flushed, as the reference does it") {
  for (const EngineMode& mode : engine_modes()) {
    if (mode.model.accumulator == float64 || mode.model.scales != EngineScales::none) continue;
    const Format format = mode.inputs.empty() ? bfloat16 : mode.inputs.front(), accumulator = mode.model.accumulator;
    const auto step = static_cast<std::size_t>(mode.model.products == Stage::all ? 8 : mode.model.products);
    const auto least = static_cast<float>(decode(accumulator, accumulator.min_normal_code())), subnormal = least / 4;
    const std::array addends{-0.0F, 0.0F, subnormal, -subnormal, least, -least};
    for (const std::size_t k : {step, step + 1}) {
      Problem p{&mode, format, format, 4, 2 * addends.size(), k, {}, {}, {}, {}, {}};
      for (std::size_t i = 0; i < p.m; ++i)  // all +, all -, and one of another sign
        for (std::size_t x = 0; x < k; ++x) p.a.push_back((i % 2 == 0) == (i < 2 || x + 1 < k) ? 1.0F : -1.0F);
      for (std::size_t x = 0; x < k; ++x)
        for (std::size_t j = 0; j < p.n; ++j) p.b.push_back(j < addends.size() ? 0.0F : -0.0F);
      for (std::size_t at = 0; at < p.m * p.n; ++at) p.c.push_back(addends[at % addends.size()]);
      for (const SimdPath path : simd_paths()) {
        const ChosenPath chosen(path);
        std::vector<float> d(p.m * p.n);

        engine_matmul(p.request(), std::span(d));

        CAPTURE(mode.engine, mode.instruction, k, name_of(path));
        CHECK(first_difference(p, d) == std::nullopt);
      }
    }
  }
}

TEST_CASE("group sums of subnormal scales are aligned by their format's least exponent") {
  for (const EngineMode& mode : engine_modes()) {
    if (mode.model.scales != EngineScales::group_sums || mode.scale_format != float8_e4m3fn) continue;
    Problem p{&mode, float4_e2m1fn, float4_e2m1fn, 1, 3, 64, {}, {}, {}, {}, {}};
    p.a.assign(p.k, 0);
    p.a[0] = 1;
    p.a[16] = -1;  // another group: the sums cancel, c is what their exponent leaves of it
    p.b.assign(p.k * p.n, 1);
    p.c.assign(p.n, 0x1.000002p-26F);
    p.a_scales.assign(p.m * 4, 0x1p-9F);
    p.b_scales.assign(p.n * 4, 0x1p-9F);
    for (const SimdPath path : simd_paths()) {
      const ChosenPath chosen(path);
      std::vector<float> d(p.n);

      engine_matmul(p.request(), std::span(d));

      CAPTURE(mode.engine, name_of(path));
      CHECK(d.front() == 0x1p-26F);
      CHECK(first_difference(p, d) == std::nullopt);
    }
  }
}
