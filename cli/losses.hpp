// SPDX-License-Identifier: Apache-2.0
// How bad is what a format does to a tensor: the verdict, and what comes first where the worst comes first.
#pragma once

#include <vector>

#include "reports/page.hpp"
#include "reports/selection.hpp"
#include "studies/census/error_sums.hpp"

namespace ulpscope::cli {

/// Above this share of subnormal elements a format wants a look.
inline constexpr double notable_subnormals_percent = 5;

/// Elements of that class, in percent of all; nan where there are none.
double percent_of(const studies::ErrorSums& sums, emu::Outcome outcome);

/// Bad: something overflows, or more than 1 % becomes zero. Warning: something becomes zero, or much is subnormal.
reports::Verdict::Severity severity(const studies::ErrorSums& sums);

/// The order of rows of census.csv and sweep.csv by what is shown of them: shares of overflow, of what becomes zero, of
/// subnormals, and the SQNR. A bad row comes before a warning, that before a good one; a tensor without elements is last.
std::vector<reports::Order> worst_first();

}  // namespace ulpscope::cli
