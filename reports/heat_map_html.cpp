// SPDX-License-Identifier: Apache-2.0
// A heat map as a table: its cells are coloured by classes of the style sheet, and each has its words as a tooltip.
#include "reports/heat_map_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "emu/visible.hpp"
#include "reports/escape.hpp"

namespace ulpscope::reports {
namespace {

std::string title_attribute(const std::string& title) {
  return title.empty() ? std::string() : " title=\"" + html_escaped(title) + "\"";
}

/// `2^19` with a raised exponent.
std::string cell_text(const std::string& text) {
  return text.starts_with("2^") ? "2<sup>" + html_escaped(text.substr(2)) + "</sup>" : html_escaped(text);
}

std::string row_html(const HeatMap::Row& row) {
  std::string name = breakable(row.name);
  if (!row.link.empty()) name = "<a href=\"#" + html_escaped(row.link) + "\">" + name + "</a>";
  std::string html = fmt::format("<tr><th scope=\"row\"{}>{}</th>", title_attribute(row.title), name);
  for (const HeatMap::Cell& cell : row.cells)
    html += fmt::format("<td class=\"s{}\"{}>{}</td>", static_cast<int>(cell.shade), title_attribute(cell.title),
                        cell_text(cell.text));
  return html + "</tr>\n";
}

std::string group_html(const HeatMap& map, const HeatMap::Group& group) {
  std::string html = "<table class=\"heat\">";
  if (!group.name.empty()) html += fmt::format("<caption{}>{}</caption>", title_attribute(group.title), breakable(group.name));
  html += "<thead><tr><td></td>";
  for (const std::string& column : map.columns) html += "<th scope=\"col\">" + breakable(column) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const HeatMap::Row& row : group.rows) html += row_html(row);
  return html + "</tbody></table>\n";
}

}  // namespace

std::string breakable(const std::string& name) {
  constexpr std::string_view breaks = "/:._";
  const std::string shown = emu::visible(name);
  std::string html;
  for (std::string_view rest = shown; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(breaks), rest.size() - 1) + 1;
    html += html_escaped(rest.substr(0, end));
    if (breaks.find(rest[end - 1]) != breaks.npos) html += "<wbr>";
    rest.remove_prefix(end);
  }
  return html;
}

std::string heat_map_html(const HeatMap& map) {
  std::string html = "<ul class=\"legend\">\n";
  for (const HeatMap::Entry& entry : map.legend)
    html +=
        fmt::format("<li><span class=\"chip s{}\"></span> {}</li>\n", static_cast<int>(entry.shade), html_escaped(entry.words));
  constexpr std::size_t most_narrow = 4;  // columns that fit beside two other tables
  html += map.columns.size() > most_narrow ? "</ul>\n<div class=\"maps wide\">\n" : "</ul>\n<div class=\"maps\">\n";
  for (const HeatMap::Group& group : map.groups) html += group_html(map, group);
  return html + "</div>\n";
}

}  // namespace ulpscope::reports
