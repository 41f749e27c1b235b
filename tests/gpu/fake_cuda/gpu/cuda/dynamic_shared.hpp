// SPDX-License-Identifier: Apache-2.0
// The shared memory of a launch, for the stand-in runtime.
#pragma once

#include "device_code.hpp"

namespace ulpscope::gpu::cuda {

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(fake_cuda::dynamic_shared());
}

}  // namespace ulpscope::gpu::cuda
