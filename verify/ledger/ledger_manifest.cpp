// SPDX-License-Identifier: Apache-2.0
// Parses the CSV file and checks its columns.
#include "verify/ledger/ledger_manifest.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <set>

#include "emu/error.hpp"

namespace ulpscope::verify {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// What libcsv calls back into.
struct Reader {
  Rows rows;
  std::vector<std::string> row;
};

void on_field(void* text, std::size_t size, void* reader) {
  static_cast<Reader*>(reader)->row.emplace_back(static_cast<const char*>(text), size);
}
void on_row(int, void* reader) {
  auto& [rows, row] = *static_cast<Reader*>(reader);
  rows.push_back(std::move(row));
  row.clear();
}

Rows rows_of(std::string_view text, const std::string& file) {
  if (constexpr std::string_view mark = "\xef\xbb\xbf"; text.starts_with(mark))
    text.remove_prefix(mark.size());  // spreadsheets'
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) throw std::bad_alloc();
  const std::unique_ptr<csv_parser, void (*)(csv_parser*)> guard(&parser, csv_free);
  Reader reader;
  if (csv_parse(&parser, text.data(), text.size(), on_field, on_row, &reader) != text.size() ||
      csv_fini(&parser, on_field, on_row, &reader) != 0)
    throw Error(fmt::format("{}: row {}: {}", file, reader.rows.size() + 1, csv_strerror(csv_error(&parser))));
  return std::move(reader.rows);
}

std::size_t column_of(const std::vector<std::string>& header, const char* name, const std::string& file) {
  const auto at = std::find(header.begin(), header.end(), name);
  if (at == header.end())
    throw Error(
        fmt::format("{}: row 1: there is no column '{}'; the header is case,output and the roles of inputs, as in "
                    "case,output,A,B",
                    file, name));
  return static_cast<std::size_t>(at - header.begin());
}

void check_header(const std::vector<std::string>& header, const std::string& file) {
  std::set<std::string> seen;
  for (const std::string& name : header)
    if (!seen.insert(name).second) throw Error(fmt::format("{}: row 1: column '{}' is there twice", file, name));
}

}  // namespace

std::vector<ManifestCase> parse_manifest(std::string_view text, const std::string& file) {
  const Rows rows = rows_of(text, file);
  if (rows.empty())
    throw Error(file + ": is empty; its first row is case,output and the roles of inputs, as in case,output,A,B");
  const std::vector<std::string>& header = rows.front();
  check_header(header, file);
  const std::size_t name = column_of(header, "case", file), output = column_of(header, "output", file);
  std::map<std::string, std::size_t> row_of_case;
  std::vector<ManifestCase> cases;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::vector<std::string>& row = rows[i];
    if (row.size() != header.size())
      throw Error(fmt::format("{}: row {} has {} fields, the header {}", file, i + 1, row.size(), header.size()));
    ManifestCase one{.row = i + 1, .name = row[name], .output = row[output], .inputs = {}};
    if (one.output.empty()) throw Error(fmt::format("{}: row {}: the output is missing", file, i + 1));
    for (std::size_t j = 0; j < row.size(); ++j)
      if (j != name && j != output && !row[j].empty()) one.inputs[header[j]] = row[j];
    const auto [known, is_new] = row_of_case.emplace(one.name, i + 1);
    if (!is_new) throw Error(fmt::format("{}: row {}: case '{}' is in row {} too", file, i + 1, one.name, known->second));
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace ulpscope::verify
