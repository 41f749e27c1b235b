// SPDX-License-Identifier: Apache-2.0
// The stack that the threads of a kernel are given.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "gpu/cuda/runtime.hpp"

namespace ulpscope::gpu::cuda {

/// Room beyond what a kernel declares: as much as a thread has by default (CUDA Runtime API, cudaLimitStackSize).
inline constexpr std::size_t spare_stack_bytes = 1024;

/// Raises the current device's limit where a kernel declares more stack than it leaves. @throws Error
template <class... Parameters>
void make_stack(const std::string& name, void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes of " + name);
  const std::size_t needed = attributes.localSizeBytes + spare_stack_bytes;
  std::size_t limit = 0;
  check(cudaDeviceGetLimit(&limit, cudaLimitStackSize), "cudaDeviceGetLimit of the stack");
  if (limit < needed) check(cudaDeviceSetLimit(cudaLimitStackSize, needed), "cudaDeviceSetLimit of the stack for " + name);
}

}  // namespace ulpscope::gpu::cuda
