// SPDX-License-Identifier: Apache-2.0
// Census and sweep of many tensors as text that can be read: one line a tensor and format, the worst first.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "studies/census/census.hpp"
#include "studies/census/sweep.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::cli {

/// Up to this many tensors get the whole table.
inline constexpr std::size_t few_tensors = 4;

/// `rows` as census_all() returns them, and their census.csv, on whose rows --where and --sort act.
std::string census_lines(const std::vector<tensors::Tensor>& tensors, const std::vector<studies::CensusRow>& rows,
                         const reports::Table& table, const CommonOptions& options);

/// `rows` as sweep_all() returns them. Each line is at the scale to use; --where and --sort act on these rows of sweep.csv.
std::string sweep_lines(const std::vector<tensors::Tensor>& tensors, const std::vector<std::vector<studies::SweepRow>>& rows,
                        const emu::RoundingOptions& rounding, const CommonOptions& options);

}  // namespace ulpscope::cli
