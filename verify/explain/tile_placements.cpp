// SPDX-License-Identifier: Apache-2.0
// Compares tiles of D with tiles of the claim.
#include "verify/explain/tile_placements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "emu/encode.hpp"
#include "verify/explain/explain_sample.hpp"

namespace ulpscope::verify {
namespace {

/// D and the claim, as to the wrong tiles of one size.
class TilePlacements {
 public:
  TilePlacements(const Claim& claim, std::span<const double> d, std::span<const double> claimed, const WrongTiles& tiles)
      : m_(claim.shape.m),
        n_(claim.shape.n),
        batch_(claim.shape.batch()),
        out_(claim.config.out),
        d_(d),
        claimed_(claimed),
        tiles_(tiles) {}

  std::vector<Placement> all() {
    if (std::ranges::all_of(tiles_.tiles, [&](const Tile& tile) { return d_[at(tile, 0, 0)] == 0 && has_one_number(tile); })) {
      add("zero", "zero", {}, 0);
      return std::move(found_);
    }
    if (are([&](const Tile& tile, std::size_t i, std::size_t j) {
          return emu::round_to(out_, 2 * claimed_[at(tile, i, j)]).value;
        }))
      add("doubled", "twice what is claimed", {}, 0);
    add_transposed();
    if (!add_from("stale", "of another place", 0, [](double, double there) { return there; }))
      add_from("added", "with another place's added", 1,
               [&](double here, double there) { return emu::round_to(out_, here + there).value; });
    return std::move(found_);
  }

 private:
  std::size_t at(const Tile& tile, std::size_t i, std::size_t j) const {
    return (tile.matrix * m_ + tile.row + i) * n_ + tile.column + j;
  }

  bool has_one_number(const Tile& tile) const {
    const double first = d_[at(tile, 0, 0)];
    return is(tile, [&](const Tile&, std::size_t, std::size_t) { return first; });
  }
  template <class Value>
  bool is(const Tile& tile, Value value) const {
    for (std::size_t i = 0; i < tile.rows; ++i)
      for (std::size_t j = 0; j < tile.columns; ++j)
        if (!same_value(value(tile, i, j), d_[at(tile, i, j)])) return false;
    return true;
  }
  template <class Value>
  bool are(Value value) const {
    for (const Tile& tile : tiles_.tiles)
      if (!is(tile, value)) return false;
    return true;
  }

  void add(const char* word, const std::string& what, const std::function<std::string(std::size_t)>& of_tile,
           std::uint64_t choices) {
    add_as(tiles_.as_seen(), word, what, of_tile, choices);
  }
  void add_as(const WrongTiles& named, const char* word, const std::string& what,
              const std::function<std::string(std::size_t)>& of_tile, std::uint64_t choices) {
    const std::string sentence = fmt::format("{} {} ({})", named.sentence(), what, places_of(named, batch_, of_tile));
    found_.push_back(
        {{fmt::format("D=tile-{}:{}", word, named.word()), sentence, {}, [](Kernel&) {}}, 1, tiles_.choices() + choices});
  }

  /// Whole tiles go through a buffer that is written along one side and read along the other; beyond D it holds zeros, and that
  /// tells its extents.
  void add_transposed() {
    const std::size_t rows = tiles_.rows, columns = tiles_.columns;
    const auto claimed_in = [&](const Tile& tile, std::size_t i, std::size_t j) {
      return tile.row + i < m_ && tile.column + j < n_ ? claimed_[at(tile, i, j)] : 0;
    };
    const bool by_columns = are([&](const Tile& tile, std::size_t i, std::size_t j) {
      const std::size_t place = i * columns + j;
      return claimed_in(tile, place % rows, place / rows);
    });
    if (rows == columns) {
      if (by_columns) add_as(tiles_, "transposed", "transposed", {}, 0);
      return;
    }
    if (by_columns) add_as(tiles_, "transposed", "transposed, written by columns and read by rows", {}, 0);
    if (are([&](const Tile& tile, std::size_t i, std::size_t j) {
          const std::size_t place = j * rows + i;
          return claimed_in(tile, place / columns, place % columns);
        }))
      add_as(tiles_, "transposed", "transposed, written by rows and read by columns", {}, 0);
  }

  /// Each tile is made of the claim there and that of a tile elsewhere, on the grid of tiles.
  template <class Value>
  bool add_from(const char* word, const std::string& what, std::uint64_t more_choices, Value value) {
    std::vector<Tile> sources;
    for (const Tile& tile : tiles_.tiles) {
      const auto source = source_of(tile, value);
      if (!source) return false;
      sources.push_back(*source);
    }
    if (!say_whence_all()) return false;
    const auto of_tile = [&](std::size_t i) {
      const std::string of_matrix = batch_ == 1 ? "" : fmt::format(" of matrix {}", sources[i].matrix);
      return fmt::format(": that at ({}, {}){}", sources[i].row, sources[i].column, of_matrix);
    };
    add(word, what, of_tile, sources.size() * static_cast<std::uint64_t>(std::bit_width(tiles_.places)) + more_choices);
    return true;
  }
  template <class Value>
  std::optional<Tile> source_of(const Tile& tile, Value value) const {
    if (has_one_number(tile)) return std::nullopt;  // nothing says from where
    for (std::size_t matrix = 0; matrix < batch_; ++matrix)
      for (std::size_t row = 0; row + tile.rows <= m_; row += tiles_.rows)
        for (std::size_t column = 0; column + tile.columns <= n_; column += tiles_.columns) {
          const Tile other{matrix, row, column, tile.rows, tile.columns};
          if (at(other, 0, 0) == at(tile, 0, 0)) continue;
          if (is(tile, [&](const Tile&, std::size_t i, std::size_t j) {
                return value(claimed_[at(tile, i, j)], claimed_[at(other, i, j)]);
              }))
            return other;
        }
    return std::nullopt;
  }
  /// Of each tile.
  bool say_whence_all() const {
    std::size_t fewest = d_.size();
    for (const Tile& tile : tiles_.tiles) {
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < tile.rows; ++i)
        for (std::size_t j = 0; j < tile.columns; ++j)
          wrong += same_value(d_[at(tile, i, j)], claimed_[at(tile, i, j)]) ? 0 : 1;
      fewest = std::min(fewest, wrong);
    }
    return say_whence(fewest, claimed_);
  }

  std::size_t m_, n_, batch_;
  emu::Format out_;
  std::span<const double> d_, claimed_;
  const WrongTiles& tiles_;
  std::vector<Placement> found_;
};

}  // namespace

std::vector<Placement> tile_placements(const Claim& claim, std::span<const double> d, std::span<const double> claimed) {
  const auto is_wrong = [&](std::size_t i) { return !same_value(d[i], claimed[i]); };
  for (const WrongTiles& tiles : wrong_tiles(claim.shape, is_wrong))
    if (auto found = TilePlacements(claim, d, claimed, tiles).all(); !found.empty()) return found;
  return {};
}

std::string sentence_of(const Claim& claim, const WrongTiles& tiles) {
  return fmt::format("{} ({})", tiles.as_seen().sentence(), places_of(tiles, claim.shape.batch()));
}

Cause only_in(const Claim& claim, const WrongTiles& tiles) {
  return {"D=tile:" + tiles.as_seen().word(),
          "that only in " + sentence_of(claim, tiles),
          {},
          [only = std::make_shared<const WrongTiles>(tiles)](Kernel& kernel) { kernel.only = only; }};
}

}  // namespace ulpscope::verify
