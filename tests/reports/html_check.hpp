// SPDX-License-Identifier: Apache-2.0
// A small reader of HTML that knows tags and what is void, nothing of the page.
#pragma once

#include <set>
#include <string>
#include <vector>

/// The first tag that is closed without being open, or left open; empty when every opened tag is closed in order.
inline std::string first_unbalanced_tag(const std::string& html) {
  static const std::set<std::string> void_tags{"meta", "wbr", "br", "hr", "img", "link", "input", "!DOCTYPE"};
  std::vector<std::string> open;
  for (auto at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const auto end = html.find('>', at);
    if (end == std::string::npos) return html.substr(at);
    const bool closing = html[at + 1] == '/';
    const auto begin = at + (closing ? 2 : 1);
    const auto name = html.substr(begin, html.find_first_of(" />\n", begin) - begin);
    if (closing && (open.empty() || open.back() != name)) return "/" + name;
    if (closing) {
      open.pop_back();
    } else if (!void_tags.contains(name) && html[end - 1] != '/') {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : open.back();
}

/// The text between the tags.
inline std::string text_of(const std::string& html) {
  std::string text;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (!inside) text += c;
    if (c == '>') inside = false;
  }
  return text;
}
