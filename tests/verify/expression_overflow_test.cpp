// SPDX-License-Identifier: Apache-2.0
// Sums of products in formulas near the end of float32, against what plain loops make of them in every order.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/verify/operations_data.hpp"
#include "verify/check.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using operations::infinite;
using operations::no_number;

constexpr std::size_t terms = 4;
using Terms = std::array<float, terms>;

/// What loops return for x times w: one after another in every order, with and without fused multiply-adds, and in pairs.
std::vector<float> in_every_order(const Terms& x, const Terms& w) {
  std::array<std::size_t, terms> order{0, 1, 2, 3};
  std::vector<float> all;
  do {
    float sum = 0, fused = 0;
    for (const std::size_t k : order) {
      const float product = x[k] * w[k];
      sum += product;
      fused = std::fma(x[k], w[k], fused);
    }
    const auto pair = [&](std::size_t i) { return x[order[i]] * w[order[i]] + x[order[i + 1]] * w[order[i + 1]]; };
    all.insert(all.end(), {sum, fused, pair(0) + pair(2)});
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

bool same(float x, float y) { return (std::isnan(x) && std::isnan(y)) || x == y; }
bool is_among(float x, const std::vector<float>& all) {
  return std::any_of(all.begin(), all.end(), [x](float y) { return same(x, y); });
}

/// Whether `output` is right for x times w; a second row is in range.
bool passes(const std::string& formula, const Terms& x, const Terms& w, float output) {
  std::vector<float> rows(x.begin(), x.end());
  rows.insert(rows.end(), {0.75F, 0, 0, 0});
  const float in_range = formula.find("/ 0.75") == std::string::npos ? 0.75F * w[0] : w[0];
  return verify::check_output({.operation = "expr",
                               .inputs = {{"x", rows, {2, terms}}, {"w", std::vector<float>(w.begin(), w.end()), {terms}}},
                               .options = {{"formula", formula}}},
                              std::vector<float>{output, in_range})
             .outcome == verify::Outcome::pass;
}

}  // namespace

TEST_CASE("a product of matrices in a formula admits what some order makes of infinities, and no other",
          "[verify][expressions]") {
  std::mt19937_64 random(7);
  constexpr std::array<float, 6> numbers{2.25e38F, -2.25e38F, 0.75e38F, -0.75e38F, infinite, -infinite};
  std::size_t nan_beside_infinity = 0, nan_beside_numbers = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Terms x{}, w{}, divided{};
    for (std::size_t k = 0; k < terms; ++k) {
      const std::size_t some = random() % 2 == 0 ? 4 : numbers.size();
      x[k] = numbers[random() % some];
      w[k] = random() % 2 == 0 ? 1.0F : -1.0F;
      divided[k] = x[k] / 0.75F;
    }
    const auto check = [&](const std::string& formula, const Terms& of) {
      const std::vector<float> right = in_every_order(of, w);
      CAPTURE(formula, of, w);
      for (const float output : right) {
        CAPTURE(output);
        CHECK(passes(formula, x, w, output));
      }
      for (const float output : {infinite, -infinite, no_number}) {
        CAPTURE(output);
        CHECK(passes(formula, x, w, output) == is_among(output, right));
      }
      const bool has_nan = is_among(no_number, right);
      nan_beside_infinity += has_nan && is_among(infinite, right) != is_among(-infinite, right) ? 1 : 0;
      nan_beside_numbers += has_nan && std::any_of(right.begin(), right.end(), [](float y) { return std::isfinite(y); });
    };
    check("x @ w", x);
    check("einsum(\"ik,k->i\", x, w)", x);
    check("(x / 0.75) @ w", divided);
  }
  CHECK(nan_beside_infinity > 20);
  CHECK(nan_beside_numbers > 20);
}

TEST_CASE("products in a formula overflow that float64 sums lose beside those of the other sign", "[verify][expressions]") {
  // 2^137 and -2^194: both leave the range of float32.
  const Terms x{0x1p67F, -0x1p97F, 0, 0}, w{0x1p70F, 0x1p97F, 1, 1};
  for (const char* formula : {"x @ w", "sum(x * w, axis=-1)"}) {
    const auto is_right = [&](float output) { return passes(formula, x, w, output); };
    CAPTURE(formula);
    CHECK(is_right(no_number));
    CHECK(is_right(-infinite));
    CHECK_FALSE(is_right(0));
  }
}
