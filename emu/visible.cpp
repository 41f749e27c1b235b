// SPDX-License-Identifier: Apache-2.0
// One pass over the text, a character at a time.
#include "emu/visible.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace ulpscope::emu {
namespace {

/// A character of UTF-8 (RFC 3629): its code point, and its bytes; none where the text does not begin with one.
struct Character {
  char32_t point = 0;
  std::size_t bytes = 0;
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return {};
  char32_t point = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    point = point << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= 0xd800 && point < 0xe000;
  if (point < least[length] || is_surrogate || point > 0x10ffff) return {};
  return {point, length};
}

constexpr bool acts(char32_t c) {
  const bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  const bool is_directional =
      c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  const bool is_separator = c == 0x2028 || c == 0x2029;
  const bool is_none_of_xml = c == 0xfffe || c == 0xffff;  // XML 1.0, production 2
  return is_control || is_directional || is_separator || is_none_of_xml;
}

/// What GitHub's runner skips before a command: .NET's Char.IsWhiteSpace, but for what acts.
constexpr bool is_blank(char32_t c) {
  return c == ' ' || c == '\t' || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

std::string escape(char kind, std::uint32_t value, int digits) {
  std::string text{'\\', kind};
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 0xf];
  return text;
}

/// `##[`, `##vso[`, `##teamcity[`
bool is_command(std::string_view text) {
  if (!text.starts_with("##")) return false;
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", 2);
  return end != text.npos && text[end] == '[';
}

/// What the first character becomes, where it does not stay.
std::string replaced(std::string_view text, Character c) {
  if (c.bytes == 0) return escape('x', static_cast<unsigned char>(text[0]), 2);
  if (c.bytes == 1 && acts(c.point)) return escape('x', c.point, 2);
  if (acts(c.point)) return escape('u', c.point, 4);
  return is_command(text) ? escape('x', '#', 2) : std::string();
}

/// Whether it is printable ASCII in lines without a command: nearly all that is printed is, and much is printed.
bool is_plain(std::string_view text) {
  const bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; });
  return printable && text.find("##") == text.npos && text.find("::") == text.npos;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character c = first_of(text);
    if (c.bytes == 0) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

bool is_command_line(std::string_view line) {
  while (!line.empty() && is_blank(first_of(line).point)) line.remove_prefix(first_of(line).bytes);
  return line.starts_with("::");
}

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_of(text);
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    const std::string other = replaced(text, c);
    out += other.empty() ? text.substr(0, bytes) : std::string_view(other);
    text.remove_prefix(bytes);
  }
  return out;
}

std::string visible_lines(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\n\t");
    std::string piece = visible(text.substr(0, end));
    const bool begins_line = out.empty() || out.back() == '\n' || (out.back() == '\t' && is_command_line(piece));
    if (begins_line && is_command_line(piece)) piece.replace(piece.find(':'), 1, "\\x3a");
    out += piece;
    if (end != text.npos) out += text[end];
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace ulpscope::emu
