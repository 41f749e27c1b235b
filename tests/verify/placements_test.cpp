// SPDX-License-Identifier: Apache-2.0
// Results in the wrong place or times a factor, sums in parts of 16 bits, products taken twice, and a search that runs out of
// time.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/verify/operations_data.hpp"
#include "verify/explain/explain.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;
using verify::ExplainVerdict;

constexpr std::size_t m = 48, n = 40, k = 64;

struct Problem {
  std::vector<float> a, b;
  emu::Format out = emu::float32;
  double alpha = 1;

  products::Product claim() const {
    return {.engine = "fma",
            .a = {{tensors::from_values("A", {m, k}, a)}, {emu::bfloat16}, {}},
            .b = {{tensors::from_values("B", {k, n}, b)}, {emu::bfloat16}, {}},
            .acc = emu::float32,
            .out = out,
            .alpha = alpha,
            .beta = {}};
  }
  float term(std::size_t i, std::size_t j, std::size_t at) const { return a[i * k + at] * b[at * n + j]; }
  std::vector<float> each(const std::function<float(std::size_t, std::size_t)>& element) const {
    std::vector<float> d;
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) d.push_back(element(i, j));
    return d;
  }
  /// Products of two bfloat16 are float32 numbers: a chain of fma.
  float sum(std::size_t i, std::size_t j, std::size_t first, std::size_t end, float start = 0) const {
    for (std::size_t at = first; at < end; ++at) start += term(i, j, at);
    return start;
  }
  std::vector<float> right() const {
    return each([&](std::size_t i, std::size_t j) { return sum(i, j, 0, k); });
  }
  verify::ExplainResult explained(const std::vector<float>& d, double seconds = 0) const {
    return verify::explain({.product = claim(), .d = tensors::from_values("D", {m, n}, d), .seconds = seconds});
  }
  std::string named(const std::vector<float>& d) const {
    const auto result = explained(d);
    if (result.verdict != ExplainVerdict::explained) return std::string(name_of(result.verdict));
    return result.findings.front().hypothesis.word();
  }
};

Problem problem() {
  std::mt19937_64 random(11);
  return {normals(random, m * k, 1, emu::bfloat16), normals(random, k * n, 1, emu::bfloat16)};
}

/// Element (i, j) of the 8x8 tile at (16, 24).
std::size_t in_tile(std::size_t i, std::size_t j, std::size_t row = 16, std::size_t column = 24) {
  return (row + i) * n + column + j;
}

}  // namespace

TEST_CASE("results in the wrong place are told, each by its kind", "[verify][explain]") {
  const Problem in = problem();
  const std::vector<float> right = in.right();
  const auto with = [&](const std::function<void(std::vector<float>&)>& fault) {
    std::vector<float> d = right;
    fault(d);
    return in.named(d);
  };
  const auto tile = [&](const std::function<float(std::size_t, std::size_t)>& value) {
    return with([&](std::vector<float>& d) {
      for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < 8; ++j) d[in_tile(i, j)] = value(i, j);
    });
  };
  CHECK(tile([&](auto i, auto j) { return 2 * right[in_tile(i, j)]; }) == "D=tile-doubled:8");
  CHECK(tile([&](auto i, auto j) { return right[in_tile(j, i)]; }) == "D=tile-transposed:8");
  CHECK(tile([&](auto i, auto j) { return right[in_tile(i, j, 16, 16)]; }) == "D=tile-stale:8");
  CHECK(tile([&](auto i, auto j) { return right[in_tile(i, j)] + right[in_tile(i, j, 8, 24)]; }) == "D=tile-added:8");
  CHECK(with([](auto& d) { std::fill(d.begin() + 7 * n, d.begin() + 8 * n, 0.0F); }) == "D=zero-row");
  const auto zero_column = with([](auto& d) {
    for (std::size_t i = 0; i < m; ++i) d[i * n + 3] = 0;
  });
  CHECK(zero_column == "D=zero-column");
  CHECK(with([](auto& d) { std::swap(d[100], d[1205]); }) == "D=swapped");
  CHECK(with([](auto& d) { d[100] = d[1205]; }) == "D=moved");
  // Neither of them: half of the tile doubled, a row of zeros but for one, an element that is none of D.
  CHECK(tile([&](auto i, auto j) { return (i < 4 ? 2 : 1.5F) * right[in_tile(i, j)]; }) == "unexplained");
}

TEST_CASE("parts and sums in bfloat16, and products taken twice, are told", "[verify][explain]") {
  const Problem in = problem();
  constexpr emu::Format bf16 = emu::bfloat16;
  CHECK(in.named(in.each([&](auto i, auto j) {
    float sum = 0;
    for (std::size_t part = 0; part < k; part += 16) sum += as(bf16, in.sum(i, j, part, part + 16));
    return sum;
  })) == "split-k=4/bfloat16");
  CHECK(in.named(in.each([&](auto i, auto j) {
    float sum = 0;
    for (std::size_t part = 0; part < k; part += 16) sum = as(bf16, in.sum(i, j, part, part + 16, sum));
    return sum;
  })) == "accumulator=bfloat16x16");
  CHECK(in.named(in.each([&](auto i, auto j) { return in.sum(i, j, k - 16, k, in.sum(i, j, 0, k)); })) == "last-twice:16");
}

