// SPDX-License-Identifier: Apache-2.0
// Codes and what belongs to them, as they lie in a file, and the values that they stand for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emu/format.hpp"
#include "studies/cast/layouts.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// Blocks of matrices of so many rows, each with a scale.
struct CodeGrid {
  /// Elements of a row, the extents of a block, and rows of a matrix.
  std::uint64_t columns = 1, block_rows = 1, block_columns = 1, blocks_per_row = 1, matrix_rows = 1;

  /// The row of blocks in which a row lies.
  std::uint64_t row_of_blocks(std::uint64_t row) const {
    return row / matrix_rows * ((matrix_rows + block_rows - 1) / block_rows) + row % matrix_rows / block_rows;
  }
};

/// Codes under scales.
struct CodeParts {
  tensors::Tensor codes, scales;                       ///< as they lie in their file
  std::optional<tensors::Tensor> tensor_scale = {};    ///< of NVFP4
  std::optional<tensors::Tensor> zero_points = {};     ///< in the grid of the scales
  bool is_packed = false;                              ///< two codes of 4 bits in each element
  std::optional<tensors::Tensor> shape_of_words = {};  ///< eight of them in each element, of a matrix of the shape in this
  std::optional<emu::Format> scale_bytes = {};         ///< what scales in elements of U8 are
  TensorScale second = TensorScale::factor;            ///< what the second scale is
  std::vector<std::uint64_t> shape = {};               ///< of the values
  CodeGrid grid = {};                                  ///< of the scales
};

/// What the codes stand for, read piece by piece.
std::shared_ptr<const tensors::Source> values_of(const CodeParts& parts);

}  // namespace ulpscope::studies
