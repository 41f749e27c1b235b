// SPDX-License-Identifier: Apache-2.0
// How many words lie in each of several ranges, by comparisons of whole vectors of words: the cost does not depend on how they
// are mixed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ulpscope::verify {

/// counts[r] of the words are bounds[r] or more, and less than bounds[r + 1]; nothing bounds the last range. Bounds ascend from
/// 0 on. Words are of 8, 16, 32 or 64 bits; bounds beyond them bound nothing.
template <class Word>
void count_in_ranges(std::span<const Word> words, std::span<const std::uint64_t> bounds, std::vector<std::uint64_t>& counts);

/// The first of the words that is `first` or more and `last` or less, which are words; words.size() where none is.
template <class Word>
std::size_t find_in_range(std::span<const Word> words, std::uint64_t first, std::uint64_t last);

}  // namespace ulpscope::verify
