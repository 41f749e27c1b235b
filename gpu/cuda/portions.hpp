// SPDX-License-Identifier: Apache-2.0
// Large batches go through the device in portions, so that they take little of its memory.
#pragma once

#include <algorithm>
#include <cstddef>

namespace ulpscope::gpu::cuda {

/// Bytes of a device's memory that one call takes at most, if one item does not need more.
inline constexpr std::size_t usual_portion_bytes = std::size_t{192} << 20;

/// Calls work(first, count) for all items, as many at a time as fit into `bytes`.
template <class Work>
void in_portions(std::size_t items, std::size_t bytes_each, std::size_t bytes, Work work) {
  const std::size_t most = std::max<std::size_t>(1, bytes / std::max<std::size_t>(1, bytes_each));
  for (std::size_t first = 0; first < items; first += most) work(first, std::min(most, items - first));
}

}  // namespace ulpscope::gpu::cuda
