// SPDX-License-Identifier: Apache-2.0
// Threads for the studies of devices, which use the standard library only.
#pragma once

#include <cstdint>
#include <functional>

namespace ulpscope::studies {

/// Some of a number of tests.
struct Portion {
  std::uint64_t begin, count;  ///< the first, and how many
};

/// Calls act(portion) for every portion of `total` tests, `most` each, on `threads` threads (0: as many as there are) and in
/// any order. What the first failing call throws is thrown here; portions not yet begun are left out then.
void for_each_portion(std::uint64_t total, std::uint64_t most, int threads, const std::function<void(const Portion&)>& act);

}  // namespace ulpscope::studies
