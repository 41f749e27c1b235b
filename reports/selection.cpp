// SPDX-License-Identifier: Apache-2.0
// Parses conditions and orders, and compares cells.
#include "reports/selection.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <numeric>
#include <optional>
#include <variant>

#include "emu/error.hpp"

namespace ulpscope::reports {
namespace {

using Operator = Condition::Operator;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// What the text reads as: a count, a number, else itself.
Cell value_of(std::string_view text) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const char* const begin = digits.data();
  const char* const end = begin + digits.size();
  const auto read = [&](auto& value) {
    const auto [stop, error] = std::from_chars(begin, end, value);
    return error == std::errc{} && stop == end && !digits.empty();
  };
  std::int64_t count = 0;
  if (read(count)) return count;
  double number = 0;
  if (read(number)) return number;
  return std::string(text);
}

bool is_text(const Cell& value) { return std::holds_alternative<std::string>(value); }
bool is_nan(const Cell& value) { return std::holds_alternative<double>(value) && std::isnan(std::get<double>(value)); }
bool is_empty(const Cell& value) { return is_text(value) && std::get<std::string>(value).empty(); }

std::partial_ordering compare(std::int64_t a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= 0x1p63) return std::partial_ordering::less;
  if (b < -0x1p63) return std::partial_ordering::greater;
  const double whole = std::trunc(b);
  const auto order = a <=> static_cast<std::int64_t>(whole);
  return order != 0 ? std::partial_ordering(order) : whole <=> b;
}

/// Exact; a number and a word are unordered.
std::partial_ordering compare(const Cell& a, const Cell& b) {
  if (is_text(a) != is_text(b)) return std::partial_ordering::unordered;
  if (is_text(a)) return std::get<std::string>(a) <=> std::get<std::string>(b);
  const auto* const i = std::get_if<std::int64_t>(&a);
  const auto* const j = std::get_if<std::int64_t>(&b);
  if (i != nullptr && j != nullptr) return *i <=> *j;
  if (i != nullptr) return compare(*i, std::get<double>(b));
  if (j != nullptr) return 0 <=> compare(*j, std::get<double>(a));
  return std::get<double>(a) <=> std::get<double>(b);
}

bool holds(const Cell& cell, Operator op, const Cell& value) {
  const std::partial_ordering order = compare(cell, value);
  const bool same = order == 0 || (is_nan(cell) && is_nan(value));
  switch (op) {
    case Operator::less: return order < 0;
    case Operator::less_equal: return order <= 0;
    case Operator::greater: return order > 0;
    case Operator::greater_equal: return order >= 0;
    case Operator::equal: return same;
    case Operator::not_equal: return !same;
  }
  return false;
}

/// Before in an ascending or descending column; nan and empty cells are last in both.
std::weak_ordering sorted(const Cell& a, const Cell& b, Order::Direction direction) {
  const auto is_null = [](const Cell& cell) { return is_nan(cell) || is_empty(cell); };
  if (is_null(a) || is_null(b)) return is_null(a) <=> is_null(b);
  const std::partial_ordering order = compare(a, b);
  std::weak_ordering ascending = is_text(a) <=> is_text(b);
  if (order < 0) ascending = std::weak_ordering::less;
  if (order > 0) ascending = std::weak_ordering::greater;
  return direction == Order::Direction::ascending ? ascending : 0 <=> ascending;
}

bool alike(std::string_view a, std::string_view b) {
  const auto plain = [](char c) { return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return plain(x) == plain(y); });
}

std::optional<std::size_t> find(const Table& table, std::string_view name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (alike(table.columns[i], name)) return i;
  return std::nullopt;
}

bool holds_counts(const Table& table, std::size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return std::holds_alternative<std::int64_t>(row[column]); });
}

/// What the share of a count is of in each row: of all, but of what becomes zero of those that can. NaN where there are none.
std::optional<std::vector<double>> whole_of(const Table& table, std::string_view part) {
  const auto count = find(table, "count");
  if (!count || !holds_counts(table, *count)) return std::nullopt;
  std::vector<double> whole;
  for (const auto& row : table.rows) whole.push_back(static_cast<double>(std::get<std::int64_t>(row[*count])));
  if (!alike(part, "to_zero")) return whole;
  for (const char* const other : {"nan", "infinite", "zero"})
    if (const auto column = find(table, other); column && holds_counts(table, *column))
      for (std::size_t i = 0; i < whole.size(); ++i)
        whole[i] -= static_cast<double>(std::get<std::int64_t>(table.rows[i][*column]));
  for (std::size_t i = 0; i < whole.size(); ++i)  // of a tensor of zeros none becomes zero
    if (whole[i] == 0) whole[i] = static_cast<double>(std::get<std::int64_t>(table.rows[i][*count]));
  return whole;
}

