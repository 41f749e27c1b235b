// SPDX-License-Identifier: Apache-2.0
// The inputs on which conversions are compared, and the search for the first one that tells two of them apart.
// Shares nothing with emu.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

namespace peers {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the random word number `index`.
constexpr std::uint64_t random_word(std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// Words of `width` bits on and one to each side of 2^k and 3 * 2^k: ties below an even and an odd last bit, wherever a format
/// cuts, and what a sticky bit must not lose.
inline std::vector<std::uint64_t> low_patterns(int width) {
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  std::vector<std::uint64_t> patterns;
  for (int k = 0; k < width; ++k)
    for (const std::uint64_t centre : {std::uint64_t{1} << k, std::uint64_t{3} << k})
      for (const std::uint64_t word : {centre - 1, centre, centre + 1}) patterns.push_back(word & mask);
  std::sort(patterns.begin(), patterns.end());
  patterns.erase(std::unique(patterns.begin(), patterns.end()), patterns.end());
  return patterns;
}

/// Every upper half of a float's word with every low pattern, and 10^6 random words.
inline std::vector<float> make_floats() {
  const auto lows = low_patterns(16);
  std::vector<float> all;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (const std::uint64_t low : lows) all.push_back(std::bit_cast<float>(high << 16 | static_cast<std::uint32_t>(low)));
  for (std::uint64_t i = 0; i < 1'000'000; ++i) all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random_word(i))));
  return all;
}

/// Every sign, leading 4 fraction bits and exponent near float's range (and the two least and greatest) with every low pattern
/// of the other 48 bits; 10^6 random words, and 10^6 with exponents near half's range.
inline std::vector<double> make_doubles() {
  const auto lows = low_patterns(48);
  std::vector<double> all;
  for (std::uint64_t high = 0; high < 0x10000; ++high) {
    const auto exponent = static_cast<int>(high >> 4 & 0x7ff) - 1023;
    if (exponent > -1022 && exponent < 1023 && (exponent < -160 || exponent > 135)) continue;
    for (const std::uint64_t low : lows) all.push_back(std::bit_cast<double>(high << 48 | low));
  }
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    const std::uint64_t word = random_word(i), exponent = 1023 - 30 + random_word(~i) % 50;
    all.push_back(std::bit_cast<double>(word));
    all.push_back(std::bit_cast<double>((word & 0x800fffffffffffffU) | exponent << 52));
  }
  return all;
}

template <class Float>
const std::vector<Float>& inputs() {
  static const std::vector<Float> all = [] {
    if constexpr (std::is_same_v<Float, float>)
      return make_floats();
    else
      return make_doubles();
  }();
  return all;
}

/// The bits of the first input on which `judge` says no.
template <class Float, class Judge>
auto first_difference(Judge judge) {
  using Word = std::conditional_t<std::is_same_v<Float, float>, std::uint32_t, std::uint64_t>;
  std::optional<Word> found;
  for (const Float x : inputs<Float>())
    if (!found && !judge(x)) found = std::bit_cast<Word>(x);
  return found;
}

/// Whether this build visits all floats in seconds; without optimisation or with a sanitizer it takes minutes.
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool fast_build = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool fast_build = false;
#else
inline constexpr bool fast_build = true;
#endif
#else
inline constexpr bool fast_build = true;
#endif

/// The same over all 2^32 floats, on two threads; the lowest word of either half.
template <class Judge>
std::optional<std::uint32_t> first_difference_of_all_floats(Judge judge) {
  std::optional<std::uint32_t> found[2];
  const auto sweep = [&](std::uint32_t half) {
    for (std::uint32_t low = 0; low < 0x80000000U; ++low) {
      const std::uint32_t word = half << 31 | low;
      if (judge(std::bit_cast<float>(word))) continue;
      found[half] = word;
      return;
    }
  };
  std::thread negative(sweep, 1U);
  sweep(0U);
  negative.join();
  return found[0] ? found[0] : found[1];
}

/// The bits of a small class type.
template <class Word, class T>
Word bits_of(const T& value) {
  static_assert(sizeof(Word) <= sizeof value);
  Word word;
  std::memcpy(&word, &value, sizeof word);  // the first element where T is a vector
  return word;
}

}  // namespace peers
