// SPDX-License-Identifier: Apache-2.0
// The aligned text of a table: constant columns stated once, the others folded into blocks that fit the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "emu/visible.hpp"
#include "reports/percent.hpp"
#include "reports/render.hpp"

namespace ulpscope::reports {
namespace {

constexpr std::size_t gap = 2;  // spaces between columns

/// A cell of the column `name`.
std::string text_cell(const Cell& cell, std::string_view name) {
  if (const auto* text = std::get_if<std::string>(&cell)) return emu::visible(*text);
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return std::to_string(*count);
  const double number = std::get<double>(cell);
  if (std::isnan(number)) return "nan";
  return name.ends_with('%') ? percent_text(number) : fmt::format("{:.5g}", number);
}

bool same(const Cell& a, const Cell& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  return a == b || (x != nullptr && y != nullptr && std::isnan(*x) && std::isnan(*y));
}

/// Code points, which is the width of the names people use.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// A column as it is printed.
struct Column {
  std::string name;
  std::vector<std::string> cells;  ///< of the rows shown
  std::size_t width = 0;
  bool left_aligned = false;
  bool constant = false;  ///< the same in every row of the table, shown or not
};

Column column_of(const Table& table, std::size_t index, std::size_t shown, const std::vector<std::string>& numerals) {
  Column column{.name = emu::visible(table.columns[index]), .cells = {}};
  column.width = width_of(column.name);
  bool all_same = !table.rows.empty();
  const bool words = std::find(numerals.begin(), numerals.end(), table.columns[index]) == numerals.end();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Cell& cell = table.rows[i][index];
    column.left_aligned |= words && std::holds_alternative<std::string>(cell);
    all_same &= same(cell, table.rows.front()[index]);
    if (i >= shown) continue;
    column.cells.push_back(text_cell(cell, column.name));
    column.width = std::max(column.width, width_of(column.cells.back()));
  }
  // Of a single row everything is constant: its words are stated above, its numbers stay in the table.
  column.constant = all_same && (table.rows.size() > 1 || column.left_aligned);
  return column;
}

std::string stated_once(const std::vector<Column>& columns, std::size_t width) {
  std::string text;
  std::size_t used = 0;
  for (const auto& column : columns) {
    if (column.cells.front().empty()) continue;  // of nothing there is nothing to say
    const std::string item = column.name + ' ' + column.cells.front();
    if (used > 0 && used + 2 + width_of(item) + 1 > width) {
      text += ",\n";
      used = 0;
    }
    if (used > 0) text += ", ";
    text += item;
    used += (used > 0 ? 2 : 0) + width_of(item);
  }
  return text.empty() ? text : text + "\n\n";
}

std::string line_of(const std::vector<const Column*>& block, std::size_t row, bool header) {
  std::string line;
  for (const Column* column : block) {
    if (!line.empty() || column != block.front()) line.append(gap, ' ');
    const std::string& cell = header ? column->name : column->cells[row];
    const std::string padding(column->width - width_of(cell), ' ');
    line += column->left_aligned ? cell + padding : padding + cell;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::size_t width_of(const std::vector<const Column*>& block) {
  std::size_t width = 0;
  for (const Column* column : block) width += column->width + (width > 0 ? gap : 0);
  return width;
}

/// Columns side by side as far as they fit; each block begins with the key columns and has at least one other.
std::vector<std::vector<const Column*>> folded(const std::vector<Column>& columns, std::size_t keys, std::size_t width) {
  std::vector<const Column*> key;
  for (std::size_t i = 0; i < keys; ++i) key.push_back(&columns[i]);
  std::vector<std::vector<const Column*>> blocks{key};
  for (std::size_t i = keys; i < columns.size(); ++i) {
    if (blocks.back().size() > keys && width_of(blocks.back()) + gap + columns[i].width > width) blocks.push_back(key);
    blocks.back().push_back(&columns[i]);
  }
  return blocks;
}

constexpr std::size_t least_name = 16;        // code points that are left of a shortened name
constexpr std::string_view left_out = "...";  // in its middle

/// The parts of a name cut to their first letters, from the left as far as need be; numbers, and the last part, stay.
std::string abbreviated(const std::string& name, std::size_t width) {
  constexpr std::string_view borders = "./";
  std::string text = name;
  for (std::size_t first = 0; width_of(text) > width;) {
    const std::size_t end = text.find_first_of(borders, first);
    if (end == text.npos) break;
    const bool plain = end > first && (text[first] & 0x80) == 0 && (text[first] < '0' || text[first] > '9');
    if (plain) text.erase(first + 1, end - first - 1);
    first = plain ? first + 2 : end + 1;
  }
  return text;
}

/// The name in `width` code points: its parts abbreviated, then without its middle.
std::string shortened(const std::string& name, std::size_t width) {
  std::string text = abbreviated(name, width);
  if (width_of(text) <= width) return text;
  const std::size_t kept = width - left_out.size(), of_end = (kept + 1) / 2, of_start = kept - of_end;
  const auto place = [&](std::size_t point) {  // of a code point's first byte
    std::size_t at = 0;
    for (std::size_t points = 0; at < text.size(); ++at)
      if ((text[at] & 0xC0) != 0x80 && points++ == point) break;
    return at;
  };
  return text.substr(0, place(of_start)).append(left_out) + text.substr(place(width_of(text) - of_end));
}

/// What a table of one line a row lacks.
struct Lacking {
  std::size_t columns = 0;
  bool ends_of_names = false;
};

/// Takes from the end the columns that do not fit, then from the width of the first.
Lacking fitted(std::vector<Column>& columns, std::size_t keys, std::size_t width) {
  const auto width_of_all = [&] {
    std::size_t all = 0;
    for (const Column& column : columns) all += column.width + (all > 0 ? gap : 0);
    return all;
  };
  const std::size_t before = columns.size();
  while (columns.size() > keys && width_of_all() > width) columns.pop_back();
  Lacking lacking{.columns = before - columns.size()};
  Column& first = columns.front();
  const std::size_t all = width_of_all(), others = all - first.width;
  if (all <= width || !first.left_aligned) return lacking;
  first.width = std::min(first.width, std::max({width_of(first.name), least_name, width - std::min(width, others)}));
  for (std::string& cell : first.cells) {
    lacking.ends_of_names |= width_of(cell) > first.width;
    cell = shortened(cell, first.width);
  }
  return lacking;
}

}  // namespace

std::string more_rows(std::size_t count) {
  return fmt::format("... {} more row{}; --rows all prints {}", count, count == 1 ? "" : "s", count == 1 ? "it" : "them");
}

std::string to_text(const Table& table, const TextOptions& options) {
  const std::size_t total = table.rows.size();
  const std::size_t shown = options.max_rows == 0 ? total : std::min(total, options.max_rows);
  std::vector<Column> constant;
  std::vector<Column> varying;
  std::size_t keys = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    Column column = column_of(table, i, shown, options.numerals);
    // A lone row keeps its identifying columns in the table.
    const bool state = column.constant && (total > 1 || i >= options.key_columns);
    if (!state && i < options.key_columns) ++keys;
    (state ? constant : varying).push_back(std::move(column));
  }
  Lacking lacking;
  std::string text = stated_once(constant, options.width);
  if (!varying.empty()) {
    keys = std::clamp<std::size_t>(keys, 1, varying.size());
    if (options.fit == Fit::one_line) lacking = fitted(varying, keys, options.width);
    const auto blocks = folded(varying, keys, options.width);
    for (const auto& block : blocks) {
      if (&block != &blocks.front()) text += '\n';
      text += line_of(block, 0, true);
      for (std::size_t row = 0; row < shown; ++row) text += line_of(block, row, false);
    }
  }
  if (shown < total) text += more_rows(total - shown) + '\n';
  if (lacking.columns > 0) text += fmt::format("... {} more column{}", lacking.columns, lacking.columns == 1 ? "" : "s");
  if (lacking.ends_of_names) text += lacking.columns > 0 ? " and whole names" : "... whole names";
  if (lacking.columns > 0 || lacking.ends_of_names) text += " by --csv or on a wider terminal\n";
  return text;
}

}  // namespace ulpscope::reports
