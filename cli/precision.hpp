// SPDX-License-Identifier: Apache-2.0
// What `census` and `sweep` share: opening the inputs, running the studies, and the report directory.
#pragma once

#include <string>
#include <vector>

#include "studies/census/all_tensors.hpp"
#include "studies/census/census.hpp"
#include "studies/census/census_request.hpp"
#include "studies/census/sweep.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::cli {

using studies::Progress;

/// The tensors of a request; what it leaves out is said on standard error.
std::vector<tensors::Tensor> opened(const studies::PrecisionRequest& request);

/// Opens every input; a name that stands for several tensors gives them all.
std::vector<tensors::Tensor> open_all(const std::vector<std::string>& inputs, const tensors::OpenOptions& options);

struct ReportRequest {
  std::string directory;
  std::vector<std::string> arguments;  ///< the command line, for the manifest and the page
  studies::Scaling scaling;
  studies::ScaleRange range;
  std::vector<studies::Group> groups;  ///< rows of the tables, beside the tensors of the page
  bool advise;       ///< sweep, and say on the page which scale to use
  bool sweep_table;  ///< write sweep.csv as well
};

/// Writes census.csv, sweep.csv if asked for, findings.csv, index.html, its figures and manifest.json.
void write_precision_report(const ReportRequest& request, const std::vector<tensors::Tensor>& tensors,
                            const studies::CensusConfig& config, const Progress& progress);

}  // namespace ulpscope::cli
