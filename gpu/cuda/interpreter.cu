// SPDX-License-Identifier: Apache-2.0
// The interpreter of emu/engine_interpreter.hpp as kernels: inner products, comparisons, whole products.
#include <span>
#include <string>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_interpreter.hpp"
#include "gpu/cuda/interpreter.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/stack.hpp"
#include "gpu/cuda/stored_codes.hpp"

namespace ulpscope::gpu::cuda {
namespace {

using emu::Code, emu::Format;

constexpr unsigned threads = 128;

constexpr std::size_t most_products = 64;  ///< of a step: those of the scaled fp4 instructions
/// One instance for all kernels: threads touch no more of the room than the engine needs.
using Terms = emu::FixedTerms<most_products + 1>;

__device__ ULPSCOPE_APART Code interpreted(const emu::Engine& engine, Format a_format, std::span<const Code> a, Format b_format,
                                           std::span<const Code> b, Code c, const emu::BlockScales& scales) {
  return emu::interpreted_product<Terms>(engine, a_format, a, b_format, b, c, scales);
}

__device__ Code product(const InterpretedProducts& all, std::size_t i) {
  const DeviceInnerProducts& x = all.problem;
  const std::span<const Code> a(x.a + i * x.products, x.products), b(x.b + i * x.products, x.products);
  emu::BlockScales scales;
  scales.format = all.scale_format;
  if (x.a_scales != nullptr) scales.a = {x.a_scales + i * x.scales_each, x.scales_each};
  if (x.b_scales != nullptr) scales.b = {x.b_scales + i * x.scales_each, x.scales_each};
  return interpreted(all.engine, all.a_format, a, all.b_format, b, x.c[i], scales);
}

/// Without `wrong` the results are stored, with it they are compared with those that are there.
__global__ void __launch_bounds__(threads)
    interpret(InterpretedProducts all, unsigned long long* mismatches, std::uint8_t* wrong) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= all.problem.count) return;
  const Code d = product(all, i);
  if (wrong == nullptr) {
    all.problem.d[i] = d;
    return;
  }
  const bool differs = d != all.problem.d[i];
  wrong[i] = differs ? 1 : 0;
  if (differs) atomicAdd(mismatches, 1ULL);
}

/// One step of the chain of output (i, j).
__device__ Code step(const InterpretedMatrices& product, std::size_t i, std::size_t j, std::size_t s, Code c) {
  const DeviceMatrices& x = product.matrices;
  Code a[most_products], b[most_products];
  const std::size_t first = s * product.parts.step, left = x.k - first;
  const std::size_t count = left < product.parts.step ? left : product.parts.step;
  for (std::size_t k = 0; k < count; ++k) {
    a[k] = load_stored(product.a_format, x.a, i * x.k + first + k);
    b[k] = load_stored(product.b_format, x.b, (first + k) * x.n + j);
  }
  return interpreted(product.engine, product.a_format, {a, count}, product.b_format, {b, count}, c, {});
}

/// x + y to nearest even: in float64 for accumulators of that, else in float32.
__device__ double added(bool wide, double x, double y) {
  return wide ? x + y : static_cast<double>(static_cast<float>(x) + static_cast<float>(y));
}

__device__ Code output(const InterpretedMatrices& product, std::size_t i, std::size_t j) {
  const DeviceMatrices& x = product.matrices;
  const ProductParts& parts = product.parts;
  const Format accumulator = product.engine.accumulator;
  const Code c = x.c == nullptr ? 0 : load_stored(accumulator, x.c, i * x.n + j);
  Code sum = parts.added() ? 0 : c;
  if (!parts.added()) {
    for (std::size_t s = 0; s < parts.steps; ++s) sum = step(product, i, j, s, sum);
    return sum;
  }
  const bool wide = accumulator.fraction_bits > emu::float32.fraction_bits;
  double total = emu::decode(accumulator, c), chain = 0;
  for (std::size_t s = 0; s < parts.steps; ++s) {
    sum = step(product, i, j, s, sum);
    if (!parts.ends_after(s)) continue;
    chain = added(wide, chain, emu::decode(accumulator, sum));
    sum = 0;
    if (!parts.ends_chain_after(s)) continue;
    total = added(wide, total, chain);
    chain = 0;
  }
  return emu::encode(product.result, total);
}

constexpr unsigned outputs_of_block = 1024;

/// Blocks collect the outputs that are asked for, so that their threads have work side by side.
__global__ void __launch_bounds__(threads) multiply(InterpretedMatrices product) {
  __shared__ std::uint16_t asked[outputs_of_block];
  __shared__ unsigned count;
  const std::size_t all = product.matrices.m * product.matrices.n, first = std::size_t{blockIdx.x} * outputs_of_block;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (unsigned o = threadIdx.x; o < outputs_of_block && first + o < all; o += threads)
    if (product.only == nullptr || product.only[first + o] != 0) asked[atomicAdd(&count, 1u)] = static_cast<std::uint16_t>(o);
  __syncthreads();
  for (unsigned o = threadIdx.x; o < count; o += threads) {
    const std::size_t at = first + asked[o];
    const Code d = output(product, at / product.matrices.n, at % product.matrices.n);
    store_stored(product.result, product.matrices.d, at, d);
  }
}

dim3 grid_for(std::size_t count, std::size_t of_block) {
  return dim3(static_cast<unsigned>((count + of_block - 1) / of_block));
}

void check_room(const emu::Engine& engine, std::size_t all) {
  const std::size_t products = engine.products == emu::Stage::all ? all : static_cast<std::size_t>(engine.products);
  if (products > most_products)
    throw Error("the device's emulator takes engines of up to " + std::to_string(most_products) + " products a step, not " +
                std::to_string(products));
}

}  // namespace

void start(const InterpretedProducts& products) { start_comparison(products, nullptr, nullptr); }

void start_comparison(const InterpretedProducts& products, unsigned long long* mismatches, std::uint8_t* wrong) {
  check_room(products.engine, products.problem.products);
  if (products.problem.count == 0) return;
  make_stack("the interpreter", &interpret);
  launch("the interpreter", &interpret, grid_for(products.problem.count, threads), dim3(threads), 0, products, mismatches,
         wrong);
}

void start(const InterpretedMatrices& product) {
  const std::size_t outputs = product.matrices.m * product.matrices.n;
  check_room(product.engine, product.parts.step);
  if (outputs == 0) return;
  make_stack("the interpreter's product", &multiply);
  launch("the interpreter's product", &multiply, grid_for(outputs, outputs_of_block), dim3(threads), 0, product);
}

}  // namespace ulpscope::gpu::cuda
