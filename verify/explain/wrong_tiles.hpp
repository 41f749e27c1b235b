// SPDX-License-Identifier: Apache-2.0
// Tiles that have all that is wrong of D, read off which elements are wrong: of sizes that kernels have, where those begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "products/shape.hpp"

namespace ulpscope::verify {

/// A rectangle of one matrix of a batch.
struct Tile {
  std::size_t matrix = 0;   ///< of the batch
  std::size_t row = 0;      ///< the first one
  std::size_t column = 0;   ///< the first one
  std::size_t rows = 0;     ///< extent, which is less at the end of the matrix
  std::size_t columns = 0;  ///< likewise
};

/// Tiles of one size. They begin at multiples of their extents.
struct WrongTiles {
  std::size_t rows = 0, columns = 0;  ///< extents, but at the ends of a matrix
  std::vector<Tile> tiles = {};       ///< by matrix, row and column
  std::uint64_t places = 0;           ///< tiles of that size in all of D
  std::uint64_t elements = 0;         ///< of D, in the tiles
  bool are_matrices = false;          ///< whether each is a whole matrix of a batch

  /// Whether element (i, j) of a matrix is in one of them.
  bool has(std::size_t matrix, std::size_t i, std::size_t j) const;
  /// With the extents of the largest of them: where all of them end with D, nothing says how far they would reach.
  WrongTiles as_seen() const;
  /// Bits that say which size it is, and which of all places have a tile.
  std::uint64_t choices() const;
  /// `64x128`, `64` of a square; with `,tiles:2` where there are two.
  std::string word() const;
  /// `one 64x128 tile` or `2 tiles of 64x128`; of matrices `one whole matrix` or `2 whole matrices`.
  std::string sentence() const;
};
/// Places as in a sentence, `rows 64..127, columns 0..127`, with the matrix where D is of several, or it alone where the tile
/// is all of it: up to four of them, and how many more there are. `batch`: how many matrices there are.
std::string places_of(const WrongTiles& tiles, std::size_t batch, const std::function<std::string(std::size_t)>& of_tile = {});

/// Those of 4, 8, or a multiple of 16 up to 256 rows, and so many columns: at most 256 tiles that have all wrong elements, at
/// least four each. Half of the elements in the tiles are wrong, and some of D are in none. The fewest tiles first, of as
/// many those with the fewest elements, of the same ones those
/// whose extents are seen, as the tiles do not all end with D; then the squares, those of powers of two, the least.
std::vector<WrongTiles> wrong_tiles(const products::MatmulShape& shape, const std::function<bool(std::size_t)>& is_wrong);
/// Of those the first that have hardly more elements than need be; `all` is not empty.
const WrongTiles& narrowest(const std::vector<WrongTiles>& all);

}  // namespace ulpscope::verify
