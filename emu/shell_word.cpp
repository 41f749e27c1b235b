// SPDX-License-Identifier: Apache-2.0
// Three ways to quote, the plainest that will do.
#include "emu/shell_word.hpp"

#include "emu/visible.hpp"

namespace ulpscope::emu {
namespace {

constexpr std::string_view plain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    "_-+=:,./@%";

/// In `$'...'`.
std::string escaped(std::string_view word) {
  std::string out = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (plain.find(c) != plain.npos || c == ' ')
      out += c;
    else
      out += {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 0xf]};
  }
  return out + "'";
}

}  // namespace

std::string shell_word(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return std::string(word);
  if (visible(word) != word) return escaped(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace ulpscope::emu
