// SPDX-License-Identifier: Apache-2.0
// Kernels for the test of the stand-in runtime: barriers, shared memory, warps.
#pragma once

#include <array>
#include <vector>

namespace ulpscope::testing {

std::vector<int> reversed(const std::vector<int>& in);  ///< every 96 values
std::vector<int> reversed_without_barrier(const std::vector<int>& in);
void reach_half_a_barrier();
void write_at(int index);  ///< of 5 bytes

struct WarpSums {
  std::array<int, 3> sums;
  std::array<unsigned, 2> ballots;
};
WarpSums warp_sums(const std::vector<int>& in);  ///< of 64 values

}  // namespace ulpscope::testing
