// SPDX-License-Identifier: Apache-2.0
// The sums of a part of a tensor, which are added to those of the next part as if both had been one.
#pragma once

#include <cstdint>
#include <vector>

#include "studies/census/error_sums.hpp"
#include "studies/census/exact_totals.hpp"

namespace ulpscope::studies {

/// Sums of 2^level chunks of a tensor, `first` of which is the first, a multiple of 2^level.
struct ChunkSums {
  std::uint64_t first;  ///< chunk
  int level;            ///< log2 of how many chunks
  ErrorSums sums;       ///< of them
};

/// What is known of one format and scale over a part of a tensor.
class PartialSums {
 public:
  /// Of no elements.
  PartialSums() = default;
  /// Of a part whose sums are exact.
  explicit PartialSums(ExactSums sums) : exact_(std::move(sums)) {}
  /// Of a part by its chunks, in order.
  explicit PartialSums(const std::vector<ChunkSums>& chunks) {
    for (const ChunkSums& chunk : chunks) add(chunk);
  }

  /// Adds chunks, which come next, as by a binary tree: n chunks are the first 2^k, 2^k the greatest power below n, and the
  /// rest. A part of a tensor keeps the few nodes of that tree which lie in it, and so leaves the bits of the whole as they
  /// are.
  void add(const ChunkSums& chunks);
  /// Adds what follows in the tensor. Precondition: both are exact, or neither, or one is of no elements.
  void merge(const PartialSums& next);
  /// Once every part is in.
  ErrorSums finish() const;

  const ExactSums& exact() const noexcept { return exact_; }                 ///< zeros where sums are not exact
  const std::vector<ChunkSums>& chunks() const noexcept { return chunks_; }  ///< none where they are

 private:
  ExactSums exact_;
  std::vector<ChunkSums> chunks_;
};

}  // namespace ulpscope::studies
