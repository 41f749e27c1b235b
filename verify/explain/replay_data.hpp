// SPDX-License-Identifier: Apache-2.0
// The inputs of a matrix product in memory, as they were before any rounding.
#pragma once

#include <cstddef>
#include <vector>

#include "products/product.hpp"

namespace ulpscope::verify {

/// A block of an operand that has a scale of its own.
struct ScaleBlock {
  std::size_t lines = 0, k = 0;  ///< its place along the rows of A or the columns of B, and along K

  bool operator==(const ScaleBlock&) const = default;
};

/// Scales of an operand; none where `scales` is empty.
struct DataScales {
  std::optional<products::MatmulScales> scales;  ///< over the operand's matrices

  /// Whether there are none.
  bool empty() const noexcept { return !scales; }
  /// The scale of the whole operand; 1 where there is none.
  float whole() const noexcept { return scales ? scales->whole : 1.0F; }
  /// Products that share a scale along K; 0: all of them.
  std::size_t k_block() const noexcept { return scales && scales->for_k > 1 ? scales->k_block : 0; }
  /// The block of a line (a row of A, a column of B) and of index k: its place among those of lines, and of K.
  ScaleBlock block_of(std::size_t line, std::size_t k) const noexcept;
  /// The scale of a block of a matrix; 1 where there are none.
  float of(std::size_t matrix, ScaleBlock block) const noexcept;
  /// That of a line of a matrix at index k.
  float at(std::size_t matrix, std::size_t line, std::size_t k) const noexcept { return of(matrix, block_of(line, k)); }
};

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
