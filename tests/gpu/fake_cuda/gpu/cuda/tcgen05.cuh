// SPDX-License-Identifier: Apache-2.0
// The stand-in for the product's header of the same name.
#pragma once

#include <cstdint>

#include "gpu/cuda/mma.cuh"
#include "tensor_core.hpp"

namespace ulpscope::gpu::cuda {

inline constexpr bool target_has_tcgen05 = true;

namespace tcgen05 {

inline void allocate(std::uint32_t to, std::uint32_t columns) { fake_cuda::allocate_tensor_memory(to, columns); }
inline void relinquish_permit() { fake_cuda::relinquish_tensor_memory(); }
inline void deallocate(std::uint32_t address, std::uint32_t columns) { fake_cuda::deallocate_tensor_memory(address, columns); }
inline void store(std::uint32_t address, const std::uint32_t (&columns)[16]) {
  fake_cuda::store_tensor_memory(address, columns);
}
inline void load(std::uint32_t address, std::uint32_t (&columns)[16]) { fake_cuda::load_tensor_memory(address, columns); }
inline void fence_before_meeting() { fake_cuda::fence_before_thread_sync(); }
inline void fence_after_meeting() { fake_cuda::fence_after_thread_sync(); }
inline void initialize_barrier(std::uint32_t barrier) { fake_cuda::initialize_barrier(barrier); }
inline void commit(std::uint32_t barrier) { fake_cuda::commit_to_barrier(barrier); }
inline void wait(std::uint32_t barrier, std::uint32_t parity) { fake_cuda::wait_for_barrier(barrier, parity); }
inline void copy_to_all_lanes(std::uint32_t address, std::uint64_t descriptor) {
  fake_cuda::copy_to_tensor_memory(address, descriptor);
}

}  // namespace tcgen05
}  // namespace ulpscope::gpu::cuda

#define ULPSCOPE_TCGEN05_MMA(text, d, a, b, instruction) fake_cuda::start_tensor_product({text, d, a, b, instruction})
#define ULPSCOPE_TCGEN05_SCALED_MMA(text, d, a, b, instruction, a_scales, b_scales) \
  fake_cuda::start_tensor_product({text, d, a, b, instruction, a_scales, b_scales})
