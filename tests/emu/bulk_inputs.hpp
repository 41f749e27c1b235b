// SPDX-License-Identifier: Apache-2.0
// The formats, options and values on which the bulk operations are compared with the scalar ones.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tests/emu/bulk_laws.hpp"
#include "tests/emu/encode_laws.hpp"

namespace ulpscope::laws {

/// The catalogue; every e8mY; kinds, sizes and biases that the catalogue does not have, some beyond float32's range or
/// precision.
inline std::vector<emu::Format> bulk_formats() {
  std::vector<emu::Format> out{{10, 30, 511, emu::Specials::ieee}, {11, 20, 1023, emu::Specials::ieee}};
  for (const emu::NamedFormat& named : emu::catalogue) out.push_back(named.format);
  for (const int bits : {3, 4, 8, 25}) out.push_back(emu::integer(bits));
  for (int y = 0; y < 23; ++y) out.push_back(emu::parse_format("e8m" + std::to_string(y) + "ieee").value());
  for (const char* word :
       {"e5m10b0",    "e5m10b14",    "e5m10b16",    "e5m10b127",      "e5m10b133",     "e5m10b150",       "e5m10b1023",
        "e2m0ieee",   "e3m0fn",      "e2m0finite",  "e3m0b4fnuz",     "e5m3fn",        "e4m3b8fnuz",      "e5m2b0fnuz",
        "e2m1b2fnuz", "e6m9b40",     "e8m23b150",   "e8m23b0",        "e8m23fnuz",     "e8m23finite",     "e8m7b0fn",
        "e8m7b149",   "e8m2b1023",   "e8m10fnuz",   "e2m3b126finite", "e2m23",         "e2m23b140finite", "e7m16b90fn",
        "e8m7b127se", "e8m7b127ue",  "e8m3b127uf",  "e8m0b127uf",     "e8m0fn",        "e8m0b127fnuz",    "e8m0b127se",
        "e8m0b127ue", "binary5p2se", "binary6p1uf", "binary15p5se",   "binary15p15ue", "binary12p4uf",    "binary3p2ue"})
    out.push_back(emu::parse_format(word).value());
  return out;
}

/// Every direction, policy and flush switch; stochastic with few and many random bits, seeds, and first indices at which a
/// counter of 32 bits, or one of 64, would wrap.
inline std::vector<How> every_way() {
  constexpr std::array<std::uint64_t, 4> seeds{0, 1, 0x0123456789abcdef, ~std::uint64_t{0}};
  constexpr std::uint64_t wrap = std::uint64_t{1} << 32;
  constexpr std::array<std::uint64_t, 7> firsts{0, 1, wrap - 3, wrap - 1000, wrap, 5 * wrap - 17, ~std::uint64_t{0} - 37};
  std::vector<How> out;
  std::size_t k = 0;
  for (const emu::Rounding rounding : emu::all_roundings)
    for (const emu::Policy policy : emu::all_policies)
      for (const bool flush : {false, true})
        for (const bool as_zero : {false, true})
          for (const int bits : {1, 7, 13, 24, 32}) {
            if (rounding != emu::Rounding::stochastic && bits != 32) continue;
            const emu::RandomBits random{seeds[k % seeds.size()], firsts[k % firsts.size()]};
            ++k;
            out.push_back({{.rounding = rounding,
                            .policy = policy,
                            .flush_subnormals = flush,
                            .subnormals_are_zero = as_zero,
                            .random_bits = bits},
                           random});
          }
  return out;
}

/// Every direction, otherwise plain.
inline std::vector<How> every_plain_way() {
  std::vector<How> out;
  for (const emu::Rounding rounding : emu::all_roundings) out.push_back({{.rounding = rounding}, {42, 0}});
  return out;
}

/// Values of all exponents, subnormals, and where float ends: of doubles also what a detour by float would round twice.
template <class Float>
std::vector<Float> values_of_all_sizes(std::mt19937_64& random) {
  std::vector<Float> out;
  if constexpr (sizeof(Float) == 4) {
    for (int i = 0; i < 300; ++i) {
      out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
      out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0x807fffffu)));
    }
  } else {
    for (int i = 0; i < 300; ++i) out.push_back(std::bit_cast<double>(random()));
    std::vector<double> borders{0x1p128, 0x1.ffffffp127, 0x1p-126, 0x1.fffffffp-127};
    for (int exponent = -152; exponent < -125; ++exponent) {  // the subnormal floats, their midpoints, and between
      borders.push_back(std::ldexp(1.0, exponent));
      borders.push_back(std::ldexp(1.5, exponent));
      borders.push_back(std::ldexp(1.0 + static_cast<double>(random() % (1u << 24)) * 0x1p-24, exponent));
    }
    out = with_neighbours<double>(borders);
  }
  return out;
}

/// Landmarks of the format with their neighbours (`all`: of every code), specials, and values of all sizes; shuffled, so that
/// neighbouring lanes have nothing in common.
template <class Float>
std::vector<Float> bulk_inputs(emu::Format format, bool all) {
  std::mt19937_64 random(20240310);
  std::vector<Float> out = values_of_all_sizes<Float>(random), more;
  if constexpr (sizeof(Float) == 4) {
    more = float_inputs(format, all, 300);
  } else {
    more = double_inputs(format, all, 300);
  }
  out.insert(out.end(), more.begin(), more.end());
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

/// The k-th part of at most `most` values.
template <class T>
std::vector<T> part_of(const std::vector<T>& values, std::size_t most, std::size_t k) {
  const std::size_t parts = (values.size() + most - 1) / most, begin = k % parts * most;
  const std::size_t end = std::min(begin + most, values.size());
  return {values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Calls action with a zero of the k-th word type, counted round, that holds a code of `format`.
template <class Action>
void with_word(emu::Format format, std::size_t k, Action action) {
  const std::size_t narrowest = format.bits() <= 8 ? 0 : format.bits() <= 16 ? 1 : format.bits() <= 32 ? 2 : 3;
  switch (narrowest + k % (4 - narrowest)) {
    case 0: return action(std::uint8_t{});
    case 1: return action(std::uint16_t{});
    case 2: return action(std::uint32_t{});
    default: return action(std::uint64_t{});
  }
}

}  // namespace ulpscope::laws
