// SPDX-License-Identifier: Apache-2.0
// Takes columns, and shortens names.
#include "cli/brief_table.hpp"

#include <algorithm>

namespace ulpscope::cli {

std::string common_file(const std::vector<std::string>& names) {
  if (names.size() < 2) return {};
  std::string_view common = names.front();
  for (const std::string& name : names) {
    const auto [end, ignored] = std::ranges::mismatch(common, name);
    common = common.substr(0, static_cast<std::size_t>(end - common.begin()));
  }
  const std::size_t colon = common.rfind(':'), end = colon != common.npos ? colon : common.rfind('/');
  return end == common.npos ? std::string() : std::string(common.substr(0, end + 1));
}

reports::Table brief(const reports::Table& table, const std::vector<std::string_view>& columns) {
  reports::Table out{table.name, {}, std::vector<std::vector<reports::Cell>>(table.rows.size())};
  for (const std::string_view column : columns) {
    const std::size_t place = table.column(column);
    out.columns.emplace_back(column);
    std::vector<std::string> names;
    for (const auto& row : table.rows)
      if (const auto* const name = std::get_if<std::string>(&row[place])) names.push_back(*name);
    const std::string common = names.size() == table.rows.size() ? common_file(names) : std::string();
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      out.rows[i].push_back(common.empty() ? table.rows[i][place] : reports::Cell(names[i].substr(common.size())));
  }
  return out;
}

}  // namespace ulpscope::cli
