// SPDX-License-Identifier: Apache-2.0
// The scales of all scalers over the steps, and the safe ones behind them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reports/columns.hpp"
#include "training/scale/scale_study.hpp"

namespace ulpscope::training {

std::vector<reports::Figure> scale_figures(const std::vector<reports::Table>& tables) {
  const reports::Table& table = tables.front();
  const reports::Columns columns(table);
  reports::Steps steps{.axis = reports::Steps::Axis::log2, .x_label = "step", .y_label = "scale"};
  std::vector<std::string> scalers;
  for (const auto& row : table.rows) {
    const std::string scaler = columns.text(row, "scaler");
    const std::size_t place = reports::place_of(scalers, scaler);
    if (place == steps.lines.size()) steps.lines.push_back({.name = scaler, .colour = place, .stairs = true});
    steps.lines[place].x.push_back(columns.number(row, "step"));
    steps.lines[place].y.push_back(columns.number(row, "scale"));
  }
  for (const reports::Table& windows : tables) {
    if (!windows.has("greatest_scale")) continue;
    const reports::Columns of_windows(windows);
    const auto or_else = [](double x, double other) { return std::isnan(x) ? other : x; };
    steps.band.name = "safe scales";
    for (const auto& row : windows.rows) {
      steps.band.x.push_back(of_windows.number(row, "step"));
      const double high = of_windows.number(row, "greatest_scale");
      steps.band.high.push_back(high);
      steps.band.low.push_back(std::isnan(high) ? high : or_else(of_windows.number(row, "least_scale"), 0));
    }
  }
  return {
      {.name = "scales",
       .title = "The scale of every step",
       .caption =
           "A step whose scale is above the band overflows. Where the gradients themselves are recorded, below it some of them "
           "become zero.",
       .description = "Loss scales over the steps of the run, a curve for each scaler.",
       .data = steps}};
}

reports::Page scale_page(const ScaleResult& result, const ScaleRequest& request) {
  reports::Table table{"scalers", {}, {}};
  for (const Replay& replay : result.replays) {
    std::int64_t skipped = 0;
    double least = std::numeric_limits<double>::infinity(), greatest = 0;
    for (const ReplayedStep& row : replay.steps) {
      skipped += row.step.skipped ? 1 : 0;
      least = std::min(least, row.step.scale), greatest = std::max(greatest, row.step.scale);
    }
    table.add({{"scaler", replay.scaler},
               {"steps", reports::whole(replay.steps.size())},
               {"skipped", skipped},
               {"least_scale", least},
               {"greatest_scale", greatest},
               {"last_scale", replay.steps.back().step.next_scale}});
  }
  reports::Page page{.title = "What loss scalers do on a recorded run",
                     .settings = "Trace " + request.trace + "; gradients in " + request.to + ".",
                     .command = {},
                     .blocks = {},
                     .sections = {}};
  page.blocks.emplace_back(reports::FindingList{scale_findings(result)});
  for (reports::Figure& figure : scale_figures(scale_tables(result))) page.blocks.emplace_back(std::move(figure));
  page.blocks.emplace_back(std::move(table));
  return page;
}

}  // namespace ulpscope::training
