// SPDX-License-Identifier: Apache-2.0
// What runs came to, as tables of a report.
#pragma once

#include <vector>

#include "reports/table.hpp"
#include "training/train/run.hpp"

namespace ulpscope::training {

/// curves.csv: `recipe,seed,step,loss,grad_norm,scale,skipped,lost_updates`; summary.csv: a row a recipe; tensors.csv: what
/// roundings did, in about ten steps of each run; findings.csv: `recipe,seed,step,layer,place,finding,value,threshold`;
/// where the study asks for it evaluations.csv.
std::vector<reports::Table> train_tables(const std::vector<RunResult>& runs);

/// tensors.csv and findings.csv of train_tables() alone.
///@{
reports::Table tensors_table(const std::vector<RunResult>& runs);
reports::Table findings_table(const std::vector<RunResult>& runs);
///@}

}  // namespace ulpscope::training
