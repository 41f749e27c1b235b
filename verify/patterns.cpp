// SPDX-License-Identifier: Apache-2.0
// Counts wrong elements by row, column and tile, and says which counts stand out.
#include "verify/patterns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <string>

namespace ulpscope::verify {
namespace {

/// A place stands out if it holds no more than this share of all places of its kind.
constexpr double few = 0.125;
constexpr std::size_t most_named = 8;

struct Concentration {
  std::vector<std::uint64_t> places;  ///< with wrong elements, ascending
  std::uint64_t of = 0;               ///< places of the kind
  bool stands_out() const {
    return of > 1 && !places.empty() && static_cast<double>(places.size()) <= std::max(1.0, few * static_cast<double>(of));
  }
};

Concentration concentration(const std::vector<std::uint64_t>& counts) {
  Concentration found;
  found.of = counts.size();
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) found.places.push_back(i);
  return found;
}

/// `3`, `48 to 63`: places that lie side by side together, from three on.
std::vector<std::string> runs_of(const std::vector<std::uint64_t>& places) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < places.size();) {
    std::size_t end = i + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    runs.push_back(end - i == 1 ? std::to_string(places[i]) : fmt::format("{} to {}", places[i], places[end - 1]));
    i = end;
  }
  return runs;
}

std::string named(const std::vector<std::uint64_t>& places) {
  std::vector<std::string> runs = runs_of(places);
  if (runs.size() > most_named) runs.resize(most_named), runs.emplace_back("...");
  return fmt::format("{}", fmt::join(runs, ", "));
}

/// `12 of 60 rows`, and which where that is said in few words.
std::string counted(const Concentration& lines, const char* kind) {
  constexpr std::size_t few_runs = 4;
  std::string text = fmt::format("{} of {} {}", lines.places.size(), lines.of, kind);
  const bool are_few = lines.places.size() < lines.of && runs_of(lines.places).size() <= few_runs;
  return are_few ? text + " (" + named(lines.places) + ")" : text;
}

/// Whether the wrong lines are the last ones that do not fill a block; the least such block, or 0.
std::uint64_t tail_block(const Concentration& lines) {
  for (const std::uint64_t block : std::initializer_list<std::uint64_t>{8, 16, 32, 64, 128, 256}) {
    const std::uint64_t tail = lines.of / block * block;
    if (tail != lines.of && lines.of > block && !lines.places.empty() && lines.places.front() >= tail) return block;
  }
  return 0;
}

}  // namespace

std::string plural(std::uint64_t count, const char* one) { return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s"); }

WrongPlaces::WrongPlaces(const std::vector<std::uint64_t>& shape)
    : rows_(1), columns_(shape.empty() ? 1 : std::max<std::uint64_t>(shape.back(), 1)) {
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows_ *= shape[i];
}

void WrongPlaces::add(std::uint64_t index) {
  if (total_ == 0) {  // most outputs are right, and long rows have as many counts as elements
    by_row_.resize(rows_), by_column_.resize(columns_);
    by_tile_.resize((rows_ + tile - 1) / tile * ((columns_ + tile - 1) / tile));
  }
  const std::uint64_t row = index / columns_, column = index % columns_;
  ++total_, ++by_row_[row], ++by_column_[column];
  ++by_tile_[row / tile * ((columns_ + tile - 1) / tile) + column / tile];
}

std::vector<std::string> WrongPlaces::sentences() const {
  std::vector<std::string> out;
  if (total_ == 0) return out;
  if (total_ == 1) return {"one element is wrong"};
  const Concentration rows = concentration(by_row_), columns = concentration(by_column_), tiles = concentration(by_tile_);
  const auto say_lines = [&](const Concentration& lines, const char* kind) {
    if (!lines.stands_out()) return;
    const std::uint64_t block = tail_block(lines);
    out.push_back(fmt::format("all wrong elements are in {} of {}: {}{}", plural(lines.places.size(), kind), lines.of,
                              named(lines.places),
                              block == 0 ? "" : fmt::format(" (the tail beyond whole blocks of {})", block)));
  };
  say_lines(rows, "row"), say_lines(columns, "column");
  if (out.empty() && tiles.stands_out()) {
    const std::uint64_t across = (columns_ + tile - 1) / tile, first = tiles.places.front();
    out.push_back(fmt::format("all wrong elements are in {} of {} of {}x{}, the first at row {}, column {}",
                              plural(tiles.places.size(), "tile"), tiles.of, tile, tile, first / across * tile,
                              first % across * tile));
  }
  if (out.empty()) {
    const double share = static_cast<double>(total_) / static_cast<double>(rows_ * columns_);
    out.push_back(fmt::format("wrong elements ({:.3g}%) lie in {} and {}", 100 * share, counted(rows, "rows"),
                              counted(columns, "columns")));
  }
  return out;
}

}  // namespace ulpscope::verify
