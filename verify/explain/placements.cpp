// SPDX-License-Identifier: Apache-2.0
// Wrong elements by rows, one by one, and at the end of D.
#include "verify/explain/placements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/encode.hpp"
#include "verify/explain/explain_sample.hpp"
#include "verify/explain/last_tiles.hpp"
#include "verify/explain/tile_placements.hpp"

namespace ulpscope::verify {
namespace {

/// Whether too many numbers like those of D are also another place's, as in a coarse format.
bool has_few_numbers(std::span<const double> claimed) {
  constexpr double least = 1.0 / 16;
  std::vector<double> sorted;
  for (const double x : claimed)
    if (std::isfinite(x)) sorted.push_back(std::fabs(x));
  std::sort(sorted.begin(), sorted.end());
  std::size_t twins = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    twins += (i > 0 && sorted[i] == sorted[i - 1]) || (i + 1 < sorted.size() && sorted[i] == sorted[i + 1]) ? 1 : 0;
  return static_cast<double>(twins) > least * static_cast<double>(sorted.size());
}

Cause placed(std::string word, std::string sentence) {
  return {std::move(word), std::move(sentence), {}, [](Kernel&) {}};
}

/// D of one matrix after another, and what the claim returns.
class Placements {
 public:
  Placements(const Claim& claim, std::span<const double> d, std::span<const double> claimed)
      : claim_(claim),
        shape_(claim.shape),
        m_(claim.shape.m),
        n_(claim.shape.n),
        out_(claim.config.out),
        may_be_scaled_(claim.config.alpha == 0.5 || claim.config.a.scales || claim.config.b.scales),
        d_(d),
        claimed_(claimed) {
    for (std::size_t i = 0; i < d.size(); ++i)
      if (!same_value(d[i], claimed[i])) wrong_.push_back(i);
  }

  std::vector<Placement> all() {
    if (wrong_.empty()) return {};
    add_doubled();
    add_moved();
    add_zero_lines();
    add_strides();
    return found_.empty() ? tile_placements(claim_, d_, claimed_) : std::move(found_);
  }

 private:
  std::size_t row_of(std::size_t i) const { return i / n_ % m_; }
  std::string place(std::size_t i) const {
    const std::string in_matrix = fmt::format("({}, {})", row_of(i), i % n_);
    return d_.size() == m_ * n_ ? in_matrix : fmt::format("{} of matrix {}", in_matrix, i / (m_ * n_));
  }

  /// All of it: where only some tiles are, tile_placements() says so.
  void add_doubled() {
    if (may_be_scaled_) return;
    for (std::size_t i = 0; i < d_.size(); ++i)
      if (!same_value(emu::round_to(out_, 2 * claimed_[i]).value, d_[i])) return;
    found_.push_back(
        {placed("D=doubled", "every element twice its value, as where D is not cleared and added to once more"), 1});
  }

  void add_moved() {
    if (wrong_.size() == 2 && same_value(d_[wrong_[0]], claimed_[wrong_[1]]) && same_value(d_[wrong_[1]], claimed_[wrong_[0]]))
      found_.push_back(
          {placed("D=swapped", fmt::format("elements {} and {} in each other's place", place(wrong_[0]), place(wrong_[1]))),
           d_.size()});
    if (wrong_.size() != 1 || d_[wrong_[0]] == 0 || has_few_numbers(claimed_)) return;
    for (std::size_t i = 0; i < d_.size(); ++i)
      if (i != wrong_[0] && same_value(claimed_[i], d_[wrong_[0]])) {
        found_.push_back(
            {placed("D=moved", fmt::format("element {} holds that of {}", place(wrong_[0]), place(i))), d_.size()});
        return;
      }
  }

  /// Every wrong element is 0, and so is the rest of its matrix, of its row, or of its column.
  void add_zero_lines() {
    if (!std::all_of(wrong_.begin(), wrong_.end(), [&](std::size_t i) { return d_[i] == 0; })) return;
    if (d_.size() > m_ * n_ && add_lines("matrix", "matrices", [&](std::size_t i) { return i / (m_ * n_); })) return;
    const auto rows = [&](std::size_t i) { return i / n_; };
    const auto columns = [&](std::size_t i) { return i / (m_ * n_) * n_ + i % n_; };
    add_lines("row", "rows", rows);
    add_lines("column", "columns", columns);
  }
  template <class Line>
  bool add_lines(const char* name, const char* names, Line line_of) {
    std::vector<std::size_t> lines;
    for (const std::size_t i : wrong_) lines.push_back(line_of(i));
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    for (std::size_t i = 0; i < d_.size(); ++i)
      if (d_[i] != 0 && std::binary_search(lines.begin(), lines.end(), line_of(i))) return false;
    const std::string words = lines.size() == 1
                                  ? fmt::format("{} {} is", name, lines[0])
                                  : fmt::format("{} {}, the first of them {}, are", lines.size(), names, lines[0]);
    found_.push_back({placed(fmt::format("D=zero-{}", name), words + " zero"), d_.size()});
    return true;
  }

