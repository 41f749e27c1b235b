// SPDX-License-Identifier: Apache-2.0
// Which rows of Q, K and V meet in an attention.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/operations/attention.hpp"

namespace ulpscope::verify {

/// The extents of an attention.
struct AttentionShape {
  std::uint64_t batch = 1, heads = 1, kv_heads = 1;  ///< at least 1 each
  std::uint64_t queries = 0, keys = 0;               ///< rows of Q; rows of K and V
  std::uint64_t depth = 0, width = 0;                ///< elements of a row of Q and K, and of V
  std::vector<std::uint64_t> out;                    ///< of the output

  /// The matrix of K and V that a matrix of Q meets.
  std::uint64_t kv_of(std::uint64_t matrix) const { return matrix / heads * kv_heads + matrix % heads / (heads / kv_heads); }
  /// How many keys, from the first, a query sees.
  std::uint64_t visible(Causal causal, std::uint64_t query) const;
};

/// @throws Error naming the shapes that do not fit.
AttentionShape attention_shape(const Attention& operation);

}  // namespace ulpscope::verify
