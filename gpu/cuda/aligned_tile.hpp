// SPDX-License-Identifier: Apache-2.0
// The extents of the tiles in which emulated products are computed.
#pragma once

namespace ulpscope::gpu::cuda {

inline constexpr unsigned tile_outputs = 64;   ///< a block of threads computes so many rows by as many columns
inline constexpr unsigned tile_products = 32;  ///< of each output that are in shared memory at a time
inline constexpr unsigned thread_outputs = 4;  ///< a thread computes so many rows by as many columns
inline constexpr unsigned tile_threads = 256;
static_assert(tile_threads * thread_outputs * thread_outputs == tile_outputs * tile_outputs);

}  // namespace ulpscope::gpu::cuda
