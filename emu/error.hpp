// SPDX-License-Identifier: Apache-2.0
// The one exception for what the outside world got wrong: files, words, shapes.
#pragma once

#include <stdexcept>
#include <string>

namespace ulpscope {

/// One line for its reader: what, which, what would be right. Commands print it and exit with 2. what() is a C string: a NUL,
/// which names in files may hold, is the escape `\x00` in it, as emu/visible.hpp has it.
class Error : public std::runtime_error {
 public:
  /// As it is to be read.
  explicit Error(const std::string& words) : std::runtime_error(without_nul(words)) {}

 private:
  static std::string without_nul(const std::string& words) {
    if (words.find('\0') == words.npos) return words;
    std::string out;
    for (const char c : words) out += c == '\0' ? std::string("\\x00") : std::string(1, c);
    return out;
  }
};

}  // namespace ulpscope
