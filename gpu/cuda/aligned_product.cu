// SPDX-License-Identifier: Apache-2.0
// A block of threads computes 64 by 64 outputs, a thread 4 by 4 of them. For each sum of the engine it goes twice over the
// products in shared memory: for the greatest exponent, half an add-max a product, and for the sum of the cut products: two
// multiplications, a conversion and an addition each. Then each output is rounded once.
#include <cstdint>

#include "gpu/cuda/aligned_product.hpp"
#include "gpu/cuda/aligned_step.hpp"
#include "gpu/cuda/aligned_tile.hpp"

namespace ulpscope::gpu::cuda {
namespace {

constexpr int side = static_cast<int>(thread_outputs);

/// What is in shared memory: rows of A and columns of B side by side.
struct alignas(16) Operands {
  float significands[tile_products][tile_outputs];
  std::uint32_t exponents[tile_products / 2][tile_outputs];
  int bases[tile_products / 4][tile_outputs];
};

/// Values of a thread's outputs; every index is known when compiled, so that they stay in registers.
template <class T>
using Outputs = T[side][side];

template <class F>
__device__ __forceinline__ void for_each_output(F f) {
#pragma unroll
  for (int i = 0; i < side; ++i) {
#pragma unroll
    for (int j = 0; j < side; ++j) f(i, j);
  }
}

/// Four neighbours.
struct alignas(16) Floats {
  float at[side];
};
struct alignas(16) Words {
  std::uint32_t at[side];
};
struct alignas(16) Integers {
  int at[side];
};
template <class Four, class T>
__device__ __forceinline__ Four four(const T* at) {
  return *reinterpret_cast<const Four*>(at);
}

/// All threads copy `rows` rows of 64 words, four at a time.
template <class T>
__device__ __forceinline__ void copy_rows(T (*to)[tile_outputs], const T* from, std::size_t stride, unsigned rows) {
  constexpr unsigned fours = tile_outputs / 4;
  for (unsigned at = threadIdx.x; at < rows * fours; at += tile_threads) {
    const unsigned row = at / fours, column = at % fours * 4;
    *reinterpret_cast<Words*>(&to[row][column]) = *reinterpret_cast<const Words*>(from + row * stride + column);
  }
}

/// Products from k on of the vectors from `first` on.
template <int block>
__device__ __forceinline__ void stage(Operands& to, const AlignedOperands::View& from, std::size_t first, std::size_t k) {
  copy_rows(to.significands, from.significands + k * from.padded + first, from.padded, tile_products);
  copy_rows(to.exponents, from.exponents + k / 2 * from.padded + first, from.padded, tile_products / 2);
  copy_rows(to.bases, from.bases + k / block * from.padded + first, from.padded, tile_products / block);
}

/// The sums of one block of products for a thread's outputs.
template <int block>
class BlockSums {
 public:
  /// k: the first product in shared memory; row and column: the thread's first ones.
  __device__ __forceinline__ BlockSums(const Operands& a, const Operands& b, int k, unsigned row, unsigned column)
      : a_bases_(four<Integers>(&a.bases[k / block][row])), b_bases_(four<Integers>(&b.bases[k / block][column])) {
    for_each_output([&](int i, int j) { greatest_[i][j] = two_no_exponents; });
#pragma unroll
    for (int pair = 0; pair < block / 2; ++pair) {
      const Words x = four<Words>(&a.exponents[k / 2 + pair][row]), y = four<Words>(&b.exponents[k / 2 + pair][column]);
      for_each_output([&](int i, int j) { greatest_[i][j] = add_and_max(x.at[i], y.at[j], greatest_[i][j]); });
    }
  }

  /// f(i, j) is the accumulator of an output, which becomes the next one.
  template <class Addend, class Result>
  __device__ __forceinline__ void run(const AlignedRule& rule, const Operands& a, const Operands& b, int k, unsigned row,
                                      unsigned column, Addend addend, Result result) {
    Outputs<float> scales;
    for_each_output(
        [&](int i, int j) { scales[i][j] = alignment(rule, greater_half(greatest_[i][j]), base(i, j), addend(i, j)).scale; });
    Outputs<Sum> sums = {};
#pragma unroll
    for (int part = 0; part < block; part += at_once) {
      Outputs<int> terms = {};
#pragma unroll 4
      for (int e = part; e < part + at_once; ++e) {
        const Floats x = four<Floats>(&a.significands[k + e][row]), y = four<Floats>(&b.significands[k + e][column]);
        for_each_output([&](int i, int j) { terms[i][j] += aligned_term(x.at[i], y.at[j], scales[i][j]); });
      }
      for_each_output([&](int i, int j) { sums[i][j] += terms[i][j]; });
    }
    for_each_output([&](int i, int j) {
      const int of_products = greater_half(greatest_[i][j]);
      const float c = addend(i, j);
      result(i, j, finished(rule, alignment(rule, of_products, base(i, j), c), of_products, base(i, j), sums[i][j], c));
    });
  }

 private:
  static constexpr int at_once = block < 16 ? block : 16;  ///< terms whose sum fits an int
  using Sum = std::conditional_t<(block > at_once), std::int64_t, int>;

  __device__ __forceinline__ int base(int i, int j) const { return a_bases_.at[i] + b_bases_.at[j]; }

