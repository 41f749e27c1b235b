// SPDX-License-Identifier: Apache-2.0
// The report of a run of a study file.
#pragma once

#include <string>
#include <vector>

#include "study_files/run.hpp"

namespace ulpscope::study_files {

/// A study file, and the words behind `ulpscope` that make its report again.
struct ReportSource {
  std::string study;                   ///< as it was named: a path or a built-in study
  std::string text;                    ///< what it held
  std::vector<std::string> arguments;  ///< without those that change no byte
};

/// Writes every table as NAME.csv, findings.csv, index.html with its figures, study.toml and manifest.json. @throws
/// ulpscope::Error
void write_report(const std::string& directory, const std::vector<StudyOutput>& outputs, const ReportSource& source);

}  // namespace ulpscope::study_files
