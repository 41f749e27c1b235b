// SPDX-License-Identifier: Apache-2.0
// The tables, decade by decade, and the search in them.
#include "training/state/dynamic_map.hpp"

#include <algorithm>

namespace ulpscope::training {
namespace {

constexpr int decades = 7;  // max_exponent_bits

DynamicMap made(MapSigns signs) noexcept {
  DynamicMap map{};
  std::size_t size = 0;
  double below = 1e6;  // the decade is 10^-6, 10^-5, ... 1: divisors are whole numbers, which doubles hold
  for (int decade = 0; decade < decades; ++decade, below /= 10) {
    const std::uint64_t pieces = std::uint64_t{1} << (signs == MapSigns::both ? decade : decade + 1);
    for (std::uint64_t i = 0; i < pieces; ++i) {
      // (0.1 + 0.9 (i + 1/2) / pieces) / below as a quotient of whole numbers: rounded to float64, then to float32, which
      // is what rounding once gives for each of these.
      const auto dividend = static_cast<double>(2 * pieces + 9 * (2 * i + 1));
      const auto x = static_cast<float>(dividend / (static_cast<double>(20 * pieces) * below));
      map[size++] = x;
      if (signs == MapSigns::both) map[size++] = -x;
    }
  }
  map[size++] = 0;
  map[size++] = 1;
  std::sort(map.begin(), map.end());
  return map;
}

}  // namespace

const DynamicMap& dynamic_map(MapSigns signs) noexcept {
  static const DynamicMap both = made(MapSigns::both), positive = made(MapSigns::positive);
  return signs == MapSigns::both ? both : positive;
}

std::size_t nearest_in(const DynamicMap& map, float x) noexcept {
  const auto above = static_cast<std::size_t>(std::lower_bound(map.begin(), map.end(), x) - map.begin());
  if (above == 0) return 0;
  if (above == map.size()) return map.size() - 1;
  const float middle = (map[above - 1] + map[above]) * 0.5F;
  if (x == middle) return above - above % 2;
  return x < middle ? above - 1 : above;
}

}  // namespace ulpscope::training
