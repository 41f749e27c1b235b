// SPDX-License-Identifier: Apache-2.0
// Memory for the operands and results of small calls, on the device and on the host: it grows and is kept, so that a call costs
// two copies and a launch.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "gpu/cuda/runtime.hpp"

namespace ulpscope::gpu::cuda {

/// For one device. Calls from several threads come one after the other.
class Workspace {
 public:
  /// Copies the operands to the device one behind the other, calls start(their places, the results' place), which starts
  /// kernels, waits for them, and copies the results to `results`. Places of empty operands are null.
  /// @throws Error naming a call of the runtime, or `name` where the kernels failed; nothing in `results` counts then.
  template <std::size_t operands, class Start>
  void run(const std::string& name, const std::array<std::span<const emu::Code>, operands>& values,
           std::span<emu::Code> results, const Start& start) {
    const std::lock_guard lock(mutex_);
    std::size_t copied = 0;
    for (const auto& operand : values) copied += operand.size();
    grow(copied, copied + results.size());
    std::array<const emu::Code*, operands> places{};
    std::size_t at = 0;
    for (std::size_t i = 0; i < operands; ++i) {
      std::copy(values[i].begin(), values[i].end(), host_.begin() + static_cast<std::ptrdiff_t>(at));
      if (!values[i].empty()) places[i] = device_.data() + at;
      at += values[i].size();
    }
    check(cudaMemcpy(device_.data(), host_.data(), copied * sizeof(emu::Code), cudaMemcpyHostToDevice),
          "cudaMemcpy to the device");
    start(places, device_.data() + copied);
    check(cudaMemcpy(results.data(), device_.data() + copied, results.size_bytes(), cudaMemcpyDeviceToHost), name);
  }

 private:
  /// Small ones to twice what they were at least, so that they grow seldom.
  void grow(std::size_t on_host, std::size_t on_device) {
    constexpr std::size_t small = std::size_t{1} << 18;
    if (host_.size() < on_host) host_.resize(on_host);
    const std::size_t before = device_.size();
    if (before >= on_device) return;
    device_ = Buffer<emu::Code>(0);  // first, where memory is short
    device_ = Buffer<emu::Code>(std::max(on_device, std::min(2 * before, small)));
  }

  std::mutex mutex_;
  std::vector<emu::Code> host_;
  Buffer<emu::Code> device_{0};
};

}  // namespace ulpscope::gpu::cuda
