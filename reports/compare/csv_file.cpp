// SPDX-License-Identifier: Apache-2.0
// Reads CSV by libcsv.
#include "reports/compare/csv_file.hpp"

#include <csv.h>

#include <string_view>

#include "emu/error.hpp"
#include "files/own_files.hpp"

namespace ulpscope::reports {

CsvFile read_csv(const std::string& path) {
  std::string bytes = files::read_file_or_own(path);
  if (constexpr std::string_view mark = "\xef\xbb\xbf"; bytes.starts_with(mark)) bytes.erase(0, mark.size());  // spreadsheets'
  std::vector<std::vector<std::string>> rows(1);
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw Error(path + ": libcsv cannot be started");
  const auto field = [](void* text, std::size_t size, void* into) {
    static_cast<std::vector<std::vector<std::string>>*>(into)->back().emplace_back(static_cast<char*>(text), size);
  };
  const auto end_row = [](int, void* into) { static_cast<std::vector<std::vector<std::string>>*>(into)->emplace_back(); };
  const bool parsed = csv_parse(&parser, bytes.data(), bytes.size(), field, end_row, &rows) == bytes.size() &&
                      csv_fini(&parser, field, end_row, &rows) == 0;
  csv_free(&parser);
  if (!parsed) throw Error(path + ": row " + std::to_string(rows.size()) + " is no CSV (RFC 4180)");
  rows.pop_back();
  if (rows.empty()) throw Error(path + ": is empty");
  CsvFile file{.columns = rows.front(), .rows = {rows.begin() + 1, rows.end()}};
  for (std::size_t i = 0; i < file.rows.size(); ++i)
    if (file.rows[i].size() != file.columns.size())
      throw Error(path + ": row " + std::to_string(i + 2) + " has " + std::to_string(file.rows[i].size()) +
                  " fields, the first " + std::to_string(file.columns.size()));
  return file;
}

}  // namespace ulpscope::reports