  Outputs<std::uint32_t> greatest_;
  const Integers a_bases_, b_bases_;
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

template <int block, bool paired, bool added>
__global__ void __launch_bounds__(tile_threads, 2) multiply(AlignedProduct product) {
  __shared__ Operands a, b;
  const AlignedRule& rule = product.plan.rule;
  const std::size_t first_row = std::size_t{blockIdx.y} * tile_outputs, first_column = std::size_t{blockIdx.x} * tile_outputs;
  const unsigned row = threadIdx.x / (tile_outputs / thread_outputs) * thread_outputs,
                 column = threadIdx.x % (tile_outputs / thread_outputs) * thread_outputs;
  const std::size_t rows = product.a.count, columns = product.b.count;

  Outputs<float> accumulators, first_sums, chains, totals;
  unsigned unusual = 0;  // a bit for each output
  const auto bit = [](int i, int j) { return 1u << (i * side + j); };
  for_each_output([&](int i, int j) {
    const std::size_t at = (first_row + row + i) * columns + first_column + column + j;
    float c = 0;
    if (product.c != nullptr && first_row + row + i < rows && first_column + column + j < columns)
      c = rule.half ? half_value(reinterpret_cast<const std::uint16_t*>(product.c)[at])
                    : reinterpret_cast<const float*>(product.c)[at];
    accumulators[i][j] = added ? 0.0F : c;
    totals[i][j] = added ? c : 0.0F;
    chains[i][j] = first_sums[i][j] = 0;
  });

  const std::size_t blocks = product.parts.steps * (paired ? 2 : 1);
  for (std::size_t first = 0; first < blocks; first += tile_products / block) {
    __syncthreads();
    stage<block>(a, product.a, first_row, first * block);
    stage<block>(b, product.b, first_column, first * block);
    __syncthreads();
#pragma unroll 1
    for (int at = 0; at < static_cast<int>(tile_products) / block && first + at < blocks; ++at) {
      const int k = at * block;
      BlockSums<block> sums(a, b, k, row, column);
      if (paired && at % 2 == 0) {
        AlignedRule from_zero = rule;
        from_zero.least_exponent = no_exponent;
        sums.run(
            from_zero, a, b, k, row, column, [](int, int) { return 0.0F; },
            [&](int i, int j, const StepResult& result) {
              first_sums[i][j] = result.value;
              unusual |= result.usual ? 0 : bit(i, j);
            });
        continue;
      }
      sums.run(
          rule, a, b, k, row, column, [&](int i, int j) { return paired ? first_sums[i][j] : accumulators[i][j]; },
          [&](int i, int j, const StepResult& result) {
            float next = result.value;
            bool usual = result.usual;
            if (paired) {
              const float sum = accumulators[i][j] + next;
              next = rule.half ? detail::nearest_half(sum) : sum;
              const float greatest = rule.half ? detail::greatest_half : detail::float_of(0x7f7fffff);
              usual = usual && next <= greatest && next >= -greatest;
            }
            accumulators[i][j] = next;
            unusual |= usual ? 0 : bit(i, j);
          });
      if (!added) continue;
      const std::size_t step = (first + at) / (paired ? 2 : 1);
      if (!product.parts.ends_after(step)) continue;
      const bool ends_chain = product.parts.ends_chain_after(step);
      for_each_output([&](int i, int j) {
        chains[i][j] += accumulators[i][j];
        accumulators[i][j] = 0;
        if (!ends_chain) return;
        totals[i][j] += chains[i][j];
        chains[i][j] = 0;
      });
    }
  }

  for_each_output([&](int i, int j) {
    const std::size_t y = first_row + row + i, x = first_column + column + j, at = y * columns + x;
    if (y >= rows || x >= columns) return;
    const float value = added ? totals[i][j] : accumulators[i][j];
    if (added || !rule.half) {
      reinterpret_cast<float*>(product.d)[at] = value;
    } else {
      reinterpret_cast<std::uint16_t*>(product.d)[at] = static_cast<std::uint16_t>(half_code(value));
    }
    const bool no_number = value != value;  // a sum of infinite parts, or of a NaN in C
    const bool redo = (unusual & bit(i, j)) != 0 || product.a.special[y] != 0 || product.b.special[x] != 0 || no_number;
    product.redo[at] = redo ? 1 : 0;
  });
}

using Kernel = void (*)(AlignedProduct);
template <bool added>
Kernel kernel_of(const AlignedPlan& plan) {
  if (plan.paired) return &multiply<16, true, added>;
  switch (plan.block) {
    case 4: return &multiply<4, false, added>;
    case 8: return &multiply<8, false, added>;
    case 16: return &multiply<16, false, added>;
    default: return &multiply<32, false, added>;
  }
}

}  // namespace

std::size_t blocks_of(const AlignedPlan& plan, const ProductParts& parts) { return parts.steps * (plan.paired ? 2 : 1); }

void start(const AlignedProduct& product) {
  const dim3 grid(static_cast<unsigned>(product.b.padded / tile_outputs),
                  static_cast<unsigned>(product.a.padded / tile_outputs));
  launch("the emulated product", product.parts.added() ? kernel_of<true>(product.plan) : kernel_of<false>(product.plan), grid,
         dim3(tile_threads), 0, product);
}

}  // namespace ulpscope::gpu::cuda
