// SPDX-License-Identifier: Apache-2.0
// Parts of a split K in any order, infinities and NaN among them.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "emu/catalogue.hpp"
#include "verify/engine_output.hpp"
#include "verify/verdict.hpp"

namespace {
using namespace ulpscope;

constexpr float infinite = std::numeric_limits<float>::infinity(), no_number = std::numeric_limits<float>::quiet_NaN();

bool same(float x, float y) { return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y); }

/// Whether the sum of these parts is `d` in some order.
bool is_right(const std::vector<float>& parts, float d) {
  const std::size_t k = parts.size();
  const products::Product product{.engine = "fma",
                                  .a = {{tensors::from_values("a", {1, k}, parts)}, {emu::float32}, {}},
                                  .b = {{tensors::from_values("b", {k, 1}, std::vector<float>(k, 1))}, {emu::float32}, {}},
                                  .c = {},
                                  .acc = emu::float32,
                                  .out = emu::float32,
                                  .beta = {},
                                  .split_k = k};
  const auto expectation = verify::expect_engine(product, verify::ReductionOrder::any);
  return verify::verify(*expectation, tensors::from_values("d", {1, 1}, std::vector<float>{d}),
                        {.last = {emu::float32}, .threads = 1})
             .wrong() == 0;
}

/// The same by all orders of their places.
bool some_order_gives(const std::vector<float>& parts, float d) {
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    float sum = 0;
    for (const std::size_t i : order) sum += parts[i];
    if (same(sum, d)) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

}  // namespace

TEST_CASE("in any order a NaN is right that some order gives", "[verify][matmul]") {
  CHECK(is_right({3e38F, -infinite, 3e38F}, no_number));
  CHECK(is_right({3e38F, -infinite, 3e38F}, -infinite));
  CHECK_FALSE(is_right({3e38F, -infinite, 3e38F}, infinite));
  CHECK_FALSE(is_right({3e38F, -infinite, 1}, no_number));
  CHECK(is_right({1, no_number, 3e38F}, no_number));
  CHECK_FALSE(is_right({1, no_number, 3e38F}, 3e38F));
}

TEST_CASE("in any order what all orders give is right, and nothing else", "[verify][matmul]") {
  const std::array<float, 9> values{3e38F, 2e38F, -3e38F, infinite, -infinite, no_number, 1, -1e31F, 0x1p-30F};
  std::mt19937 random(1);
  int right = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<float> parts;
    for (int p = 0; p < 5; ++p) {
      const std::size_t from = random() % 4 == 0 ? values.size() : 3;  // mostly numbers
      parts.push_back(values[random() % from]);
    }
    for (const float d : {infinite, -infinite, no_number, 3e38F, 1.0F}) {
      CAPTURE(parts, d);
      const bool expected = some_order_gives(parts, d);
      CHECK(is_right(parts, d) == expected);
      right += expected ? 1 : 0;
    }
  }
  CHECK(right > 300);
}
