// SPDX-License-Identifier: Apache-2.0
// The shared memory whose size a launch gives.
#pragma once

namespace ulpscope::gpu::cuda {

/// Its beginning, aligned to 16 bytes.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char ulpscope_dynamic_shared[];
  return reinterpret_cast<T*>(ulpscope_dynamic_shared);
}

}  // namespace ulpscope::gpu::cuda
