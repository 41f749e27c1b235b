// SPDX-License-Identifier: Apache-2.0
// Matrix products against the scalar reference, inner product by inner product: every engine, SIMD path and kind of operand.
#include "emu/engine_matmul.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/simd.hpp"
#include "tests/emu/engine_problems.hpp"

namespace {
using namespace ulpscope::test;
}  // namespace

TEST_CASE("a product is the reference's in every bit: engines, kinds of operands, ragged sizes, SIMD paths") {
  Random random(1);
  for (const EngineMode& mode : engine_modes()) {
    if (mode.model.accumulator == float64) continue;
    for (const Kind kind : all_kinds) {
      const Problem p = problem_of(mode, kind, random);
      CAPTURE(mode.engine, format_name(p.a_format), format_name(p.b_format), format_name(mode.model.accumulator),
              mode.instruction, static_cast<int>(kind), p.m, p.n, p.k);
      std::vector<float> first(p.m * p.n);
      {
        const ChosenPath path(simd_paths().front());
        engine_matmul(p.request(), std::span(first));
      }

      CHECK(first_difference(p, first) == std::nullopt);

      for (const SimdPath other : simd_paths()) {
        const ChosenPath path(other);
        std::vector<float> d(p.m * p.n);
        EngineMatmul<float> request = p.request();
        request.threads = other == SimdPath::scalar ? 1 : 2;
        engine_matmul(request, std::span(d));
        std::size_t differing = 0;
        for (std::size_t at = 0; at < d.size(); ++at) differing += same(d[at], first[at]) ? 0 : 1;
        CAPTURE(name_of(other));
        CHECK(differing == 0);
      }
    }
  }
}

TEST_CASE("sums of the greatest significands do not leave 32 bits unseen") {
  for (const char* const name : {"sm_70", "sm_80", "sm_90"}) {
    Problem p{&find_engine(name, {float16, float16}), float16, float16, 1, 64, 64, {}, {}, {}, {}, {}};
    p.a.assign(p.m * p.k, 1.9990234375F);
    p.b = p.a;
    p.b.resize(p.k * p.n, 1.9990234375F);
    p.c.assign(p.m * p.n, 1.9999999F);
    std::vector<float> d(p.m * p.n);

    engine_matmul(p.request(), std::span(d));

    CHECK(first_difference(p, d) == std::nullopt);
  }
}

TEST_CASE("a sum of eight products with 27 fraction bits may take more than 31 bits") {
  EngineMode mode = find_engine("sm_80", {float16, float16});
  mode.model = block_fma(8, 27, float32, Rounding::toward_zero);
  Problem p{&mode, e5m2, e5m2, 1, 64, 16, {}, {}, {}, {}, {}};
  p.a.assign(p.m * p.k, 1.75F);
  p.b.assign(p.k * p.n, 1.75F);
  p.c.assign(p.m * p.n, 1);
  for (const SimdPath other : simd_paths()) {
    const ChosenPath path(other);
    std::vector<float> d(p.m * p.n);

    engine_matmul(p.request(), std::span(d));

    CAPTURE(name_of(other));
    CHECK(first_difference(p, d) == std::nullopt);
  }
}

TEST_CASE("a product halfway between two floats is moved by the least addend") {
  for (const float tiny : {0x1p-80F, -0x1p-80F, 0.0F}) {
    Problem p{&find_engine("x86_fma", {float32, float32}), float32, float32, 1, 64, 1, {}, {}, {}, {}, {}};
    p.a = {1 + 0x1p-12F};
    p.b.assign(p.n, 1 + 0x1p-12F);
    p.c.assign(p.n, tiny);
    for (const SimdPath other : simd_paths()) {
      const ChosenPath path(other);
      std::vector<float> d(p.n);

      engine_matmul(p.request(), std::span(d));

      CAPTURE(tiny, name_of(other));
      CHECK(first_difference(p, d) == std::nullopt);
    }
  }
}

TEST_CASE("the processor's units flush what is tiny after rounding") {
  struct Case {
    Code a, b, c;
  };
  // The sums lie within half a unit below the least normal number.
  for (const Case& x : {Case{0x0c60, 0xa778, 0x00800000}, Case{0x0900, 0x2b00, 0x80800000}}) {
    Problem p{&find_engine("avx512_bf16", {bfloat16, bfloat16}), bfloat16, bfloat16, 1, 64, 1, {}, {}, {}, {}, {}};
    p.a = {static_cast<float>(decode(bfloat16, x.a))};
    p.b.assign(p.n, static_cast<float>(decode(bfloat16, x.b)));
    p.c.assign(p.n, static_cast<float>(decode(float32, x.c)));
    for (const SimdPath other : simd_paths()) {
      const ChosenPath path(other);
      std::vector<float> d(p.n);

      engine_matmul(p.request(), std::span(d));

      CAPTURE(x.a, name_of(other));
      CHECK(d.front() == 0);
      CHECK(first_difference(p, d) == std::nullopt);
    }
  }
}

TEST_CASE("an all-ones product on sm_90 fp8 stops at 2^14, and is exact with promotion every 128 products") {
  const Engine& engine = find_engine("sm_90", {float8_e4m3fn, float8_e4m3fn}).model;
  for (const std::size_t k : {1024U, 16384U, 65536U}) {
    const std::vector<float> ones(k, 1.0F);
    EngineMatmul<float> request{};
    request.engine = engine;
    request.a = {float8_e4m3fn, ones, {1, k}};
    request.b = {float8_e4m3fn, ones, {k, 1}};
    float d = 0;

    engine_matmul(request, std::span(&d, 1));
    CHECK(d == static_cast<float>(std::min<std::size_t>(k, 16384)));

    request.promote = 128;
    engine_matmul(request, std::span(&d, 1));
    CHECK(d == static_cast<float>(k));
  }
}

