// SPDX-License-Identifier: Apache-2.0
// The kernel of an element operation. An operation E has `lanes` elements in its registers, 1 or 2, the model of what it
// computes, its name `spelled`, and run(a, b, c, d) over the codes of those elements.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "gpu/cuda/instruction.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/mma.cuh"
#include "gpu/cuda/runtime.hpp"

namespace ulpscope::gpu::cuda {

/// The codes of a thread's elements; zeros beyond the end and where there is no operand.
template <int lanes>
struct Elements {
  emu::Code code[lanes];

  __device__ Elements(const emu::Code* codes, std::size_t first, std::size_t count) {
    ULPSCOPE_UNROLL
    for (int i = 0; i < lanes; ++i) {
      const std::size_t index = first + static_cast<std::size_t>(i);
      code[i] = codes != nullptr && index < count ? codes[index] : 0;
    }
  }
};

inline constexpr int element_threads = 256;

template <class E>
__global__ void elements_kernel(DeviceElements all) {
  const std::size_t first = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * E::lanes;
  if (first >= all.count) return;
  const Elements<E::lanes> a(all.a, first, all.count), b(all.b, first, all.count), c(all.c, first, all.count);
  emu::Code d[E::lanes];
  E::run(a.code, b.code, c.code, d);
  ULPSCOPE_UNROLL
  for (int i = 0; i < E::lanes; ++i)
    if (first + static_cast<std::size_t>(i) < all.count) all.d[first + static_cast<std::size_t>(i)] = d[i];
}

template <class E>
void start_elements(const DeviceElements& all) {
  constexpr std::size_t in_block = element_threads * E::lanes;
  const std::size_t blocks = (all.count + in_block - 1) / in_block;
  if (blocks == 0) return;
  if (blocks > 0x7fffffff) throw Error("launch of " + std::string(E::spelled) + ": too many elements");
  launch(E::spelled, elements_kernel<E>, dim3(static_cast<unsigned>(blocks)), dim3(element_threads), 0, all);
}

/// Appends an operation where the target has it.
template <class E>
void add_element(const Target& target, std::vector<ElementInstruction>& to) {
  if (target.architecture >= E::least_architecture) to.push_back({{E::spelled, E::model}, start_elements<E>});
}
template <class... E>
void add_elements(const Target& target, std::vector<ElementInstruction>& to) {
  (add_element<E>(target, to), ...);
}

}  // namespace ulpscope::gpu::cuda
