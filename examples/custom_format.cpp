// SPDX-License-Identifier: Apache-2.0
// A format of one's own, known to the compiler or read from a word, and stochastic rounding that can be repeated.
#include <cstdint>
#include <cstdio>

#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"

using namespace ulpscope::emu;

constexpr Format narrow{.exponent_bits = 4, .fraction_bits = 2, .bias = 7, .specials = Specials::finite};
static_assert(max_finite(narrow) == 448);  // every code is a number: 1.75 * 2^8

int main() {
  const auto same = parse_format("e4m2finite");
  std::printf("%s is %s: %s\n", format_name(narrow).c_str(), format_name(*same).c_str(), narrow == *same ? "yes" : "no");

  // 1.1 lies 0.4 of the way from 1 to 1.25: the mean of many roundings is 1.1 again.
  const RoundingOptions stochastic{.rounding = Rounding::stochastic, .random_bits = 16};
  constexpr std::uint64_t seed = 42, draws = 100'000;
  double sum = 0;
  for (std::uint64_t i = 0; i < draws; ++i) sum += round_to(narrow, 1.1, stochastic, rounding_bits(seed, i)).value;
  std::printf("nearest_even %.4f, stochastic mean %.3f\n", round_to(narrow, 1.1).value, sum / draws);
}
