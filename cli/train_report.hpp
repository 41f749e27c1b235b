// SPDX-License-Identifier: Apache-2.0
// The report of training runs, for the commands that make one.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "training/train/run.hpp"

namespace ulpscope::cli {

/// Writes it to `directory`; `arguments` are the command line of the undivided run. @throws ulpscope::Error
void write_train_report(const std::string& directory, const training::TrainStudy& study,
                        const std::vector<training::RunResult>& runs, const Arguments& arguments);
/// Says what was found, and gives the exit code.
int tell_of_runs(const training::TrainStudy& study, const std::vector<training::RunResult>& runs);

/// The report of the runs of all parts, in files of these names. @throws ulpscope::Error
int merge_train_parts(const std::vector<std::string>& names, const std::string& directory);

}  // namespace ulpscope::cli
