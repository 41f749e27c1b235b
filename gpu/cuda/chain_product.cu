// SPDX-License-Identifier: Apache-2.0
// Chains of fused multiply-adds, one thread for each output.
#include <cmath>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "gpu/cuda/chain_product.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/stored_codes.hpp"

namespace ulpscope::gpu::cuda {
namespace {

/// One thread for an output: the device's own fma, which is IEEE 754's.
template <class Float>
__global__ void chains(InterpretedMatrices product) {
  const DeviceMatrices& x = product.matrices;
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= x.m * x.n) return;
  const std::size_t i = at / x.n, j = at % x.n;
  const ProductParts& parts = product.parts;
  const emu::Format accumulator = product.engine.accumulator;
  const auto c = x.c == nullptr ? Float{0} : static_cast<Float>(emu::decode(accumulator, load_stored(accumulator, x.c, at)));
  Float sum = parts.added() ? Float{0} : c, chain = 0, total = parts.added() ? c : Float{0};
  for (std::size_t k = 0; k < x.k; ++k) {
    const auto a = static_cast<Float>(emu::decode(product.a_format, load_stored(product.a_format, x.a, i * x.k + k)));
    const auto b = static_cast<Float>(emu::decode(product.b_format, load_stored(product.b_format, x.b, k * x.n + j)));
    sum = std::fma(a, b, sum);
    if (!parts.added() || !parts.ends_after(k)) continue;
    chain += sum;
    sum = 0;
    if (!parts.ends_chain_after(k)) continue;
    total += chain;
    chain = 0;
  }
  const Float result = parts.added() ? total : sum;
  const bool nan = result != result && !parts.added();
  store_stored(product.result, x.d, at, nan ? product.engine.nan_code : emu::encode(product.result, result));
}

}  // namespace

bool is_plain_chain(const emu::Engine& engine, emu::Format a, emu::Format b) {
  emu::Engine plain = emu::fma_chain(engine.accumulator);
  plain.nan_code = engine.nan_code;
  const auto fits = [&](emu::Format f) {
    return f.has_zero() && f.fraction_bits <= engine.accumulator.fraction_bits &&
           f.max_exponent() <= engine.accumulator.max_exponent() &&
           f.min_spacing_exponent() >= engine.accumulator.min_spacing_exponent();
  };
  const bool native = engine.accumulator == emu::float32 || engine.accumulator == emu::float64;
  return engine == plain && native && fits(a) && fits(b);
}

void start_chains(const InterpretedMatrices& product) {
  const std::size_t outputs = product.matrices.m * product.matrices.n;
  constexpr unsigned threads = 128;
  const bool wide = product.engine.accumulator == emu::float64;
  launch("chains of fma", wide ? &chains<double> : &chains<float>,
         dim3(static_cast<unsigned>((outputs + threads - 1) / threads)), dim3(threads), 0, product);
}

}  // namespace ulpscope::gpu::cuda
