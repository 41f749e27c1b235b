// SPDX-License-Identifier: Apache-2.0
// AVX512-FP16 for compilers that do not know its name yet: GCC does from version 12 on, and its assembler needs none.
#pragma once

#if defined(__x86_64__)

#include <cpuid.h>

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#define ULPSCOPE_AVX512_FP16 "avx512f"
#else
#define ULPSCOPE_AVX512_FP16 "avx512f,avx512fp16"
#endif

namespace ulpscope::gpu::detail {

/// Whether this processor has the instructions, and its kernel keeps their registers.
inline bool has_avx512_fp16() noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned fp16 = 1u << 23;  // SDM volume 2, CPUID, leaf 07H, subleaf 0, EDX
  return __builtin_cpu_supports("avx512f") && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & fp16) != 0;
}

}  // namespace ulpscope::gpu::detail

#endif
