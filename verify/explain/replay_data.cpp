// SPDX-License-Identifier: Apache-2.0
// Reads operands and scales into plain arrays.
#include "verify/explain/replay_data.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace ulpscope::verify {
namespace {

/// Extents of a tile of scales.
constexpr std::size_t tile_lines = 128, tile_blocks = 4;

std::vector<double> values_of(const tensors::Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  return values;
}

/// Each matrix of rows by columns as its transpose.
std::vector<double> transposed(const std::vector<double>& values, std::size_t rows, std::size_t columns) {
  std::vector<double> out(values.size());
  const std::size_t size = rows * columns;
  for (std::size_t matrix = 0; size != 0 && matrix < values.size() / size; ++matrix)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) out[matrix * size + j * rows + i] = values[matrix * size + i * columns + j];
  return out;
}

std::vector<double> matrices_of(const products::MatmulInput& input) {
  std::vector<double> values = values_of(input.tensor);
  const auto& shape = input.tensor.shape;
  if (!input.transposed || shape.size() < 2) return values;
  return transposed(values, static_cast<std::size_t>(shape[shape.size() - 2]), static_cast<std::size_t>(shape.back()));
}

}  // namespace

ScaleBlock DataScales::block_of(std::size_t line, std::size_t k) const noexcept {
  if (empty()) return {};
  const auto index = [](std::size_t count, std::size_t i, std::size_t block) {
    return count == 1 || block == products::MatmulScales::all ? 0 : i / block;
  };
  return {index(scales->for_lines, line, scales->line_block), index(scales->for_k, k, scales->k_block)};
}

float DataScales::of(std::size_t matrix, ScaleBlock block) const noexcept {
  if (empty()) return 1;
  const std::size_t own = scales->matrices == 1 ? 0 : matrix;
  return scales->values[(own * scales->for_lines + block.lines) * scales->for_k + block.k];
}

bool DataScales::in_tiles() const noexcept {
  return scales && scales->for_lines % tile_lines == 0 && scales->for_k >= tile_blocks && scales->for_k % tile_blocks == 0;
}

ScaleBlock DataScales::read_for(ScaleBlock block, ScaleLayout layout) const noexcept {
  if (!scales || layout == ScaleLayout::stored) return block;
  const std::size_t lines = scales->for_lines, blocks = scales->for_k;
  if (layout != ScaleLayout::transposed && !in_tiles()) return block;
  constexpr std::size_t in_tile = tile_lines * tile_blocks, sub = 32, subs = tile_lines / sub;
  std::size_t at = 0;  // in the buffer, as the kernel takes it
  if (layout == ScaleLayout::transposed) {
    at = block.k * lines + block.lines;
  } else if (layout == ScaleLayout::as_tiles) {
    const std::size_t tile = block.lines / tile_lines * (blocks / tile_blocks) + block.k / tile_blocks,
                      line = block.lines % tile_lines;
    at = tile * in_tile + line % sub * (subs * tile_blocks) + line / sub * tile_blocks + block.k % tile_blocks;
  } else {
    at = block.lines * blocks + block.k;
    const std::size_t tile = at / in_tile, row = at % in_tile / (subs * tile_blocks), of_row = at % (subs * tile_blocks);
    return {tile / (blocks / tile_blocks) * tile_lines + of_row / tile_blocks * sub + row,
            tile % (blocks / tile_blocks) * tile_blocks + of_row % tile_blocks};
  }
  return {at / blocks, at % blocks};
}

std::size_t common_k_block(const DataScales& a, const DataScales& b) noexcept { return std::gcd(a.k_block(), b.k_block()); }

MatmulData load_matmul(const products::Product& config) {
  MatmulData data{.shape = products::matmul_shape(config.a.input, config.b.input),
                  .a = matrices_of(config.a.input),
                  .b = matrices_of(config.b.input),
                  .c = {},
                  .scale_a = {config.a.scales},
                  .scale_b = {config.b.scales}};
  if (!config.c) return data;
  const std::vector<double> c = values_of(*config.c);
  for (const std::size_t i : products::broadcast_indices("C " + config.c->label, config.c->shape, data.shape.d))
    data.c.push_back(c[i]);
  return data;
}

}  // namespace ulpscope::verify
