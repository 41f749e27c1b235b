// SPDX-License-Identifier: Apache-2.0
// Bits of non-negative floats are in the order of the floats, so that a quantile is found by its bits: the upper half first.
#include "studies/quantization/error_quantiles.hpp"

#include <algorithm>

namespace ulpscope::studies {
namespace {

constexpr std::size_t halves = std::size_t{1} << 16;

std::uint32_t bits_of(float x) { return std::isnan(x) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(x); }

/// A quantile on its way.
struct Search {
  std::uint64_t rank;                   ///< of the number wanted, from 1
  std::uint32_t upper = 0;              ///< its upper half
  std::uint64_t before = 0;             ///< numbers of lesser upper halves
  std::vector<std::uint64_t> counts{};  ///< of the lower halves beside this upper one
};

/// The first place at which the running total reaches `rank`, and the total before it.
std::size_t place_of(std::span<const std::uint64_t> counts, std::uint64_t rank, std::uint64_t& before) {
  for (std::size_t i = 0;; ++i) {
    if (before + counts[i] >= rank) return i;
    before += counts[i];
  }
}

}  // namespace

std::vector<float> quantiles(const Numbers& numbers, std::span<const double> q) {
  std::vector<std::uint64_t> counts(halves);
  std::uint64_t n = 0;
  numbers([&](std::span<const float> piece) {
    n += piece.size();
    for (const float x : piece) ++counts[bits_of(x) >> 16];
  });
  if (n == 0) return std::vector<float>(q.size(), std::numeric_limits<float>::quiet_NaN());

  std::vector<Search> searches;
  for (const double share : q) {
    Search search{.rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(n))))};
    search.upper = static_cast<std::uint32_t>(place_of(counts, search.rank, search.before));
    search.counts.resize(halves);
    searches.push_back(std::move(search));
  }
  numbers([&](std::span<const float> piece) {
    for (const float x : piece) {
      const std::uint32_t bits = bits_of(x);
      for (Search& search : searches)
        if (bits >> 16 == search.upper) ++search.counts[bits & 0xffff];
    }
  });
  std::vector<float> found;
  for (Search& search : searches) {
    const auto lower = static_cast<std::uint32_t>(place_of(search.counts, search.rank, search.before));
    found.push_back(std::bit_cast<float>(search.upper << 16 | lower));
  }
  return found;
}

}  // namespace ulpscope::studies
