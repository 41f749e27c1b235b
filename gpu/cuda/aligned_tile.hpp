// SPDX-License-Identifier: Apache-2.0
// The extents of the tiles in which emulated products are computed.
#pragma once

#include <cstddef>

#include "emu/config.hpp"
#include "gpu/cuda/aligned_levels.hpp"

namespace ulpscope::gpu::cuda {

inline constexpr unsigned tile_outputs = 64;   ///< rows, and columns, that a block of threads computes
inline constexpr unsigned tile_products = 32;  ///< of each output that are in shared memory at a time
inline constexpr unsigned thread_rows = 8;     ///< rows that a thread computes
inline constexpr unsigned thread_columns = 4;  ///< columns that a thread computes
inline constexpr unsigned tile_threads = 128;
static_assert(tile_threads * thread_rows * thread_columns == tile_outputs * tile_outputs);

/// Words of a vector in a tile of bfloat16s.
inline constexpr unsigned tile_words = tile_products / 2;

// A warp's products on tensor cores (m16n8k16) are 64 rows by 16 columns. A thread, 4 * group + part, gets those outputs that
// are its own: rows 8 * group + i are rows `group` and 8 + group of four products, columns 4 * part + i are columns 2 * part
// and 2 * part + 1 of two. What the groups read at a time, rows or columns of one product, are neighbouring slots of shared
// memory.
inline constexpr unsigned warp_columns = 16;

/// The slot of a vector. Rows: i * 8 + group; columns: eight of one product, then those of the next.
ULPSCOPE_INLINE constexpr std::size_t slot_of(Side side, std::size_t vector) noexcept {
  if (side == Side::rows) {
    const std::size_t within = vector % tile_outputs;
    return vector - within + within % thread_rows * 8 + within / thread_rows;
  }
  const std::size_t within = vector % warp_columns, part = within / thread_columns, column = within % thread_columns;
  return vector - within + column / 2 * 8 + part * 2 + column % 2;
}

}  // namespace ulpscope::gpu::cuda
