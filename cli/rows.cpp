// SPDX-License-Identifier: Apache-2.0
// Reads conditions and orders from words and applies them to tables.
#include "cli/rows.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "cli/output.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "emu/visible.hpp"
#include "reports/render.hpp"

namespace ulpscope::cli {
namespace {

/// A condition on a column of formats takes every name that a format has.
reports::Condition with_canonical_format(reports::Condition condition) {
  const auto* const word = std::get_if<std::string>(&condition.value);
  const bool of_formats = condition.column == "format" || condition.column == "in" || condition.column == "acc";
  if (word == nullptr || !of_formats) return condition;
  if (const auto format = emu::parse_format(*word)) condition.value = emu::format_name(*format);
  return condition;
}

reports::Selection selection_of(const CommonOptions& options) {
  reports::Selection selection;
  for (const std::string& words : options.where)
    selection.where.push_back(with_canonical_format(reports::parse_condition(words)));
  for (const std::string& words : options.sort) selection.order.push_back(reports::parse_order(words));
  return selection;
}

/// Every column that is named must be in one of the tables.
void check_columns(const std::vector<const reports::Table*>& tables, const reports::Selection& selection) {
  std::vector<std::string> known;
  std::vector<std::string> missing = missing_columns(*tables.front(), selection);
  for (const reports::Table* const table : tables) {
    const std::vector<std::string> missing_here = missing_columns(*table, selection);
    std::erase_if(missing, [&](const std::string& column) {
      return std::find(missing_here.begin(), missing_here.end(), column) == missing_here.end();
    });
    known.insert(known.end(), table->columns.begin(), table->columns.end());
  }
  if (missing.empty()) return;
  const std::string nearest = emu::comma_separated(emu::closest_words(missing.front(), known));
  throw Error("unknown column '" + missing.front() + "'; nearest: " + nearest);
}

/// What of the selection is about one of several tables: a column with words is not asked for what another has as
/// numbers alone.
reports::Selection about(const reports::Table& table, const std::vector<reports::Table>& tables, reports::Selection selection) {
  const auto is_of_another = [&](const auto& named) {
    const auto has_numbers = [&](const reports::Table& other) {
      return missing_columns(other, {{}, {{named.column}}}).empty() && !holds_words(other, named.column);
    };
    return holds_words(table, named.column) && std::any_of(tables.begin(), tables.end(), has_numbers);
  };
  std::erase_if(selection.where, is_of_another);
  std::erase_if(selection.order, is_of_another);
  return selection;
}

std::vector<std::size_t> rows_of(const reports::Table& table, const reports::Selection& selection) {
  std::vector<std::size_t> rows = selected(table, selection);
  if (rows.empty()) remark_none(table.rows.size());
  return rows;
}

}  // namespace

std::size_t parse_rows(const std::string& word) {
  if (word == "all") return 0;
  std::size_t rows = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), rows);
  if (error != std::errc() || end != word.data() + word.size() || rows == 0)
    throw Error("--rows '" + word + "': give a number of rows, 1 or more, or all");
  return rows;
}

std::size_t most_rows(const CommonOptions& options, std::size_t otherwise) {
  return options.rows.empty() ? otherwise : parse_rows(options.rows);
}

reports::Table first_rows(const reports::Table& table, std::size_t most) {
  if (most == 0 || most >= table.rows.size()) return table;
  remark(reports::more_rows(table.rows.size() - most));
  reports::Table first = table;
  first.rows.resize(most);
  return first;
}

std::vector<std::size_t> chosen_rows(const reports::Table& table, const CommonOptions& options,
                                     const std::vector<reports::Order>& order) {
  reports::Selection selection = selection_of(options);
  check_columns({&table}, selection);
  if (selection.order.empty()) selection.order = order;
  return rows_of(table, selection);
}

reports::Table chosen(const reports::Table& table, const CommonOptions& options) {
  return reports::rows_of(table, chosen_rows(table, options));
}

reports::Table kept_of(const reports::Table& part, const CommonOptions& options) {
  const reports::Selection selection = selection_of(options);
  check_columns({&part}, selection);
  return reports::rows_of(part, selected(part, selection));
}

void remark_none(std::size_t rows) {
  if (rows != 0) remark("--where leaves none of " + std::to_string(rows) + (rows == 1 ? " row" : " rows"));
}

std::vector<reports::Table> chosen_together(const std::vector<reports::Table>& tables, const CommonOptions& options) {
  const reports::Selection selection = selection_of(options);
  std::vector<const reports::Table*> all;
  for (const reports::Table& table : tables) all.push_back(&table);
  check_columns(all, selection);
  std::vector<reports::Table> out;
  for (const reports::Table& table : tables)
    out.push_back(reports::rows_of(table, selected(table, about(table, tables, selection))));
  return out;
}

void refuse_choice(const CommonOptions& options, const std::string& instead) {
  if (!options.where.empty() || !options.sort.empty() || !options.rows.empty())
    throw Error(instead + " every row; --where, --sort and --rows are for tables that are printed");
  if (options.text || options.csv || options.json)
    remark(emu::visible(instead) + " files, and no table is printed: --text, --csv and --json change nothing");
}

}  // namespace ulpscope::cli
