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

/// bfloat16s of vectors, one a slot.
using Words = std::uint32_t[tile_outputs][tile_words];
/// An array that a kind has, or next to nothing.
template <bool there, class T, unsigned rows>
using Perhaps = T[there ? rows : 1][there ? tile_outputs : 4];
template <bool there>
using PerhapsWords = std::uint32_t[there ? tile_outputs : 1][there ? tile_words : 4];

/// What is in shared memory: rows of A or columns of B side by side.
template <AlignedKind kind, int block>
struct alignas(16) Operands {
  Perhaps<!kind.summed, float, tile_products> values;
  Perhaps<!kind.levelled(), std::uint32_t, tile_products / 2> exponents;
  Perhaps<kind.chained, std::uint32_t, tile_products> sides;
  Perhaps<kind.chained, std::uint32_t, tile_products / block> last;
  PerhapsWords<kind.levelled()> greatest;
  PerhapsWords<kind.summed> lowest, halves;
  Perhaps<kind.summed, float, tile_products / block> norms;
};

/// Neighbours, read four at a time, or two where there are no more.
template <class T, int n>
struct Neighbours {
  T at[n];

  __device__ __forceinline__ explicit Neighbours(const T* from) {
    constexpr int at_once = n < 4 ? n : 4;
    struct alignas(at_once * sizeof(T)) Some {
      T at[at_once];
    };
#pragma unroll
    for (int i = 0; i < n; i += at_once) {
      const Some some = *reinterpret_cast<const Some*>(from + i);
#pragma unroll
      for (int j = 0; j < at_once; ++j) at[i + j] = some.at[j];
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

/// All threads copy the words of a tile, which are neighbours in both places.
__device__ __forceinline__ void copy_words(Words& to, const std::uint32_t* from) {
#pragma unroll
  for (unsigned slot = 0; slot < tile_outputs; slot += tile_threads / (tile_words / 4)) {
    const unsigned mine = slot + threadIdx.x / (tile_words / 4), word = threadIdx.x % (tile_words / 4) * 4;
    const Neighbours<std::uint32_t, 4> four(from + mine * tile_words + word);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) to[mine][word + i] = four.at[i];
  }
}

/// Products from k on of the vectors from `first` on.
template <AlignedKind kind, int block>
__device__ __forceinline__ void stage(Operands<kind, block>& to, const AlignedOperands::View& from, std::size_t first,
                                      std::size_t k) {
  const std::size_t words = (k / tile_products * from.padded + first) * tile_words;
  if constexpr (!kind.summed) copy_rows<tile_products>(to.values, from.values + k * from.padded + first, from.padded);
  if constexpr (!kind.levelled())
    copy_rows<tile_products / 2>(to.exponents, from.exponents + k / 2 * from.padded + first, from.padded);
  if constexpr (kind.chained) {
    copy_rows<tile_products>(to.sides, from.sides + k * from.padded + first, from.padded);
    copy_rows<tile_products / block>(to.last, from.last + k / block * from.padded + first, from.padded);
  }
  if constexpr (kind.levelled()) copy_words(to.greatest, from.greatest + words);
  if constexpr (kind.summed) {
    copy_words(to.lowest, from.lowest + words);
    copy_words(to.halves, from.halves + words);
    copy_rows<tile_products / block>(to.norms, from.norms + k / block * from.padded + first, from.padded);
  }
}

}  // namespace ulpscope::gpu::cuda::aligned
