// SPDX-License-Identifier: Apache-2.0
// Renderings of a table: the same bytes on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/table.hpp"

namespace ulpscope::reports {

/// Shortest decimal that reads back as the same double; `nan`, `inf`, `-inf`; `-0`.
std::string shortest(double value);

/// RFC 4180 with LF: one header row, fields quoted only where they must be.
std::string to_csv(const Table& table);
/// The header row alone, and the others alone: a table of many rows need not be there at once.
///@{
std::string csv_header(const Table& table);
std::string csv_rows(const Table& table);
///@}

/// An array of objects in column order, one per line; nonfinite numbers as the strings of shortest().
std::string to_json(const Table& table);

/// What becomes of a table that is wider than the terminal.
enum class Fit : std::uint8_t {
  fold,     ///< stacked blocks that repeat the key columns; nothing is cut
  one_line  ///< as many columns as fit, the key columns always, the names in the first of them shortened if they must be:
            ///< their parts to first letters (`e.l.11.a.output.weight`), then without the middle; a last line says so
};

/// How a table becomes text.
struct TextOptions {
  std::size_t width = 120;      ///< columns of the terminal
  std::size_t max_rows = 0;     ///< 0: all; else a last line says how many are left out and how to get them
  std::size_t key_columns = 1;  ///< the first columns, those that identify a row
  Fit fit = Fit::fold;          ///< what becomes of columns beyond the width
  std::vector<std::string> numerals = {};  ///< columns whose words are numbers with digits of their own: right-aligned
};

/// Aligned text: numbers right-aligned with at most 5 significant digits, those of a column `NAME%` as percent_text() writes
/// them; columns that are the same in every row are stated once above the table (`rounding nearest_even, policy
/// nonsaturating`).
std::string to_text(const Table& table, const TextOptions& options = {});

/// The line that says how to get the rows left out: `... 5 more rows; --rows all prints them`.
std::string more_rows(std::size_t count);

}  // namespace ulpscope::reports
