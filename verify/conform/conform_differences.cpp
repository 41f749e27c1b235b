// SPDX-License-Identifier: Apache-2.0
// Counts where other computations differ from the right one.
#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

#include "verify/conform/conform_plain.hpp"
#include "verify/conform/conform_tally.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t compared_at_once = 1024;  // words; most blocks are equal and are told by memcmp

/// Plain differences are counted in vectors, and others one by one.
template <class In, class Word>
void count_between(const ConformConfig& config, std::span<const In> inputs, std::span<const Word> expected,
                   std::span<const Word> other, RegionCounts& counts) {
  const Computation& right = config.right;
  const PlainResults<In, Word> results(config);
  for (std::size_t begin = 0; begin < expected.size(); begin += compared_at_once) {
    const std::size_t end = std::min(expected.size(), begin + compared_at_once);
    if (std::memcmp(&expected[begin], &other[begin], (end - begin) * sizeof(Word)) == 0) continue;
    const auto part = [=](const auto& words) { return words.subspan(begin, end - begin); };
    auto found = results.count(part(inputs), part(expected), part(other));
    counts[static_cast<std::size_t>(InputRegion::normal)] += found.wrong + found.infinite + found.nan;
    for (std::size_t i = begin; found.others != 0; ++i) {
      if (expected[i] == other[i] || results.are_plain(inputs[i], expected[i], other[i]) ||
          results.are_special(inputs[i], expected[i], other[i]))
        continue;
      --found.others;
      const emu::Code input = inputs[i] & right.from.code_mask();
      if (is_judged(right.rules, right.from, right.to, input) &&
          !accepts(right.rules, right.to, expected[i], other[i], config.ulp))
        ++counts[static_cast<std::size_t>(region_of(right.from, right.to, input, expected[i]))];
    }
  }
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
  inputs.visit([&](const auto& in) {
    expected.visit([&](const auto& e) {
      using Word = typename std::remove_cvref_t<decltype(e)>::value_type;
      count_between<typename std::remove_cvref_t<decltype(in)>::value_type, Word>(
          config, in, e, std::get<std::vector<Word>>(other.array()), counts);
    });
  });
}

std::uint64_t count_differences(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, Mask useful,
                                Stretch codes, std::vector<RegionCounts>& counts) {
  const Computation& right = config.right;
  const PieceQuestion question{.computations = computations(right, tried, useful),
                               .code = [](std::uint64_t code) { return code; },
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
