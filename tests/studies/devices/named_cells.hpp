// SPDX-License-Identifier: Apache-2.0
// Cells of a table by the names of their columns.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "reports/table.hpp"

namespace ulpscope::testing {

struct NamedCells {
  reports::Table table;

  const reports::Cell& at(std::size_t row, const std::string& column) const {
    const auto found = std::find(table.columns.begin(), table.columns.end(), column);
    REQUIRE(found != table.columns.end());
    return table.rows.at(row).at(static_cast<std::size_t>(found - table.columns.begin()));
  }
  std::string text(std::size_t row, const std::string& column) const { return std::get<std::string>(at(row, column)); }
  std::int64_t count(std::size_t row, const std::string& column) const { return std::get<std::int64_t>(at(row, column)); }
  double number(std::size_t row, const std::string& column) const { return std::get<double>(at(row, column)); }
};

}  // namespace ulpscope::testing
