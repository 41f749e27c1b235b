// SPDX-License-Identifier: Apache-2.0
// What is to be said of the runs of a recipe.
#pragma once

#include <string>
#include <vector>

#include "reports/finding.hpp"
#include "training/train/run.hpp"

namespace ulpscope::training {

/// A sentence for each recipe, with the mechanism of what went wrong. `expect` is that of the study.
std::vector<reports::Finding> train_findings(const std::vector<RunResult>& runs, const std::string& expect);

}  // namespace ulpscope::training
