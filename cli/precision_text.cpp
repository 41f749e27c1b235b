// SPDX-License-Identifier: Apache-2.0
// Shortens the names of tensors, ranks the rows and leaves out columns until a line fits.
#include "cli/precision_text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "cli/worst_first.hpp"
#include "emu/visible.hpp"
#include "reports/render.hpp"
#include "studies/census/census_findings.hpp"

namespace ulpscope::cli {
namespace {

using emu::Outcome;
using reports::Cell;
using reports::Severity;
using reports::Table;
using studies::percent_of;

/// What a line is made of, beside its row of the CSV.
struct Line {
  std::size_t tensor;  ///< its index
  const studies::ErrorSums* sums;
  emu::Format format;
  studies::Advice advice;  ///< of a sweep
};

struct Lines {
  Table all;  ///< census.csv, or the rows of sweep.csv at the scales to use
  std::vector<Line> lines;
  bool of_sweep;
};

/// FILE of a label FILE:NAME; nothing for what is no file of several tensors.
std::optional<std::string> file_of(const tensors::Tensor& tensor) {
  const std::string ending = ":" + emu::visible(tensor.name);
  if (tensor.name.empty() || !tensor.label.ends_with(ending)) return std::nullopt;
  return tensor.label.substr(0, tensor.label.size() - ending.size());
}

/// Names of tensors in which each file is named once: in `file`, if it is that of all tensors, else by a number that `legend`
/// explains.
class ShortNames {
 public:
  explicit ShortNames(const std::vector<tensors::Tensor>& tensors) {
    for (const tensors::Tensor& tensor : tensors) {
      const auto file = file_of(tensor);
      if (!file) alone_ = false;
      if (file && numbers_.emplace(*file, numbers_.size() + 1).second) files_.push_back(*file);
    }
    alone_ &= files_.size() == 1;
  }
  std::string of(const tensors::Tensor& tensor) const {
    const auto file = file_of(tensor);
    if (!file) return tensor.label;
    return alone_ ? tensor.name : std::to_string(numbers_.at(*file)) + ":" + tensor.name;
  }
  std::string legend() const {
    std::string text;
    for (std::size_t i = 0; i < files_.size(); ++i)
      text += (alone_ ? "file " : std::to_string(i + 1) + ": ") + emu::visible(files_[i]) + "\n";
    return text;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> files_;
  bool alone_ = true;
};

/// How many tensors have which verdict, and the order of the lines.
std::string heading(const Lines& lines, const std::vector<std::size_t>& rows, std::size_t tensors,
                    const CommonOptions& options) {
  std::map<std::size_t, Severity> worst;
  for (const std::size_t row : rows) {
    if (lines.lines[row].tensor >= tensors) continue;  // a group
    Severity& of_tensor = worst[lines.lines[row].tensor];
    of_tensor = std::max(of_tensor, studies::severity(*lines.lines[row].sums, lines.lines[row].format));
  }
  std::array<std::size_t, 3> counts{};
  for (const auto& [tensor, of_tensor] : worst) ++counts[static_cast<std::size_t>(of_tensor)];
  std::string text = std::to_string(worst.size());
  if (worst.size() != tensors) text += " of " + std::to_string(tensors);
  text += " tensors";
  for (std::size_t i = counts.size(), said = 0; i-- > 0;)
    if (counts[i] != 0)
      text += (said++ == 0 ? ": " : ", ") + std::to_string(counts[i]) + " " + name_of(static_cast<Severity>(i));
  std::string order;
  for (const reports::Order& by : worst_first()) order += (order.empty() ? "" : ", ") + by.column;
  if (options.sort.empty()) text += "\nworst first, by " + order;
  const auto has_zeros = [&](std::size_t row) {
    const studies::ErrorSums& sums = *lines.lines[row].sums;
    return sums.of(Outcome::to_zero) != 0 && sums.nonzero != sums.count();
  };
  if (std::ranges::any_of(rows, has_zeros)) text += "\nto_zero% is the share of the numbers other than 0";
  return text + "\n";
}

std::vector<std::string> columns_of_csv(const Lines& lines) {
  std::vector<std::string> columns{"operator",      "sqnr_db",       "max_rel_error", "mean_rel_error",
                                   "max_abs_error", "max_abs_input", "min_abs_input", "count"};
  for (const char* const rare : {"nan", "infinite"}) {
    const Outcome outcome = std::string(rare) == "nan" ? Outcome::nan : Outcome::infinite;
    const auto has = [&](const Line& line) { return line.sums->of(outcome) != 0; };
    if (std::any_of(lines.lines.begin(), lines.lines.end(), has)) columns.emplace_back(rare);
  }
  columns.insert(columns.end(), {"rounding", "policy", "scale", "node"});
  return columns;
}

/// The scales that lose nothing to overflow and least to zero, as powers of two.
std::string scales_of(const studies::Advice& advice) {
  if (!advice.first) return "none";
  return std::to_string(*advice.first) + (advice.last == advice.first ? "" : ":" + std::to_string(*advice.last));
}

/// The lines of these rows: what identifies them, the verdict, the losses, and of the CSV what fits.
Table line_table(const Lines& lines, const std::vector<std::size_t>& rows, const std::vector<tensors::Tensor>& tensors,
                 const ShortNames& names) {
  Table table{lines.all.name, {"tensor", "format", "verdict"}, {}};
  if (lines.of_sweep) table.columns.emplace_back("log2_scale");
  table.columns.insert(table.columns.end(), {"overflow%", "to_zero%", "subnormal%"});
  if (lines.of_sweep) table.columns.emplace_back("best_scales");
  std::vector<std::size_t> copied;
  for (const std::string& name : columns_of_csv(lines)) {
    const auto at = std::find(lines.all.columns.begin(), lines.all.columns.end(), name);
    if (at == lines.all.columns.end()) continue;
    copied.push_back(static_cast<std::size_t>(at - lines.all.columns.begin()));
    table.columns.push_back(name);
  }
  for (const std::size_t row : rows) {
    const Line& line = lines.lines[row];
    std::vector<Cell> cells{names.of(tensors[line.tensor]), lines.all.rows[row][1],
                            name_of(studies::severity(*line.sums, line.format))};
    if (lines.of_sweep) cells.emplace_back(std::int64_t{line.advice.use_log2});
    for (const Outcome lost : {Outcome::overflow, Outcome::to_zero, Outcome::subnormal})
      cells.emplace_back(percent_of(*line.sums, lost));
    if (lines.of_sweep) cells.emplace_back(scales_of(line.advice));
    for (const std::size_t column : copied) cells.push_back(lines.all.rows[row][column]);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string text_of(const Lines& lines, const std::vector<tensors::Tensor>& tensors, const CommonOptions& options) {
  const std::vector<std::size_t> rows = chosen_rows(lines.all, options, worst_first());
  const ShortNames names(tensors);
  const std::size_t always_shown = lines.of_sweep ? 6 : 5;  // tensor, format, verdict, log2_scale, overflow%, to_zero%
  const auto real =
      static_cast<std::size_t>(std::ranges::count_if(tensors, [](const auto& tensor) { return tensor.source != nullptr; }));
  return heading(lines, rows, real, options) + names.legend() +
         reports::to_text(line_table(lines, rows, tensors, names), {.width = terminal_width(),
                                                                    .max_rows = most_rows(options, default_rows),
                                                                    .key_columns = always_shown,
                                                                    .fit = reports::Fit::one_line});
}

}  // namespace

std::string census_lines(const std::vector<tensors::Tensor>& tensors, const std::vector<studies::CensusRow>& rows,
                         const reports::Table& table, const CommonOptions& options) {
  Lines lines{table, {}, false};
  const std::size_t formats = rows.size() / tensors.size();
  for (std::size_t i = 0; i < rows.size(); ++i) lines.lines.push_back({i / formats, &rows[i].sums, rows[i].format, {}});
  return text_of(lines, tensors, options);
}

std::vector<BestScale> best_scales(std::size_t tensor, const std::vector<studies::SweepRow>& rows) {
  std::vector<BestScale> best;
  for (studies::Advice& advice : studies::advise(rows)) {
    const auto row = std::ranges::find_if(
        rows, [&](const studies::SweepRow& r) { return r.format == advice.format && r.log2_scale == advice.use_log2; });
    best.push_back({tensor, std::move(advice), *row});
  }
  return best;
}

std::string sweep_lines(const std::vector<tensors::Tensor>& tensors, const std::vector<BestScale>& scales,
                        const emu::RoundingOptions& rounding, const CommonOptions& options) {
  Lines lines{{}, {}, true};
  std::vector<studies::SweepRow> rows;
  for (const BestScale& scale : scales) {
    rows.push_back(scale.row);
    lines.lines.push_back({scale.tensor, &scale.row.sums, scale.row.format, scale.advice});
  }
  lines.all = studies::sweep_table(rows, rounding);
  return text_of(lines, tensors, options);
}

}  // namespace ulpscope::cli
