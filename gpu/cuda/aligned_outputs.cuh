// SPDX-License-Identifier: Apache-2.0
// What a thread of the fast kernels keeps of its outputs.
#pragma once

#include <cstdint>

#include "gpu/cuda/aligned_shared.cuh"
#include "gpu/cuda/aligned_step.hpp"
#include "gpu/cuda/thread_outputs.cuh"

namespace ulpscope::gpu::cuda::aligned {

/// Values of a thread's outputs; every index is known when compiled, so that they stay in registers.
template <class T>
using Outputs = T[side_rows][side_columns];

template <class F>
__device__ __forceinline__ void for_each_output(F f) {
  for_each_of<thread_rows, thread_columns>(f);
}

/// What is not to be trusted, of all outputs of a thread.
struct Doubts {
  std::uint32_t beyond = 0;  ///< its sign: a sum did not fit
  float greatest = 0;        ///< result
  Extremes extremes;

  __device__ __forceinline__ bool usual(AlignedKind kind) const {
    return static_cast<std::int32_t>(beyond) >= 0 && (!kind.half || greatest <= detail::greatest_half) &&
           (!kind.wide || extremes.usual());
  }
};

/// The first row and column of a thread within the tile.
struct Corner {
  unsigned row, column;
};
template <AlignedKind kind>
__device__ __forceinline__ Corner corner_of(unsigned thread) {
  if (kind.levelled())  // as tensor cores hand outputs out
    return {thread % 32 / 4 * thread_rows, thread / 32 * warp_columns + thread % 4 * thread_columns};
  return {thread / (tile_outputs / thread_columns) * thread_rows, thread % (tile_outputs / thread_columns) * thread_columns};
}

}  // namespace ulpscope::gpu::cuda::aligned
