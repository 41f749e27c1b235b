// SPDX-License-Identifier: Apache-2.0
// Numbers from a CSV file, by libcsv's callbacks.
#include <csv.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <new>
#include <string_view>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "tensors/memory_limit.hpp"
#include "tensors/readers.hpp"

namespace ulpscope::tensors {
namespace {

std::optional<double> parse_number(std::string_view word) {
  while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
  while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range && end == word.data() + word.size() && !word.empty()) {
    // from_chars leaves the value alone: too large unless the exponent is negative
    const bool tiny = word.find("e-") != std::string_view::npos || word.find("E-") != std::string_view::npos;
    const double magnitude = tiny ? 0 : std::numeric_limits<double>::infinity();
    return word.front() == '-' ? -magnitude : magnitude;
  }
  if (error != std::errc{} || end != word.data() + word.size() || word.empty()) return std::nullopt;
  return value;
}

constexpr std::size_t longest_field = std::size_t{1} << 20;  // libcsv keeps one, however long

/// What libcsv calls back into.
struct Table {
  std::vector<double> values;
  std::size_t columns = 0, row = 0, column = 0;
  bool first_row_is_names = false;
  std::string problem;
  HeldMemory memory{"its numbers"};

  void field(std::string_view text) {
    if (!problem.empty()) return;
    ++column;
    check_length(text.size());
    if (!problem.empty()) return;
    const auto value = parse_number(text);
    if (row == 0) {
      if (column == 1)
        first_row_is_names = !value;
      else if (first_row_is_names && value)
        problem = place() + "is a number in a row of names";
      if (first_row_is_names) return;
    }
    if (!value)
      problem = place() + "'" + std::string(text.substr(0, 40)) + "' is not a number";
    else if (has_room())
      values.push_back(*value);
  }
  /// Of a field of the row that is read, also before it ends.
  void check_length(std::size_t bytes) {
    if (bytes > longest_field)
      problem = "row " + std::to_string(row + 1) + ": a field is longer than " + std::to_string(longest_field) + " bytes";
  }
  void end_row() {
    if (!problem.empty()) return;
    if (row == 0)
      columns = column;
    else if (column != columns)
      problem = "row " + std::to_string(row + 1) + " has " + std::to_string(column) + " fields, the first row " +
                std::to_string(columns);
    ++row;
    column = 0;
  }

 private:
  /// Makes room for another number, if it may. No exception leaves: libcsv is C.
  bool has_room() {
    if (values.size() < values.capacity()) return true;
    const std::size_t more = std::max<std::size_t>(1024, 2 * values.capacity());
    try {
      memory.grow((values.capacity() + more) * sizeof(double));
      values.reserve(more);
      return true;
    } catch (const Error& error) {
      problem = error.what();
    } catch (const std::bad_alloc&) {
      problem = "its numbers: out of memory";
    }
    return false;
  }
  std::string place() const { return "row " + std::to_string(row + 1) + ", column " + std::to_string(column) + ": "; }
};

void on_field(void* text, std::size_t size, void* table) {
  static_cast<Table*>(table)->field({static_cast<const char*>(text), size});
}
void on_row(int, void* table) { static_cast<Table*>(table)->end_row(); }

/// Where the text begins: behind its byte order mark, which spreadsheets put before UTF-8.
std::uint64_t begin_of(const FileBytes& file) {
  const Piece start = file.bytes->piece(0, static_cast<std::size_t>(std::min<std::uint64_t>(file.bytes->size(), 3)));
  const auto text = std::string_view(reinterpret_cast<const char*>(start.bytes.data()), start.bytes.size());
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) throw Error(file.name + ": is UTF-16; save it as UTF-8");
  return text.starts_with("\xef\xbb\xbf") ? 3 : 0;
}

}  // namespace

Tensor read_csv(const FileBytes& file) {
  const std::uint64_t begin = begin_of(file), end = file.bytes->size();
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) throw std::bad_alloc();
  const std::unique_ptr<csv_parser, void (*)(csv_parser*)> guard(&parser, csv_free);
  Table table;
  constexpr std::uint64_t most = 1 << 16;
  for (std::uint64_t at = begin; at < end && table.problem.empty(); at += most) {
    const Piece piece = file.bytes->piece(at, static_cast<std::size_t>(std::min(most, end - at)));
    const std::size_t size = piece.bytes.size();
    if (csv_parse(&parser, piece.bytes.data(), size, on_field, on_row, &table) != size && table.problem.empty())
      table.problem = "row " + std::to_string(table.row + 1) + ": " + csv_strerror(csv_error(&parser));
    if (table.problem.empty()) table.check_length(parser.entry_pos);  // what there is of a field
  }
  if (table.problem.empty() && csv_fini(&parser, on_field, on_row, &table) != 0)
    table.problem = "row " + std::to_string(table.row + 1) + ": " + csv_strerror(csv_error(&parser));
  if (!table.problem.empty()) throw Error(emu::visible(file.name + ": " + table.problem));
  if (table.values.empty()) throw Error(file.name + ": holds no numbers");
  const std::uint64_t rows = table.values.size() / table.columns;
  return from_values(file.name, {rows, table.columns}, std::move(table.values));
}

}  // namespace ulpscope::tensors