TEST_CASE("parts that are added onto a D of 16 bits are told", "[verify][explain]") {
  Problem in = problem();
  for (const emu::Format format : {emu::bfloat16, emu::float16}) {
    const std::string name = format == emu::bfloat16 ? "bfloat16" : "float16";
    in.out = format;
    const auto part = [&](auto i, auto j, std::size_t s) { return in.sum(i, j, s * 16, s * 16 + 16); };
    const auto onto = [format](float d, float x) { return as(format, d + x); };  // of 16 bits both: rounded once
    CAPTURE(name);
    CHECK(in.named(in.each([&](auto i, auto j) {
      float d = 0;
      for (const std::size_t s : {0U, 1U, 2U, 3U}) d = onto(d, as(format, part(i, j, s)));
      return d;
    })) == "split-k=4/" + name + ",added");
    CHECK(in.named(in.each([&](auto i, auto j) {
      float d = 0;
      for (const std::size_t s : {3U, 2U, 1U, 0U}) d = onto(d, as(format, part(i, j, s)));
      return d;
    })) == "split-k=4/" + name + ",added,descending");
    // A chain that starts from the sum so far gives nearly the same.
    const auto result = in.explained(in.each([&](auto i, auto j) {
      float d = 0;
      for (const std::size_t s : {0U, 1U, 2U, 3U}) d = onto(d, part(i, j, s));
      return d;
    }));
    CHECK(result.verdict == ExplainVerdict::explained);
    CHECK(std::ranges::any_of(result.findings, [&](const verify::Finding& finding) {
      return finding.matched == result.count && finding.hypothesis.word() == "split-k=4,added/" + name;
    }));
    ;
  }
}

TEST_CASE("a factor of all of D is told, by what it is", "[verify][explain]") {
  Problem in = problem();
  const auto times = [&](double factor) {
    return in.named(in.each([&](auto i, auto j) {
      const float sum = in.sum(i, j, 0, k), d = in.alpha == 1 ? sum : static_cast<float>(in.alpha) * sum;
      return as(in.out, static_cast<float>(factor) * d);
    }));
  };
  CHECK(times(0.5) == "D=times:0.5");
  CHECK(times(-1) == "D=times:-1");
  CHECK(times(1.25) == "D=times:1.25");
  CHECK(times(0.125) == "D=times:0.125");        // 1 / sqrt(64)
  CHECK(times(0.015625) == "D=times:0.015625");  // 1 / 64
  CHECK(times(static_cast<double>(0x1.3579bep+0F)).starts_with("D=times:1.2088"));
  CHECK(times(2) == "D=doubled");
  in.out = emu::bfloat16;
  CHECK(times(0.5) == "D=times:0.5");
  CHECK(times(-1.25) == "D=times:-1.25");  // the sum times this, not the bfloat16 of it
  in.alpha = 0.7;
  CHECK(times(0.7) == "D=times:0.7");
  CHECK(times(1 / 0.7) == "alpha=none");
}

TEST_CASE("a factor is told beside another cause, and not of what any factor explains", "[verify][explain]") {
  const Problem in = problem();
  CHECK(in.named(in.each([&](auto i, auto j) {
    float sum = 0;
    for (std::size_t part = 0; part < k; part += 16) sum += in.sum(i, j, part, part + 16);
    return -0.5F * sum;
  })) == "split-k=4 + D=times:-0.5");

  const products::Product one{.engine = "fma",
                              .a = {{tensors::from_values("A", {1, 2}, std::vector<float>{3, 5})}, {emu::float32}, {}},
                              .b = {{tensors::from_values("B", {2, 1}, std::vector<float>{7, 11})}, {emu::float32}, {}},
                              .acc = emu::float32,
                              .out = emu::float32,
                              .beta = {}};
  const auto result = verify::explain({.product = one, .d = tensors::from_values("D", {1, 1}, std::vector<float>{91.7F})});
  CHECK(result.verdict != ExplainVerdict::explained);
}

TEST_CASE("a search that runs out of time says so", "[verify][explain]") {
  const Problem in = problem();
  std::mt19937_64 random(12);
  std::vector<float> noise = in.right();
  for (float& x : noise) x *= 1 + static_cast<float>(random() % 64) * 0x1p-20F;

  const auto stopped = in.explained(noise, 1e-6);

  CHECK(stopped.verdict == ExplainVerdict::unexplained);
  CHECK(stopped.skipped > stopped.tried / 2);
  REQUIRE(!verify::remarks(stopped).empty());
  CHECK(verify::remarks(stopped).front().starts_with("stopped after 1e-06 seconds"));
  CHECK(in.explained(in.right()).skipped == 0);
}
