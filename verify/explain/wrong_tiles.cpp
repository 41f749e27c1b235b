// SPDX-License-Identifier: Apache-2.0
// Counts wrong elements in tiles of every size, by sums over cells of 4 by 4 elements.
#include "verify/explain/wrong_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>

namespace ulpscope::verify {
namespace {

/// Every extent of a tile is a multiple of it.
constexpr std::size_t cell_side = 4;
constexpr std::size_t most_tiles = 256;
constexpr std::uint64_t least_wrong = 4;

std::vector<std::size_t> extents() {
  std::vector<std::size_t> extents{4, 8};
  for (std::size_t extent = 16; extent <= 256; extent += 16) extents.push_back(extent);
  return extents;
}

/// For each matrix, row and column of cells, how many wrong elements are above and to the left of the cell.
class WrongCounts {
 public:
  WrongCounts(const products::MatmulShape& shape, const std::function<bool(std::size_t)>& is_wrong)
      : height_((shape.m + cell_side - 1) / cell_side + 1),
        width_((shape.n + cell_side - 1) / cell_side + 1),
        sums_(shape.batch() * height_ * width_) {
    std::size_t at = 0;
    for (std::size_t matrix = 0; matrix < shape.batch(); ++matrix)
      for (std::size_t i = 0; i < shape.m; ++i)
        for (std::size_t j = 0; j < shape.n; ++j)
          if (is_wrong(at++)) ++sums_[index(matrix, i / cell_side + 1, j / cell_side + 1)], ++all_;
    for (std::size_t matrix = 0; matrix < shape.batch(); ++matrix)
      for (std::size_t y = 1; y < height_; ++y)
        for (std::size_t x = 1; x < width_; ++x)
          sums_[index(matrix, y, x)] +=
              sums_[index(matrix, y - 1, x)] + sums_[index(matrix, y, x - 1)] - sums_[index(matrix, y - 1, x - 1)];
  }

  std::uint64_t all() const noexcept { return all_; }
  std::uint64_t in(const Tile& tile) const {
    const std::size_t top = tile.row / cell_side, left = tile.column / cell_side,
                      bottom = (tile.row + tile.rows + cell_side - 1) / cell_side,
                      right = (tile.column + tile.columns + cell_side - 1) / cell_side;
    return sums_[index(tile.matrix, bottom, right)] + sums_[index(tile.matrix, top, left)] -
           sums_[index(tile.matrix, top, right)] - sums_[index(tile.matrix, bottom, left)];
  }

