// SPDX-License-Identifier: Apache-2.0
// Which rows of a table are wanted, and in which order. A cell of text that reads as a number counts as that number, so that a
// table and its CSV are chosen from alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/table.hpp"

namespace ulpscope::reports {

/// `COLUMN OP VALUE`. Columns are named in any case, `-` and `_` alike; `NAME%` is the share that a count has of the column
/// `count`, in percent; `to_zero%` that of the finite nonzero elements, where the table counts `zero`, `nan` and `infinite`.
/// Numbers compare by value; words byte for byte, and by == and != only. As in IEEE 754 every comparison with nan is false,
/// except !=; `== nan` and `!= nan` ask for nan itself. VALUE may be quoted; `''` is an empty cell.
struct Condition {
  /// The comparisons: < <= > >= == !=
  enum class Operator : std::uint8_t { less, less_equal, greater, greater_equal, equal, not_equal };
  std::string column;             ///< as typed
  Operator op = Operator::equal;  ///< the comparison
  Cell value;                     ///< what a column is compared with
};

/// Reads `sqnr_db > 30`, `format==bfloat16`. @throws ulpscope::Error
Condition parse_condition(std::string_view words);

/// Numbers by value, before words by their bytes; nan and empty cells come last in either direction.
struct Order {
  /// Of the values of a column.
  enum class Direction : std::uint8_t { ascending, descending };
  std::string column;                          ///< as typed
  Direction direction = Direction::ascending;  ///< of the order
};

/// Reads `COLUMN[:asc|:desc]`. @throws ulpscope::Error
Order parse_order(std::string_view words);

/// What is shown of a table.
struct Selection {
  std::vector<Condition> where;  ///< all of which hold
  std::vector<Order> order;      ///< the first decides, the others among equals; rows equal in all keep their order
};

/// The columns that `selection` names and `table` does not have, as typed.
std::vector<std::string> missing_columns(const Table& table, const Selection& selection);

/// Whether the column is there and one of its cells is a word.
bool holds_words(const Table& table, std::string_view column);

/// Indices of the wanted rows, in their order. What is said of a missing column acts on nothing.
/// @throws ulpscope::Error where < <= > >= are asked of a column of words
std::vector<std::size_t> selected(const Table& table, const Selection& selection);

/// The table of these rows.
Table rows_of(const Table& table, const std::vector<std::size_t>& rows);

}  // namespace ulpscope::reports
