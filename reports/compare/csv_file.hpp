// SPDX-License-Identifier: Apache-2.0
// A CSV file as words.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::reports {

/// A CSV file as text.
struct CsvFile {
  std::vector<std::string> columns;            ///< names, of the first line
  std::vector<std::vector<std::string>> rows;  ///< each as long as `columns`
};

/// RFC 4180 with one header row. @throws ulpscope::Error with path and row
CsvFile parse_csv(std::string bytes, const std::string& path);
/// The same of a file, or of one that comes with the program.
CsvFile read_csv(const std::string& path);

}  // namespace ulpscope::reports
