// SPDX-License-Identifier: Apache-2.0
// The GPUs of this machine, as the program that opens the plugin asks for them.
#include "gpu/plugin.hpp"

#include "gpu/cuda/runtime.hpp"

extern "C" ulpscope::gpu::DeviceSearch ulpscope_cuda_devices();

ulpscope::gpu::DeviceSearch ulpscope_cuda_devices() {
  ulpscope::gpu::DeviceSearch search;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    search.remarks.push_back(std::string("cuda: no GPU: ") +
                             cudaGetErrorString(status == cudaSuccess ? cudaErrorNoDevice : status));
  return search;
}
