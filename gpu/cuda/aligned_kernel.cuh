// SPDX-License-Identifier: Apache-2.0
// A block of threads computes 64 by 64 outputs, a thread 8 by 4 of them. For each sum of the engine it goes twice over the
// products in shared memory: for the greatest exponent, half an instruction a product or next to none by tensor cores, and for
// the sum of the cut products, two instructions each where they fit a chain (gpu/cuda/aligned_chain.hpp), else three and a
// half. Then each output is rounded once. Where tensor cores can add the products, they do (gpu/cuda/aligned_tensor.cuh).
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/cuda/aligned_chain.hpp"
#include "gpu/cuda/aligned_outputs.cuh"
#include "gpu/cuda/aligned_product.hpp"
#include "gpu/cuda/aligned_shared.cuh"
#include "gpu/cuda/aligned_step.hpp"
#include "gpu/cuda/aligned_tensor.cuh"

namespace ulpscope::gpu::cuda::aligned {

/// One block of products for a thread's outputs.
template <AlignedKind kind, int block>
class BlockSums {
 public:
  /// k: the first product in shared memory.
  __device__ __forceinline__ BlockSums(const AlignedRule& rule, const Operands<kind, block>& a, const Operands<kind, block>& b,
                                       int k, Corner corner)
      : rule_(rule), a_(a), b_(b), k_(k), row_(corner.row), column_(corner.column) {}

  /// f(i, j) is the accumulator of an output, which becomes the next one.
  template <class Addend, class Result>
  __device__ __forceinline__ void run(Doubts& doubts, Addend addend, Result result) {
    Outputs<std::uint32_t> alignments;
    if constexpr (kind.chained) {
      for_each_level<kind, block>(a_, b_, k_, [&](unsigned i, unsigned j, std::uint32_t level) {
        alignments[i][j] = alignment_of_level<kind>(rule_, level, addend(i, j));
      });
      chain(alignments, doubts, addend, result);
    } else {
      align(alignments, doubts, addend);
      add(alignments, doubts, addend, result);
    }
  }

 private:
  template <class Addend>
  __device__ __forceinline__ void align(Outputs<std::uint32_t>& alignments, Doubts& doubts, Addend addend) const {
    const std::uint32_t least = first_exponents(kind, rule_.least_exponent);
    for_each_output([&](unsigned i, unsigned j) { alignments[i][j] = least; });
#pragma unroll
    for (int pair = k_ / 2; pair < k_ / 2 + block / 2; ++pair) {
      const Rows<std::uint32_t> x(&a_.exponents[pair][row_]);
      const Columns<std::uint32_t> y(&b_.exponents[pair][column_]);
      for_each_output([&](unsigned i, unsigned j) { alignments[i][j] = add_and_max(x.at[i], y.at[j], alignments[i][j]); });
    }
    for_each_output([&](unsigned i, unsigned j) {
      const int of_products = greater_half(alignments[i][j]);
      const float c = addend(i, j);
      alignments[i][j] = alignment<kind>(rule_, of_products, c);
      if constexpr (kind.wide) doubts.extremes.see(of_products, c, alignments[i][j]);
    });
  }

  template <class Addend, class Result>
  __device__ __forceinline__ void chain(const Outputs<std::uint32_t>& alignments, Doubts& doubts, Addend addend,
                                        Result result) const {
    Outputs<float> chains;
    for_each_output(
        [&](unsigned i, unsigned j) { chains[i][j] = chain_of(empty_chain(rule_, alignments[i][j]), addend(i, j)); });
#pragma unroll 8
    for (int e = 0; e < block; ++e) {
      const Rows<float> x(&a_.values[k_ + e][row_]);
      const Columns<float> y(&b_.values[k_ + e][column_]);
      const Rows<std::uint32_t> x_sides(&a_.sides[k_ + e][row_]);
      const Columns<std::uint32_t> y_sides(&b_.sides[k_ + e][column_]);
      for_each_output([&](unsigned i, unsigned j) {
        chains[i][j] = chained(chains[i][j], x.at[i], y.at[j], x_sides.at[i], y_sides.at[j]);
      });
    }
    const Rows<std::uint32_t> x_last(&a_.last[k_ / block][row_]);
    const Columns<std::uint32_t> y_last(&b_.last[k_ / block][column_]);
    for_each_output([&](unsigned i, unsigned j) {
      give(doubts, result, i, j,
           rounded_chain<kind>(rule_, empty_chain(rule_, alignments[i][j]), chains[i][j], x_last.at[i], y_last.at[j]));
    });
  }

