// SPDX-License-Identifier: Apache-2.0
// Counts the words that are less than each bound, in lanes that compilers make vectors of.
#include "verify/conform/word_counts.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace ulpscope::verify {
namespace {

/// Words that are compared at once, and as many counters, which are words themselves.
template <class Word>
constexpr std::size_t lanes = 64 / sizeof(Word);
/// No counter of eight bits overflows in so many steps.
constexpr std::size_t steps = 255;

template <class Word>
struct Extremes {
  Word least, greatest;
};

/// Precondition: there are words.
template <class Word>
Extremes<Word> extremes(std::span<const Word> words) {
  std::array<Word, lanes<Word>> least, greatest;
  least.fill(words[0]);
  greatest.fill(words[0]);
  std::size_t i = 0;
  for (; i + lanes<Word> <= words.size(); i += lanes<Word>) {
    for (std::size_t l = 0; l < lanes<Word>; ++l) {
      least[l] = words[i + l] < least[l] ? words[i + l] : least[l];
      greatest[l] = words[i + l] > greatest[l] ? words[i + l] : greatest[l];
    }
  }
  for (; i < words.size(); ++i) {
    least[0] = std::min(least[0], words[i]);
    greatest[0] = std::max(greatest[0], words[i]);
  }
  return {*std::min_element(least.begin(), least.end()), *std::max_element(greatest.begin(), greatest.end())};
}

template <class Word>
std::uint64_t count_less(std::span<const Word> words, Word bound) {
  std::uint64_t count = 0;
  std::size_t i = 0;
  while (i + lanes<Word> <= words.size()) {
    std::array<Word, lanes<Word>> counters{};
    const std::size_t end = std::min(words.size(), i + steps * lanes<Word>);
    for (; i + lanes<Word> <= end; i += lanes<Word>)
      for (std::size_t l = 0; l < lanes<Word>; ++l)
        counters[l] = static_cast<Word>(counters[l] + (words[i + l] < bound ? 1 : 0));
    count = std::accumulate(counters.begin(), counters.end(), count);
  }
  for (; i < words.size(); ++i) count += words[i] < bound ? 1 : 0;
  return count;
}

}  // namespace

template <class Word>
void count_in_ranges(std::span<const Word> words, std::span<const std::uint64_t> bounds, std::vector<std::uint64_t>& counts) {
  counts.assign(bounds.size(), 0);
  if (words.empty()) return;
  const auto [least, greatest] = extremes(words);
  std::uint64_t below = 0;
  for (std::size_t r = 0; r < bounds.size(); ++r) {
    const bool is_last = r + 1 == bounds.size() || bounds[r + 1] > greatest;
    if (!is_last && bounds[r + 1] <= least) continue;
    const std::uint64_t end = is_last ? words.size() : count_less(words, static_cast<Word>(bounds[r + 1]));
    counts[r] = end - below;
    below = end;
    if (is_last) return;
  }
}

template <class Word>
std::size_t find_in_range(std::span<const Word> words, std::uint64_t first, std::uint64_t last) {
  const auto begin = static_cast<Word>(first), width = static_cast<Word>(last - first);
  const auto is_in = [=](Word word) { return static_cast<Word>(word - begin) <= width; };
  std::size_t i = 0;
  for (Word found = 0; i + lanes<Word> <= words.size(); i += lanes<Word>) {
    for (std::size_t l = 0; l < lanes<Word>; ++l) found = static_cast<Word>(found | (is_in(words[i + l]) ? 1 : 0));
    if (found != 0) break;
  }
  return static_cast<std::size_t>(std::find_if(words.begin() + static_cast<std::ptrdiff_t>(i), words.end(), is_in) -
                                  words.begin());
}

template void count_in_ranges(std::span<const std::uint8_t>, std::span<const std::uint64_t>, std::vector<std::uint64_t>&);
template void count_in_ranges(std::span<const std::uint16_t>, std::span<const std::uint64_t>, std::vector<std::uint64_t>&);
template void count_in_ranges(std::span<const std::uint32_t>, std::span<const std::uint64_t>, std::vector<std::uint64_t>&);
template void count_in_ranges(std::span<const std::uint64_t>, std::span<const std::uint64_t>, std::vector<std::uint64_t>&);
template std::size_t find_in_range(std::span<const std::uint8_t>, std::uint64_t, std::uint64_t);
template std::size_t find_in_range(std::span<const std::uint16_t>, std::uint64_t, std::uint64_t);
template std::size_t find_in_range(std::span<const std::uint32_t>, std::uint64_t, std::uint64_t);
template std::size_t find_in_range(std::span<const std::uint64_t>, std::uint64_t, std::uint64_t);

}  // namespace ulpscope::verify
