// SPDX-License-Identifier: Apache-2.0
// Checks ends and group numbers.
#include "verify/grouped/row_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emu/error.hpp"
#include "verify/operations/rows.hpp"
#include "verify/patterns.hpp"

namespace ulpscope::verify {
namespace {

RowGroups without_rows(std::uint64_t rows, std::uint64_t groups) {
  const auto count = static_cast<std::size_t>(rows);
  RowGroups out;
  out.rows.resize(static_cast<std::size_t>(groups));
  out.group_of.assign(count, RowGroups::none), out.place_of.assign(count, 0);
  return out;
}

void put(RowGroups& groups, std::uint64_t row, std::size_t group) {
  groups.group_of[static_cast<std::size_t>(row)] = group;
  groups.place_of[static_cast<std::size_t>(row)] = groups.rows[group].size();
  groups.rows[group].push_back(row);
}

void require_count(const char* option, const Integers& given, std::uint64_t count, const char* of_what) {
  if (given.is_vector() && given.elements.size() == count) return;
  throw Error(
      fmt::format("{} of shape {}: give {} numbers, one for each {}", option, words_of_shape(given.shape), count, of_what));
}

}  // namespace

std::uint64_t RowGroups::padding() const {
  return static_cast<std::uint64_t>(std::count(group_of.begin(), group_of.end(), none));
}

std::string RowGroups::words() const {
  std::size_t least = group_of.size(), most = 0;
  for (const auto& group : rows) least = std::min(least, group.size()), most = std::max(most, group.size());
  std::string text = fmt::format("{} of {}{}", plural(rows.size(), "group"), least == most ? "" : fmt::format("{} to ", least),
                                 plural(most, "row"));
  if (padding() != 0) text += "; " + plural(padding(), "row") + " in none, not judged";
  return text;
}

RowGroups groups_by_ends(const Integers& ends, std::uint64_t rows, std::uint64_t groups) {
  require_count("--offsets", ends, groups, "matrix of B, where its rows end");
  RowGroups out = without_rows(rows, groups);
  std::int64_t begin = 0;
  for (std::size_t group = 0; group < ends.elements.size(); ++group) {
    const std::int64_t end = ends.elements[group];
    if (end < begin)
      throw Error(fmt::format("--offsets: group {} would end at row {}, before it begins at {}", group, end, begin));
    if (static_cast<std::uint64_t>(end) > rows)
      throw Error(fmt::format("--offsets: group {} would end at row {}; A has {}", group, end, rows));
    for (; begin < end; ++begin) put(out, static_cast<std::uint64_t>(begin), group);
  }
  return out;
}

RowGroups groups_by_row(const Integers& group_of, std::uint64_t rows, std::uint64_t groups) {
  require_count("--group-of-row", group_of, rows, "row of A");
  RowGroups out = without_rows(rows, groups);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::int64_t group = group_of.at(row);
    if (group < -1 || (group >= 0 && static_cast<std::uint64_t>(group) >= groups))
      throw Error(
          fmt::format("--group-of-row: row {} is of group {}; there are 0 to {}, and -1 for none", row, group, groups - 1));
    if (group >= 0) put(out, row, static_cast<std::size_t>(group));
  }
  return out;
}

}  // namespace ulpscope::verify
