// SPDX-License-Identifier: Apache-2.0
// The products of bfloat16 that emulated products leave to tensor cores (PTX ISA 9.0, "Matrix Fragments for mma.m16n8k16 with
// floating point type"), in a header of their own, so that a stand-in of the same name lets everything else run on a host.
#pragma once

#include <cstdint>

namespace ulpscope::gpu::cuda {

/// Of a warp: d, 16 rows by 8 columns, is added to. Products are exact, sums those of float32 or better (PTX ISA 9.0, mma,
/// "Semantics"). Of devices of compute capability 8.0 and later.
__device__ __forceinline__ void add_products(const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], float (&d)[4]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();
#endif
}

}  // namespace ulpscope::gpu::cuda
