// SPDX-License-Identifier: Apache-2.0
// Curves and sentences from rows: which rows make one curve, how steep it is, what is worth saying.
#include "cli/accumulation_page.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/output.hpp"
#include "emu/catalogue.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "reports/growth.hpp"
#include "reports/palette.hpp"
#include "reports/study_page.hpp"

namespace ulpscope::cli {
namespace {

using reports::Growth;
using studies::Accumulation;
using studies::AccumulationErrors;

bool same_but_promotion(Accumulation a, const Accumulation& b) {
  a.promote = b.promote;
  return a == b;
}

using Statistic = double AccumulationErrors::*;

std::vector<std::vector<double>> curves(const AccumulationGrid& grid, std::size_t accumulation, Statistic statistic) {
  std::vector<std::vector<double>> panels(grid.config().distributions.size());
  for (std::size_t d = 0; d < panels.size(); ++d)
    for (std::size_t k = 0; k < grid.config().lengths.size(); ++k)
      panels[d].push_back(grid.at(accumulation, d, k).errors.*statistic);
  return panels;
}

/// Engines that only others have checked say so.
std::string legend_of(const Accumulation& accumulation) {
  return words_of(accumulation) + (accumulation.evidence == "published" ? " (published)" : "");
}

/// The accumulations whose operands are narrow, or are not: their errors are orders of magnitude apart. Promotion keeps the
/// colour and is dashed; what rounding the operands costs is dotted in the colour of their format.
Growth::Row figure_row(const AccumulationGrid& grid, bool narrow) {
  constexpr int most_narrow_bits = 8;
  constexpr std::size_t colours = reports::palette::formats.size();
  Growth::Row row{narrow ? "Inputs of 8 bits or fewer" : "Inputs of more than 8 bits", {}};
  std::vector<Accumulation> coloured;
  std::vector<Growth::Line> roundings;
  std::vector<emu::Format> formats;
  const std::vector<Accumulation>& all = grid.config().accumulations;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((all[i].in.bits() <= most_narrow_bits) != narrow) continue;
    std::size_t colour = 0;
    while (colour < coloured.size() && !same_but_promotion(coloured[colour], all[i])) ++colour;
    if (colour == coloured.size()) coloured.push_back(all[i]);
    const bool dashed = all[i].promote != 0 || (colour / colours) % 2 == 1;
    row.lines.push_back({legend_of(all[i]), colour, dashed ? Growth::Dash::dashed : Growth::Dash::solid,
                         curves(grid, i, &AccumulationErrors::frobenius)});
    if (!narrow || std::find(formats.begin(), formats.end(), all[i].in) != formats.end()) continue;
    formats.push_back(all[i].in);
    roundings.push_back({"rounding the inputs to " + emu::format_name(all[i].in), colour, Growth::Dash::dotted,
                         curves(grid, i, &AccumulationErrors::rounding)});
  }
  row.lines.insert(row.lines.end(), roundings.begin(), roundings.end());
  return row;
}

Growth figure_of(const AccumulationGrid& grid) {
  Growth growth;
  for (const std::size_t k : grid.config().lengths) growth.x.push_back(static_cast<double>(k));
  growth.x_label = "K, the length of the sums";
  growth.panels = grid.config().distributions;
  for (const bool narrow : {true, false})
    if (Growth::Row row = figure_row(grid, narrow); !row.lines.empty()) growth.rows.push_back(std::move(row));
  growth.description = "Relative Frobenius error of matrix products against the length of their sums, for " +
                       std::to_string(grid.config().accumulations.size()) + " engines and formats and " +
                       std::to_string(growth.panels.size()) + " distributions of the operands; both axes are logarithmic.";
  return growth;
}

/// The power of K by which the error grows; nothing where one of the two errors has no logarithm.
reports::Cell growth_of(const studies::AccumulationRow& first, const studies::AccumulationRow& last) {
  const double power = emu::log2(last.errors.frobenius / first.errors.frobenius) /
                       emu::log2(static_cast<double>(last.length) / static_cast<double>(first.length));
  return std::isfinite(power) ? reports::Cell(power) : reports::Cell("");
}

/// One line for each curve of the figure.
reports::Table table_of(const AccumulationGrid& grid) {
  const std::size_t last = grid.config().lengths.size() - 1;
  const std::string from = std::to_string(grid.config().lengths.front()), to = std::to_string(grid.config().lengths[last]);
  reports::Table table{"accumulation", {"engine", "distribution"}, {}};
  if (last > 0) table.columns.push_back("error at K = " + from);
  table.columns.push_back("error at K = " + to);
  if (last > 0) table.columns.push_back("grows like K to the");
  for (const char* const column : {"mean signed relative error", "max relative error"}) table.columns.push_back(column);
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i)
    for (std::size_t d = 0; d < grid.config().distributions.size(); ++d) {
      const studies::AccumulationRow &first = grid.at(i, d, 0), &row = grid.at(i, d, last);
      std::vector<reports::Cell> cells{legend_of(row.accumulation), row.distribution};
      if (last > 0) cells.emplace_back(first.errors.frobenius);
      cells.emplace_back(row.errors.frobenius);
      if (last > 0) cells.push_back(growth_of(first, row));
      for (const double x : {row.errors.mean_signed_rel, row.errors.max_rel}) cells.emplace_back(x);
      table.rows.push_back(std::move(cells));
    }
  return table;
}

}  // namespace

std::string words_of(const studies::Accumulation& accumulation) {
  std::string words = accumulation.name + " on " + emu::format_name(accumulation.in);
  if (accumulation.engine.accumulator != emu::float32) words += " into " + emu::format_name(accumulation.engine.accumulator);
  if (accumulation.promote != 0) words += ", promoted every " + std::to_string(accumulation.promote);
  return words;
}

std::string accumulation_page(const std::vector<studies::AccumulationRow>& rows, const studies::AccumulationConfig& config,
                              const std::vector<std::string>& arguments) {
  const AccumulationGrid grid(rows, config);
  reports::StudyPage page;
  page.title = "What accumulators cost";
  page.settings =
      "C = A B with " + std::to_string(config.shape.rows) + " x " + std::to_string(config.shape.columns) +
      " outputs for every engine, distribution and K; seed " + std::to_string(config.seed) +
      ". Operands are rounded to the input format first (nearest even), and C is compared with the exact product of "
      "the rounded operands.";
  page.sentences = accumulation_findings(grid);
  page.figure = reports::growth_figure(figure_of(grid));
  page.figure_title = "How the error grows.";
  page.figure_caption =
      "Relative Frobenius error |C - exact| / |exact| against the length of the sums; one panel for each distribution of the "
      "operands. Dotted: what rounding 8-bit operands alone does to the exact product. A product without any error is not "
      "drawn.";
  page.table = table_of(grid);
  page.command = command_line(arguments);
  return reports::to_html(page);
}

}  // namespace ulpscope::cli
