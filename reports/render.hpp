// SPDX-License-Identifier: Apache-2.0
// Renderings of a table: the same bytes on every machine.
#pragma once

#include <cstddef>
#include <string>

#include "reports/table.hpp"

namespace ulpscope::reports {

/// Shortest decimal that reads back as the same double; `nan`, `inf`, `-inf`; `-0`.
std::string shortest(double value);

/// RFC 4180 with LF: one header row, fields quoted only where they must be.
std::string to_csv(const Table& table);

/// An array of objects in column order, one per line; nonfinite numbers as the strings of shortest().
std::string to_json(const Table& table);

struct TextOptions {
  std::size_t width = 120;      ///< columns of the terminal; wide tables are folded into stacked blocks that repeat the first
                                ///< (identifying) columns, never cut
  std::size_t max_rows = 0;     ///< 0: all; else a last line says how many are left out and how to get them
  std::size_t key_columns = 1;  ///< identifying columns repeated in each block
};

/// Aligned text: numbers right-aligned with at most 5 significant digits, columns that are the same in every row are stated
/// once above the table (`rounding nearest_even, policy nonsaturating`).
std::string to_text(const Table& table, const TextOptions& options = {});

}  // namespace ulpscope::reports
