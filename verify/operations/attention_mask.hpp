// SPDX-License-Identifier: Apache-2.0
// The mask, the descales and the sinks of an attention, by the row that they belong to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "verify/operations/attention_shape.hpp"

namespace ulpscope::verify {

/// What is added to the scores of one query.
struct MaskRow {
  const float* first = nullptr;  ///< null: nothing is added
  std::uint64_t step = 0;        ///< from one key to the next

  /// Of a key.
  double at(std::uint64_t key) const { return first == nullptr ? 0 : static_cast<double>(first[key * step]); }
};

/// A mask broadcast to batch, heads, queries and keys.
class AttentionMask {
 public:
  /// @throws Error where its extents are neither 1 nor those of the attention
  AttentionMask(const std::optional<Values>& mask, const AttentionShape& shape);
  /// Of a row of `mask`, which is the one that the constructor was given.
  MaskRow row(const std::optional<Values>& mask, const AttentionPlace& place) const {
    if (!mask) return {};
    return {mask->elements.data() + place.batch * of_batch_ + place.head * of_head_ + place.query * of_query_, of_key_};
  }

 private:
  std::uint64_t of_batch_ = 0, of_head_ = 0, of_query_ = 0, of_key_ = 0;  ///< strides
};

/// Descales by rows: of Q as the output has them, of K and V as laid_out() has them; empty where there are none.
struct RowDescales {
  std::vector<float> q, k, v;  ///< a factor for each row
};
/// @throws Error where shapes do not fit, or a factor is not finite
RowDescales row_descales(const Descales& descales, const AttentionShape& shape, bool has_blocks);

/// The scores of sinks by head: none where there is no sink, or it is -inf. @throws Error where they do not fit, or are NaN or
/// +inf
std::vector<std::optional<double>> sinks_of(const std::optional<Values>& sinks, const AttentionShape& shape);

}  // namespace ulpscope::verify
