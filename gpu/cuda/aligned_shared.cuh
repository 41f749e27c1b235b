// SPDX-License-Identifier: Apache-2.0
// The operands of a tile of an emulated product in shared memory: how they get there and how a thread reads its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/aligned_product.hpp"
#include "gpu/cuda/aligned_step.hpp"
#include "gpu/cuda/aligned_tile.hpp"

namespace ulpscope::gpu::cuda::aligned {

inline constexpr int side_rows = static_cast<int>(thread_rows), side_columns = static_cast<int>(thread_columns);

/// What is in shared memory: rows of A or columns of B side by side.
template <AlignedKind kind, int block>
struct alignas(16) Operands {
  static constexpr unsigned sides_kept = kind.chained ? tile_products : 1;

  float values[tile_products][tile_outputs];
  std::uint32_t exponents[tile_products / 2][tile_outputs];
  std::uint32_t sides[sides_kept][tile_outputs];
  std::uint32_t last[tile_products / block][tile_outputs];
};

/// Neighbours, read four at a time.
template <class T, int n>
struct Neighbours {
  T at[n];

  __device__ __forceinline__ explicit Neighbours(const T* from) {
    struct alignas(16) Four {
      T at[4];
    };
#pragma unroll
    for (int i = 0; i < n; i += 4) {
      const Four four = *reinterpret_cast<const Four*>(from + i);
#pragma unroll
      for (int j = 0; j < 4; ++j) at[i + j] = four.at[j];
    }
  }
};
template <class T>
using Rows = Neighbours<T, side_rows>;
template <class T>
using Columns = Neighbours<T, side_columns>;

/// All threads copy `rows` rows of 64 words, four at a time.
template <unsigned rows, class T>
__device__ __forceinline__ void copy_rows(T (*to)[tile_outputs], const T* from, std::size_t stride) {
  constexpr unsigned fours = tile_outputs / 4, at_once = tile_threads / fours;
  const unsigned first = threadIdx.x / fours, column = threadIdx.x % fours * 4;
  from += first * stride + column;
#pragma unroll
  for (unsigned row = 0; row < rows; row += at_once) {
    if (rows % at_once == 0 || first + row < rows) {
      const Neighbours<T, 4> four(from);
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) to[first + row][column + i] = four.at[i];
    }
    from += at_once * stride;
  }
}

/// Products from k on of the vectors from `first` on.
template <AlignedKind kind, int block>
__device__ __forceinline__ void stage(Operands<kind, block>& to, const AlignedOperands::View& from, std::size_t first,
                                      std::size_t k) {
  copy_rows<tile_products>(to.values, from.values + k * from.padded + first, from.padded);
  copy_rows<tile_products / 2>(to.exponents, from.exponents + k / 2 * from.padded + first, from.padded);
  if constexpr (kind.chained) {
    copy_rows<tile_products>(to.sides, from.sides + k * from.padded + first, from.padded);
    copy_rows<tile_products / block>(to.last, from.last + k / block * from.padded + first, from.padded);
  }
}

}  // namespace ulpscope::gpu::cuda::aligned
