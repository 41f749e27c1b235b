// SPDX-License-Identifier: Apache-2.0
// tcgen05 on the host, as the PTX ISA 9.0 describes it: a tensor memory of 128 lanes by 512 columns of 32 bits, barriers, and
// instructions that take place when somebody waits for them. What is out of order, unlike what the document asks for, or not
// given back is a failure (record_failure).
#pragma once

#include <cstdint>

namespace fake_cuda {

/// Of a whole warp.
void allocate_tensor_memory(std::uint32_t to, std::uint32_t columns);
void relinquish_tensor_memory();
void deallocate_tensor_memory(std::uint32_t address, std::uint32_t columns);
void store_tensor_memory(std::uint32_t address, const std::uint32_t (&columns)[16]);
void load_tensor_memory(std::uint32_t address, std::uint32_t (&columns)[16]);

/// Of each thread.
void fence_before_thread_sync();
void fence_after_thread_sync();
/// All threads of a block must come here.
void wait_for_barrier(std::uint32_t barrier, std::uint32_t parity);

/// Of one thread.
void initialize_barrier(std::uint32_t barrier);
void commit_to_barrier(std::uint32_t barrier);
void copy_to_tensor_memory(std::uint32_t address, std::uint64_t descriptor);

/// What one thread gives to tcgen05.mma.
struct TensorProduct {
  const char* text;
  std::uint32_t d;
  std::uint64_t a_descriptor, b_descriptor;
  std::uint32_t instruction_descriptor;
  std::uint32_t a_scales = 0, b_scales = 0;
};
void start_tensor_product(const TensorProduct& product);

}  // namespace fake_cuda
