// SPDX-License-Identifier: Apache-2.0
// By how much the sizes of lines may fall short of a sum of magnitudes.
#include "verify/line_sizes.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "emu/catalogue.hpp"

namespace {

using namespace ulpscope;

constexpr float infinite = std::numeric_limits<float>::infinity();

/// Of one row and one column.
double most(const std::vector<float>& a, const std::vector<float>& b) {
  const std::size_t k = b.size();
  const products::Product problem{.engine = "",
                                  .a = {{tensors::from_values("a", {1, k}, a)}, {emu::float32}, {}},
                                  .b = {{tensors::from_values("b", {k, 1}, b)}, {emu::float32}, {}},
                                  .c = {},
                                  .acc = emu::float32,
                                  .out = emu::float32,
                                  .beta = {}};
  const products::LoadedOperand<float> of_a(problem.a, products::MatmulSide::a, k), of_b(problem.b, products::MatmulSide::b, k);
  return verify::LineSizes(problem, of_a, of_b, infinite).most(0);
}

}  // namespace

TEST_CASE("no more is missing of the sum of magnitudes than its roundings lose", "[verify][matmul]") {
  constexpr std::size_t k = 1 << 16;
  constexpr std::uint64_t large = std::uint64_t{1} << 53, exact = large + k - 1;
  std::vector<float> a(k, 1);
  a[0] = -0x1p53F;  // which is the same in float64 when 1 is added

  const auto found = static_cast<std::uint64_t>(most(a, std::vector<float>(k, 1)));

  CHECK(found < exact);
  CHECK(exact - found <= k + 3);
}

TEST_CASE("zeros by an infinite column have a size of NaN", "[verify][matmul]") {
  CHECK(std::isnan(most({0, 0}, {infinite, 1})));
  CHECK(most({0, 1}, {infinite, 1}) == HUGE_VAL);
}
