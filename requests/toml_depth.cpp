// SPDX-License-Identifier: Apache-2.0
// One pass over the text, which knows strings, comments, and whether a key or a value is read.
#include "requests/toml_depth.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace ulpscope::requests {
namespace {

/// Behind the string that begins at `at`; the end of the line where one of a single line does not end.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool has_lines = text.substr(at).starts_with(three);
  for (std::size_t i = at + (has_lines ? 3 : 1); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (!has_lines && (text[i] == quote || text[i] == '\n')) {
      return text[i] == quote ? i + 1 : i;
    } else if (has_lines && text.substr(i).starts_with(three)) {
      return std::min(text.find_first_not_of(quote, i), text.size());  // one or two before the last three are text
    }
  }
  return text.size();
}

}  // namespace

std::optional<std::size_t> line_deeper_than(std::size_t most, std::string_view text) {
  struct Bracket {
    char opened;
    std::size_t depth;  // of what it opened
  };
  std::vector<Bracket> around;
  std::size_t depth = 1;  // of the value, or of the part of a key, that is read
  bool is_key = true;     // a header is a key, too
  const auto line_of = [&](std::size_t at) {
    const std::string_view before = text.substr(0, at);
    return static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  };
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = end_of_string(text, i);
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '\n' && around.empty()) {
      depth = 1, is_key = true;
    } else if (is_key && c == '.') {
      if (++depth > most) return line_of(i);
    } else if (is_key && c == '=') {
      is_key = false;
    } else if (!is_key && (c == '[' || c == '{')) {
      if (depth > most) return line_of(i);
      around.push_back({c, depth++});
      is_key = c == '{';
    } else if (!around.empty() && (c == ']' || c == '}')) {
      depth = around.back().depth, is_key = false;
      around.pop_back();
    } else if (!around.empty() && c == ',') {
      depth = around.back().depth + 1, is_key = around.back().opened == '{';
    }
    ++i;
  }
  return std::nullopt;
}

}  // namespace ulpscope::requests
