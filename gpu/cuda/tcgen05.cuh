// SPDX-License-Identifier: Apache-2.0
// tcgen05, the tensor cores with a memory of their own, as inline PTX (PTX ISA 9.0, "TensorCore 5th Generation Family
// Instructions"). All the PTX of tcgen05 is in this header, so that a stand-in of the same name lets everything else run on a
// host. Addresses of shared memory are those of its own address space; addresses of tensor memory have the lane in their upper
// half and the column in the lower one.
#pragma once

#include <cstdint>

#include "gpu/cuda/mma.cuh"

namespace ulpscope::gpu::cuda {

/// Whether the architecture that is compiled for has tcgen05: sm_100a, sm_103a, sm_110a and their families.
#if defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
inline constexpr bool target_has_tcgen05 = __CUDA_ARCH_FAMILY_SPECIFIC__ >= 1000 && __CUDA_ARCH_FAMILY_SPECIFIC__ < 1200;
#else
inline constexpr bool target_has_tcgen05 = false;
#endif

namespace tcgen05 {

/// By a whole warp: columns of tensor memory, a power of two and 32 at least; their address is written to shared memory at
/// `to`. May wait for other blocks to give theirs back.
__device__ inline void allocate(std::uint32_t to, std::uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(to), "r"(columns) : "memory");
}
/// By the same warp: this block allocates no more, so that others may.
__device__ inline void relinquish_permit() { asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"); }
__device__ inline void deallocate(std::uint32_t address, std::uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}

/// By a whole warp: 16 columns of its 32 lanes, of which `address` names the first one; waits until they are there.
__device__ inline void store(std::uint32_t address, const std::uint32_t (&columns)[16]) {
  asm volatile(
      "tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], "
      "{%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16};\n"
      "tcgen05.wait::st.sync.aligned;" ::"r"(address),
      "r"(columns[0]), "r"(columns[1]), "r"(columns[2]), "r"(columns[3]), "r"(columns[4]), "r"(columns[5]), "r"(columns[6]),
      "r"(columns[7]), "r"(columns[8]), "r"(columns[9]), "r"(columns[10]), "r"(columns[11]), "r"(columns[12]), "r"(columns[13]),
      "r"(columns[14]), "r"(columns[15])
      : "memory");
}
__device__ inline void load(std::uint32_t address, std::uint32_t (&columns)[16]) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];\n"
      "tcgen05.wait::ld.sync.aligned;"
      : "=r"(columns[0]), "=r"(columns[1]), "=r"(columns[2]), "=r"(columns[3]), "=r"(columns[4]), "=r"(columns[5]),
        "=r"(columns[6]), "=r"(columns[7]), "=r"(columns[8]), "=r"(columns[9]), "=r"(columns[10]), "=r"(columns[11]),
        "=r"(columns[12]), "=r"(columns[13]), "=r"(columns[14]), "=r"(columns[15])
      : "r"(address)
      : "memory");
}

/// Around what makes threads meet: tcgen05 of before it comes before tcgen05 of after it.
__device__ inline void fence_before_meeting() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ inline void fence_after_meeting() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

/// By one thread: a barrier at which one arrival is awaited.
__device__ inline void initialize_barrier(std::uint32_t barrier) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], 1;\n"
      "fence.mbarrier_init.release.cluster;" ::"r"(barrier)
      : "memory");
}
/// By the thread that has started copies and products: when all are done, they arrive at the barrier.
__device__ inline void commit(std::uint32_t barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier) : "memory");
}
/// Waits for the end of the phase that has this parity.
__device__ inline void wait(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  while (done == 0)
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
        "selp.u32 %0, 1, 0, done;\n"
        "}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
}

/// By one thread: 32 rows of 16 bytes to four columns of the lanes 0 to 31, and the same to the other three times 32 lanes.
__device__ inline void copy_to_all_lanes(std::uint32_t address, std::uint64_t descriptor) {
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(address), "l"(descriptor) : "memory");
}

}  // namespace tcgen05
}  // namespace ulpscope::gpu::cuda

// By one thread: D += A B, of memory that nobody touches before it is done. `d` is an address of tensor memory.
#define ULPSCOPE_TCGEN05_MMA(text, d, a_descriptor, b_descriptor, instruction_descriptor) \
  asm volatile(                                                                           \
      "{\n"                                                                               \
      ".reg .pred add;\n"                                                                 \
      "setp.eq.u32 add, 0, 0;\n" text                                                     \
      " [%0], %1, %2, %3, add;\n"                                                         \
      "}" ::"r"(d),                                                                       \
      "l"(a_descriptor), "l"(b_descriptor), "r"(instruction_descriptor)                   \
      : "memory")
// The same with scales in tensor memory.
#define ULPSCOPE_TCGEN05_SCALED_MMA(text, d, a_descriptor, b_descriptor, instruction_descriptor, a_scales, b_scales) \
  asm volatile(                                                                                                      \
      "{\n"                                                                                                          \
      ".reg .pred add;\n"                                                                                            \
      "setp.eq.u32 add, 0, 0;\n" text                                                                                \
      " [%0], %1, %2, %3, [%4], [%5], add;\n"                                                                        \
      "}" ::"r"(d),                                                                                                  \
      "l"(a_descriptor), "l"(b_descriptor), "r"(instruction_descriptor), "r"(a_scales), "r"(b_scales)                \
      : "memory")
