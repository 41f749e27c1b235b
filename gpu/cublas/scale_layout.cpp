// SPDX-License-Identifier: Apache-2.0
// Where each scale lies in memory, mode by mode.
#include "gpu/cublas/scale_layout.hpp"

#include "emu/encode.hpp"

namespace ulpscope::gpu::cublas {
namespace {

std::size_t rounded_up(std::size_t number, std::size_t unit) { return (number + unit - 1) / unit * unit; }

/// Where the scale of a group of lines and a block of products lies, and how many places there are.
class Places {
 public:
  Places(ScaleMode mode, std::size_t groups, std::size_t blocks) : mode_(mode), groups_(groups), blocks_(blocks) {}

  std::size_t count() const {
    if (facts_of(mode_).by_the_engine) return rounded_up(groups_, tile_lines) * rounded_up(blocks_, tile_blocks);
    return mode_ == ScaleMode::blk128x128_32f ? rounded_up(blocks_, column_unit) * groups_ : groups_ * blocks_;
  }
  std::size_t at(std::size_t group, std::size_t block) const {
    if (mode_ == ScaleMode::blk128x128_32f) return block + group * rounded_up(blocks_, column_unit);
    return facts_of(mode_).by_the_engine ? in_tiles(group, block) : group + block * groups_;
  }

 private:
  static constexpr std::size_t tile_lines = 128, tile_blocks = 4, column_unit = 4;

  // Within a tile the lines 0, 32, 64 and 96 lie side by side, four bytes each; below them 1, 33, 65, 97, and so on.
  std::size_t in_tiles(std::size_t line, std::size_t block) const {
    constexpr std::size_t row_lines = 32, tile = tile_lines * tile_blocks;
    const std::size_t tiles_of_row = rounded_up(blocks_, tile_blocks) / tile_blocks;
    const std::size_t begin = (line / tile_lines * tiles_of_row + block / tile_blocks) * tile;
    const std::size_t row = line % row_lines, column = line % tile_lines / row_lines;
    return begin + (row * (tile_lines / row_lines) + column) * tile_blocks + block % tile_blocks;
  }

  ScaleMode mode_;
  std::size_t groups_, blocks_;
};

}  // namespace

std::int32_t scale_mode_number(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::vec16_ue4m3: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
    case ScaleMode::vec32_ue8m0: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
    case ScaleMode::outer_vec_32f: return CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    case ScaleMode::vec128_32f: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case ScaleMode::blk128x128_32f: return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    case ScaleMode::scalar_32f: break;
  }
  return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
}

std::vector<std::byte> laid_out_scales(ScaleMode mode, OperandSide side, const ConstMatrix& scales, std::size_t lines) {
  const bool of_a = side == OperandSide::a;
  const std::size_t groups = of_a ? scales.rows : scales.columns, blocks = of_a ? scales.columns : scales.rows;
  const std::size_t shared = facts_of(mode).lines;
  const Places places(mode, groups, blocks);
  std::vector<std::byte> codes(places.count() * bytes_per_code(scales.format));
  for (std::size_t group = 0; group < groups; ++group) {
    const std::vector<emu::Code> line = scales_of_line(mode, side, scales, shared == 0 ? lines - 1 : group * shared);
    for (std::size_t block = 0; block < blocks; ++block)
      store_code(scales.format, codes.data(), places.at(group, block), line[block]);
  }
  return codes;
}

std::vector<std::byte> unit_scales(ScaleMode mode, std::size_t lines, std::size_t k) {
  const emu::Format format = facts_of(mode).format;
  const ScaleExtent extent = scale_extent(mode, OperandSide::a, lines, k);
  std::vector<std::byte> ones(extent.rows * extent.columns * bytes_per_code(format));
  for (std::size_t i = 0; i < extent.rows * extent.columns; ++i) store_code(format, ones.data(), i, emu::encode(format, 1.0));
  return laid_out_scales(mode, OperandSide::a, {format, extent.rows, extent.columns, ones}, lines);
}

std::vector<std::byte> packed_halves(std::span<const std::byte> codes) {
  std::vector<std::byte> pairs(codes.size() / 2);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = codes[2 * i] | codes[2 * i + 1] << 4;
  return pairs;
}

}  // namespace ulpscope::gpu::cublas