  /// The last tiles written with another leading dimension, after the others and row by row.
  void add_strides() {
    std::vector<LastTiles> all;
    std::vector<std::size_t> rows = last_tile_starts(m_), columns = last_tile_starts(n_);
    columns.push_back(0);
    for (const std::size_t row : rows)
      if (m_ - row > 1)  // no leading dimension moves a tile's first row
        for (const std::size_t column : columns) all.push_back({row, column, m_ - row});
    for (const std::size_t height : tile_heights(m_))
      for (const std::size_t column : columns) all.push_back({0, column, height});
    const std::vector<std::size_t> strides = other_strides(n_, shape_);
    for (LastTiles tiles : all)
      for (const std::size_t stride : strides) {
        tiles.stride = stride;
        if (!ends_so(tiles) || !is_written(tiles)) continue;
        found_.push_back(
            {placed("D=" + word_of(tiles, m_, n_), sentence_of(tiles, m_, n_, "D written")), all.size() * strides.size()});
        return;
      }
  }
  /// Whether D has the last row of them that the leading dimension moves and that is not beyond D's end.
  bool ends_so(const LastTiles& tiles) const {
    const auto is_first = [&](std::size_t i) { return (i - tiles.row) % tiles.height == 0; };  // of a tile: it is not moved
    std::size_t i = m_ - 1;
    while (i > tiles.row && (is_first(i) || tiles.place(i, tiles.column, n_) >= m_ * n_)) --i;
    if (i == tiles.row) return false;
    for (std::size_t j = tiles.column; j < n_; ++j) {
      const std::size_t place = tiles.place(i, j, n_), row = place / n_;
      const bool is_written_over = row > i && is_first(row) && place % n_ >= tiles.column;
      if (place < m_ * n_ && !is_written_over && !same_value(d_[place], claimed_[i * n_ + j])) return false;
    }
    return true;
  }
  /// What is not written has to hold one number, as of a buffer that was filled before. That is no evidence: enough of the
  /// wrong elements have to be others in a wrong place.
  bool is_written(const LastTiles& tiles) const {
    std::optional<double> before;
    std::vector<double> written(m_ * n_);
    std::size_t displaced = 0;
    for (std::size_t matrix = 0; matrix < d_.size(); matrix += m_ * n_) {
      std::vector<char> has(m_ * n_);
      for (const bool last : {false, true})
        for (std::size_t i = 0; i < m_; ++i)
          for (std::size_t j = 0; j < n_; ++j) {
            if (tiles.has(i, j) != last) continue;
            const std::size_t place = last ? tiles.place(i, j, n_) : i * n_ + j;
            if (place < has.size()) has[place] = 1, written[place] = claimed_[matrix + i * n_ + j];
          }
      for (std::size_t at = 0; at < has.size(); ++at) {
        const double value = d_[matrix + at];
        if (has[at] == 0 && !before) before = value;
        if (!same_value(value, has[at] != 0 ? written[at] : *before)) return false;
        displaced += has[at] != 0 && !same_value(value, claimed_[matrix + at]) ? 1 : 0;
      }
    }
    return say_whence(displaced, claimed_);
  }

  const Claim& claim_;
  const products::MatmulShape& shape_;
  std::size_t m_, n_;
  emu::Format out_;
  bool may_be_scaled_;  // twice by another cause
  std::span<const double> d_, claimed_;
  std::vector<std::size_t> wrong_;
  std::vector<Placement> found_;
};

}  // namespace

bool say_whence(std::size_t wrong, std::span<const double> claimed) {
  constexpr std::size_t enough = 4, enough_of_few_numbers = 16;
  return wrong >= enough_of_few_numbers || (wrong >= enough && !has_few_numbers(claimed));
}

std::vector<Placement> placements(const Claim& claim, std::span<const double> d, std::span<const double> claimed) {
  return Placements(claim, d, claimed).all();
}

}  // namespace ulpscope::verify
