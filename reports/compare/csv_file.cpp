// SPDX-License-Identifier: Apache-2.0
// Reads CSV by libcsv.
#include "reports/compare/csv_file.hpp"

#include <csv.h>

#include <string>
#include <string_view>
#include <vector>

#include "emu/error.hpp"
#include "files/own_files.hpp"

namespace ulpscope::reports {
namespace {

/// Rows as the parser tells them.
struct ParsedRows {
  std::vector<std::vector<std::string>> all{1};
  int last_end = 0;

  /// A line feed behind a carriage return ends the same line.
  void end(int end) {
    if (!(end == '\n' && last_end == '\r' && all.back().empty())) all.emplace_back();
    last_end = end;
  }
};

}  // namespace

CsvFile parse_csv(std::string bytes, const std::string& path) {
  if (constexpr std::string_view mark = "\xef\xbb\xbf"; bytes.starts_with(mark)) bytes.erase(0, mark.size());  // spreadsheets'
  ParsedRows rows;
  csv_parser parser;
  // Of lines without anything the parser tells only if it is asked: a row of one column that is missing would go unseen.
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) != 0) throw Error(path + ": libcsv cannot be started");
  const auto field = [](void* text, std::size_t size, void* into) {
    static_cast<ParsedRows*>(into)->all.back().emplace_back(static_cast<char*>(text), size);
  };
  const auto end_row = [](int end, void* into) { static_cast<ParsedRows*>(into)->end(end); };
  const bool parsed = csv_parse(&parser, bytes.data(), bytes.size(), field, end_row, &rows) == bytes.size() &&
                      csv_fini(&parser, field, end_row, &rows) == 0;
  csv_free(&parser);
  if (!parsed) throw Error(path + ": row " + std::to_string(rows.all.size()) + " is no CSV (RFC 4180)");
  while (!rows.all.empty() && rows.all.back().empty()) rows.all.pop_back();  // behind the last line, editors leave blank ones
  if (rows.all.empty()) throw Error(path + ": is empty");
  CsvFile file{.columns = rows.all.front(), .rows = {rows.all.begin() + 1, rows.all.end()}};
  for (std::size_t i = 0; i < file.rows.size(); ++i)
    if (file.rows[i].empty() || file.columns.empty())
      throw Error(path + ": row " + std::to_string(file.columns.empty() ? 1 : i + 2) + " is blank");
    else if (file.rows[i].size() != file.columns.size())
      throw Error(path + ": row " + std::to_string(i + 2) + " has " + std::to_string(file.rows[i].size()) +
                  " fields, the first " + std::to_string(file.columns.size()));
  return file;
}

CsvFile read_csv(const std::string& path) { return parse_csv(files::read_file_or_own(path), path); }

}  // namespace ulpscope::reports
