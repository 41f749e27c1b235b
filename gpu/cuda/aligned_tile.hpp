// SPDX-License-Identifier: Apache-2.0
// The extents of the tiles in which emulated products are computed.
#pragma once

namespace ulpscope::gpu::cuda {

inline constexpr unsigned tile_outputs = 64;   ///< rows, and columns, that a block of threads computes
inline constexpr unsigned tile_products = 32;  ///< of each output that are in shared memory at a time
inline constexpr unsigned thread_rows = 8;     ///< rows that a thread computes
inline constexpr unsigned thread_columns = 4;  ///< columns that a thread computes
inline constexpr unsigned tile_threads = 128;
static_assert(tile_threads * thread_rows * thread_columns == tile_outputs * tile_outputs);

}  // namespace ulpscope::gpu::cuda