/// What a name stands for in each row; nothing if the table does not have it.
std::optional<std::vector<Cell>> column_of(const Table& table, std::string_view name) {
  std::vector<Cell> cells;
  if (const auto column = find(table, name)) {
    for (const auto& row : table.rows)
      cells.push_back(is_text(row[*column]) ? value_of(std::get<std::string>(row[*column])) : row[*column]);
    return cells;
  }
  if (!name.ends_with('%')) return std::nullopt;
  const auto part = find(table, name.substr(0, name.size() - 1));
  const auto whole = whole_of(table, name.substr(0, name.size() - 1));
  if (!part || !whole || !holds_counts(table, *part)) return std::nullopt;
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    cells.emplace_back(100 * static_cast<double>(std::get<std::int64_t>(table.rows[i][*part])) / (*whole)[i]);
  return cells;
}

bool has_word(const std::vector<Cell>& cells) {
  return std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return is_text(cell) && !is_empty(cell); });
}
bool has_number(const std::vector<Cell>& cells) { return !std::all_of(cells.begin(), cells.end(), is_text); }

bool is_order(Operator op) { return op != Operator::equal && op != Operator::not_equal; }

}  // namespace

Condition parse_condition(std::string_view words) {
  const auto refuse = [&](const std::string& why) {
    return Error("--where '" + std::string(words) + "': " + why + "; COLUMN OP NUMBER, e.g. 'sqnr_db < 30'");
  };
  const std::size_t at = words.find_first_of("<>=!");
  if (at == words.npos) throw refuse("has none of < <= > >= == !=");
  const std::string_view column = trimmed(words.substr(0, at));
  if (column.empty()) throw refuse("names no column");
  const bool two = at + 1 < words.size() && words[at + 1] == '=';
  const char sign = words[at];
  if (!two && sign == '=') throw refuse("equal is ==");
  if (!two && sign == '!') throw refuse("not equal is !=");
  Condition condition{.column = std::string(column), .value = {}};
  if (sign == '<') condition.op = two ? Operator::less_equal : Operator::less;
  if (sign == '>') condition.op = two ? Operator::greater_equal : Operator::greater;
  if (sign == '!') condition.op = Operator::not_equal;
  std::string_view value = trimmed(words.substr(at + (two ? 2 : 1)));
  if (value.empty()) throw refuse("has no value; an empty cell is ''");
  const bool quoted = value.size() >= 2 && value.front() == value.back() && (value.front() == '\'' || value.front() == '"');
  if (quoted) value = value.substr(1, value.size() - 2);
  condition.value = value_of(value);
  if (is_order(condition.op) && is_text(condition.value)) throw refuse("'" + std::string(value) + "' is not a number");
  if (is_order(condition.op) && is_nan(condition.value)) throw refuse("nan has no order, ask by == or !=");
  return condition;
}

Order parse_order(std::string_view words) {
  Order order;
  std::string_view column = words;
  if (words.ends_with(":desc")) order.direction = Order::Direction::descending;
  if (words.ends_with(":desc") || words.ends_with(":asc")) column = words.substr(0, words.rfind(':'));
  order.column = trimmed(column);
  if (order.column.empty() || order.column.find(':') != std::string::npos)
    throw Error("--sort '" + std::string(words) + "': give COLUMN, COLUMN:asc or COLUMN:desc, e.g. sqnr_db");
  return order;
}

std::vector<std::string> missing_columns(const Table& table, const Selection& selection) {
  std::vector<std::string> missing;
  for (const Condition& condition : selection.where)
    if (!column_of(table, condition.column)) missing.push_back(condition.column);
  for (const Order& order : selection.order)
    if (!column_of(table, order.column)) missing.push_back(order.column);
  return missing;
}

bool holds_words(const Table& table, std::string_view column) {
  const auto cells = column_of(table, column);
  return cells && has_word(*cells);
}

std::vector<std::size_t> selected(const Table& table, const Selection& selection) {
  std::vector<std::size_t> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  for (const Condition& condition : selection.where) {
    const auto cells = column_of(table, condition.column);
    if (!cells) continue;
    if (is_order(condition.op) && has_word(*cells) && !has_number(*cells))
      throw Error("--where: column '" + condition.column + "' holds words, which compare by == and != only");
    std::erase_if(rows, [&](std::size_t row) { return !holds((*cells)[row], condition.op, condition.value); });
  }
  // The last order first: a stable sort keeps what earlier ones of the list decide among equals.
  for (auto order = selection.order.rbegin(); order != selection.order.rend(); ++order) {
    const auto cells = column_of(table, order->column);
    if (!cells) continue;
    const auto before = [&](std::size_t a, std::size_t b) { return sorted((*cells)[a], (*cells)[b], order->direction) < 0; };
    std::stable_sort(rows.begin(), rows.end(), before);
  }
  return rows;
}

Table rows_of(const Table& table, const std::vector<std::size_t>& rows) {
  Table out{table.name, table.columns, {}};
  for (const std::size_t row : rows) out.rows.push_back(table.rows[row]);
  return out;
}

}  // namespace ulpscope::reports
