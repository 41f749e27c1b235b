// SPDX-License-Identifier: Apache-2.0
// Where the blocks of a tensor lie that have a scale of their own.
#include <algorithm>
#include <limits>

#include "studies/census/scaling.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();

/// Elements that have one scale: so many rows and columns, or all that there are.
struct BlockExtents {
  std::uint64_t rows, columns;
};

BlockExtents block_of_rule(ScaleRule rule) {
  switch (rule) {
    case ScaleRule::none:
    case ScaleRule::number:
    case ScaleRule::amax:
    case ScaleRule::minmax:
    case ScaleRule::pow2: return {unbounded, unbounded};
    case ScaleRule::minmax_row:
    case ScaleRule::row: return {1, unbounded};
    case ScaleRule::minmax_1x128:
    case ScaleRule::tile_1x128: return {1, 128};
    case ScaleRule::tile_128x128: return {128, 128};
    case ScaleRule::nvfp4: return {1, 16};
    case ScaleRule::nvfp4_16x16: return {16, 16};
    default: return {1, 32};
  }
}

/// What has one scale whatever the elements are.
ElementScale plain(double scale) { return {.multiply = scale, .denominator = scale}; }

}  // namespace

std::uint64_t elements_of_blocks(ScaleRule rule, const tensors::Tensor& tensor, std::uint64_t blocks) {
  const std::uint64_t count = std::max<std::uint64_t>(tensor.count(), 1),
                      columns = tensor.shape.empty() ? 1 : std::max<std::uint64_t>(tensor.shape.back(), 1);
  const BlockExtents block = block_of_rule(rule);
  const std::uint64_t of_one = std::min(block.rows, count / columns) * std::min(block.columns, columns);
  return of_one < count / blocks ? blocks * of_one : count;
}

std::size_t ScaleMap::block_of(std::uint64_t index) const noexcept {
  if (is_uniform()) return 0;
  const std::uint64_t row = index / columns_, column = index % columns_;
  return static_cast<std::size_t>(row_of_blocks(row) * blocks_per_row_ + column / block_columns_);
}

std::uint64_t ScaleMap::blocks_before(std::uint64_t index) const noexcept {
  if (index == 0) return 0;
  const std::uint64_t last = index - 1, row = last / columns_, row_of_blocks = this->row_of_blocks(row);
  const bool is_first_row = first_row(row_of_blocks) == row;
  return row_of_blocks * blocks_per_row_ + (is_first_row ? last % columns_ / block_columns_ + 1 : blocks_per_row_);
}

ElementRange ScaleMap::elements_of(const BlockRange& blocks, std::uint64_t count) const noexcept {
  const auto first_of = [&](std::uint64_t number) {
    return number == blocks_ ? count
                             : first_row(number / blocks_per_row_) * columns_ + number % blocks_per_row_ * block_columns_;
  };
  const std::uint64_t first = first_of(blocks.first);
  return {first, first_of(blocks.end) - first};
}

std::uint64_t ScaleMap::whole_rows(std::uint64_t blocks) const noexcept {
  const std::uint64_t whole = blocks < blocks_per_row_ ? blocks : blocks / blocks_per_row_ * blocks_per_row_;
  return std::max<std::uint64_t>(whole, 1);
}

ScaleMap::Run ScaleMap::run(std::uint64_t index) const noexcept {
  if (is_uniform()) return {uniform(), std::numeric_limits<std::uint64_t>::max()};
  const std::uint64_t column = index % columns_, of_block = block_columns_ - column % block_columns_;
  return {at(index), std::min(of_block, columns_ - column)};
}

bool ScaleMap::lay_out(const Scaling& scaling, std::uint64_t count, std::uint64_t columns, std::uint64_t matrix_rows) {
  columns_ = std::max<std::uint64_t>(columns, 1);
  form_ = scaling.form;
  const std::uint64_t rows = std::max<std::uint64_t>(count / columns_, 1);
  matrix_rows_ = rows;
  if (scaling.rule == ScaleRule::number) uniform_ = plain(scaling.number);
  const BlockExtents block = block_of_rule(scaling.rule);
  block_rows_ = block.rows == unbounded ? rows : block.rows;
  block_columns_ = block.columns == unbounded ? columns_ : block.columns;
  if (scaling.rule <= ScaleRule::number || count == 0) return false;
  const bool has_tiles = scaling.rule == ScaleRule::tile_128x128 || scaling.rule == ScaleRule::nvfp4_16x16;
  if (has_tiles && matrix_rows > 0) matrix_rows_ = matrix_rows;
  blocks_per_row_ = (columns_ + block_columns_ - 1) / block_columns_;
  blocks_ = (row_of_blocks(rows - 1) + 1) * blocks_per_row_;
  return true;
}

bool ScaleMap::lay_out(const Scaling& scaling, const tensors::Tensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  return lay_out(scaling, tensor.count(), rank == 0 ? 1 : tensor.shape.back(), rank < 2 ? 1 : tensor.shape[rank - 2]);
}

ScaleMap ScaleMap::laid_out(const Scaling& scaling, const tensors::Tensor& tensor) {
  ScaleMap layout;
  layout.lay_out(scaling, tensor);
  return layout;
}

ElementRange ScaleMap::in_blocks(const ElementRange& part) const noexcept {
  // Blocks of one row begin and end within it; others are rows of blocks.
  const auto from = [&](std::uint64_t index, std::uint64_t more) {
    if (block_rows_ > 1) {
      const std::uint64_t row = (index - more) / columns_, in_matrix = row % matrix_rows_;
      return (more == 0 ? row - in_matrix % block_rows_ : row + rows_from(row)) * columns_;
    }
    const std::uint64_t column = index % columns_,
                        block = (column + more * (block_columns_ - 1)) / block_columns_ * block_columns_;
    return index - column + std::min(block, columns_);
  };
  const std::uint64_t first = from(part.first, 0);
  return {first, from(part.first + part.count, 1) - first};
}

}  // namespace ulpscope::studies
