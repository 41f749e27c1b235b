// SPDX-License-Identifier: Apache-2.0
// Lines of a window from rows of the table: one of each format.
#include "studies/census/sweep_figures.hpp"

#include <algorithm>
#include <functional>

#include "reports/columns.hpp"

namespace ulpscope::studies {

std::vector<reports::Figure> sweep_figures(const reports::Table& table) {
  constexpr std::size_t most = 8;
  const reports::Columns columns(table);
  std::vector<std::string> titles;
  std::vector<reports::Figure> figures;
  for (const auto& row : table.rows) {
    const std::string title = columns.text(row, "tensor") + ", " + columns.text(row, "rounding") + ".";
    const std::size_t place = reports::place_of(titles, title);
    if (place >= most) break;
    if (place == figures.size())
      figures.push_back(
          {.name = "window_" + std::to_string(place + 1),
           .title = title,
           .caption =
               "Elements lost to zero (solid) and to overflow (dashed). Tinted: scales without overflow that lose least.",
           .description = "Percentage of the elements of " + title + " lost for each loss scale.",
           .data = reports::ScaleWindow{}});
    auto& window = std::get<reports::ScaleWindow>(figures[place].data);
    const std::string format = columns.text(row, "format");
    auto at = std::find_if(window.lines.begin(), window.lines.end(), [&](const auto& line) { return line.format == format; });
    if (at == window.lines.end()) at = window.lines.insert(at, {format, {}, {}});
    auto& line = *at;
    const double count = std::max(1.0, columns.number(row, "count"));
    line.to_zero_percent.push_back(100 * columns.number(row, "to_zero") / count);
    line.overflow_percent.push_back(100 * columns.number(row, "overflow") / count);
    if (window.lines.size() == 1) window.log2_scale.push_back(columns.number(row, "log2_scale"));
  }
  // A table of cells with other axes may hold one scale twice, or other scales for each format: that is no such figure.
  std::erase_if(figures, [](const reports::Figure& figure) {
    const auto& window = std::get<reports::ScaleWindow>(figure.data);
    return std::adjacent_find(window.log2_scale.begin(), window.log2_scale.end(), std::greater_equal<>()) !=
               window.log2_scale.end() ||
           std::any_of(window.lines.begin(), window.lines.end(),
                       [&](const auto& line) { return line.to_zero_percent.size() != window.log2_scale.size(); });
  });
  return figures;
}

}  // namespace ulpscope::studies
