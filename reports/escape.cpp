// SPDX-License-Identifier: Apache-2.0
// One pass over the bytes for each kind of text.
#include "reports/escape.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ulpscope::reports {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string json_string(const std::string& text) {
  return nlohmann::ordered_json(text).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default:
        if (is_control(c) && c != '\n' && c != '\t') {
          escaped += "\uFFFD";
        } else {
          escaped += c;
        }
    }
  }
  return escaped;
}

std::string terminal_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (is_control(c)) {
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace ulpscope::reports
