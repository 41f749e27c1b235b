// SPDX-License-Identifier: Apache-2.0
// The report of a study file, for the commands that make one.
#pragma once

#include <string>
#include <vector>

#include "study_files/report.hpp"
#include "study_files/run.hpp"

namespace ulpscope::cli {

/// Says what was found, writes the report, and gives the exit code. @throws ulpscope::Error
int write_study_report(const std::string& directory, const std::vector<study_files::StudyOutput>& outputs,
                       const study_files::ReportSource& source);

}  // namespace ulpscope::cli
