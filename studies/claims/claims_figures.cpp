// SPDX-License-Identifier: Apache-2.0
// Claims as a table of coloured cells: what was measured beside what would make the claim true.
#include <algorithm>
#include <cmath>

#include "reports/columns.hpp"
#include "studies/census/sweep.hpp"
#include "studies/claims/judgement.hpp"

namespace ulpscope::studies {
namespace {

using reports::HeatMap;

HeatMap::Shade shade_of(const std::string& verdict) {
  if (verdict == "true") return HeatMap::Shade::good;
  if (verdict == "false") return HeatMap::Shade::severe;
  return verdict == "unmeasured" ? HeatMap::Shade::none : HeatMap::Shade::mended;
}

}  // namespace

std::vector<reports::Figure> claims_figures(const std::vector<reports::Table>& tables) {
  const reports::Table &claims = tables.at(0), &measurements = tables.at(1);
  const reports::Columns of_claims(claims), of_measurements(measurements);
  HeatMap map{.columns = {"measured", "asked for"}, .legend = {}, .groups = {}};
  for (const auto& claim : claims.rows) {
    const std::string verdict = of_claims.text(claim, "verdict");
    const HeatMap::Shade shade = shade_of(verdict);
    HeatMap::Group group{
        .name = of_claims.text(claim, "statement") + ": " + verdict, .title = of_claims.text(claim, "sentence"), .rows = {}};
    bool decides = true;  // the first measurement of a claim
    for (const auto& row : measurements.rows) {
      if (of_measurements.text(row, "claim") != of_claims.text(claim, "claim")) continue;
      const std::string where = of_measurements.text(row, "what") + ", " + of_measurements.text(row, "where");
      const auto cell = [&](const char* column) {
        const double value = of_measurements.number(row, column);
        return HeatMap::Cell{.shade = decides ? shade : HeatMap::Shade::none,
                             .text = std::isnan(value) ? std::string("-") : digits(value, 5),
                             .title = where + ": " + (std::isnan(value) ? std::string("none") : digits(value, 6))};
      };
      group.rows.push_back({.name = where, .title = where, .link = {}, .cells = {cell("value"), cell("threshold")}});
      decides = false;
    }
    const bool in_legend = std::any_of(map.legend.begin(), map.legend.end(), [&](const auto& e) { return e.shade == shade; });
    if (!in_legend) map.legend.push_back({shade, verdict});
    map.groups.push_back(std::move(group));
  }
  if (map.groups.empty()) return {};
  return {{.name = "claims",
           .title = "What was measured, and what would make the claim true",
           .caption = "The coloured row of a claim decides; the others are there to read beside it.",
           .description = "Claims with their measurements and thresholds.",
           .data = map}};
}

}  // namespace ulpscope::studies
