// SPDX-License-Identifier: Apache-2.0
// Probabilities that become 0, over their distance from the largest: a panel for each scale, a curve for each order of keys.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "reports/columns.hpp"
#include "studies/attention/attention.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {

std::vector<reports::Figure> attention_figures(const std::vector<reports::Table>& tables) {
  const auto found = std::find_if(tables.begin(), tables.end(), [](const reports::Table& t) { return t.has("log2_distance"); });
  if (found == tables.end()) return {};
  const reports::Columns columns(*found);
  reports::Growth growth;
  growth.x_label = "the largest probability over this one", growth.y_label = "share that becomes 0";
  std::vector<std::string> orders;
  std::map<std::tuple<std::string, std::string, double>, double> shares;
  for (const auto& row : found->rows) {
    const std::string panel = "times " + digits(columns.number(row, "scale"), 6), order = columns.text(row, "order");
    const double times =
        std::ldexp(1.0, static_cast<int>(std::clamp<std::int64_t>(columns.count(row, "log2_distance"), 0, 1023)));
    const double count = columns.number(row, "count");
    reports::place_of(growth.panels, panel), reports::place_of(orders, order);
    if (std::find(growth.x.begin(), growth.x.end(), times) == growth.x.end()) growth.x.push_back(times);
    if (count > 0) shares[{panel, order, times}] = columns.number(row, "to_zero") / count;
  }
  std::sort(growth.x.begin(), growth.x.end());
  for (const std::string& order : orders) {
    const std::size_t place = growth.lines.size();
    reports::Growth::Line line{
        .name = "keys " + order, .colour = place, .marker = static_cast<reports::Growth::Marker>(place % 5), .y = {}};
    for (const std::string& panel : growth.panels) {
      line.y.emplace_back();
      for (const double x : growth.x) {
        const auto share = shares.find({panel, order, x});
        line.y.back().push_back(share == shares.end() ? std::nan("") : share->second);
      }
    }
    growth.lines.push_back(std::move(line));
  }
  return {{.name = "probabilities",
           .title = "Probabilities in e4m3 that become 0",
           .caption =
               "By how far they lie below the largest of their row, a panel for each factor before the rounding. Where the "
               "largest score comes last, probabilities before it are rounded relative to a smaller maximum.",
           .description = "Share of probabilities that become 0 over the factor by which the largest exceeds them.",
           .data = growth}};
}

}  // namespace ulpscope::studies
