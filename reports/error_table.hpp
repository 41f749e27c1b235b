// SPDX-License-Identifier: Apache-2.0
// The errors of one tensor as a compact HTML table; the full columns are in the CSV file.
#pragma once

#include <string>

#include "reports/table.hpp"

namespace ulpscope::reports {

/// A census (columns `format` and `count`): outcome counts as percentages with bars, then the errors people ask for. Any other
/// table: all its columns. Nothing for a table without rows.
std::string error_table(const Table& table);

}  // namespace ulpscope::reports
