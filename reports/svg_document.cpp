// SPDX-License-Identifier: Apache-2.0
// What the page gives to a figure and a file must bring itself: the namespace, the colours, the dark ones.
#include "reports/svg_document.hpp"

#include <fmt/format.h>

#include <string_view>

#include "reports/page_style.hpp"
#include "reports/palette.hpp"

namespace ulpscope::reports {

std::string svg_document(const std::string& figure) {
  constexpr std::string_view tag = "<svg";
  const std::size_t opened = figure.find('>') + 1;
  const auto colours = [](std::string_view page, std::string_view ink) {
    return fmt::format("svg {{ background: {}; color: {}; }}", page, ink);
  };
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\"{}\n<style>\n{}\n@media screen and (prefers-color-scheme: dark) {{ {} }}\n{}"
      "</style>\n{}\n",
      figure.substr(tag.size(), opened - tag.size()), colours(palette::page.light, palette::ink.light),
      colours(palette::page.dark, palette::ink.dark), dark_figures(), figure.substr(opened));
}

}  // namespace ulpscope::reports
