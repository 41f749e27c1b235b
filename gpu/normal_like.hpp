// SPDX-License-Identifier: Apache-2.0
// Numbers near N(0, 1) by number and seed, the same on the host and on a device.
#pragma once

#include <cstdint>

#include "emu/config.hpp"
#include "emu/philox.hpp"

namespace ulpscope::gpu {

/// The float32 number of that index: the sum of four uniform ones (Irwin-Hall), of variance 1; `operand` 0 for A and 1 for B.
ULPSCOPE_HD inline float normal_like(std::uint64_t seed, std::uint64_t operand, std::uint64_t index) {
  const emu::PhiloxBlock random = emu::philox4x32(seed, index, operand);
  double sum = 0;
  for (const std::uint32_t word : random.word) sum += (static_cast<double>(word) + 0.5) * 0x1p-32 - 0.5;
  constexpr double root_of_three = 0x1.bb67ae8584caap+0;  // four uniform numbers have variance 4 / 12
  return static_cast<float>(sum * root_of_three);
}

}  // namespace ulpscope::gpu
