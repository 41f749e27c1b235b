// SPDX-License-Identifier: Apache-2.0
// The arithmetic of <cuda_fp16.h> and <cuda_bf16.h>, and how its types are made of bits. A header of its own, so that a
// stand-in of the same name lets everything else run on a host.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "gpu/cuda/mma.cuh"

// A call of what the headers declare for sm_75 or sm_80 and later only.
#define ULPSCOPE_SINCE_75(call) call
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define ULPSCOPE_SINCE_80(call) unreachable_instruction()
#else
#define ULPSCOPE_SINCE_80(call) call
#endif

namespace ulpscope::gpu::cuda {

/// By the types' own names: numbers of so many lanes from codes, and back.
struct Of__half {
  static constexpr int lanes = 1;
  static __device__ __half number(const std::uint64_t* codes) {
    return __ushort_as_half(static_cast<unsigned short>(codes[0]));
  }
  static __device__ void codes(__half x, std::uint64_t* codes) { codes[0] = __half_as_ushort(x); }
};
struct Of__half2 {
  static constexpr int lanes = 2;
  static __device__ __half2 number(const std::uint64_t* codes) {
    return __halves2half2(Of__half::number(codes), Of__half::number(codes + 1));
  }
  static __device__ void codes(__half2 x, std::uint64_t* codes) {
    Of__half::codes(__low2half(x), codes);
    Of__half::codes(__high2half(x), codes + 1);
  }
};
struct Of__nv_bfloat16 {
  static constexpr int lanes = 1;
  static __device__ __nv_bfloat16 number(const std::uint64_t* codes) {
    return __ushort_as_bfloat16(static_cast<unsigned short>(codes[0]));
  }
  static __device__ void codes(__nv_bfloat16 x, std::uint64_t* codes) { codes[0] = __bfloat16_as_ushort(x); }
};
struct Of__nv_bfloat162 {
  static constexpr int lanes = 2;
  static __device__ __nv_bfloat162 number(const std::uint64_t* codes) {
    return __halves2bfloat162(Of__nv_bfloat16::number(codes), Of__nv_bfloat16::number(codes + 1));
  }
  static __device__ void codes(__nv_bfloat162 x, std::uint64_t* codes) {
    Of__nv_bfloat16::codes(__low2bfloat16(x), codes);
    Of__nv_bfloat16::codes(__high2bfloat16(x), codes + 1);
  }
};

}  // namespace ulpscope::gpu::cuda
