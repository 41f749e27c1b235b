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

}  // namespace ulpscope::reports
