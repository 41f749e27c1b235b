// SPDX-License-Identifier: Apache-2.0
// Whole tensors at the speed of memory: a sum of many small updates, in codes of 8 bits, to nearest and stochastically.
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"

int main() {
  using namespace ulpscope::emu;
  constexpr std::size_t weights = 1 << 16;
  constexpr int steps = 100;
  constexpr float update = 1.0F / 256;  // a 32nd of e4m3's spacing at 1

  for (const Rounding rounding : {Rounding::nearest_even, Rounding::stochastic}) {
    std::vector<float> values(weights, 1.0F);
    std::vector<std::uint8_t> codes(weights);
    for (int step = 0; step < steps; ++step) {
      for (float& x : values) x += update;
      // Each element's random bits follow from the seed and its index alone.
      const RandomBits random{.seed = 1, .first = static_cast<std::uint64_t>(step) * weights};
      encode(e4m3, std::span<const float>(values), std::span(codes), {.rounding = rounding}, random);
      decode(e4m3, std::span<const std::uint8_t>(codes), std::span(values));
    }
    double sum = 0;
    for (const float x : values) sum += static_cast<double>(x);
    std::printf("%-12s mean weight %.4f, exact %.4f\n", rounding == Rounding::stochastic ? "stochastic" : "nearest_even",
                sum / weights, 1 + static_cast<double>(steps) * static_cast<double>(update));
  }
}
