// SPDX-License-Identifier: Apache-2.0
// What tensor cores tell a thread of its outputs (gpu/cuda/aligned_levels.hpp), and the blocks of products that they add. Such
// a block takes six products of tensor cores for 4 outputs, two each for the greatest exponent, the lowest bit and the sum, and
// then some twenty instructions an output. Where a product of an output would be cut, that output is done again term by term.
#pragma once

#include <cstdint>

#include "gpu/cuda/aligned_levels.hpp"
#include "gpu/cuda/aligned_outputs.cuh"
#include "gpu/cuda/aligned_shared.cuh"
#include "gpu/cuda/aligned_step.hpp"
#include "gpu/cuda/tensor_product.cuh"

namespace ulpscope::gpu::cuda::aligned {

/// A thread's part of one operand of a block: `count` rows of its own, or of its two products the columns.
template <int block, int count>
struct Fragments {
  static constexpr int words = block / 8;
  std::uint32_t at[count][words];

  /// slot: of the first one, the others are eight slots further each. first: the first word of the block.
  __device__ __forceinline__ Fragments(const Words& from, unsigned slot, unsigned first) {
    const unsigned part = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const Neighbours<std::uint32_t, words> some(&from[slot + 8 * static_cast<unsigned>(i)][first + part * words]);
#pragma unroll
      for (int word = 0; word < words; ++word) at[i][word] = some.at[word];
    }
  }
};
template <int block>
using RowPair = Fragments<block, 2>;
template <int block>
using ColumnGroups = Fragments<block, 2>;

/// Adds group `step` of 16 products to 2 rows by 2 columns.
template <int block>
__device__ __forceinline__ void add_group(const RowPair<block>& rows, const ColumnGroups<block>& columns, int group, int step,
                                          float (&sums)[4]) {
  const std::uint32_t a[4] = {rows.at[0][2 * step], rows.at[1][2 * step], rows.at[0][2 * step + 1], rows.at[1][2 * step + 1]};
  const std::uint32_t b[2] = {columns.at[group][2 * step], columns.at[group][2 * step + 1]};
  add_products(a, b, sums);
}
/// The levels of 2 rows by 2 columns.
template <int block>
__device__ __forceinline__ void find_levels(const RowPair<block>& rows, const ColumnGroups<block>& columns, int group,
                                            std::uint32_t (&found)[4]) {
  std::uint32_t greatest[4] = {};
#pragma unroll
  for (int step = 0; step < block / level_products; ++step) {
    float sums[4] = {};
    add_group<block>(rows, columns, group, step, sums);
#pragma unroll
    for (int i = 0; i < 4; ++i) greatest[i] = detail::larger(greatest[i], detail::bits_of(sums[i]));
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) found[i] = level_of(greatest[i]);
}

/// Where a thread finds the operands of a block.
struct Place {
  unsigned row_slot, column_slot, word;
};
template <int block>
__device__ __forceinline__ Place place_of(int k) {
  const unsigned group = threadIdx.x % 32 / 4;
  return {group, threadIdx.x / 32 * warp_columns + group, static_cast<unsigned>(k) / 2};
}

/// f(i, j, level) is called for each output with the level of the greatest exponent.
template <AlignedKind kind, int block, class F>
__device__ __forceinline__ void for_each_level(const Operands<kind, block>& a, const Operands<kind, block>& b, int k, F f) {
  const Place place = place_of<block>(k);
  const ColumnGroups<block> columns(b.greatest, place.column_slot, place.word);
#pragma unroll
  for (unsigned pair = 0; pair < thread_rows / 2; ++pair) {
    const RowPair<block> rows(a.greatest, place.row_slot + 16 * pair, place.word);
#pragma unroll
    for (unsigned group = 0; group < thread_columns / 2; ++group) {
      std::uint32_t found[4];
      find_levels<block>(rows, columns, static_cast<int>(group), found);
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) f(2 * pair + i / 2, 2 * group + i % 2, found[i]);
    }
  }
}

/// A block of products for a thread's outputs, by tensor cores.
template <AlignedKind kind, int block>
class TensorSums {
 public:
  __device__ __forceinline__ TensorSums(const AlignedRule& rule, const Operands<kind, block>& a, const Operands<kind, block>& b,
                                        int k, Corner corner)
      : rule_(rule), a_(a), b_(b), k_(k), corner_(corner) {}

