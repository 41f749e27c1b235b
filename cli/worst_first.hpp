// SPDX-License-Identifier: Apache-2.0
// What comes first where the worst comes first.
#pragma once

#include <vector>

#include "reports/selection.hpp"

namespace ulpscope::cli {

/// The order of rows of census.csv and sweep.csv by what is shown of them: shares of overflow, of what becomes zero, of
/// subnormals, and the SQNR. A bad row comes before a warning, that before a good one (studies/census/census_findings.hpp); a
/// tensor without elements is last.
std::vector<reports::Order> worst_first();

}  // namespace ulpscope::cli
