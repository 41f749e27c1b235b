// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime with every call checked: what fails throws, naming the call, and what was allocated is freed.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/error.hpp"

namespace ulpscope::gpu::cuda {

/// @throws Error `call: cudaErrorName (its description)`.
inline void check(cudaError_t status, const std::string& call) {
  if (status != cudaSuccess) throw Error(call + ": " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ")");
}

/// Makes a device current for its lifetime.
class OnDevice {
 public:
  explicit OnDevice(int ordinal) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    check(cudaSetDevice(ordinal), "cudaSetDevice");
  }
  ~OnDevice() { static_cast<void>(cudaSetDevice(before_)); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

/// Memory of the current device.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t size) : size_(size) {
    if (size > 0)
      check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), "cudaMalloc of " + std::to_string(bytes()) + " bytes");
  }
  explicit Buffer(std::span<const T> values) : Buffer(values.size()) {
    if (!values.empty()) check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
  }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() { static_cast<void>(cudaFree(data_)); }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }

  void clear() {
    if (size_ > 0) check(cudaMemset(data_, 0, bytes()), "cudaMemset");
  }
  /// Waits for the device; what went wrong on it before is reported here too.
  void copy_to(std::span<T> values) const {
    if (!values.empty())
      check(cudaMemcpy(values.data(), data_, values.size_bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Starts a kernel; `name` stands in the message when it cannot be started.
template <class... Parameters, class... Arguments>
void launch(const std::string& name, void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments));
  [&](Parameters... values) {
    void* addresses[] = {static_cast<void*>(&values)...};
    check(cudaLaunchKernel(kernel, grid, block, addresses, shared_bytes, nullptr), "launch of " + name);
  }(std::forward<Arguments>(arguments)...);
}

/// Waits until the device is done. @throws Error naming what it was to do.
inline void finish(const std::string& name) { check(cudaDeviceSynchronize(), name); }

}  // namespace ulpscope::gpu::cuda