  /// f(i, j) is the accumulator of an output, which becomes the next one.
  template <class Addend, class Result>
  __device__ __forceinline__ void run(Doubts& doubts, Addend addend, Result result) const {
    Outputs<std::uint32_t> alignments;
    std::uint32_t cut = 0;  // outputs some of whose products are, or may be
    add(alignments, cut, addend, result);
    for (; cut != 0; cut &= cut - 1) again(alignments, __ffs(static_cast<int>(cut)) - 1, doubts, addend, result);
  }

 private:
  template <class Addend, class Result>
  __device__ __forceinline__ void add(Outputs<std::uint32_t>& alignments, std::uint32_t& cut, Addend addend,
                                      Result result) const {
    const Place place = place_of<block>(k_);
    const ColumnGroups<block> greatest(b_.greatest, place.column_slot, place.word),
        lowest(b_.lowest, place.column_slot, place.word), values(b_.halves, place.column_slot, place.word);
    const Rows<float> row_norms(&a_.norms[k_ / block][corner_.row]);
    const Columns<float> column_norms(&b_.norms[k_ / block][corner_.column]);
#pragma unroll
    for (unsigned pair = 0; pair < thread_rows / 2; ++pair) {
      const unsigned slot = place.row_slot + 16 * pair;
      const RowPair<block> row_greatest(a_.greatest, slot, place.word), row_lowest(a_.lowest, slot, place.word),
          row_values(a_.halves, slot, place.word);
#pragma unroll
      for (unsigned group = 0; group < thread_columns / 2; ++group) {
        std::uint32_t highest_levels[4], lowest_levels[4];
        find_levels<block>(row_greatest, greatest, static_cast<int>(group), highest_levels);
        find_levels<block>(row_lowest, lowest, static_cast<int>(group), lowest_levels);
        float sums[4] = {};
#pragma unroll
        for (int step = 0; step < block / level_products; ++step)
          add_group<block>(row_values, values, static_cast<int>(group), step, sums);
#pragma unroll
        for (unsigned at = 0; at < 4; ++at) {
          const unsigned i = 2 * pair + at / 2, j = 2 * group + at % 2;
          const float c = addend(i, j);
          const std::uint32_t alignment = alignment_of_level<kind>(rule_, highest_levels[at], c);
          const std::uint32_t grid = grid_of(rule_, alignment);
          alignments[i][j] = alignment;
          const bool whole = is_whole(rule_, grid, lowest_levels[at], row_norms.at[i] * column_norms.at[j]);
          const float next = rounded_whole(rule_, grid, sums[at], c);
          result(i, j, whole ? next : c);
          cut |= whole ? 0 : 1u << (i * thread_columns + j);
        }
      }
    }
  }

  /// Output number `which`.
  template <class Addend, class Result>
  __device__ __forceinline__ void again(const Outputs<std::uint32_t>& alignments, int which, Doubts& doubts, Addend addend,
                                        Result result) const {
    float c = 0;
    std::uint32_t alignment = 0;
    for_each_output([&](unsigned i, unsigned j) {
      if (which != static_cast<int>(i * thread_columns + j)) return;
      c = addend(i, j);
      alignment = alignments[i][j];
    });
    const auto row = static_cast<unsigned>(which) / thread_columns, column = static_cast<unsigned>(which) % thread_columns;
    const auto& x = a_.halves[slot_of(Side::rows, corner_.row + row)];
    const auto& y = b_.halves[slot_of(Side::columns, corner_.column + column)];
    const float scale = scale_of(rule_, alignment);
    std::int64_t sum = 0;
#pragma unroll 1
    for (int word = k_ / 2; word < (k_ + block) / 2; ++word) {
      sum += aligned_term(detail::float_of(x[word] << 16), detail::float_of(y[word] << 16), scale);
      sum += aligned_term(detail::float_of(x[word] & 0xffff0000), detail::float_of(y[word] & 0xffff0000), scale);
    }
    const float next = rounded_sum<kind>(rule_, alignment, sum, c, doubts.beyond);
    for_each_output([&](unsigned i, unsigned j) {
      if (which == static_cast<int>(i * thread_columns + j)) result(i, j, next);
    });
  }

  const AlignedRule& rule_;
  const Operands<kind, block>&a_, &b_;
  const int k_;
  const Corner corner_;
};

}  // namespace ulpscope::gpu::cuda::aligned
