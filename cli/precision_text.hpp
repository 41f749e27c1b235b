// SPDX-License-Identifier: Apache-2.0
// Census and sweep of many tensors as text that can be read: one line a tensor and format, the worst first.
#pragma once

#include <cstddef>
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

/// A tensor in a format at the scale to use.
struct BestScale {
  std::size_t tensor;      ///< its place
  studies::Advice advice;  ///< which scale
  studies::SweepRow row;   ///< what is lost there
};
/// Of the rows of one tensor, or of a group, each format.
std::vector<BestScale> best_scales(std::size_t tensor, const std::vector<studies::SweepRow>& rows);

/// A line for each; --where and --sort act on their rows of sweep.csv.
std::string sweep_lines(const std::vector<tensors::Tensor>& tensors, const std::vector<BestScale>& scales,
                        const emu::RoundingOptions& rounding, const CommonOptions& options);

}  // namespace ulpscope::cli