 private:
  std::size_t index(std::size_t matrix, std::size_t y, std::size_t x) const { return (matrix * height_ + y) * width_ + x; }
  std::size_t height_, width_;
  std::vector<std::uint64_t> sums_;
  std::uint64_t all_ = 0;
};

/// Tiles of this size that have wrong elements; none where they are no wrong_tiles().
std::optional<WrongTiles> tiles_of(std::size_t rows, std::size_t columns, const products::MatmulShape& shape,
                                   const WrongCounts& wrong) {
  WrongTiles found{.rows = rows, .columns = columns};
  for (std::size_t matrix = 0; matrix < shape.batch(); ++matrix)
    for (std::size_t row = 0; row < shape.m; row += rows)
      for (std::size_t column = 0; column < shape.n; column += columns) {
        ++found.places;
        const Tile tile{matrix, row, column, std::min(rows, shape.m - row), std::min(columns, shape.n - column)};
        const std::uint64_t count = wrong.in(tile);
        if (count == 0) continue;
        if (count < least_wrong || found.tiles.size() == most_tiles) return std::nullopt;
        found.tiles.push_back(tile);
        found.elements += tile.rows * tile.columns;
      }
  const bool is_everywhere = found.elements == shape.batch() * shape.m * shape.n;
  if (is_everywhere || 2 * wrong.all() < found.elements) return std::nullopt;
  found.are_matrices = found.elements == found.tiles.size() * shape.m * shape.n;
  return found;
}

/// `rows 64..127, columns 0..127`, with the matrix where D is of several.
std::string place_of(const Tile& tile, std::size_t batch) {
  const std::string in_matrix = fmt::format("rows {}..{}, columns {}..{}", tile.row, tile.row + tile.rows - 1, tile.column,
                                            tile.column + tile.columns - 1);
  return batch == 1 ? in_matrix : fmt::format("{} of matrix {}", in_matrix, tile.matrix);
}

}  // namespace

bool WrongTiles::has(std::size_t matrix, std::size_t i, std::size_t j) const {
  const auto first_of = [](const Tile& tile) { return std::tuple(tile.matrix, tile.row, tile.column); };
  const std::tuple first(matrix, i / rows * rows, j / columns * columns);
  const auto at = std::ranges::lower_bound(tiles, first, {}, first_of);
  return at != tiles.end() && first_of(*at) == first;
}

WrongTiles WrongTiles::as_seen() const {
  WrongTiles seen = *this;
  seen.rows = std::ranges::max(tiles, {}, &Tile::rows).rows;
  seen.columns = std::ranges::max(tiles, {}, &Tile::columns).columns;
  return seen;
}

std::uint64_t WrongTiles::choices() const {
  const std::size_t sizes = extents().size() * extents().size();
  return static_cast<std::uint64_t>(std::bit_width(sizes)) + tiles.size() * static_cast<std::uint64_t>(std::bit_width(places));
}

std::string WrongTiles::word() const {
  const std::string size = rows == columns ? fmt::format("{}", rows) : fmt::format("{}x{}", rows, columns);
  return tiles.size() == 1 ? size : fmt::format("{},tiles:{}", size, tiles.size());
}

std::string WrongTiles::sentence() const {
  if (are_matrices) return tiles.size() == 1 ? "one whole matrix" : fmt::format("{} whole matrices", tiles.size());
  return tiles.size() == 1 ? fmt::format("one {}x{} tile", rows, columns)
                           : fmt::format("{} tiles of {}x{}", tiles.size(), rows, columns);
}

std::string places_of(const WrongTiles& tiles, std::size_t batch, const std::function<std::string(std::size_t)>& of_tile) {
  constexpr std::size_t most_named = 4;
  const std::size_t named = std::min(tiles.tiles.size(), most_named);
  const auto place = [&](const Tile& tile) {
    return tiles.are_matrices ? fmt::format("matrix {}", tile.matrix) : place_of(tile, batch);
  };
  std::string words;
  for (std::size_t i = 0; i < named; ++i) words += (i == 0 ? "" : "; ") + place(tiles.tiles[i]) + (of_tile ? of_tile(i) : "");
  return tiles.tiles.size() == named ? words : fmt::format("{}; and {} more", words, tiles.tiles.size() - named);
}

std::vector<WrongTiles> wrong_tiles(const products::MatmulShape& shape, const std::function<bool(std::size_t)>& is_wrong) {
  std::vector<WrongTiles> all;
  const WrongCounts wrong(shape, is_wrong);
  if (wrong.all() == 0) return all;
  for (const std::size_t rows : extents())
    for (const std::size_t columns : extents())
      if (auto tiles = tiles_of(rows, columns, shape, wrong)) all.push_back(std::move(*tiles));
  std::ranges::stable_sort(all, {}, [](const WrongTiles& tiles) {
    const bool are_powers = std::has_single_bit(tiles.rows) && std::has_single_bit(tiles.columns);
    const WrongTiles seen = tiles.as_seen();
    const int unseen = (seen.rows != tiles.rows) + (seen.columns != tiles.columns);
    return std::tuple(tiles.tiles.size(), tiles.elements, unseen, tiles.rows != tiles.columns, !are_powers,
                      tiles.rows * tiles.columns);
  });
  return all;
}

const WrongTiles& narrowest(const std::vector<WrongTiles>& all) {
  std::uint64_t least = all.front().elements;
  for (const WrongTiles& tiles : all) least = std::min(least, tiles.elements);
  return *std::ranges::find_if(all, [&](const WrongTiles& tiles) { return tiles.elements - least <= least / 16; });
}

}  // namespace ulpscope::verify
