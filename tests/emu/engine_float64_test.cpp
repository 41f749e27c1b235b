// SPDX-License-Identifier: Apache-2.0
// Matrix products in float64 against the scalar reference: every engine that adds in float64, kinds of operands, SIMD paths,
// parts.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "emu/bits.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/simd.hpp"
#include "tests/emu/engine_problems.hpp"

namespace {
using namespace ulpscope::test;

bool same_double(double x, double y) { return detail::bit_cast<std::uint64_t>(x) == detail::bit_cast<std::uint64_t>(y); }

std::vector<double> doubles(Random& random, Format format, Kind kind, std::size_t count) {
  std::vector<double> out(count);
  for (double& x : out) x = decode(format, random.code(format, kind));
  return out;
}

struct DoubleProblem {
  Engine engine;
  Format format;
  std::size_t m, n, k;
  std::vector<double> a, b, c;

  DoubleProblem(const Engine& of, Format operands, Kind kind, std::size_t rows, std::size_t columns, std::size_t depth,
                Random& random)
      : engine(of), format(operands), m(rows), n(columns), k(depth) {
    a = doubles(random, format, kind, m * k);
    b = doubles(random, format, kind, k * n);
    c = doubles(random, float64, kind == Kind::any_code ? Kind::finite_code : kind, m * n);
  }
  EngineMatmul<double> request() const {
    EngineMatmul<double> request{};
    request.engine = engine;
    request.a = {format, a, {m, k}};
    request.b = {format, b, {k, n}};
    request.c = c;
    request.out = float64;
    request.threads = 1;
    return request;
  }
  double chain(std::size_t i, std::size_t j, std::size_t begin, std::size_t end, double from) const {
    std::vector<Code> of_a, of_b;
    for (std::size_t x = begin; x < end; ++x) {
      of_a.push_back(encode(format, a[i * k + x]));
      of_b.push_back(encode(format, b[x * n + j]));
    }
    return decode(float64, inner_product(engine, format, of_a, format, of_b, encode(float64, from)));
  }
};

/// How many of `samples` outputs are not the reference's.
std::size_t differences(const DoubleProblem& p, const std::vector<double>& d, Random& random, int samples) {
  std::size_t differing = 0;
  for (int s = 0; s < samples; ++s) {
    const std::size_t at = random.below(static_cast<std::uint32_t>(p.m * p.n));
    differing += same_double(d[at], p.chain(at / p.n, at % p.n, 0, p.k, p.c[at])) ? 0 : 1;
  }
  return differing;
}

std::vector<double> product(const DoubleProblem& p) {
  std::vector<double> d(p.m * p.n);
  engine_matmul(p.request(), std::span(d));
  return d;
}

Engine pairs_of(int products) {
  Engine engine = find_engine("pairwise", {float64, float64, float64}).model;
  engine.products = products;
  engine.stages[0].terms = products;
  return engine;
}

}  // namespace

TEST_CASE("float64: a product is the reference's in every bit, NaNs included, on every SIMD path") {
  Random random(11);
  for (const EngineMode& mode : engine_modes()) {
    if (mode.model.accumulator != float64 || mode.engine == "exact") continue;
    for (const Kind kind : all_kinds) {
      const Format format = mode.inputs.empty() && random.below(2) == 0 ? bfloat16 : float64;
      const std::size_t m = 1 + random.below(70);
      const std::size_t n = 1 + random.below(140);
      const std::size_t k = 1 + random.below(300);
      const DoubleProblem p(mode.model, format, kind, m, n, k, random);
      CAPTURE(mode.engine, format_name(format), static_cast<int>(kind), m, n, k);
      const std::vector<double> first = product(p);

      CHECK(differences(p, first, random, 25) == 0);

      for (const SimdPath path : simd_paths()) {
        const ChosenPath chosen(path);
        CAPTURE(name_of(path));
        const std::vector<double> d = product(p);
        CHECK(std::equal(d.begin(), d.end(), first.begin(), same_double));
      }
    }
  }
}

