// SPDX-License-Identifier: Apache-2.0
// The matrix instructions themselves, as inline PTX over registers (PTX ISA 9.0, "Warp Level Matrix Multiply-Accumulate
// Instructions" and "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions"). All the PTX of tensor cores is in
// this header, so that a stand-in of the same name and macros lets everything else run on a host.
#pragma once

#include <cstdint>

/// Unrolls the loop that follows, so that arrays of registers are registers.
#define ULPSCOPE_UNROLL _Pragma("unroll")

namespace ulpscope::gpu::cuda {

/// The architecture that is compiled for, 900 for sm_90; 0 in host code.
#if defined(__CUDA_ARCH__)
inline constexpr int target_architecture = __CUDA_ARCH__;
#else
inline constexpr int target_architecture = 0;
#endif
/// Whether it has wgmma: sm_90a alone.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool target_has_wgmma = true;
#else
inline constexpr bool target_has_wgmma = false;
#endif

/// Whether it has mma.sync of operands of less than 8 bits and with block scales: sm_120a, sm_121a and the family sm_120f (PTX
/// ISA 9.0, target notes of mma).
#if defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ / 100 == 12
inline constexpr bool target_has_narrow_mma = true;
#else
inline constexpr bool target_has_narrow_mma = false;
#endif
/// Whether it has cvt from and to fp4, fp6 and ue8m0, and with random bits (PTX ISA 9.0, cvt, "Target ISA Notes").
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)
inline constexpr bool target_has_narrow_cvt = true, target_has_random_cvt = true;
#elif defined(__CUDA_ARCH_FEAT_SM110_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL) || \
    (defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ >= 1000)
inline constexpr bool target_has_narrow_cvt = true, target_has_random_cvt = false;
#else
inline constexpr bool target_has_narrow_cvt = false, target_has_random_cvt = false;
#endif

__device__ inline void unreachable_instruction() { __trap(); }

/// The 32-bit address of shared memory.
__device__ inline std::uint32_t shared_address(const void* memory) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
}

/// Before wgmma and tcgen05: ordinary stores to shared memory become visible to them once the block has met.
__device__ inline void publish_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace ulpscope::gpu::cuda

// ULPSCOPE_MMA_<registers of A>_<of B>_<of C and D>(text, a, b, c): D takes the place of C. The operands are untyped registers,
// so that no code passes through the arithmetic of floats.
#define ULPSCOPE_MMA_2_1_2(text, a, b, c) \
  asm volatile(text " {%0, %1}, {%2, %3}, {%4}, {%0, %1};" : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define ULPSCOPE_MMA_2_1_4(text, a, b, c)                                  \
  asm volatile(text " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])            \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define ULPSCOPE_MMA_4_2_2(text, a, b, c)                              \
  asm volatile(text " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};" \
               : "+r"(c[0]), "+r"(c[1])                                \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define ULPSCOPE_MMA_4_2_4(text, a, b, c)                                              \
  asm volatile(text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define ULPSCOPE_MMA_2_2_4(text, a, b, c)                                      \
  asm volatile(text " {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3};" \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]))
#define ULPSCOPE_MMA_2_2_8(text, a, b, c)                                                                        \
  asm volatile(text " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, {%0, %1, %2, %3, %4, %5, %6, %7};" \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]), "+r"(c[7])  \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]))
// With block scales, a register for those of A and one for those of B, of which the selectors name a part.
#define ULPSCOPE_MMA_SCALED_4_2_4(text, a, b, c, a_scales, b_scales, byte_id, thread_id)                                 \
  asm volatile(text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {%12, %13}, %11, {%12, %13};" \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                                          \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales[0]), "r"(b_scales[0]),   \
                 "n"(byte_id), "n"(thread_id))
// 64-bit registers.
#define ULPSCOPE_MMA_WIDE_1_1_2(text, a, b, c) \
  asm volatile(text " {%0, %1}, {%2}, {%3}, {%0, %1};" : "+l"(c[0]), "+l"(c[1]) : "l"(a[0]), "l"(b[0]))
#define ULPSCOPE_MMA_WIDE_2_1_4(text, a, b, c)                             \
  asm volatile(text " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" \
               : "+l"(c[0]), "+l"(c[1]), "+l"(c[2]), "+l"(c[3])            \
               : "l"(a[0]), "l"(a[1]), "l"(b[0]))
#define ULPSCOPE_MMA_WIDE_4_2_4(text, a, b, c)                                         \
  asm volatile(text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+l"(c[0]), "+l"(c[1]), "+l"(c[2]), "+l"(c[3])                        \
               : "l"(a[0]), "l"(a[1]), "l"(a[2]), "l"(a[3]), "l"(b[0]), "l"(b[1]))
#define ULPSCOPE_MMA_WIDE_8_4_4(text, a, b, c)                                                                                 \
  asm volatile(text " {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"           \
               : "+l"(c[0]), "+l"(c[1]), "+l"(c[2]), "+l"(c[3])                                                                \
               : "l"(a[0]), "l"(a[1]), "l"(a[2]), "l"(a[3]), "l"(a[4]), "l"(a[5]), "l"(a[6]), "l"(a[7]), "l"(b[0]), "l"(b[1]), \
                 "l"(b[2]), "l"(b[3]))

// ULPSCOPE_WGMMA_<registers of C and D>(text, flags, a, b_descriptor, c): A in four registers, B in shared memory; waits for
// the result. `flags`: the signs of A and B, and for 16-bit operands whether B is transposed.
#define ULPSCOPE_WGMMA_2(text, flags, a, b_descriptor, c)                               \
  asm volatile(                                                                         \
      "{\n"                                                                             \
      ".reg .pred add;\n"                                                               \
      "setp.eq.u32 add, 0, 0;\n"                                                        \
      "wgmma.fence.sync.aligned;\n" text " {%0, %1}, {%2, %3, %4, %5}, %6, add, " flags \
      ";\n"                                                                             \
      "wgmma.commit_group.sync.aligned;\n"                                              \
      "wgmma.wait_group.sync.aligned 0;\n"                                              \
      "}"                                                                               \
      : "+r"(c[0]), "+r"(c[1])                                                          \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b_descriptor)                   \
      : "memory")
#define ULPSCOPE_WGMMA_4(text, flags, a, b_descriptor, c)                                       \
  asm volatile(                                                                                 \
      "{\n"                                                                                     \
      ".reg .pred add;\n"                                                                       \
      "setp.eq.u32 add, 0, 0;\n"                                                                \
      "wgmma.fence.sync.aligned;\n" text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, add, " flags \
      ";\n"                                                                                     \
      "wgmma.commit_group.sync.aligned;\n"                                                      \
      "wgmma.wait_group.sync.aligned 0;\n"                                                      \
      "}"                                                                                       \
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                          \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b_descriptor)                           \
      : "memory")
