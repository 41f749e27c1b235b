// SPDX-License-Identifier: Apache-2.0
// The report of one study that a command has run: the tables and the page that it has in a study file.
#pragma once

#include <cstdint>
#include <string>

#include "cli/commands.hpp"
#include "requests/toml.hpp"
#include "studies/study.hpp"

namespace ulpscope::cli {

/// What a report is of.
struct CellReport {
  std::string directory, title;
  std::string name, kind;  ///< of the study: what figures and sections are called after, and one of study_files::kinds()
  std::string request;     ///< as TOML
  std::uint64_t seed = 0;
};

/// A request's words that are not the standard ones, as TOML.
template <class Request>
std::string toml_of(Request request) {
  Request standard;
  return requests::to_toml(requests::fields_of(request), requests::fields_of(standard));
}

/// Writes tables, findings, a page with the remarks, and figures, and says where. @throws ulpscope::Error
void write_cell_report(const CellReport& report, const studies::StudyResult& result, const Arguments& arguments);

}  // namespace ulpscope::cli
