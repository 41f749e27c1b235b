// SPDX-License-Identifier: Apache-2.0
// Heading, sentence, tables and a histogram with bars.
#include "verify/verdict_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "emu/names.hpp"
#include "reports/render.hpp"
#include "tensors/tensor.hpp"
#include "verify/integer_matmul.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t bar_width = 40;

std::string table_text(const reports::Table& table, std::optional<std::size_t> width, std::size_t key_columns = 1,
                       std::vector<std::string> numerals = {}) {
  reports::TextOptions options{.key_columns = key_columns, .numerals = std::move(numerals)};
  if (width) options.width = *width;
  return reports::to_text(table, options);
}

/// The table without the columns that the lines above it have said.
reports::Table without(reports::Table table, const std::vector<std::string>& columns) {
  for (const std::string& name : columns) {
    const auto at = static_cast<std::ptrdiff_t>(table.column(name));
    table.columns.erase(table.columns.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
  return table;
}

/// The histogram with bars: the longest is `bar_width` wide, and what is there has at least one mark.
reports::Table with_bars(reports::Table histogram) {
  std::int64_t most = 1;
  for (const auto& row : histogram.rows) most = std::max(most, std::get<std::int64_t>(row[1]));
  histogram.columns.emplace_back("");
  for (auto& row : histogram.rows) {
    const auto count = static_cast<double>(std::get<std::int64_t>(row[1]));
    const auto width = static_cast<std::size_t>(count / static_cast<double>(most) * bar_width);
    row.emplace_back(std::string(count == 0 ? 0 : std::max<std::size_t>(width, 1), '#'));
  }
  return histogram;
}

constexpr int least_digits = 5, most_digits = 17;  // as of other numbers in tables; all that a float64 has

/// A number of the output in as many digits as are read back as its code, five at least.
std::pair<std::string, int> output_text(const emu::Format& format, double value) {
  const std::string code = output_code(format, value);
  std::string text;
  int digits = least_digits;
  for (;; ++digits) {
    text = fmt::format("{:.{}g}", value, digits);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (digits == most_digits || output_code(format, read) == code) return {text, digits};
  }
}

/// The worst elements with so many digits that an output and the exact result that differ do so in the text.
reports::Table with_digits(reports::Table worst, const emu::Format& format) {
  for (auto& row : worst.rows) {
    reports::Cell& out = row[worst.column("out")];
    reports::Cell& exact = row[worst.column("exact")];
    const double output = std::get<double>(out), value = std::get<double>(exact);
    if (!std::isfinite(output) || !std::isfinite(value)) continue;
    auto [text, digits] = output_text(format, output);
    std::string of_exact = fmt::format("{:.{}g}", value, digits);
    while (value != output && of_exact == text && digits < most_digits) of_exact = fmt::format("{:.{}g}", value, ++digits);
    out = std::move(text), exact = std::move(of_exact);
  }
  return worst;
}

}  // namespace

std::string heading_of(const products::Product& problem) {
  const auto line = [](const char* name, const products::MatmulOperand& x) {
    return std::string(name) + "  " + x.input.words() + ", " + emu::format_name(x.rounding.format) + "\n";
  };
  const products::MatmulShape shape = products::matmul_shape(problem.a.input, problem.b.input);
  std::string text = line("A", problem.a) + line("B", problem.b);
  if (problem.c) text += "C  " + problem.c->label + " (" + tensors::shape_text(problem.c->shape) + ")\n";
  return text + "D  " + tensors::shape_text(shape.d) + ", K = " + std::to_string(shape.k) + ", accumulator " +
         emu::format_name(problem.acc) + ", out " + emu::format_name(problem.out) + "\n";
}

VerdictTables tables_of(const Verdict& verdict) {
  return {verdict_table(verdict), histogram_table(verdict), worst_table(verdict)};
}

std::string verdict_text(const std::string& heading, const Verdict& verdict, std::optional<std::size_t> width) {
  return verdict_text(heading, verdict, tables_of(verdict), width);
}

std::string verdict_text(const std::string& heading, const Verdict& verdict, const VerdictTables& tables,
                         std::optional<std::size_t> width) {
  std::string text = heading;
  if (!verdict.bound.empty()) text += "bound: " + verdict.bound + "\n";
  text += "\n" + verdict.sentence() + "\n";
  for (const std::string& pattern : verdict.patterns) text += "  " + pattern + "\n";
  std::vector<std::string> said{"output", "verdict", "bound", "dtype", "shape"};
  if (verdict.nonfinite_admitted == 0) said.emplace_back("nonfinite_admitted");
  const reports::Table counts = without(tables.counts, said);
  text += "\n" + table_text(counts, width, 0) + "\nerrors in ulps of " + output_name(verdict.out) + "\n\n" +
          table_text(with_bars(tables.histogram), width);
  if (!verdict.worst.empty())
    text += std::string("\n") + (verdict.wrong() == 0 ? "the furthest from exact" : "the worst elements") + "\n\n" +
            table_text(with_digits(tables.worst, verdict.out), width, 1, {"out", "exact"});
  return text;
}

std::string verdict_text(const std::string& heading, const BaselineVerdict& verdict, const reports::Table& table,
                         std::optional<std::size_t> width) {
  std::vector<std::string> said{"verdict", "bound", "dtype", "shape"};
  if (verdict.kernel.nonfinite_admitted == 0 && verdict.baseline.nonfinite_admitted == 0)
    said.emplace_back("nonfinite_admitted");
  const reports::Table errors = without(table, said);
  return heading + "\n" + verdict.sentence() + "\n\n" + table_text(errors, width, 2);
}

}  // namespace ulpscope::verify
