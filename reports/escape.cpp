// SPDX-License-Identifier: Apache-2.0
// Makes text visible, then escapes what the language of the file has a meaning for.
#include "reports/escape.hpp"

#include <nlohmann/json.hpp>

#include "emu/visible.hpp"

namespace ulpscope::reports {

std::string json_string(std::string_view text) { return nlohmann::ordered_json(emu::visible(text)).dump(); }

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : emu::visible_lines(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string without_middle(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::size_t kept = most / 8 * 3;
  const auto begins = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80; };  // a character
  std::size_t first = kept, last = text.size() - kept;
  while (first > 0 && !begins(first)) --first;
  while (last < text.size() && !begins(last)) ++last;
  return text.substr(0, first) + " ... " + text.substr(last);
}

}  // namespace ulpscope::reports
