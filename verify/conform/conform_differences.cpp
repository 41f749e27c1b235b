// SPDX-License-Identifier: Apache-2.0
// Counts where other computations differ from the right one.
#include <algorithm>
#include <cstring>

#include "verify/conform/conform_tally.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t compared_at_once = 1024;  // words; most blocks are equal and are told by memcmp

/// Calls act(i) for every word in which the arrays differ.
template <class Act>
void for_each_difference(const Words& a, const Words& b, Act act) {
  a.visit([&](const auto& x) {
    b.visit([&](const auto& y) {
      const std::size_t size = x.size();
      for (std::size_t block = 0; block < size; block += compared_at_once) {
        const std::size_t end = std::min(size, block + compared_at_once);
        if constexpr (sizeof(x[0]) == sizeof(y[0])) {
          if (std::memcmp(x.data() + block, y.data() + block, (end - block) * sizeof(x[0])) == 0) continue;
        }
        for (std::size_t i = block; i < end; ++i)
          if (emu::Code{x[i]} != emu::Code{y[i]}) act(i);
      }
    });
  });
}

/// What is right, and the hypotheses whose bit is in `which`.
std::vector<const Computation*> computations(const Computation& right, const std::vector<ConformHypothesis>& tried,
                                             Mask which) {
  std::vector<const Computation*> out{&right};
  for (std::size_t h = 0; h < tried.size(); ++h)
    if ((which >> h & 1) != 0) out.push_back(&tried[h].computation);
  return out;
}

}  // namespace

void count_differences(const ConformConfig& config, const Words& inputs, const Words& expected, const Words& other,
                       RegionCounts& counts) {
  const Computation& right = config.right;
  for_each_difference(expected, other, [&](std::size_t i) {
    const emu::Code input = inputs.code(i) & right.from.code_mask(), e = expected.code(i);
    if (!is_judged(right.rules, right.from, right.to, input) || accepts(right.rules, right.to, e, other.code(i), config.ulp))
      return;
    ++counts[static_cast<std::size_t>(region_of(right.from, right.to, input, e))];
  });
}

std::uint64_t count_differences(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, Mask useful,
                                Stretch codes, std::vector<RegionCounts>& counts) {
  const Computation& right = config.right;
  const PieceQuestion question{.computations = computations(right, tried, useful),
                               .code = [](std::uint64_t code) { return code; },
                               .ordered = true,
                               .first = [](const Stretch& stretch) { return stretch.begin; }};
  return for_each_piece(question, codes, [&](Stretch piece, std::span<const emu::Code> results) {
    if (!is_judged(right.rules, right.from, right.to, piece.begin)) return;
    const auto region = static_cast<std::size_t>(region_of(right.from, right.to, piece.begin, results[0]));
    std::size_t c = 1;
    for (std::size_t h = 0; h < tried.size(); ++h) {
      if ((useful >> h & 1) == 0) continue;
      if (!accepts(right.rules, right.to, results[0], results[c++], config.ulp)) counts[h][region] += piece.size();
    }
  });
}

}  // namespace ulpscope::verify
