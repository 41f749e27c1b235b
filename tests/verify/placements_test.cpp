// SPDX-License-Identifier: Apache-2.0
// Results in the wrong place, sums in parts of 16 bits, products taken twice, and a search that runs out of time.
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

  products::Product claim() const {
    return {.engine = "fma",
            .a = {{tensors::from_values("A", {m, k}, a)}, {emu::bfloat16}, {}},
            .b = {{tensors::from_values("B", {k, n}, b)}, {emu::bfloat16}, {}},
            .acc = emu::float32,
            .out = emu::float32,
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
  CHECK(with([](auto& d) {
          for (std::size_t i = 0; i < m; ++i) d[i * n + 3] = 0;
        }) == "D=zero-column");
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
