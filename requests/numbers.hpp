// SPDX-License-Identifier: Apache-2.0
// Numbers as people type them: which words are numbers, and what is said of others.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace ulpscope::requests {

/// Bounds of a number; both belong to them.
struct WholeBounds {
  std::uint64_t least = 0, most = std::numeric_limits<std::uint64_t>::max();  ///< of the number
};
/// The same of numbers that need not be whole.
struct RealBounds {
  double least = std::numeric_limits<double>::lowest(), most = std::numeric_limits<double>::max();  ///< of the number
};

/// What is wrong with a word that is to be a whole number in decimal or, after 0x, hexadecimal; nothing if it is one, which is
/// then put into decimal: CLI11's versions read 010, 0b1 and 1_000 each in their own way.
std::string read_whole(std::string& word, WholeBounds bounds);

/// The same of a finite number in decimal or, after 0x, a hexadecimal float; the word stays.
std::string read_real(const std::string& word, RealBounds bounds);

/// The shortest decimal that reads back as the same number.
std::string shortest(double value);

/// The number that read_real() accepts.
double real_of(const std::string& word);

}  // namespace ulpscope::requests
