// SPDX-License-Identifier: Apache-2.0
// What a study gives, whichever it is: tables, findings, an outcome. Each request has a function `run` that makes one of it, so
// that the command line, study files and reports treat all studies alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reports/finding.hpp"
#include "reports/table.hpp"

namespace ulpscope::studies {

/// Told of work done and of all of it, by one thread at a time.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Of a study that checks something.
enum class StudyOutcome : std::uint8_t {
  done,    ///< it holds, or nothing was checked
  failed,  ///< a numerical check failed
  vacuous  ///< it could not have failed
};

/// What a study gives.
struct StudyResult {
  std::vector<reports::Table> tables;           ///< the study's own first; each has a name of its own
  std::vector<reports::Finding> findings = {};  ///< what is to be said of them
  std::vector<std::string> remarks = {};        ///< what was left out of the inputs, or is to be known of them
  StudyOutcome outcome = StudyOutcome::done;    ///< whether it holds
  std::string text = {};                        ///< what the command prints as text, where that is more than tables
};

/// What a study will do, before it does it: in its own elementary operations.
struct Work {
  std::uint64_t operations = 0;  ///< elements rounded, or products formed
  std::uint64_t rows = 0;        ///< of its tables, about
};

}  // namespace ulpscope::studies
