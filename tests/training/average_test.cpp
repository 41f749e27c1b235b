// SPDX-License-Identifier: Apache-2.0
// The weights' moving average: where bfloat16 stands still, and the others against the formula.
#include "training/state/average.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "training/state/lerp.hpp"

namespace ulpscope::training {
namespace {

using Tensors = std::vector<std::vector<float>>;

TEST_CASE("an average with decay 0.9999 stands still in bfloat16, and in float32 it does not", "[training]") {
  // From 1 the weights go to 2 and stay there: a step is 1e-4, half an ulp of bfloat16 2^-8. float32's is 2^-24 at most.
  const auto after = [](emu::Format format, int steps, UpdateCounts& all) {
    WeightAverage<float> average;
    const Storage storage{format, {}};
    CHECK(follow(average, Tensors{{1}}, 0.9999, storage).wanted == 0);
    for (int step = 0; step < steps; ++step) {
      const UpdateCounts counts = follow(average, Tensors{{2}}, 0.9999, storage);
      all.elements += counts.elements, all.wanted += counts.wanted, all.lost += counts.lost;
    }
    return average.tensors[0][0];
  };
  constexpr int steps = 5000;
  UpdateCounts narrow, wide;
  CHECK(after(emu::bfloat16, steps, narrow) == 1);
  CHECK(narrow.elements == steps);
  CHECK(narrow.wanted == steps);
  CHECK(narrow.lost == steps);
  // The formula gives 2 - 0.9999^n; each step is off by the rounding of the sum, 2^-24, and of the step, far less.
  const double expected = 2 - std::pow(0.9999, steps);
  CHECK(std::fabs(static_cast<double>(after(emu::float32, steps, wide)) - expected) < steps * 0x1.1p-24);
  CHECK(wide.lost == 0);
  // float16: half an ulp from 1 to 2 is 2^-11, 4.9e-4.
  UpdateCounts half;
  CHECK(after(emu::float16, 100, half) == 1);
  CHECK(half.lost == 100);
}

TEST_CASE("averages in float64 follow the formula for every decay", "[training]") {
  const double decay = GENERATE(0.0, 0.3, 0.5, 0.9, 0.999, 1.0);
  WeightAverage<double> average;
  std::vector<long double> expected;
  std::uint64_t state = 3;
  for (int step = 0; step < 50; ++step) {
    std::vector<double> weights;
    for (int i = 0; i < 5; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      weights.push_back(static_cast<double>(state >> 11) * 0x1p-52 - 1);
    }
    if (expected.empty()) expected.assign(weights.begin(), weights.end());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto w = static_cast<long double>(weights[i]), d = static_cast<long double>(decay);
      expected[i] = d * expected[i] + (1 - d) * w;
    }
    follow(average, {weights, {}}, decay, {emu::float64, {}});
  }
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(std::fabs(static_cast<long double>(average.tensors[0][i]) - expected[i]) < 1e-15L);
  CHECK(average.tensors[1].empty());
}

TEST_CASE("a step is taken from the nearer end, as torch takes it", "[training]") {
  CHECK(lerp(0x1p30F, 1.0F, 1.0F) == 1);
  CHECK(lerp(1.0F, 0x1p30F, 0.0F) == 1);
  CHECK(lerp(0x1p30F, 1.0F, 0.5F) == 0x1p29F);
  CHECK(lerp(1.0, 3.0, 0.25) == 1.5);
}

TEST_CASE("averages begin as the stored weights, and know their sizes", "[training]") {
  WeightAverage<float> average;
  follow(average, Tensors{{0.1F}}, 0.9, {emu::bfloat16, {}});
  CHECK(average.tensors[0][0] == 0x1.9ap-4F);
  CHECK_THROWS_AS(follow(average, Tensors{{1, 2}}, 0.9, {}), Error);
  CHECK_THROWS_AS(follow(average, Tensors{{1}, {2}}, 0.9, {}), Error);
}

}  // namespace
}  // namespace ulpscope::training
