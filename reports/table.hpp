// SPDX-License-Identifier: Apache-2.0
// A table: what a study returns and every rendering starts from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ulpscope::reports {

/// Text, a count, or a number.
using Cell = std::variant<std::string, std::int64_t, double>;

/// A count as a cell.
inline Cell whole(std::uint64_t n) { return static_cast<std::int64_t>(n); }

/// A cell beside the name of its column.
using NamedCell = std::pair<std::string_view, Cell>;

/// Rows of cells under columns that have names.
struct Table {
  std::string name;                     ///< file stem: `census` becomes census.csv
  std::vector<std::string> columns;     ///< identifying columns first
  std::vector<std::vector<Cell>> rows;  ///< each as long as `columns`

  /// The place of a column, if there is one of that name.
  std::optional<std::size_t> find(std::string_view column_name) const {
    const auto found = std::find(columns.begin(), columns.end(), column_name);
    if (found == columns.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns.begin());
  }
  /// Whether there is a column of that name.
  bool has(std::string_view column_name) const { return find(column_name).has_value(); }
  /// The place of a column. @throws std::out_of_range where there is none of that name
  std::size_t column(std::string_view column_name) const {
    if (const auto place = find(column_name)) return *place;
    throw std::out_of_range(name + ": no column " + std::string(column_name));
  }
  /// Adds the rows of another table of the same columns, which are its own where it has none yet.
  void append(const Table& more) {
    if (columns.empty()) columns = more.columns;
    rows.insert(rows.end(), more.rows.begin(), more.rows.end());
  }
  /// Adds a row. The first one of a table without columns names them; of later ones the names are the same, in that order.
  /// @throws std::logic_error where they are not
  void add(const std::vector<NamedCell>& cells) {
    if (columns.empty())
      for (const NamedCell& cell : cells) columns.emplace_back(cell.first);
    if (!std::equal(columns.begin(), columns.end(), cells.begin(), cells.end(),
                    [](const std::string& column_name, const NamedCell& cell) { return column_name == cell.first; }))
      throw std::logic_error(name + ": a row of other columns");
    rows.emplace_back();
    for (const NamedCell& cell : cells) rows.back().push_back(cell.second);
  }
};

}  // namespace ulpscope::reports
