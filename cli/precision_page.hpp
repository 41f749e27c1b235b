// SPDX-License-Identifier: Apache-2.0
// From the results of census and sweep to the page that a report directory opens with.
#pragma once

#include <string>
#include <vector>

#include "reports/page.hpp"
#include "studies/census/census.hpp"
#include "studies/census/sweep.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::cli {

/// What is known about one tensor.
struct Findings {
  tensors::Tensor tensor;
  std::vector<studies::CensusRow> census;
  std::vector<studies::SweepRow> sweep;  ///< may be empty: then no scale is advised
  studies::ExponentCounts exponents;
};

/// What `rows` of one tensor lose at each scale, to be drawn.
reports::ScaleWindow scale_window(const std::string& tensor, const std::vector<studies::SweepRow>& rows);

/// `settings` and `command` are shown as given. Sections, and the verdicts of each, come worst first (cli/losses.hpp).
reports::Page precision_page(const std::vector<Findings>& findings, const studies::Scaling& scaling,
                             const emu::RoundingOptions& options, const std::string& command);

}  // namespace ulpscope::cli
