// SPDX-License-Identifier: Apache-2.0
// A table: what a study returns and every rendering starts from.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ulpscope::reports {

/// Text, a count, or a number.
using Cell = std::variant<std::string, std::int64_t, double>;

/// Rows of cells under columns that have names.
struct Table {
  std::string name;                     ///< file stem: `census` becomes census.csv
  std::vector<std::string> columns;     ///< identifying columns first
  std::vector<std::vector<Cell>> rows;  ///< each as long as `columns`
};

}  // namespace ulpscope::reports