  template <class Addend, class Result>
  __device__ __forceinline__ void add(const Outputs<std::uint32_t>& alignments, Doubts& doubts, Addend addend,
                                      Result result) const {
    constexpr int at_once = block < 16 ? block : 16, parts = block / at_once;  // the sum of so many terms fits an int
    using Sum = std::conditional_t<(parts > 1), std::int64_t, std::int32_t>;
    // Terms of operands that are beyond the rule are the greatest int, and their sums are given up: these wrap.
    Outputs<std::uint32_t> sums[parts] = {};
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      const int first = k_ + part * at_once;
#pragma unroll 2
      for (int e = 0; e < at_once; e += 2) {  // one instruction adds two terms
        const Rows<float> x(&a_.values[first + e][row_]), next_x(&a_.values[first + e + 1][row_]);
        const Columns<float> y(&b_.values[first + e][column_]), next_y(&b_.values[first + e + 1][column_]);
        for_each_output([&](unsigned i, unsigned j) {
          const float scale = scale_of(rule_, alignments[i][j]);
          sums[part][i][j] += static_cast<std::uint32_t>(aligned_term(x.at[i], y.at[j], scale)) +
                              static_cast<std::uint32_t>(aligned_term(next_x.at[i], next_y.at[j], scale));
        });
      }
    }
    for_each_output([&](unsigned i, unsigned j) {
      Sum sum = 0;
#pragma unroll
      for (int part = 0; part < parts; ++part) sum += static_cast<std::int32_t>(sums[part][i][j]);
      give(doubts, result, i, j, rounded_sum<kind>(rule_, alignments[i][j], sum, addend(i, j), doubts.beyond));
    });
  }

  template <class Result>
  __device__ __forceinline__ static void give(Doubts& doubts, Result result, unsigned i, unsigned j, float value) {
    if constexpr (kind.half) doubts.greatest = fmaxf(doubts.greatest, fabsf(value));
    result(i, j, value);
  }

  const AlignedRule& rule_;
  const Operands<kind, block>&a_, &b_;
  const int k_;
  const unsigned row_, column_;
};

/// The value of a float16 code, infinite where it is no number.
__device__ __forceinline__ float half_value(std::uint32_t code) {
  const std::uint32_t magnitude = code & 0x7fff;
  const float value = magnitude >= 0x7c00 ? detail::float_of(0x7f800000) : detail::float_of(magnitude << 13) * 0x1p112F;
  return (code & 0x8000) != 0 ? -value : value;
}
/// The code of a float that is a float16.
__device__ __forceinline__ std::uint32_t half_code(float value) {
  const std::uint32_t word = detail::bits_of(value);
  return (word >> 16 & 0x8000) | detail::bits_of(detail::float_of(word & 0x7fffffff) * 0x1p-112F) >> 13;
}

template <AlignedKind kind, int block>
using Sums = std::conditional_t<kind.summed, TensorSums<kind, block>, BlockSums<kind, block>>;

/// Blocks of threads that a multiprocessor shall have registers for, so that nothing is spilled in the loop over products.
constexpr int blocks_at_once(AlignedKind kind, int block, bool paired, bool added) {
  const bool many_values =
      added || paired || kind.levelled() || (block > 16 && !kind.levelled()) || (kind.half && !kind.chained);
  return many_values ? 2 : 3;
}

