// SPDX-License-Identifier: Apache-2.0
// gnuplot's SVG document turned into markup for the middle of a page.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "reports/escape.hpp"
#include "reports/gnuplot.hpp"

namespace ulpscope::reports {
namespace {

bool starts_at(std::string_view text, std::size_t position, std::string_view word) {
  return text.substr(position, word.size()) == word;
}

/// `text` without each stretch from `begin` through the next `end`.
std::string without(std::string_view text, std::string_view begin, std::string_view end) {
  std::string kept;
  while (true) {
    const auto from = text.find(begin);
    const auto to = from == text.npos ? text.npos : text.find(end, from + begin.size());
    if (to == text.npos) return kept.append(text);
    kept.append(text.substr(0, from));
    text.remove_prefix(to + end.size());
  }
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

/// `rgb( 51, 102, 170)` becomes `#3366aa`, so that the style sheet can name the colour.
std::string with_hex_colours(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (!starts_at(text, i, "rgb(")) {
      result += text[i++];
      continue;
    }
    const char* digits = text.c_str() + i + 4;
    result += '#';
    for (int channel = 0; channel < 3; ++channel) {
      char* end = nullptr;
      result += fmt::format("{:02x}", std::strtol(digits, &end, 10));
      digits = end + (*end == ',' ? 1 : 0);
    }
    i = static_cast<std::size_t>(digits - text.c_str()) + 1;
  }
  return result;
}

/// Without line breaks, tabs and the groups that gnuplot opens and closes with nothing inside.
std::string compacted(std::string text) {
  for (const char space : {'\n', '\t'}) text = replaced(std::move(text), std::string(1, space), " ");
  while (text.find("  ") != text.npos) text = replaced(std::move(text), "  ", " ");
  text = replaced(replaced(std::move(text), "> <", "><"), " >", ">");
  for (auto at = text.find("></g>"); at != text.npos; at = text.find("></g>", at)) {
    const auto open = text.rfind('<', at);
    if (starts_at(text, open, "<g")) {
      text.erase(open, at + 5 - open);
      at = open == 0 ? 0 : open - 1;
    } else {
      ++at;
    }
  }
  return text;
}

}  // namespace

std::string inline_svg(const std::string& document, const std::string& description) {
  const auto start = document.find("<svg");
  if (start == document.npos) return {};
  std::string svg = document.substr(start);
  for (const std::string_view element : {"title", "desc", "defs"}) {
    svg = without(svg, fmt::format("<{}>", element), fmt::format("</{}>", element));
  }
  for (const std::string_view attribute : {" id=\"", "xmlns=\"", "xmlns:xlink=\"", " color=\"", " font-family=\""}) {
    svg = without(svg, attribute, "\"");
  }
  for (const std::string_view paint : {"fill", "stroke"}) {
    svg = replaced(std::move(svg), fmt::format("{}=\"black\"", paint), fmt::format("{}=\"currentColor\"", paint));
    svg = replaced(std::move(svg), fmt::format("{}='black'", paint), fmt::format("{}=\"currentColor\"", paint));
  }
  svg = compacted(with_hex_colours(replaced(std::move(svg), "'", "\"")));
  return fmt::format("<svg class=\"figure\" role=\"img\" aria-label=\"{}\" font-family=\"sans-serif\"{}",
                     html_escaped(description), svg.substr(4));
}

}  // namespace ulpscope::reports
