// SPDX-License-Identifier: Apache-2.0
// Chains of fused multiply-adds, tile by tile.
#include <cmath>
#include <limits>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "gpu/cuda/chain_product.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/stored_codes.hpp"
#include "gpu/cuda/thread_outputs.cuh"

namespace ulpscope::gpu::cuda {
namespace {

constexpr unsigned tile = 64;   ///< rows and columns of a block's outputs
constexpr unsigned depth = 16;  ///< of the operands in shared memory
constexpr unsigned each = 4;    ///< rows and columns of a thread's outputs
constexpr unsigned across = tile / each, threads = across * across;

/// The sums of an output so far: of the present part, of the parts of its chain, and of the chains before.
template <class Float>
struct ChainSums {
  Float sum = 0, chain = 0, total = 0;
};

/// Numbers of `depth` columns of A or rows of B, from k on; zeros beyond the matrix.
template <class Float>
__device__ void load_tile(emu::Format format, const std::byte* codes, std::size_t lines, std::size_t line_step,
                          std::size_t k_step, std::size_t first, std::size_t k, std::size_t end, Float (&to)[depth][tile]) {
  for (unsigned at = threadIdx.x; at < tile * depth; at += threads) {
    // Neighbours in memory are read by neighbours.
    const unsigned line = k_step == 1 ? at / depth : at % tile, kk = k_step == 1 ? at % depth : at / tile;
    const bool inside = first + line < lines && k + kk < end;
    to[kk][line] = inside ? static_cast<Float>(
                                emu::decode(format, load_stored(format, codes, (first + line) * line_step + (k + kk) * k_step)))
                          : Float{0};
  }
}

/// A block of threads for a tile of outputs: the device's own fma, which is IEEE 754's.
template <class Float>
__global__ void __launch_bounds__(threads) chains(InterpretedMatrices product) {
  __shared__ Float a[depth][tile], b[depth][tile];
  const DeviceMatrices& x = product.matrices;
  const ProductParts& parts = product.parts;
  const emu::Format accumulator = product.engine.accumulator;
  const bool added = parts.added();
  const std::size_t across_n = (x.n + tile - 1) / tile;
  const std::size_t first_row = blockIdx.x / across_n * tile, first_column = blockIdx.x % across_n * tile;
  const unsigned row = threadIdx.x / across * each, column = threadIdx.x % across * each;
  const auto index = [&](unsigned i, unsigned j) { return (first_row + row + i) * x.n + first_column + column + j; };
  const auto inside = [&](unsigned i, unsigned j) { return first_row + row + i < x.m && first_column + column + j < x.n; };

  ChainSums<Float> sums[each][each];
  for_each_of<each, each>([&](unsigned i, unsigned j) {
    const bool has_c = x.c != nullptr && inside(i, j);
    const auto c = has_c ? static_cast<Float>(emu::decode(accumulator, load_stored(accumulator, x.c, index(i, j)))) : Float{0};
    sums[i][j].total = added ? c : Float{0};
    sums[i][j].sum = added ? Float{0} : c;
  });
  for (std::size_t k = 0; k < x.k; k += depth) {
    load_tile(product.a_format, x.a, x.m, x.k, 1, first_row, k, x.k, a);
    load_tile(product.b_format, x.b, x.n, 1, x.n, first_column, k, x.k, b);
    __syncthreads();
    const unsigned count = x.k - k < depth ? static_cast<unsigned>(x.k - k) : depth;
#pragma unroll 1
    for (unsigned kk = 0; kk < count; ++kk) {
      for_each_of<each, each>(
          [&](unsigned i, unsigned j) { sums[i][j].sum = std::fma(a[kk][row + i], b[kk][column + j], sums[i][j].sum); });
      if (!added || !parts.ends_after(k + kk)) continue;
      const bool ends_chain = parts.ends_chain_after(k + kk);
      for_each_of<each, each>([&](unsigned i, unsigned j) {
        ChainSums<Float>& s = sums[i][j];
        s.chain += s.sum;
        s.sum = 0;
        s.total = ends_chain ? s.total + s.chain : s.total;  // a zero would lose its sign
        s.chain = ends_chain ? Float{0} : s.chain;
      });
    }
    __syncthreads();
  }
  for_each_of<each, each>([&](unsigned i, unsigned j) {
    if (!inside(i, j)) return;
    const Float result = added ? sums[i][j].total : sums[i][j].sum;
    const bool nan = result != result && !added;
    store_stored(product.result, x.d, index(i, j), nan ? product.engine.nan_code : emu::encode(product.result, result));
  });
}

}  // namespace

bool is_plain_chain(const emu::Engine& engine, emu::Format a, emu::Format b) {
  emu::Engine plain = emu::fma_chain(engine.accumulator);
  plain.nan_code = engine.nan_code;
  plain.nan_result = engine.nan_result;
  const auto fits = [&](emu::Format f) {
    return f.has_zero() && f.fraction_bits <= engine.accumulator.fraction_bits &&
           f.max_exponent() <= engine.accumulator.max_exponent() &&
           f.min_spacing_exponent() >= engine.accumulator.min_spacing_exponent();
  };
  const bool native = engine.accumulator == emu::float32 || engine.accumulator == emu::float64;
  return engine == plain && native && fits(a) && fits(b);
}

void start_chains(const InterpretedMatrices& product) {
  const DeviceMatrices& x = product.matrices;
  const std::size_t tiles = (x.m + tile - 1) / tile * ((x.n + tile - 1) / tile);
  if (tiles > std::numeric_limits<int>::max()) throw Error("a product of so many outputs is too great for a GPU's grid");
  const bool wide = product.engine.accumulator == emu::float64;
  launch("chains of fma", wide ? &chains<double> : &chains<float>, dim3(static_cast<unsigned>(tiles)), dim3(threads), 0,
         product);
}

}  // namespace ulpscope::gpu::cuda