/// The members of an AlignedKind one by one: nvcc cannot name a structure among a kernel's template arguments in host code.
template <bool half, bool wide, bool chained, bool summed, int block, bool paired, bool added>
__global__ void __launch_bounds__(tile_threads, blocks_at_once({half, wide, chained, summed}, block, paired, added))
    multiply(AlignedProduct product) {
  constexpr AlignedKind kind{half, wide, chained, summed};
  __shared__ Operands<kind, block> a, b;
  const AlignedRule& rule = product.plan.rule;
  const std::size_t first_row = std::size_t{blockIdx.y} * tile_outputs, first_column = std::size_t{blockIdx.x} * tile_outputs;
  const Corner corner = corner_of<kind>(threadIdx.x);
  const unsigned row = corner.row, column = corner.column;
  const std::size_t rows = product.a.count, columns = product.b.count;

  Outputs<float> accumulators, first_sums, chains, totals;
  Doubts doubts;
  bool usual = true;
  for_each_output([&](unsigned i, unsigned j) {
    const std::size_t at = (first_row + row + i) * columns + first_column + column + j;
    float c = 0;
    if (product.c != nullptr && first_row + row + i < rows && first_column + column + j < columns)
      c = kind.half ? half_value(reinterpret_cast<const std::uint16_t*>(product.c)[at])
                    : reinterpret_cast<const float*>(product.c)[at];
    usual = usual && (added || (kind.levelled() ? usual_addend(rule, c) : usual_addend(c)));
    accumulators[i][j] = added ? 0.0F : c;
    totals[i][j] = added ? c : 0.0F;
    chains[i][j] = first_sums[i][j] = 0;
  });

  const std::size_t blocks = product.parts.steps * (paired ? 2 : 1);
  for (std::size_t first = 0; first < blocks; first += tile_products / block) {
    __syncthreads();
    stage(a, product.a, first_row, first * block);
    stage(b, product.b, first_column, first * block);
    __syncthreads();
#pragma unroll 1
    for (int at = 0; at < static_cast<int>(tile_products) / block && first + static_cast<std::size_t>(at) < blocks; ++at) {
      if (paired && at % 2 == 0) {
        AlignedRule from_zero = rule;
        from_zero.least_exponent = least_alignment;
        Sums<kind, block>(from_zero, a, b, at * block, corner)
            .run(
                doubts, [](unsigned, unsigned) { return 0.0F; },
                [&](unsigned i, unsigned j, float sum) { first_sums[i][j] = sum; });
        continue;
      }
      Sums<kind, block>(rule, a, b, at * block, corner)
          .run(
              doubts, [&](unsigned i, unsigned j) { return paired ? first_sums[i][j] : accumulators[i][j]; },
              [&](unsigned i, unsigned j, float next) {
                if (paired) {
                  const float sum = accumulators[i][j] + next;
                  next = kind.half ? detail::nearest_half(sum) : sum;
                  if (kind.half) doubts.greatest = fmaxf(doubts.greatest, fabsf(next));
                }
                accumulators[i][j] = next;
              });
      if (!added) continue;
      const std::size_t step = (first + static_cast<std::size_t>(at)) / (paired ? 2 : 1);
      if (!product.parts.ends_after(step)) continue;
      const bool ends_chain = product.parts.ends_chain_after(step);
      for_each_output([&](unsigned i, unsigned j) {
        chains[i][j] += accumulators[i][j];
        accumulators[i][j] = 0;
        if (!ends_chain) return;
        totals[i][j] += chains[i][j];
        chains[i][j] = 0;
      });
    }
  }

  usual = usual && doubts.usual(kind);
  for_each_output([&](unsigned i, unsigned j) {
    const std::size_t y = first_row + row + i, x = first_column + column + j, at = y * columns + x;
    if (y >= rows || x >= columns) return;
    const float value = added ? totals[i][j] : accumulators[i][j];
    if (added || !kind.half) {
      reinterpret_cast<float*>(product.d)[at] = value;
    } else {
      reinterpret_cast<std::uint16_t*>(product.d)[at] = static_cast<std::uint16_t>(half_code(value));
    }
    const bool no_number = value != value;  // a sum of infinite parts, or of a NaN in C
    const bool redo = !usual || product.a.special[y] != 0 || product.b.special[x] != 0 || no_number;
    product.redo[at] = redo ? 1 : 0;
  });
}

}  // namespace ulpscope::gpu::cuda::aligned
