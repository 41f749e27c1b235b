// SPDX-License-Identifier: Apache-2.0
// Sentences of counts and quantiles, spans of decibels, curves of magnitudes.
#include "studies/census/block_findings.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "emu/names.hpp"
#include "reports/columns.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {
namespace {

using reports::Finding;
using reports::Ranges;
using reports::Steps;

/// `3 of 512 blocks`
std::string blocks_of_all(std::uint64_t some, const BlockStatistics& row) {
  return std::to_string(some) + " of " + std::to_string(row.counts.blocks) + (row.counts.blocks == 1 ? " block" : " blocks");
}

std::string sentence_of(const BlockStatistics& row) {
  std::string text = row.tensor + " in " + emu::format_name(row.format) + ": ";
  if (row.counts.blocks == 0) return text + "no blocks.";
  const std::size_t before = text.size();
  const auto add = [&](std::uint64_t count, const std::string& what) {
    if (count != 0) text += (text.size() > before ? ", " : "") + blocks_of_all(count, row) + " " + what;
  };
  add(row.counts.saturated, "saturate");
  add(row.counts.with_to_zero, "lose a number to zero");
  add(row.counts.all_to_zero, "lose all of them");
  add(row.counts.nonfinite, "hold an infinity or a NaN");
  if (text.size() == before) text += "no number of " + blocks_of_all(row.counts.blocks, row) + " is lost";
  if (std::isnan(row.sqnr_db.front())) return text + ".";
  const std::string place =
      std::to_string(row.worst / row.blocks_per_row) + ";" + std::to_string(row.worst % row.blocks_per_row);
  return text + "; the worst, " + (row.worst_in.empty() ? place : row.worst_in + " " + place) + ", has " +
         digits(row.sqnr_db.front(), 3) + " dB, half have " + digits(row.sqnr_db[3], 3) + " dB or less.";
}

std::string sentence_of(const AmaxHistoryRow& row) {
  if (std::isinf(row.amax))
    return row.tensor + " holds an infinity in " + row.input + ", after up to " + digits(row.amax_before) + ".";
  if (row.amax_before == 0) return row.tensor + " is 0 before " + row.input + ", and up to " + digits(row.amax) + " there.";
  return row.tensor + " grows by " + digits(row.growth_binades, 3) + " binades beyond its history in " + row.input +
         ": up to " + digits(row.amax) + " after " + digits(row.amax_before) + ".";
}

}  // namespace

std::vector<Finding> block_findings(const std::vector<BlockStatistics>& rows) {
  std::vector<Finding> findings;
  for (const BlockStatistics& row : rows)
    findings.push_back({.what = "sqnr_min_db",
                        .where = row.tensor + " in " + emu::format_name(row.format),
                        .value = row.sqnr_db.front(),
                        .threshold = "",
                        .source = {},
                        .sentence = sentence_of(row)});
  return findings;
}

std::vector<reports::Figure> block_figures(const reports::Table& table) {
  constexpr std::size_t most_tensors = 40;
  const reports::Columns columns(table);
  Ranges ranges{
      .axis = Ranges::Axis::linear,
      .x_label = "signal to quantization noise of a block, dB",
      .panels = {},
      .lines = {},
      .legend = {
          {reports::Tone::normal, "10 to 90% of the blocks"}, {Ranges::Thin{}, "all"}, {std::size_t{0}, "the middle one"}}};
  std::size_t left_out = 0;
  for (const auto& row : table.rows) {
    const double least = columns.number(row, "sqnr_min_db"), most = columns.number(row, "sqnr_max_db");
    if (!std::isfinite(least) || !std::isfinite(most)) continue;  // no blocks, or exact ones, or an infinite error
    const std::string tensor = columns.text(row, "tensor");
    Ranges::Panel& panel = reports::panel_named(ranges, columns.text(row, "format") + ", " + columns.text(row, "scale"));
    if (panel.rows.size() == most_tensors) {
      ++left_out;
      continue;
    }
    const double low = columns.number(row, "sqnr_p10_db"), high = columns.number(row, "sqnr_p90_db");
    const double half = columns.number(row, "sqnr_p50_db");
    const auto words = [&](double from, double to) { return tensor + ": " + digits(from, 3) + " to " + digits(to, 3) + " dB"; };
    panel.rows.push_back({.name = tensor.substr(tensor.find_last_of("/:") + 1),
                          .spans = {{least, most, reports::Tone::normal, words(least, most), Ranges::Span::Height::thin},
                                    {low, high, reports::Tone::normal, words(low, high)}},
                          .dots = {{half, 0, tensor + ": half have " + digits(half, 3) + " dB or less"}}});
  }
  if (ranges.panels.empty()) return {};
  std::string caption = "A block whose numbers are all exact has infinitely many, and its tensor is not shown.";
  if (left_out != 0) caption += " The first " + std::to_string(most_tensors) + " tensors of each format.";
  return {{.name = "sqnr",
           .title = "Decibels of blocks",
           .caption = std::move(caption),
           .description =
               "A panel for each format, a row for each tensor: the range of all blocks, that of 10 to 90%, and the middle.",
           .data = std::move(ranges)}};
}

std::vector<Finding> history_findings(const std::vector<AmaxHistoryRow>& rows) {
  std::vector<const AmaxHistoryRow*> most;  // of each tensor, in their order
  std::map<std::string, std::size_t> place;
  for (const AmaxHistoryRow& row : rows) {
    if (!(row.growth_binades > 0)) continue;
    const auto [found, is_new] = place.try_emplace(row.tensor, most.size());
    if (is_new)
      most.push_back(&row);
    else if (row.growth_binades > most[found->second]->growth_binades)
      most[found->second] = &row;
  }
  std::vector<Finding> findings;
  for (const AmaxHistoryRow* const row : most)
    findings.push_back({.what = "growth_binades",
                        .where = row->tensor + " in " + row->input,
                        .value = row->growth_binades,
                        .threshold = "",
                        .source = {},
                        .sentence = sentence_of(*row)});
  return findings;
}

std::vector<reports::Figure> history_figures(const reports::Table& table) {
  constexpr std::size_t most_tensors = 10;
  const reports::Columns columns(table);
  std::vector<std::string> names;
  std::vector<double> growths;
  std::vector<Steps::Line> lines;
  for (const auto& row : table.rows) {
    const std::size_t at = reports::place_of(names, columns.text(row, "tensor"));
    if (at == lines.size()) lines.push_back({.name = names[at]}), growths.push_back(-HUGE_VAL);
    lines[at].x.push_back(columns.number(row, "checkpoint"));
    lines[at].y.push_back(columns.number(row, "amax"));
    growths[at] = std::fmax(growths[at], columns.number(row, "growth_binades"));
  }
  std::vector<std::size_t> order(lines.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order,
                    [&](std::size_t a, std::size_t b) { return growths[a] != growths[b] ? growths[a] > growths[b] : a < b; });
  Steps steps{.axis = Steps::Axis::log2, .x_label = "checkpoint", .y_label = "largest magnitude"};
  for (std::size_t i = 0; i < std::min(order.size(), most_tensors); ++i) {
    steps.lines.push_back(std::move(lines[order[i]]));
    steps.lines.back().colour = i;
  }
  if (steps.lines.empty()) return {};
  return {{.name = "amax",
           .title = "Largest magnitudes, checkpoint by checkpoint",
           .caption = lines.size() > most_tensors
                          ? "Those " + std::to_string(most_tensors) + " that grew most beyond their history."
                          : "",
           .description = "A curve for each tensor.",
           .data = std::move(steps)}};
}

}  // namespace ulpscope::studies
