// SPDX-License-Identifier: Apache-2.0
// Split products of one output, in emu and in the oracle.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "emu/split_matmul.hpp"
#include "tests/emu/split_inputs.hpp"
#include "tests/oracle/split_oracle.hpp"

namespace ulpscope::test {

inline std::vector<std::uint64_t> codes_of(std::span<const float> values) {
  std::vector<std::uint64_t> codes;
  for (const float x : values) codes.push_back(std::bit_cast<std::uint32_t>(x));
  return codes;
}

/// sm_90 and sm_80 with tf32 and bfloat16, from what is published of them; `exact`, and `fma`.
inline oracle::PartsUnit unit_of(const std::string& engine, bool tf32) {
  if (engine == "exact") return [](const oracle::InnerProduct& x) { return oracle::exactly_rounded(x, oracle::binary32); };
  if (engine == "fma") return [](const oracle::InnerProduct& x) { return oracle::fma_chain(x, oracle::binary32); };
  const bool hopper = engine == "sm_90";
  oracle::BlockFma block{hopper ? 16 : 8, hopper ? 25 : 24, oracle::binary32, 23, oracle::toward_zero, hopper ? -133L : -132L};
  if (tf32) block.products /= 2;
  return [block](const oracle::InnerProduct& x) { return oracle::block_fma(x, block); };
}

/// The element of two lines.
template <class Number>
Number split_element(const emu::SplitProduct& split, const std::vector<Number>& a, const std::vector<Number>& b) {
  emu::EngineMatmul<Number> problem{};
  constexpr bool single = sizeof(Number) == sizeof(float);
  problem.a = {single ? emu::float32 : emu::float64, a, {1, a.size()}};
  problem.b = {single ? emu::float32 : emu::float64, b, {b.size(), 1}};
  problem.out = single ? emu::float32 : emu::float64;
  problem.threads = 1;
  std::vector<Number> d(1);
  emu::split_matmul(split, problem, std::span(d));
  return d.front();
}

/// What the oracle of the words makes of the same, as a float32 code.
inline std::uint64_t oracle_element(const emu::SplitProduct& words, const std::vector<float>& a, const std::vector<float>& b) {
  const auto x = codes_of(a), y = codes_of(b);
  const auto step = static_cast<std::size_t>(std::max(words.model.products, 1));
  const oracle::PartsSum sum{unit_of(words.engine, words.part == emu::tf32), step, words.block, words.join};
  if (words.name == "3xtf32") return oracle::three_tf32(x, y, sum);
  if (words.name == "tf32x3") return oracle::tritons_tf32x3(x, y, sum);
  if (words.count == 1) return oracle::single_product({8, words.part.fraction_bits, 127, oracle::ieee}, x, y, sum);
  return oracle::bf16_products(words.name.back() - '0', x, y, sum);
}

/// The first of `count` products of random lines on which `split`, which may be broken, and the oracle of `words` differ.
inline std::optional<std::string> first_difference(const emu::SplitProduct& words, const emu::SplitProduct& split, int count,
                                                   std::uint64_t seed) {
  SplitInputs inputs(seed);
  for (int i = 0; i < count; ++i) {
    const Lines kind = all_lines[static_cast<std::size_t>(i) % all_lines.size()];
    const auto length = static_cast<std::size_t>(inputs.random().between(1, 70));
    if (words.scheme == emu::SplitScheme::parts) {
      const auto [a, b] = inputs.lines<float>(kind, length);
      const std::uint64_t expected = oracle_element(words, a, b);
      const float got = split_element(split, a, b);
      if (std::bit_cast<std::uint32_t>(got) == expected || (got != got && emu::float32.is_nan(expected))) continue;
    } else {
      const auto [a, b] = inputs.lines<double>(kind, length);
      const bool slices = words.scheme == emu::SplitScheme::slices;
      const double expected = slices ? oracle::ozaki1(a, b, words.count) : oracle::ozaki2(a, b, words.count);
      if (split_element(split, a, b) == expected) continue;
    }
    return emu::split_words(words) + ", product " + std::to_string(i) + " of kind " + std::to_string(static_cast<int>(kind)) +
           ", length " + std::to_string(length);
  }
  return std::nullopt;
}

}  // namespace ulpscope::test
