// SPDX-License-Identifier: Apache-2.0
// What the order of additions and the accumulator cost: a dot product of 16384 normal float16 numbers in four orders and three
// accumulators, each beside the exact value.
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/philox.hpp"
#include "emu/special_functions.hpp"
#include "emu/summation_error.hpp"

using namespace ulpscope::emu;

std::vector<std::uint16_t> normal_halves(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint16_t> out;
  for (std::uint64_t i = 0; i < count; ++i)
    out.push_back(static_cast<std::uint16_t>(encode(fp16, normal_quantile((random_word(seed, i) + 0.5) * 0x1p-32))));
  return out;
}

int main() {
  const auto a = normal_halves(16384, 1), b = normal_halves(16384, 2);
  const std::pair<const char*, SummationOptions> orders[] = {
      {"sequential", {.order = Summation::sequential}},
      {"blocked by 32", {.order = Summation::blocked, .block_terms = 32}},
      {"pairwise", {.order = Summation::pairwise}},
      {"kahan", {.order = Summation::kahan}}};
  std::printf("exact %.9g; errors in ulp of the accumulator\n%-14s %10s %10s %10s\n", exact_dot(fp16, a, fp16, b, fp64).value,
              "", "float16", "bfloat16", "float32");
  for (const auto& [name, options] : orders) {
    std::printf("%-14s", name);
    for (const Format accumulator : {fp16, bf16, fp32})
      std::printf(" %10.2f", dot_error(fp16, a, fp16, b, accumulator, options).error_ulp);
    std::puts("");
  }
}