TEST_CASE("float64: exact sums are the reference's in every bit, whatever bounds decide of them") {
  Random random(14);
  const Engine exact = find_engine("exact", {float64, float64, float64}).model;
  for (const Format format : {float64, float32, float16})
    for (const Kind kind : all_kinds) {
      const DoubleProblem p(exact, format, kind, 5, 70, 150, random);
      CAPTURE(format_name(format), static_cast<int>(kind));
      const std::vector<double> first = product(p);

      CHECK(differences(p, first, random, 40) == 0);

      for (const SimdPath path : simd_paths()) {
        const ChosenPath chosen(path);
        CAPTURE(name_of(path));
        const std::vector<double> d = product(p);
        CHECK(std::equal(d.begin(), d.end(), first.begin(), same_double));
      }
    }
}

TEST_CASE("float64: exact sums that cancel, next to ties, overflow or are subnormal") {
  const Engine exact = find_engine("exact", {float64, float64, float64}).model;
  constexpr double tie = 0x1p-53, greatest = std::numeric_limits<double>::max();
  struct Case {
    std::vector<double> a, b;
    double c;
  };
  std::vector<Case> cases{
      {{1, tie}, {1, 1}, 0},
      {{1, tie}, {1, -1}, 0},
      {{1 + 0x1p-52, tie}, {1, 1}, 0},
      {{greatest, 1}, {1, 0x1p970}, 0},
      {{greatest, 1}, {1, 0x1.8p969}, 0},
      {{greatest, -1}, {2, greatest}, 0},
      {{0x1p-600, 1}, {0x1p-600, 0}, 0},
      {{-0x1p-600, 0}, {0x1p-600, 0}, 0},
      {{0x1.8p-540, 0x1p-537}, {0x1.4p-530, 0x1p-537}, 0},
      {{1, 1}, {0x1p-1074, -0x1p-1074}, 0},
  };
  // A tie that a far smaller product, or c, breaks either way; sums that cancel to a small product, or nearly.
  for (const int far : {-60, -100, -104, -106, -110, -200, -700, -1070})
    for (const double sign : {1.0, -1.0, 0.0}) {
      const double least = std::ldexp(sign, far);
      cases.push_back({{1, tie, std::ldexp(1.0, far / 2)}, {1, 1, std::ldexp(sign, far - far / 2)}, 0});
      cases.push_back({{1, tie, 0x1p200, -0x1p200}, {1, 1, 0x1.3p90, 0x1.3p90}, least});
      cases.push_back({{1 + 0x1p-30, -1, 1}, {1 + 0x1p-30, 1 + 0x1p-29, least}, 0});
      cases.push_back({{0x1.123456789abcdp0, -0x1.123456789abcdp0, 1}, {0x1.fedcba987654fp0, 0x1.fedcba987654fp0, least}, tie});
    }
  // The sum of errors, which is 2^-30 for a while, loses 2^-84: what is left of it is on the other side of the tie.
  const std::vector<double> loses{0x1p30, 0x1p-30, 0x1p-84, -0x1p-30, -0x1p30, 1, tie, -0x1p-86};
  cases.push_back({loses, std::vector<double>(loses.size(), 1), 0});
  cases.push_back({loses, std::vector<double>(loses.size(), -1), 0});
  Random random(15);
  for (const Case& x : cases) {
    DoubleProblem p(exact, float64, Kind::zeros, 1, 3, x.a.size(), random);
    p.a = x.a;
    for (std::size_t at = 0; at < p.b.size(); ++at) p.b[at] = x.b[at / p.n];
    p.c.assign(p.n, x.c);
    for (const SimdPath path : simd_paths()) {
      const ChosenPath chosen(path);
      CAPTURE(x.a, x.b, x.c, name_of(path));
      CHECK(differences(p, product(p), random, 1) == 0);
    }
  }
}

TEST_CASE("float64: pairs of any number of products, in steps and over the whole of K") {
  Random random(12);
  for (const int products : {1, 2, 3, 5, 8, 9, 17, 31, 64, 100, Stage::all})
    for (const std::size_t k : {1U, 7U, 8U, 9U, 40U, 127U, 129U, 400U}) {
      const DoubleProblem p(pairs_of(products), float64, k % 2 == 0 ? Kind::ordinary : Kind::zeros, 5, 67, k, random);
      CAPTURE(products, k);

      CHECK(differences(p, product(p), random, 6) == 0);
    }
}

