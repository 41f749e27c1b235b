// SPDX-License-Identifier: Apache-2.0
// What `census` and `sweep` share: opening the inputs, running the studies, and the report directory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/precision_page.hpp"
#include "studies/census.hpp"
#include "studies/sweep.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::cli {

/// Told of the elements done and to do, over all tensors, by one thread at a time.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Opens every input; a name that stands for several tensors gives them all.
std::vector<tensors::Tensor> open_all(const std::vector<std::string>& inputs, const tensors::OpenOptions& options);

std::vector<studies::CensusRow> census_all(const std::vector<tensors::Tensor>& tensors, const studies::Scaling& scaling,
                                           const studies::CensusConfig& config, const Progress& progress);
std::vector<std::vector<studies::SweepRow>> sweep_all(const std::vector<tensors::Tensor>& tensors,
                                                      const studies::ScaleRange& range, const studies::CensusConfig& config,
                                                      const Progress& progress);

struct ReportRequest {
  std::string directory;
  std::vector<std::string> arguments;  ///< the command line, for the manifest and the page
  studies::Scaling scaling;
  studies::ScaleRange range;
  bool advise;       ///< sweep, and say on the page which scale to use
  bool sweep_table;  ///< write sweep.csv as well
};

/// Writes census.csv, sweep.csv if asked for, index.html and manifest.json.
void write_precision_report(const ReportRequest& request, const std::vector<tensors::Tensor>& tensors,
                            const studies::CensusConfig& config, const Progress& progress);

}  // namespace ulpscope::cli
