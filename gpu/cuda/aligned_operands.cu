// SPDX-License-Identifier: Apache-2.0
// Lays lines out for the fast kernels: values, exponents and what is unusual, block by block.
#include <cstdint>

#include "gpu/cuda/aligned_chain.hpp"
#include "gpu/cuda/aligned_levels.hpp"
#include "gpu/cuda/aligned_product.hpp"
#include "gpu/cuda/aligned_tile.hpp"
#include "gpu/cuda/stored_codes.hpp"

namespace ulpscope::gpu::cuda {
namespace {

/// Arrays to fill; null where they are not asked for.
struct Prepared {
  float* values;
  std::uint32_t *exponents, *sides, *last, *greatest, *lowest, *halves;
  float* norms;
  std::uint8_t* special;
  std::size_t padded;
};

/// What a kernel shall prepare.
struct Lines {
  StoredVectors vectors;
  Side side;
  int block;
  bool paired;
  bool as_float16;
};

/// Which k is element e of a block.
__device__ std::size_t place(int block, bool paired, std::size_t at, int e) {
  if (!paired) return at * static_cast<std::size_t>(block) + static_cast<std::size_t>(e);
  const auto half = at % 2;
  return at / 2 * 32 + static_cast<std::size_t>(e / 2 * 4 + e % 2) + half * 2;
}

/// The block of a vector as the kernel's thread goes through it.
class BlockWriter {
 public:
  __device__ BlockWriter(const Prepared& to, Side side, emu::Format format, std::size_t vector)
      : to_(to), side_(side), format_(format), vector_(vector), slot_(slot_of(side, vector)) {}

  /// Elements k and k + 1, k even.
  __device__ void put(std::size_t k, const AlignedOperand& x, const AlignedOperand& y) {
    put(k, x);
    put(k + 1, y);
    if (to_.exponents != nullptr)
      to_.exponents[k / 2 * to_.padded + vector_] =
          (static_cast<std::uint32_t>(x.exponent) & 0xffff) | static_cast<std::uint32_t>(y.exponent) << 16;
    if (to_.greatest == nullptr) return;
    const std::size_t word = (k / tile_products * to_.padded + slot_) * tile_words + k % tile_products / 2;
    const OperandLevels low = operand_levels(format_, side_, x), high = operand_levels(format_, side_, y);
    to_.greatest[word] = low.greatest | high.greatest << 16;
    if (to_.halves == nullptr) return;
    to_.lowest[word] = low.lowest | high.lowest << 16;
    to_.halves[word] = detail::bits_of(x.value) >> 16 | detail::bits_of(y.value);
  }
  __device__ void finish(std::size_t block) {
    if (to_.last != nullptr) to_.last[block * to_.padded + vector_] = before_;
    if (to_.norms != nullptr) to_.norms[block * to_.padded + vector_] = norm_of(squares_);
    if (special_) to_.special[vector_] = 1;
  }

 private:
  __device__ void put(std::size_t k, const AlignedOperand& x) {
    special_ = special_ || x.special;
    squares_ += x.value * x.value;
    if (to_.values != nullptr) to_.values[k * to_.padded + vector_] = x.value;
    if (to_.sides != nullptr) to_.sides[k * to_.padded + vector_] = before_ ^ side_of(x.value);
    before_ = side_of(x.value);
  }

  const Prepared& to_;
  const Side side_;
  const emu::Format format_;
  const std::size_t vector_, slot_;
  bool special_ = false;
  float squares_ = 0;
  std::uint32_t before_ = 0;  ///< the side of the element before
};

/// One thread for a block of a vector; blocks and vectors beyond the end are zeros.
__global__ void fill(Lines lines, std::size_t blocks, Prepared to) {
  const StoredVectors& vectors = lines.vectors;
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t i = at % to.padded, which = at / to.padded;
  if (which >= blocks) return;
  const auto operand = [&](int e) {
    const std::size_t k = place(lines.block, lines.paired, which, e);
    if (i >= vectors.count || k >= vectors.depth) return AlignedOperand{0, no_exponent, false};
    return aligned_operand(vectors.format, load_stored(vectors.format, vectors.codes, i * vectors.stride + k * vectors.step),
                           lines.as_float16);
  };
  BlockWriter writer(to, lines.side, vectors.format, i);
  for (int e = 0; e < lines.block; e += 2)
    writer.put(which * static_cast<std::size_t>(lines.block) + static_cast<std::size_t>(e), operand(e), operand(e + 1));
  writer.finish(which);
}

constexpr std::size_t multiple(std::size_t size, std::size_t of) { return (size + of - 1) / of * of; }

}  // namespace

AlignedOperands::AlignedOperands(const AlignedPlan& plan, Side side, const StoredVectors& vectors, std::size_t blocks)
    : vectors_(vectors),
      plan_(plan),
      side_(side),
      padded_(multiple(vectors.count, tile_outputs)),
      depth_(multiple(blocks * static_cast<std::size_t>(plan.block), tile_products)),
      blocks_(depth_ / static_cast<std::size_t>(plan.block)),
      values_(plan.rule.kind.summed ? 0 : depth_ * padded_),
      exponents_(plan.rule.kind.levelled() ? 0 : depth_ / 2 * padded_),
      sides_(plan.rule.kind.chained ? depth_ * padded_ : 0),
      last_(plan.rule.kind.chained ? blocks_ * padded_ : 0),
      greatest_(plan.rule.kind.levelled() ? depth_ / 2 * padded_ : 0),
      lowest_(plan.rule.kind.summed ? depth_ / 2 * padded_ : 0),
      halves_(plan.rule.kind.summed ? depth_ / 2 * padded_ : 0),
      norms_(plan.rule.kind.summed ? blocks_ * padded_ : 0),
      special_(padded_) {}

void AlignedOperands::prepare() {
  special_.clear();
  const std::size_t threads = blocks_ * padded_;
  if (threads == 0) return;
  launch("the preparation of operands", &fill, dim3(static_cast<unsigned>((threads + 255) / 256)), dim3(256), 0,
         Lines{vectors_, side_, plan_.block, plan_.paired, plan_.as_float16}, blocks_,
         Prepared{values_.data(), exponents_.data(), sides_.data(), last_.data(), greatest_.data(), lowest_.data(),
                  halves_.data(), norms_.data(), special_.data(), padded_});
}

AlignedOperands::View AlignedOperands::view() const noexcept {
  return {values_.data(), exponents_.data(), sides_.data(),   last_.data(),   greatest_.data(), lowest_.data(),
          halves_.data(), norms_.data(),     special_.data(), vectors_.count, padded_};
}

}  // namespace ulpscope::gpu::cuda
