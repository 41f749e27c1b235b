// SPDX-License-Identifier: Apache-2.0
// Lays lines out for the fast kernels: values, exponents and what is unusual, block by block.
#include <cstdint>

#include "gpu/cuda/aligned_chain.hpp"
#include "gpu/cuda/aligned_product.hpp"
#include "gpu/cuda/aligned_tile.hpp"
#include "gpu/cuda/stored_codes.hpp"

namespace ulpscope::gpu::cuda {
namespace {

struct Prepared {
  float* values;
  std::uint32_t *exponents, *sides, *last;
  std::uint8_t* special;
  std::size_t padded;
};

/// Which k is element e of a block.
__device__ std::size_t place(int block, bool paired, std::size_t at, int e) {
  if (!paired) return at * static_cast<std::size_t>(block) + static_cast<std::size_t>(e);
  const auto half = at % 2;
  return at / 2 * 32 + static_cast<std::size_t>(e / 2 * 4 + e % 2) + half * 2;
}

/// One thread for a block of a vector; blocks and vectors beyond the end are zeros.
__global__ void fill(StoredVectors vectors, int block, bool paired, std::size_t blocks, Prepared to) {
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t i = at % to.padded, which = at / to.padded;
  if (which >= blocks) return;
  const auto operand = [&](int e) {
    const std::size_t k = place(block, paired, which, e);
    if (i >= vectors.count || k >= vectors.depth) return AlignedOperand{0, no_exponent, false};
    return aligned_operand(vectors.format, load_stored(vectors.format, vectors.codes, i * vectors.stride + k * vectors.step));
  };
  bool special = false;
  std::uint32_t side = 0;  // of the element before
  const std::size_t first = which * static_cast<std::size_t>(block);
  const auto put = [&](std::size_t k, const AlignedOperand& x) {
    to.values[k * to.padded + i] = x.value;
    special = special || x.special;
    if (to.sides == nullptr) return;
    to.sides[k * to.padded + i] = side ^ side_of(x.value);
    side = side_of(x.value);
  };
  for (int e = 0; e < block; e += 2) {
    const AlignedOperand x = operand(e), y = operand(e + 1);
    const std::size_t k = first + static_cast<std::size_t>(e);
    put(k, x);
    put(k + 1, y);
    to.exponents[k / 2 * to.padded + i] =
        (static_cast<std::uint32_t>(x.exponent) & 0xffff) | static_cast<std::uint32_t>(y.exponent) << 16;
  }
  if (to.sides != nullptr) to.last[which * to.padded + i] = side;
  if (special) to.special[i] = 1;
}

constexpr std::size_t multiple(std::size_t size, std::size_t of) { return (size + of - 1) / of * of; }

}  // namespace

AlignedOperands::AlignedOperands(const AlignedPlan& plan, const StoredVectors& vectors, std::size_t blocks)
    : vectors_(vectors),
      block_(plan.block),
      paired_(plan.paired),
      chained_(plan.rule.kind.chained),
      padded_(multiple(vectors.count, tile_outputs)),
      depth_(multiple(blocks * static_cast<std::size_t>(plan.block), tile_products)),
      values_(depth_ * padded_),
      exponents_(depth_ / 2 * padded_),
      sides_(chained_ ? depth_ * padded_ : 0),
      last_(chained_ ? depth_ / static_cast<std::size_t>(plan.block) * padded_ : 0),
      special_(padded_) {}

void AlignedOperands::prepare() {
  special_.clear();
  const std::size_t blocks = depth_ / static_cast<std::size_t>(block_), threads = blocks * padded_;
  if (threads == 0) return;
  launch(
      "the preparation of operands", &fill, dim3(static_cast<unsigned>((threads + 255) / 256)), dim3(256), 0, vectors_, block_,
      paired_, blocks,
      Prepared{values_.data(), exponents_.data(), chained_ ? sides_.data() : nullptr, last_.data(), special_.data(), padded_});
}

AlignedOperands::View AlignedOperands::view() const noexcept {
  return {values_.data(), exponents_.data(), sides_.data(), last_.data(), special_.data(), vectors_.count, padded_};
}

}  // namespace ulpscope::gpu::cuda