TEST_CASE("float64: split K, promotion, scales, alpha, beta and a narrower result") {
  Random random(13);
  const std::vector<float> a_scales{0.3F, 1.7F, 0.01F}, b_scales{2.5F, 0.7F, 1.1F};  // for 128 products each
  const bool pairs = GENERATE(false, true);
  const DoubleProblem p(pairs ? pairs_of(4) : fma_chain(float64), float64, Kind::ordinary, 3, 66, 384, random);
  EngineMatmul<double> request = p.request();
  std::vector<double> d(p.m * p.n), expected(p.m * p.n), a_t(p.a.size()), b_t(p.b.size());
  const auto expect = [&](const auto& value) {
    for (std::size_t at = 0; at < p.m * p.n; at += 7) expected[at] = value(at / p.n, at % p.n, p.c[at]);
  };

  SECTION("promote") {
    request.promote = 128;
    expect([&](std::size_t i, std::size_t j, double c) {
      const double chains = 0.0 + p.chain(i, j, 0, 128, 0) + p.chain(i, j, 128, 256, 0) + p.chain(i, j, 256, 384, 0);
      return c + chains;
    });
  }
  SECTION("split K") {
    request.split_k = 2;
    expect([&](std::size_t i, std::size_t j, double c) { return c + p.chain(i, j, 0, 192, 0) + p.chain(i, j, 192, 384, 0); });
  }
  SECTION("scales along K") {
    request.scale_a = {float32, a_scales, 1, 3};
    request.scale_b = {float32, b_scales, 3, 1};
    expect([&](std::size_t i, std::size_t j, double c) {
      double total = 0;
      for (std::size_t s = 0; s < 3; ++s)
        total = std::fma(p.chain(i, j, 128 * s, 128 * (s + 1), 0),
                         static_cast<double>(a_scales[s]) * static_cast<double>(b_scales[s]), total);
      return c + total;
    });
  }
  SECTION("alpha, beta, c and a float16 result") {
    request.alpha = 0.37;
    request.beta = -1.9;
    request.out = float16;
    expect([&](std::size_t i, std::size_t j, double c) {
      return round_to(float16, std::fma(0.37, p.chain(i, j, 0, 384, 0), -1.9 * c)).value;
    });
  }
  SECTION("transposes, in threads") {
    for (std::size_t x = 0; x < p.k; ++x) {
      for (std::size_t i = 0; i < p.m; ++i) a_t[x * p.m + i] = p.a[i * p.k + x];
      for (std::size_t j = 0; j < p.n; ++j) b_t[j * p.k + x] = p.b[x * p.n + j];
    }
    request.a = {float64, a_t, {p.k, p.m}, true};
    request.b = {float64, b_t, {p.n, p.k}, true};
    request.threads = 3;
    expect([&](std::size_t i, std::size_t j, double c) { return p.chain(i, j, 0, p.k, c); });
  }
  engine_matmul(request, std::span(d));

  for (std::size_t at = 0; at < d.size(); at += 7) CHECK(same_double(d[at], expected[at]));
}

TEST_CASE("float64: tiles of several panels in both directions and of several stretches of K") {
  Random random(14);
  for (const Engine& engine : {fma_chain(float64), pairs_of(Stage::all)}) {
    const DoubleProblem p(engine, float64, Kind::ordinary, 300, 270, 140, random);
    const std::vector<double> d = product(p);

    CHECK(differences(p, d, random, 40) == 0);
  }
}

TEST_CASE("float64: operands that do not fit are refused") {
  Random random(15);
  DoubleProblem p(fma_chain(float64), float64, Kind::ordinary, 4, 5, 6, random);
  std::vector<double> d(20);
  EngineMatmul<double> request = p.request();
  CHECK_NOTHROW(engine_matmul(request, std::span(d)));

  SECTION("fewer values than the shape needs") { request.a.values = request.a.values.first(23); }
  SECTION("values of another format") { request.b.format = float16; }
  CHECK_THROWS_AS(engine_matmul(request, std::span(d)), ulpscope::Error);
}
