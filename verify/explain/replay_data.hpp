// SPDX-License-Identifier: Apache-2.0
// The inputs of a matrix product in memory, as they were before any rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "products/product.hpp"

namespace ulpscope::verify {

/// A block of an operand that has a scale of its own.
struct ScaleBlock {
  std::size_t lines = 0, k = 0;  ///< its place along the rows of A or the columns of B, and along K

  bool operator==(const ScaleBlock&) const = default;
};

/// Where the scales of an operand's blocks are read from. A tile of 128 lines by 4 blocks has that of line i and block j at
/// i % 32 * 16 + i / 32 * 4 + j; tiles are row-major (cuBLAS, "1D Block Scaling Factors Layout").
enum class ScaleLayout : std::uint8_t {
  stored,      ///< where they are
  transposed,  ///< their buffer is taken for that of the transposed grid
  as_tiles,    ///< they lie line by line, and are read as tiles; whole tiles
  from_tiles,  ///< they lie in tiles, and are read line by line; whole tiles
};

/// Scales of an operand; none where `scales` is empty, or K is, whose blocks they are of.
struct DataScales {
  std::optional<products::MatmulScales> scales;  ///< over the operand's matrices

  /// Whether there are none.
  bool empty() const noexcept { return !scales || scales->values.empty(); }
  /// The scale of the whole operand; 1 where there is none.
  float whole() const noexcept { return scales ? scales->whole : 1.0F; }
  /// Products that share a scale along K; 0: all of them.
  std::size_t k_block() const noexcept { return scales && scales->for_k > 1 ? scales->k_block : 0; }
  /// The block of a line (a row of A, a column of B) and of index k: its place among those of lines, and of K.
  ScaleBlock block_of(std::size_t line, std::size_t k) const noexcept;
  /// The scale of a block of a matrix; 1 where there are none.
  float of(std::size_t matrix, ScaleBlock block) const noexcept;
  /// Whether they are whole tiles of scales.
  bool in_tiles() const noexcept;
  /// The block whose scale is read for that of `block`.
  ScaleBlock read_for(ScaleBlock block, ScaleLayout layout) const noexcept;
  /// That of a line of a matrix at index k.
  float at(std::size_t matrix, std::size_t line, std::size_t k) const noexcept { return of(matrix, block_of(line, k)); }
};

/// Products that share all scales along K, where software applies those of both operands; 0: all of them.
std::size_t common_k_block(const DataScales& a, const DataScales& b) noexcept;

/// Operands, rounded, in one place.
struct MatmulData {
  products::MatmulShape shape;  ///< extents and batch
  std::vector<double> a, b;     ///< matrices as M by K and K by N, row-major
  std::vector<double> c;        ///< broadcast to the shape of D; empty: none
  DataScales scale_a, scale_b;  ///< over A and B

  /// Element (i, k) of a matrix of A.
  double a_at(std::size_t matrix, std::size_t i, std::size_t k) const noexcept {
    return a[(matrix * shape.m + i) * shape.k + k];
  }
  /// Element (k, j) of a matrix of B.
  double b_at(std::size_t matrix, std::size_t k, std::size_t j) const noexcept {
    return b[(matrix * shape.k + k) * shape.n + j];
  }
};

/// Reads A, B, C and the scales of a product. @throws ulpscope::Error where shapes do not fit.
MatmulData load_matmul(const products::Product& config);

}  // namespace ulpscope::verify
