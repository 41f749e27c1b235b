// SPDX-License-Identifier: Apache-2.0
// The stand-in for the product's header of the same name.
#pragma once

#include <cstdint>

#include "element_instructions.hpp"
#include "gpu/cuda/mma.cuh"

#define ULPSCOPE_SINCE_75(call) call
#define ULPSCOPE_SINCE_80(call) call

namespace ulpscope::gpu::cuda {

template <class Type, int count>
struct FakeHalves {
  static constexpr int lanes = count;
  static fake_cuda::Halves<Type, count> number(const std::uint64_t* codes) {
    fake_cuda::Halves<Type, count> x;
    for (int i = 0; i < count; ++i) x.bits[i] = static_cast<std::uint16_t>(codes[i]);
    return x;
  }
  static void codes(fake_cuda::Halves<Type, count> x, std::uint64_t* codes) {
    for (int i = 0; i < count; ++i) codes[i] = x.bits[i];
  }
};
using Of__half = FakeHalves<fake_cuda::Binary16, 1>;
using Of__half2 = FakeHalves<fake_cuda::Binary16, 2>;
using Of__nv_bfloat16 = FakeHalves<fake_cuda::BFloat16, 1>;
using Of__nv_bfloat162 = FakeHalves<fake_cuda::BFloat16, 2>;

}  // namespace ulpscope::gpu::cuda
