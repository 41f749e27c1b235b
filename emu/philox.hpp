// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, a counter-based generator: the bits of element i depend on i and the seed alone, never on order or threads.
// Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11, section 4.
#pragma once

#include <cstdint>

#include "emu/config.hpp"

namespace ulpscope::emu {

namespace detail {
// Multipliers and the Weyl increments of the key (golden ratio, sqrt(3) - 1): the paper's constants.
inline constexpr std::uint64_t philox_multiplier0 = 0xD2511F53, philox_multiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t philox_weyl0 = 0x9E3779B9, philox_weyl1 = 0xBB67AE85;
inline constexpr int philox_rounds = 10;
}  // namespace detail

/// 128 random bits.
struct PhiloxBlock {
  std::uint32_t word[4];  ///< the least significant first
};

/// Ten rounds over the 128-bit counter {low 64 bits, high 64 bits} under a 64-bit key.
ULPSCOPE_INLINE constexpr PhiloxBlock philox4x32(std::uint64_t key, std::uint64_t counter,
                                                 std::uint64_t counter_high = 0) noexcept {
  auto c0 = static_cast<std::uint32_t>(counter), c1 = static_cast<std::uint32_t>(counter >> 32);
  auto c2 = static_cast<std::uint32_t>(counter_high), c3 = static_cast<std::uint32_t>(counter_high >> 32);
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < detail::philox_rounds; ++round) {
    const std::uint64_t product0 = detail::philox_multiplier0 * c0, product1 = detail::philox_multiplier1 * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(product1);
    c3 = static_cast<std::uint32_t>(product0);
    k0 += detail::philox_weyl0;
    k1 += detail::philox_weyl1;
  }
  return {{c0, c1, c2, c3}};
}

/// Elements whose random bits are the words of one block.
inline constexpr std::uint64_t elements_a_block = 4;
/// Counts the rules for them there have been, for what keeps results of stochastic rounding: under the first each element had a
/// block of its own, and took its first word.
inline constexpr int rounding_bits_version = 2;

/// The 32 random bits that stochastic rounding uses for element `index`.
ULPSCOPE_INLINE constexpr std::uint32_t rounding_bits(std::uint64_t seed, std::uint64_t index) noexcept {
  return philox4x32(seed, index / elements_a_block).word[index % elements_a_block];
}

/// A random word of its own for each number, for all else.
ULPSCOPE_INLINE constexpr std::uint32_t random_word(std::uint64_t seed, std::uint64_t number) noexcept {
  return philox4x32(seed, number).word[0];
}

}  // namespace ulpscope::emu
