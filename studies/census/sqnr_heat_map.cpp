// SPDX-License-Identifier: Apache-2.0
// Cells in steps of 10 dB, put into rows and columns.
#include "studies/census/sqnr_heat_map.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/columns.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {
namespace {

using reports::HeatMap;

constexpr int step = 10;  ///< decibels of a shade
constexpr HeatMap::Shade shades[] = {HeatMap::Shade::severe, HeatMap::Shade::marked, HeatMap::Shade::mended,
                                     HeatMap::Shade::reduced, HeatMap::Shade::good};
constexpr int last_shade = static_cast<int>(std::size(shades)) - 1;

/// The place among the shades.
int place_of_sqnr(double decibels) {
  if (!(decibels >= step)) return 0;
  return static_cast<int>(std::min<double>(last_shade, std::floor(decibels / step)));
}

std::vector<HeatMap::Entry> legend() {
  std::vector<HeatMap::Entry> entries;
  for (int i = last_shade; i >= 0; --i)
    entries.push_back({shades[i], i == last_shade ? std::to_string(step * i) + " dB or more"
                                  : i == 0        ? std::string("less")
                                                  : std::to_string(step * i) + " to " + std::to_string(step * (i + 1))});
  return entries;
}

HeatMap::Cell shown(const SqnrCell& cell) {
  const std::string decibels = std::isinf(cell.sqnr_db) && cell.sqnr_db > 0 ? "exact" : digits(cell.sqnr_db, 3) + " dB";
  return {.shade = std::isnan(cell.sqnr_db) ? HeatMap::Shade::none : shades[place_of_sqnr(cell.sqnr_db)],
          .text = std::isfinite(cell.sqnr_db) ? digits(std::round(cell.sqnr_db), 3)
                  : cell.sqnr_db > 0          ? "exact"
                                              : "-",
          .title = cell.title + " in " + cell.column + cell.note + ": " + decibels};
}

}  // namespace

reports::HeatMap sqnr_heat_map(const std::vector<SqnrCell>& cells) {
  HeatMap map{.columns = {}, .legend = legend(), .groups = {}};
  std::vector<std::string> rows;
  std::map<std::pair<std::size_t, std::size_t>, const SqnrCell*> best;
  for (const SqnrCell& cell : cells) {
    const std::size_t row = reports::place_of(rows, cell.title), column = reports::place_of(map.columns, cell.column);
    const SqnrCell*& known = best[{row, column}];
    if (known == nullptr || cell.sqnr_db > known->sqnr_db) known = &cell;
  }
  HeatMap::Group group;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    HeatMap::Row line{.name = {}, .title = rows[row], .link = {}, .cells = std::vector<HeatMap::Cell>(map.columns.size())};
    for (std::size_t column = 0; column < map.columns.size(); ++column)
      if (const auto found = best.find({row, column}); found != best.end()) {
        line.cells[column] = shown(*found->second);
        line.name = found->second->row;
      }
    group.rows.push_back(std::move(line));
  }
  map.groups = {std::move(group)};
  return map;
}

std::vector<reports::Figure> census_figures(const reports::Table& table) {
  const reports::Columns columns(table);
  std::vector<SqnrCell> cells;
  for (const auto& row : table.rows) {
    const std::string tensor = columns.text(row, "tensor"), scale = columns.text(row, "scale");
    cells.push_back({.row = tensor.substr(tensor.rfind('/') + 1) + ", " + scale,
                     .title = tensor + ", scale " + scale,
                     .column = columns.text(row, "format"),
                     .sqnr_db = columns.number(row, "sqnr_db"),
                     .note = {}});
  }
  return {{.name = "sqnr",
           .title = "Signal to rounding noise of each tensor and scale in each format, in dB",
           .caption = "A format that loses a number to infinity or NaN has none.",
           .description = "A row for each tensor and scale, a column for each format.",
           .data = sqnr_heat_map(cells)}};
}

}  // namespace ulpscope::studies
