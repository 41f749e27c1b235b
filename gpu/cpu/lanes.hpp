// SPDX-License-Identifier: Apache-2.0
// Inner products side by side in the lanes of a 512-bit vector.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include "emu/format.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::gpu::detail {

/// Sums, one a lane, and their operands in words as wide: as many codes as fit, that of the lowest k in the lowest bits. `b` is
/// laid out step by step, `a` as the instruction wants it.
template <class Word>
struct Lanes {
  static constexpr std::size_t count = 64 / sizeof(Word);
  enum class Layout : bool { step_by_step, lane_by_lane };

  std::vector<Word> a, b;
  std::array<Word, count> c;

  /// Words of a lane.
  std::size_t steps() const noexcept { return b.size() / count; }
};

/// The rows of `codes` from `first` on as words; lanes beyond the last row get zeros.
template <class Word>
std::vector<Word> packed(std::span<const emu::Code> codes, std::size_t products, std::size_t codes_in_word, std::size_t first,
                         typename Lanes<Word>::Layout layout) {
  constexpr std::size_t lanes = Lanes<Word>::count;
  const std::size_t steps = products / codes_in_word, bits = 8 * sizeof(Word) / codes_in_word;
  const bool by_step = layout == Lanes<Word>::Layout::step_by_step;
  const std::size_t step_stride = by_step ? lanes : 1, lane_stride = by_step ? 1 : steps;
  const std::size_t rows = std::min(lanes, codes.size() / products - first);
  std::vector<Word> words(steps * lanes);
  for (std::size_t lane = 0; lane < rows; ++lane) {
    const auto row = codes.subspan((first + lane) * products, products);
    for (std::size_t k = 0; k < products; ++k)
      words[k / codes_in_word * step_stride + lane * lane_stride] |= static_cast<Word>(row[k] << (k % codes_in_word * bits));
  }
  return words;
}

/// All of a problem, some inner products at a time; `chain(lanes)` makes lanes.c the results.
template <class Word, class Chain>
void multiply_in_lanes(const InnerProducts& problem, std::size_t codes_in_word, typename Lanes<Word>::Layout a_layout,
                       std::span<emu::Code> d, Chain chain) {
  constexpr std::size_t count = Lanes<Word>::count;
  const std::size_t k = problem.products;
  assert(k % codes_in_word == 0);
  for (std::size_t first = 0; first < d.size(); first += count) {
    const std::size_t rows = std::min(count, d.size() - first);
    Lanes<Word> lanes;
    if (k > 0) lanes.a = packed<Word>(problem.a, k, codes_in_word, first, a_layout);
    if (k > 0) lanes.b = packed<Word>(problem.b, k, codes_in_word, first, Lanes<Word>::Layout::step_by_step);
    lanes.c.fill(0);
    for (std::size_t lane = 0; lane < rows; ++lane) lanes.c[lane] = static_cast<Word>(problem.c[first + lane]);
    chain(lanes);
    std::copy_n(lanes.c.begin(), rows, d.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

}  // namespace ulpscope::gpu::detail
