// SPDX-License-Identifier: Apache-2.0
// Loops over the outputs that a thread of a tiled product has.
#pragma once

namespace ulpscope::gpu::cuda {

/// f(i, j) for rows and columns in turn; every index is known when compiled, so that what it names stays in registers.
template <unsigned rows, unsigned columns, class F>
__device__ __forceinline__ void for_each_of(F f) {
#pragma unroll
  for (unsigned i = 0; i < rows; ++i) {
#pragma unroll
    for (unsigned j = 0; j < columns; ++j) f(i, j);
  }
}

}  // namespace ulpscope::gpu::cuda
