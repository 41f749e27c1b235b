// SPDX-License-Identifier: Apache-2.0
// Elements of an operand are the same for any number of threads.
#include "products/operand.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "emu/catalogue.hpp"
#include "tensors/synthetic.hpp"

namespace ulpscope::products {
namespace {

TEST_CASE("elements are rounded alike on one thread and on several", "[products]") {
  const tensors::Tensor tensor = tensors::synthetic("normal:0,100:300001", 3);
  const std::vector<InputRounding> roundings{
      {.format = emu::float32},
      {.format = emu::float8_e4m3fn},
      {.format = emu::bfloat16, .options = {.rounding = emu::Rounding::stochastic}, .random = {.seed = 7, .first = 5}},
      input_rounding(emu::tf32)};
  for (const InputRounding& rounding : roundings) {
    RoundedElements alone{}, together{};
    const std::vector<float> one = rounded_elements<float>(tensor, rounding, alone, 1);
    for (int repeat = 0; repeat < 5; ++repeat) {
      together = {};
      const std::vector<float> some = rounded_elements<float>(tensor, rounding, together, 4);
      CHECK(std::ranges::equal(one, some, [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); }));
    }
    CHECK(alone.count == 300001);
    CHECK(together.count == alone.count);
    CHECK(together.changed == alone.changed);
    CHECK(together.lost == alone.lost);
    CHECK((alone.lost != 0) == (rounding.format == emu::float8_e4m3fn));
    CHECK((alone.changed != 0) == (rounding.format != emu::float32));
  }
}

}  // namespace
}  // namespace ulpscope::products
