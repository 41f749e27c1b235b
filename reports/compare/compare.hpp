// SPDX-License-Identifier: Apache-2.0
// Reports beside each other: are the files those of the manifest, and what changed between two.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "reports/table.hpp"

namespace ulpscope::reports {

/// A manifest as far as it says how its report was made. @throws ulpscope::Error where the folder has none that can be read
struct Manifest {
  std::vector<std::string> arguments;                      ///< the command line, without the program's name
  std::vector<std::pair<std::string, std::string>> files;  ///< name and SHA-256
  std::string seed;                                        ///< as it is written; empty where there is none
};
/// What is in one. @throws ulpscope::Error with path
Manifest parse_manifest(const std::string& bytes, const std::string& path);
/// Reads `manifest.json` of a report's folder.
Manifest read_manifest(const std::string& directory);

/// check.csv: `file,status` of every file of the report in `directory`, beside the same report made again in `again`: `same`;
/// `edited`, no longer what its manifest says; `changed`, another one now; `missing`; `new`, one that is made only now;
/// `unlisted`, one that lies there and that the manifest does not list. manifest.json varies with the machine and the program,
/// and has a row only where its seed is another one now.
Table compare_with_again(const std::string& directory, const std::string& again);

/// How far numbers may be apart: either suffices.
struct ReportTolerance {
  double absolute = 0, relative = 0;  ///< of the difference; of its share of the first report's number
};

/// diff.csv: `file,row,column,a,b,difference,relative` of each cell that differs beyond the tolerance. A row is named by the
/// shortest columns at the left that tell all rows of both files apart; names of more than 1000 bytes are there without their
/// middle; rows of one side have an empty column and the side's
/// row count of 1, files and columns of one side likewise. @throws ulpscope::Error
Table compare_reports(const std::string& a, const std::string& b, const ReportTolerance& tolerance);

}  // namespace ulpscope::reports
