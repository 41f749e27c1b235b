// SPDX-License-Identifier: Apache-2.0
// A table as CSV (RFC 4180), numbers in their shortest decimals.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <variant>

#include "emu/visible.hpp"
#include "reports/render.hpp"

namespace ulpscope::reports {
namespace {

/// Without control characters, a record is one line. A field that GitHub would take for a command at the beginning of one is
/// quoted, and one of which readers would leave something out: a byte order mark at its beginning, which may be the file's, or
/// blanks at its ends.
std::string quoted_if_needed(const std::string& raw) {
  std::string text = emu::visible(raw);
  const bool is_shortened = text.starts_with("\xef\xbb\xbf") || text.starts_with(' ') || text.ends_with(' ');
  if (text.find_first_of(",\"") == std::string::npos && !is_shortened && !emu::is_command_line(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_field(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return quoted_if_needed(*text);
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return std::to_string(*count);
  return shortest(std::get<double>(cell));
}

std::string csv_line(const std::vector<std::string>& fields) {
  // A line of one empty field would read as no record at all.
  if (fields.size() == 1 && fields[0].empty()) return "\"\"\n";
  std::string line;
  for (const auto& field : fields) {
    if (&field != &fields.front()) line += ',';
    line += field;
  }
  return line + '\n';
}

}  // namespace

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";  // to_chars would print the sign bit, which differs between machines
  std::array<char, 32> digits{};        // the longest, -1.2345678901234567e-308, has 24
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

std::string csv_header(const Table& table) {
  std::vector<std::string> fields;
  fields.reserve(table.columns.size());
  for (const auto& column : table.columns) fields.push_back(quoted_if_needed(column));
  return csv_line(fields);
}

std::string csv_rows(const Table& table) {
  std::vector<std::string> fields;
  fields.reserve(table.columns.size());
  std::string csv;
  for (const auto& row : table.rows) {
    fields.clear();
    for (const auto& cell : row) fields.push_back(csv_field(cell));
    csv += csv_line(fields);
  }
  return csv;
}

std::string to_csv(const Table& table) { return csv_header(table) + csv_rows(table); }

}  // namespace ulpscope::reports
