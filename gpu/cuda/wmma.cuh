// SPDX-License-Identifier: Apache-2.0
// The matrix instructions of <mma.h>, whose fragments only its own functions can fill: over tiles in shared memory (CUDA C++
// Programming Guide, "Warp Matrix Functions").
#pragma once

#include <mma.h>

#include <cstdint>

#include "gpu/cuda/mma.cuh"

namespace ulpscope::gpu::cuda {

/// By the type names of PTX: what <mma.h> calls an element of a fragment, and its type in memory.
namespace wmma_element {
struct f16 {
  using Fragment = __half;
  using Memory = __half;
};
struct bf16;
struct tf32;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
struct bf16 {
  using Fragment = __nv_bfloat16;
  using Memory = __nv_bfloat16;
};
struct tf32 {
  using Fragment = nvcuda::wmma::precision::tf32;
  using Memory = float;
};
#endif
struct f32 {
  using Fragment = float;
  using Memory = float;
};
struct f64 {
  using Fragment = double;
  using Memory = double;
};
}  // namespace wmma_element

/// c += a * b by a warp: tiles in shared memory, aligned to 32 bytes; a and c row by row, b column by column.
template <class Operand, class Sum, int M, int N, int K>
__device__ void multiply_by_wmma(const void* a_tile, const void* b_tile, void* c_tile) {
  using namespace nvcuda::wmma;
  using Memory = typename Operand::Memory;
  fragment<matrix_a, M, N, K, typename Operand::Fragment, row_major> a;
  fragment<matrix_b, M, N, K, typename Operand::Fragment, col_major> b;
  fragment<accumulator, M, N, K, typename Sum::Fragment> c;
  load_matrix_sync(a, static_cast<const Memory*>(a_tile), K);
  load_matrix_sync(b, static_cast<const Memory*>(b_tile), K);
  load_matrix_sync(c, static_cast<const typename Sum::Memory*>(c_tile), N, mem_row_major);
  mma_sync(c, a, b, c);
  store_matrix_sync(static_cast<typename Sum::Memory*>(c_tile), c, N, mem_row_major);
}

}  // namespace ulpscope::gpu::cuda

/// `text` is the instruction that <mma.h> makes of it.
#define ULPSCOPE_WMMA(text, M, N, K, D, A, a_tile, b_tile, c_tile) \
  multiply_by_wmma<wmma_element::A, wmma_element::D, M, N, K>(a_tile, b_tile, c_tile)
