// SPDX-License-Identifier: Apache-2.0
// From tables to figures: cells by the names of their columns, panels and rows by theirs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/figure.hpp"
#include "reports/table.hpp"

namespace ulpscope::reports {

/// Of a table that outlives it.
class Columns {
 public:
  /// Keeps a reference.
  explicit Columns(const Table& table) : table_(table) {}

  /// Whether there is a column of that name.
  bool has(std::string_view name) const { return table_.has(name); }
  /// The cell of a row in the column of that name. @throws std::out_of_range where there is none
  const Cell& cell(const std::vector<Cell>& row, std::string_view name) const { return row[table_.column(name)]; }
  /// Its words; empty where it holds a number.
  std::string text(const std::vector<Cell>& row, std::string_view name) const {
    const auto* const word = std::get_if<std::string>(&cell(row, name));
    return word == nullptr ? std::string() : *word;
  }
  /// Its number; NaN where it holds words.
  double number(const std::vector<Cell>& row, std::string_view name) const {
    const Cell& found = cell(row, name);
    if (const auto* const count = std::get_if<std::int64_t>(&found)) return static_cast<double>(*count);
    if (const auto* const value = std::get_if<double>(&found)) return *value;
    return std::nan("");
  }
  /// Its count; 0 where it holds anything else.
  std::int64_t count(const std::vector<Cell>& row, std::string_view name) const {
    const auto* const found = std::get_if<std::int64_t>(&cell(row, name));
    return found == nullptr ? 0 : *found;
  }

 private:
  const Table& table_;
};

/// Adds `word` if it is not there. @returns its place
inline std::size_t place_of(std::vector<std::string>& words, const std::string& word) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
  words.push_back(word);
  return words.size() - 1;
}

/// The panel of that title, which is added if it is not there.
inline Ranges::Panel& panel_named(Ranges& ranges, const std::string& title) {
  const auto at = std::find_if(ranges.panels.begin(), ranges.panels.end(),
                               [&](const Ranges::Panel& panel) { return panel.title == title; });
  if (at != ranges.panels.end()) return *at;
  return ranges.panels.emplace_back(Ranges::Panel{.title = title, .rows = {}});
}

/// The row of that name, which is added if it is not there.
inline Ranges::Row& row_named(Ranges::Panel& panel, const std::string& name) {
  const auto at = std::find_if(panel.rows.begin(), panel.rows.end(), [&](const Ranges::Row& row) { return row.name == name; });
  if (at != panel.rows.end()) return *at;
  return panel.rows.emplace_back(Ranges::Row{.name = name, .spans = {}, .dots = {}});
}

}  // namespace ulpscope::reports
