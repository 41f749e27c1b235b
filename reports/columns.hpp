// SPDX-License-Identifier: Apache-2.0
// The cells of a table by the names of their columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "reports/table.hpp"

namespace ulpscope::reports {

/// Of a table that outlives it.
class Columns {
 public:
  explicit Columns(const Table& table) : table_(table) {}

  bool has(std::string_view name) const {
    return std::find(table_.columns.begin(), table_.columns.end(), name) != table_.columns.end();
  }
  /// @throws std::logic_error where there is no such column
  const Cell& cell(const std::vector<Cell>& row, std::string_view name) const {
    const auto at = std::find(table_.columns.begin(), table_.columns.end(), name);
    if (at == table_.columns.end()) throw std::logic_error("no column " + std::string(name) + " in " + table_.name);
    return row[static_cast<std::size_t>(at - table_.columns.begin())];
  }
  std::string text(const std::vector<Cell>& row, std::string_view name) const {
    const auto* const word = std::get_if<std::string>(&cell(row, name));
    return word == nullptr ? std::string() : *word;
  }
  /// NaN where the cell holds a word.
  double number(const std::vector<Cell>& row, std::string_view name) const {
    const Cell& found = cell(row, name);
    if (const auto* const count = std::get_if<std::int64_t>(&found)) return static_cast<double>(*count);
    if (const auto* const value = std::get_if<double>(&found)) return *value;
    return std::nan("");
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

}  // namespace ulpscope::reports
