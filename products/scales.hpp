// SPDX-License-Identifier: Apache-2.0
// Scale tensors of a matrix product: their shape says what they scale.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "products/shape.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::products {

/// Which operand: K runs along the rows of A and down the columns of B. Lines are the rows of A, the columns of B.
enum class MatmulSide : std::uint8_t { a, b };

/// Scales as grids over the matrices of an operand: a number of scales for its lines, and a number for K.
struct MatmulScales {
  /// A block that is as long as there is.
  static constexpr std::size_t all = 0;

  emu::Format format;                           ///< of a scale
  std::vector<float> values;                    ///< matrix by matrix, a row of `for_k` for each group of lines
  std::size_t matrices = 1;                     ///< with scales of their own; 1: all take the same
  std::size_t for_lines = 1, for_k = 1;         ///< scales
  std::size_t line_block = all, k_block = all;  ///< lines and products that share a scale
  float whole = 1;                              ///< one more scale for all of the operand

  /// `tensor`, `row`, `128x128` (lines by K), `mx` (blocks of 32 along K, e8m0), `nvfp4` (blocks of 16 along K, e4m3).
  std::string word() const;
};

/// The scales of `operand` in the tensor `scale`, which lies over the operand as that is stored:
///   one element                  the whole operand
///   one element a row or column  each row of A, each column of B (also as a vector)
///   a grid                       blocks of 1, 16, 32, 128 or a divisor of the extent, in either direction
/// Its batch is that of the operand, or none. @throws Error with both shapes.
MatmulScales fit_scales(const tensors::Tensor& scale, const MatmulInput& operand, MatmulSide side);

}  // namespace ulpscope::products
