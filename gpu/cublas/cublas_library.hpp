// SPDX-License-Identifier: Apache-2.0
// cuBLAS and cuBLASLt behind the interface of gpu/library.hpp. An object is for one thread at a time.
#pragma once

#include <cstddef>
#include <memory>

#include "gpu/library.hpp"

namespace ulpscope::gpu::cublas {

/// What the libraries need to know of the device.
struct DeviceFacts {
  int ordinal = 0;
  int capability = 0;           ///< 90 for 9.0
  std::size_t cache_bytes = 0;  ///< of the second level
  /// That cuBLASLt may use: twice what its documentation advises for sm_90, so that more partial sums fit.
  std::size_t workspace_bytes = std::size_t{64} << 20;
};

/// @throws NoDevice where there is no GPU of that number.
DeviceFacts device_facts(int ordinal);

std::shared_ptr<const Library> open_cublas(const DeviceFacts& device);
std::shared_ptr<const Library> open_cublaslt(const DeviceFacts& device);

}  // namespace ulpscope::gpu::cublas