TEST_CASE("parts are chains from zero, added in float32 with their scales") {
  Random random(2);
  const Format format = float8_e4m3fn;
  const std::size_t m = 9, n = 13, k = 384;
  const Engine& engine = find_engine("sm_90", {format, format}).model;
  const std::vector<float> a = random.matrix(format, Kind::ordinary, m * k), b = random.matrix(format, Kind::ordinary, k * n);
  const std::vector<float> a_scales{0.3F, 1.7F, 0.01F}, b_scales{2.5F, 0.7F, 1.1F};  // for 128 products each
  const auto part = [&](std::size_t i, std::size_t j, std::size_t begin, std::size_t end) {
    std::vector<Code> of_a, of_b;
    for (std::size_t x = begin; x < end; ++x) {
      of_a.push_back(encode(format, a[i * k + x]));
      of_b.push_back(encode(format, b[x * n + j]));
    }
    return static_cast<float>(decode(float32, inner_product(engine, format, of_a, format, of_b, 0)));
  };
  EngineMatmul<float> request{};
  request.engine = engine;
  request.a = {format, a, {m, k}};
  request.b = {format, b, {k, n}};
  std::vector<float> d(m * n);

  SECTION("promote") {
    request.promote = 128;
    engine_matmul(request, std::span(d));
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        float total = 0;
        for (std::size_t begin = 0; begin < k; begin += 128) total += part(i, j, begin, begin + 128);
        CHECK(same(d[i * n + j], total));
      }
  }
  SECTION("split K") {
    request.split_k = 2;
    engine_matmul(request, std::span(d));
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) CHECK(same(d[i * n + j], part(i, j, 0, 192) + part(i, j, 192, 384)));
  }
  SECTION("scales along K") {
    request.scale_a = {float32, a_scales, 1, 3};
    request.scale_b = {float32, b_scales, 3, 1};
    engine_matmul(request, std::span(d));
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        float total = 0;
        for (std::size_t s = 0; s < 3; ++s)
          total = std::fma(part(i, j, 128 * s, 128 * (s + 1)), a_scales[s] * b_scales[s], total);
        CHECK(same(d[i * n + j], total));
      }
  }
  SECTION("alpha, beta, c and a float16 result") {
    const std::vector<float> c = random.matrix(float32, Kind::ordinary, m * n);
    request.c = c;
    request.alpha = 0.37F;
    request.beta = -1.9F;
    request.out = float16;
    engine_matmul(request, std::span(d));
    for (std::size_t at = 0; at < m * n; ++at) {
      const float sum = std::fma(0.37F, part(at / n, at % n, 0, k), -1.9F * c[at]);
      CHECK(same(d[at], static_cast<float>(round_to(float16, sum).value)));
    }
  }
  SECTION("transposes") {
    std::vector<float> a_t(m * k), b_t(k * n), plain(m * n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t x = 0; x < k; ++x) a_t[x * m + i] = a[i * k + x];
    for (std::size_t x = 0; x < k; ++x)
      for (std::size_t j = 0; j < n; ++j) b_t[j * k + x] = b[x * n + j];
    engine_matmul(request, std::span(plain));
    request.a = {format, a_t, {k, m}, true};
    request.b = {format, b_t, {n, k}, true};
    engine_matmul(request, std::span(d));
    CHECK(d == plain);
  }
}

TEST_CASE("float64: chains of fma, pairs, and the exact sum") {
  Random random(3);
  const std::size_t m = 3, n = 4, k = 37;
  std::vector<double> a(m * k), b(k * n), d(m * n);
  for (double& x : a) x = decode(float64, random.code(float64, Kind::ordinary)) / 3;
  for (double& x : b) x = decode(float64, random.code(float64, Kind::ordinary)) / 7;
  EngineMatmul<double> request{};
  request.a = {float64, a, {m, k}};
  request.b = {float64, b, {k, n}};
  request.out = float64;
  request.engine = find_engine("fma", {float64, float64, float64}).model;

  engine_matmul(request, std::span(d));

  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t x = 0; x < k; ++x) sum = std::fma(a[i * k + x], b[x * n + j], sum);
      CHECK(d[i * n + j] == sum);
    }
}

TEST_CASE("what does not fit is refused in a line that says so") {
  const std::vector<float> x(64, 0.3F);
  const std::vector<float> halves(64, 0.5F);
  std::vector<float> d(64);
  EngineMatmul<float> request{};
  request.engine = find_engine("sm_90", {float16, float16}).model;
  request.a = {float16, halves, {8, 8}};
  request.b = {float16, halves, {8, 8}};
  const auto run = [&] { engine_matmul(request, std::span(d)); };
  CHECK_NOTHROW(run());

  SECTION("values of another format") { request.a.values = x; }
  SECTION("shapes") { request.b.shape = {4, 16}; }
  SECTION("c") { request.c = std::span(halves).first(3); }
  SECTION("promote") { request.promote = 24; }
  SECTION("split") { request.split_k = 0; }
  SECTION("scales") { request.scale_a = {float32, x, 3, 9}; }
  SECTION("blocks of scales") {
    request.scale_a = {float32, std::span(x).first(2), 1, 2};
    CHECK_NOTHROW(run());
    request.scale_a.column_block = 3;
  }
  CHECK_THROWS_AS(run(), ulpscope::Error);
}
