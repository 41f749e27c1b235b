// SPDX-License-Identifier: Apache-2.0
// Emulated matrix products on ordinary CUDA cores, for engines whose step is a cut sum (gpu/cuda/aligned_step.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/aligned_levels.hpp"
#include "gpu/cuda/aligned_rule.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/emulated_product.hpp"

namespace ulpscope::gpu::cuda {

/// A matrix of stored codes in memory of the device, seen as `count` rows of A or columns of B of `depth` codes.
struct StoredVectors {
  emu::Format format;
  const std::byte* codes = nullptr;
  std::size_t count = 0, depth = 0;
  std::size_t stride = 0, step = 0;  ///< code k of vector i stands at i * stride + k * step
};

/// Vectors made ready: element (k, i) of arrays of elements stands at k * padded + i, padded a multiple of the tile. Arrays for
/// tensor cores hold bfloat16s, two a word; word w of tile t of products of a vector stands at (t * padded + s) * 16 + w, s its
/// slot (gpu/cuda/aligned_tile.hpp). Null is what the plan does not ask for.
class AlignedOperands {
 public:
  /// Memory for `blocks` blocks of each vector.
  AlignedOperands(const AlignedPlan& plan, Side side, const StoredVectors& vectors, std::size_t blocks);

  /// Starts the kernel that fills it and does not wait.
  void prepare();

  struct View {
    const float* values;
    const std::uint32_t* exponents;  ///< of k and k + 1
    const std::uint32_t* sides;      ///< changes of sides (gpu/cuda/aligned_chain.hpp)
    const std::uint32_t* last;       ///< and the sides of the last elements of blocks
    const std::uint32_t* greatest;   ///< levels (gpu/cuda/aligned_levels.hpp), for tensor cores
    const std::uint32_t* lowest;     ///< levels of lowest bits, for tensor cores
    const std::uint32_t* halves;     ///< values, for tensor cores
    const float* norms;              ///< of blocks
    const std::uint8_t* special;     ///< of vectors: there is an infinity or a NaN
    std::size_t count, padded;
  };
  View view() const noexcept;

 private:
  StoredVectors vectors_;
  AlignedPlan plan_;
  Side side_;
  std::size_t padded_, depth_, blocks_;
  Buffer<float> values_;
  Buffer<std::uint32_t> exponents_, sides_, last_, greatest_, lowest_, halves_;
  Buffer<float> norms_;
  Buffer<std::uint8_t> special_;
};

/// One product, all in memory of the device.
struct AlignedProduct {
  AlignedPlan plan;
  ProductParts parts;
  AlignedOperands::View a, b;
  const std::byte* c = nullptr;  ///< stored codes of the accumulator, or null for zeros
  std::byte* d = nullptr;        ///< stored codes of the result
  std::uint8_t* redo = nullptr;  ///< becomes 1 where the interpreter has to do an output again, else 0
};

/// Blocks of `plan` in all of K.
std::size_t blocks_of(const AlignedPlan& plan, const ProductParts& parts);

/// Starts the kernel and does not wait.
void start(const AlignedProduct& product);

}  // namespace ulpscope::gpu::cuda
