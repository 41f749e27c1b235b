// SPDX-License-Identifier: Apache-2.0
// The ranking as a heat map: a row for each tensor, a column for each format and its best scale.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "emu/names.hpp"
#include "reports/columns.hpp"
#include "studies/census/sweep.hpp"
#include "studies/quantization/quantization.hpp"

namespace ulpscope::studies {
namespace {

using reports::HeatMap;

/// Steps of 10 dB: the middle one, 20 to 30, is that of a product whose error is a tenth or less.
HeatMap::Shade shade_of(double decibels) {
  if (decibels >= 40) return HeatMap::Shade::good;
  if (decibels >= 30) return HeatMap::Shade::reduced;
  if (decibels >= 20) return HeatMap::Shade::mended;
  if (decibels >= 10) return HeatMap::Shade::marked;
  return HeatMap::Shade::severe;
}

/// The best rule of one tensor and format.
struct Best {
  double decibels = -std::numeric_limits<double>::infinity();
  std::string scale = "none";
};

}  // namespace

std::vector<reports::Figure> quantization_figures(const std::vector<reports::Table>& tables) {
  const reports::Table& table = tables.front();
  const reports::Columns columns(table);
  std::vector<std::string> tensors;
  std::map<std::pair<double, std::string>, int> by_bits;  // formats, the widest first
  std::map<std::pair<std::string, std::string>, Best> best;
  for (const auto& row : table.rows) {
    const std::string tensor = columns.text(row, "tensor"), format = columns.text(row, "format");
    reports::place_of(tensors, tensor);
    by_bits[{-columns.number(row, "element_bits"), format}] = 0;
    Best& known = best[{tensor, format}];
    if (const double decibels = columns.number(row, "sqnr_db"); decibels > known.decibels)
      known = {decibels, columns.text(row, "scale")};
  }
  HeatMap map;
  HeatMap::Group group;
  for (const auto& [format, unused] : by_bits) map.columns.push_back(format.second);
  for (const std::string& tensor : tensors) {
    HeatMap::Row row{.name = tensor.substr(tensor.rfind('/') + 1), .title = tensor, .link = {}, .cells = {}};
    for (const std::string& format : map.columns) {
      const Best& of = best[{tensor, format}];
      row.cells.push_back({.shade = shade_of(of.decibels),
                           .text = std::isfinite(of.decibels) ? digits(std::round(of.decibels), 3) : "-",
                           .title = tensor + " in " + format + ", scale " + of.scale + ": " + digits(of.decibels, 3) + " dB"});
    }
    group.rows.push_back(std::move(row));
  }
  map.groups = {group};
  map.legend = {{HeatMap::Shade::good, "40 dB or more"},
                {HeatMap::Shade::reduced, "30 to 40"},
                {HeatMap::Shade::mended, "20 to 30"},
                {HeatMap::Shade::marked, "10 to 20"},
                {HeatMap::Shade::severe, "less"}};
  return {{.name = "formats",
           .title = "Signal to rounding noise of each tensor in each format under its best scale, in dB",
           .caption = "Formats from the most bits to the fewest. The scale of a cell is in its tooltip.",
           .description = "A row for each tensor, a column for each format.",
           .data = map}};
}

}  // namespace ulpscope::studies
