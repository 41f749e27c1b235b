// SPDX-License-Identifier: Apache-2.0
// A heat map as drawings for its file: a group each, and the legend. A page shows it as tables (reports/heat_map_html.cpp).
#include <algorithm>

#include "reports/draw.hpp"

namespace ulpscope::reports {
namespace {

using namespace detail;

constexpr double top = 44, line_height = 20, right = 8;

Drawing draw_group(const HeatMap& map, const HeatMap::Group& group) {
  std::vector<std::string> names;
  for (const HeatMap::Group& each : map.groups)
    for (const HeatMap::Row& row : each.rows) names.push_back(row.name);
  const double left = left_margin(names);
  const double width = (drawing_width - right - left) / static_cast<double>(std::max<std::size_t>(1, map.columns.size()));
  Svg svg(drawing_width, static_cast<int>(top + line_height * static_cast<double>(group.rows.size())) + 4);
  svg.text({8, 16}, group.name, {.strong = true, .title = group.title});
  const auto left_of = [&](std::size_t column) { return left + width * static_cast<double>(column); };
  for (std::size_t c = 0; c < map.columns.size(); ++c)
    svg.text({left_of(c) + width / 2, top - 8}, map.columns[c], {.anchor = Svg::Anchor::middle});
  for (std::size_t r = 0; r < group.rows.size(); ++r) {
    const HeatMap::Row& row = group.rows[r];
    const double y = top + line_height * static_cast<double>(r);
    svg.text({left - 6, y + line_height / 2 + 4}, row.name, {.anchor = Svg::Anchor::end, .title = row.title});
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const HeatMap::Cell& cell = row.cells[c];
      svg.boxes(palette::of_shade(cell.shade).light, {{left_of(c) + 1, y + 1, width - 2, line_height - 2, cell.title}});
      svg.text({left_of(c) + width / 2, y + line_height / 2 + 4}, cell.text, {.anchor = Svg::Anchor::middle});
    }
  }
  return std::move(svg).finish();
}

}  // namespace

std::vector<Drawing> draw(const HeatMap& map) {
  std::vector<Drawing> all;
  for (const HeatMap::Group& group : map.groups) all.push_back(draw_group(map, group));
  if (all.empty() || map.legend.empty()) return all;
  Svg legend(drawing_width, static_cast<int>(10 + line_height * static_cast<double>(map.legend.size())));
  for (std::size_t i = 0; i < map.legend.size(); ++i) {
    const double y = 6 + line_height * static_cast<double>(i);
    legend.boxes(palette::of_shade(map.legend[i].shade).light, {{8, y + 2, 24, line_height - 4}});
    legend.text({40, y + line_height / 2 + 4}, map.legend[i].words);
  }
  all.push_back(std::move(legend).finish());
  return all;
}

}  // namespace ulpscope::reports
