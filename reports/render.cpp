// SPDX-License-Identifier: Apache-2.0
// A table as JSON.
#include "reports/render.hpp"

#include <cmath>

#include "reports/escape.hpp"

namespace ulpscope::reports {
namespace {

std::string json_value(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return json_string(*text);
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return std::to_string(*count);
  const double number = std::get<double>(cell);
  if (!std::isfinite(number)) return json_string(shortest(number));
  // JSON readers take `-0` for an integer, which has no sign of zero.
  return number == 0 && std::signbit(number) ? "-0.0" : shortest(number);
}

}  // namespace

std::string to_json(const Table& table) {
  std::string json = "[";
  for (const auto& row : table.rows) {
    json += &row == &table.rows.front() ? "\n{" : ",\n{";
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) json += ',';
      json += json_string(table.columns[i]) + ':' + json_value(row[i]);
    }
    json += '}';
  }
  return json + (table.rows.empty() ? "]\n" : "\n]\n");
}

}  // namespace ulpscope::reports
