// SPDX-License-Identifier: Apache-2.0
// Chooses the columns that say something, and draws bars in cells.
#include "reports/error_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "emu/visible.hpp"
#include "reports/escape.hpp"
#include "reports/page_style.hpp"
#include "reports/percent.hpp"
#include "reports/render.hpp"

namespace ulpscope::reports {
namespace {

/// When a census column is worth its place.
enum class Shown { always, if_it_varies, if_any, if_not_the_same_as_sqnr };
enum class Kind { text, share, lost_share, number };

struct CensusColumn {
  std::string_view name;
  Kind kind;
  Shown shown;
  std::string_view colour;  ///< of its bars: a class of the style sheet
};

constexpr std::array census_columns{
    CensusColumn{"scale", Kind::text, Shown::if_it_varies, {}},
    CensusColumn{"log2_scale", Kind::number, Shown::if_it_varies, {}},
    CensusColumn{"nan", Kind::share, Shown::if_any, "b-other"},
    CensusColumn{"infinite", Kind::share, Shown::if_any, "b-other"},
    CensusColumn{"zero", Kind::share, Shown::if_any, "b-kept"},
    CensusColumn{"exact", Kind::share, Shown::always, "b-kept"},
    CensusColumn{"rounded", Kind::share, Shown::always, "b-kept"},
    CensusColumn{"subnormal", Kind::share, Shown::always, "b-subnormal"},
    CensusColumn{"to_zero", Kind::lost_share, Shown::always, "b-zero"},
    CensusColumn{"overflow", Kind::lost_share, Shown::always, "b-overflow"},
    CensusColumn{"sqnr_db", Kind::number, Shown::always, {}},
    CensusColumn{"sqnr_saturating_db", Kind::number, Shown::if_not_the_same_as_sqnr, {}},
    CensusColumn{"max_rel_error", Kind::number, Shown::always, {}},
    CensusColumn{"mean_rel_error", Kind::number, Shown::always, {}},
    CensusColumn{"max_abs_error", Kind::number, Shown::always, {}},
};

double number(const Cell& cell) {
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*count);
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  return std::nan("");
}

std::string plain(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return html_escaped(emu::visible(*text));
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return std::to_string(*count);
  const double value = std::get<double>(cell);
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : shortest(value);
}

bool wanted(const Table& table, std::size_t column, Shown shown) {
  const auto in_any_row = [&](auto holds) { return std::any_of(table.rows.begin(), table.rows.end(), holds); };
  const auto& first = table.rows.front()[column];
  const auto sqnr = table.find("sqnr_db");
  switch (shown) {
    case Shown::always: return true;
    case Shown::if_it_varies: return in_any_row([&](const auto& row) { return row[column] != first; });
    case Shown::if_any: return in_any_row([&](const auto& row) { return number(row[column]) != 0; });
    case Shown::if_not_the_same_as_sqnr:
      return sqnr && in_any_row([&](const auto& row) { return plain(row[column]) != plain(row[*sqnr]); });
  }
  return true;
}

std::string header(std::string_view name, std::string_view unit, bool text) {
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  if (words.ends_with(" db")) words.replace(words.size() - 3, 3, ", dB");
  return fmt::format("<th scope=\"col\"{}>{}{}</th>", text ? " class=\"text\"" : "", html_escaped(words), unit);
}

/// A cell whose lower edge is a bar: the style sheet has a class for each of its lengths, so that a table of many tensors costs
/// few bytes.
std::string share_cell(double percent, const CensusColumn& column) {
  const int length = static_cast<int>(std::lround(std::clamp(percent, 0.0, 100.0) / (100.0 / bar_lengths)));
  const bool loss = column.kind == Kind::lost_share && percent > 0;
  return fmt::format("<td class=\"{}{} w{}\">{}</td>", loss ? "loss " : "", column.colour, length,
                     html_escaped(percent_text(percent)));
}

std::string census_cell(const CensusColumn& column, const Cell& cell, double count) {
  if (column.kind == Kind::text) return "<td class=\"text\">" + plain(cell) + "</td>";
  if (column.kind == Kind::number) return "<td>" + plain(cell) + "</td>";
  return share_cell(count > 0 ? 100 * number(cell) / count : 0, column);
}

struct Placed {
  CensusColumn column;
  std::size_t index;
};

std::string census_table(const Table& table, std::size_t format, std::size_t count) {
  std::vector<Placed> placed;
  for (const auto& column : census_columns) {
    const auto index = table.find(column.name);
    if (index && wanted(table, *index, column.shown)) placed.push_back({column, *index});
  }
  std::string html = "<thead><tr>" + header("format", "", true);
  for (const auto& [column, index] : placed) {
    const bool share = column.kind == Kind::share || column.kind == Kind::lost_share;
    html += header(column.name, share ? ", %" : "", column.kind == Kind::text);
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr><th scope=\"row\">" + plain(row[format]) + "</th>";
    for (const auto& [column, index] : placed) html += census_cell(column, row[index], number(row[count]));
    html += "</tr>\n";
  }
  return html + "</tbody>";
}

std::string any_table(const Table& table) {
  const auto is_text = [&](std::size_t column) { return std::holds_alternative<std::string>(table.rows.front()[column]); };
  std::string html = "<thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i) html += header(table.columns[i], "", is_text(i));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      html += (is_text(i) ? "<td class=\"text\">" : "<td>") + plain(row[i]) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody>";
}

}  // namespace

std::string error_table(const Table& table) {
  if (table.rows.empty()) return {};
  const auto format = table.find("format");
  const auto count = table.find("count");
  const auto content = format && count ? census_table(table, *format, *count) : any_table(table);
  return "<div class=\"scroll\"><table class=\"data\">\n" + content + "\n</table></div>\n";
}

}  // namespace ulpscope::reports
