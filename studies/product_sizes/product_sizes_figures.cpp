// SPDX-License-Identifier: Apache-2.0
// The curves of product_sizes.csv: what each engine makes of each format, and the operands' rounding alone.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "reports/columns.hpp"
#include "studies/product_sizes/product_sizes.hpp"

namespace ulpscope::studies {
namespace {

using reports::Growth;

/// Values of one curve, by distribution and N.
using Values = std::map<std::pair<std::string, double>, double>;

}  // namespace

std::vector<reports::Figure> product_sizes_figures(const std::vector<reports::Table>& tables) {
  const reports::Table& table = tables.front();
  const reports::Columns columns(table);
  Growth growth;
  growth.x_label = "N", growth.y_label = "error over the product's norm";
  std::set<double> sizes;
  std::vector<std::string> formats, engines, names;
  std::vector<std::pair<Growth::Line, Values>> lines;
  const auto add = [&](const std::string& name, const Growth::Line& look, const std::string& where, double n, double value) {
    const std::size_t place = reports::place_of(names, name);
    if (place == lines.size()) lines.emplace_back(look, Values());
    lines[place].second[{where, n}] = value;
  };
  for (const auto& row : table.rows) {
    const std::string format = columns.text(row, "in"), engine = columns.text(row, "engine");
    const std::string where = columns.text(row, "distribution");
    const double n = columns.number(row, "n");
    if (!std::isfinite(n)) continue;
    const std::size_t colour = reports::place_of(formats, format);
    const auto marker = static_cast<Growth::Marker>(reports::place_of(engines, engine) % 5);
    reports::place_of(growth.panels, where);
    sizes.insert(n);
    add(format + " on " + engine, {.name = format + " on " + engine, .colour = colour, .marker = marker, .y = {}}, where, n,
        columns.number(row, "engine_rel_frobenius_error"));
    add(format, {.name = "rounding the operands to " + format, .colour = colour, .dash = Growth::Dash::dashed, .y = {}}, where,
        n, columns.number(row, "input_rel_frobenius_error"));
  }
  growth.x.assign(sizes.begin(), sizes.end());
  for (auto& [line, values] : lines) {
    for (const std::string& panel : growth.panels) {
      line.y.emplace_back();
      for (const double n : growth.x) {
        const auto found = values.find({panel, n});
        line.y.back().push_back(found == values.end() ? std::nan("") : found->second);
      }
    }
    growth.lines.push_back(line);
  }
  return {{.name = "product_sizes",
           .title = "What the engine adds to the rounding of the operands",
           .caption =
               "Solid: the engine alone; dashed: the operands' rounding alone. A colour is a format, a marker an engine. "
               "Where a product is exact there is no mark.",
           .description = "Relative errors of products of N by N matrices over N, a panel for each distribution.",
           .data = growth}};
}

}  // namespace ulpscope::studies
