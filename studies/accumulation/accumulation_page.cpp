// SPDX-License-Identifier: Apache-2.0
// Findings, then for each kind of accumulation its figure and a table, then all numbers.
#include "studies/accumulation/accumulation_page.hpp"

#include <cmath>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/math.hpp"
#include "studies/accumulation/accumulation_grid.hpp"

namespace ulpscope::studies {
namespace {

using reports::Section;

/// As its figure: 8-bit inputs, float16 accumulators, the others.
std::string figure_of(const Accumulation& accumulation) {
  constexpr int narrow_bits = 8;
  if (accumulation.in.bits() <= narrow_bits) return "narrow_inputs";
  return accumulation.engine.accumulator == emu::float16 ? "float16_accumulators" : "float32_accumulators";
}

/// Engines that only others have checked say so.
std::string legend_of(const Accumulation& accumulation) {
  return words_of(accumulation) + (accumulation.evidence == "published" ? " (published)" : "");
}

/// The power of K by which the error grows; nothing where one of the two errors has no logarithm.
reports::Cell growth_of(const AccumulationRow& first, const AccumulationRow& last) {
  const double power = emu::log2(last.errors.frobenius / first.errors.frobenius) /
                       emu::log2(static_cast<double>(last.length) / static_cast<double>(first.length));
  return std::isfinite(power) ? reports::Cell(power) : reports::Cell("");
}

/// The errors at the greatest K, a line for each accumulation of a figure.
reports::Table errors_of(const AccumulationGrid& grid, const std::string& figure) {
  reports::Table table{"errors", {"relative Frobenius error at K = " + std::to_string(grid.config().lengths.back())}, {}};
  for (const std::string& distribution : grid.config().distributions) table.columns.push_back(distribution);
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i) {
    if (figure_of(grid.config().accumulations[i]) != figure) continue;
    std::vector<reports::Cell> row{legend_of(grid.config().accumulations[i])};
    for (std::size_t d = 0; d < grid.config().distributions.size(); ++d) row.emplace_back(grid.longest(i, d).errors.frobenius);
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// One line for each curve.
reports::Table all_numbers(const AccumulationGrid& grid) {
  const std::size_t last = grid.config().lengths.size() - 1;
  const std::string from = std::to_string(grid.config().lengths.front()), to = std::to_string(grid.config().lengths[last]);
  reports::Table table{"accumulation", {"engine", "distribution"}, {}};
  if (last > 0) table.columns.push_back("error at K = " + from);
  table.columns.push_back("error at K = " + to);
  if (last > 0) table.columns.push_back("grows like K to the");
  for (const char* const column : {"mean signed relative error", "max relative error"}) table.columns.emplace_back(column);
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i)
    for (std::size_t d = 0; d < grid.config().distributions.size(); ++d) {
      const AccumulationRow &first = grid.at(i, d, 0), &row = grid.at(i, d, last);
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

reports::Page accumulation_page(const std::vector<AccumulationRow>& rows, const AccumulationConfig& config) {
  const AccumulationGrid grid(rows, config);
  reports::Page page{.title = "What accumulators cost",
                     .settings = "C = A B with " + std::to_string(config.shape.rows) + " x " +
                                 std::to_string(config.shape.columns) + " outputs for every engine, distribution and K; seed " +
                                 std::to_string(config.seed) +
                                 ". Operands are rounded to the input format first (nearest even), and C is compared with the "
                                 "exact product of the rounded operands.",
                     .command = {},
                     .blocks = {reports::FindingList{accumulation_findings(rows, config)}},
                     .sections = {}};
  for (reports::Figure& figure : accumulation_figures(accumulation_table(rows))) {
    Section section{.id = figure.name, .title = figure.title};
    while (section.id.find('_') != std::string::npos) section.id[section.id.find('_')] = '-';
    if (section.title.ends_with('.')) section.title.pop_back();
    reports::Table errors = errors_of(grid, figure.name);
    figure.title = "How the error grows.";
    section.blocks.emplace_back(std::move(figure));
    section.blocks.emplace_back(std::move(errors));
    page.sections.push_back(std::move(section));
  }
  page.sections.push_back({.id = "numbers",
                           .title = "Growth, bias and largest errors of every curve",
                           .fold = Section::Fold::closed,
                           .blocks = {all_numbers(grid)}});
  return page;
}

}  // namespace ulpscope::studies
