// SPDX-License-Identifier: Apache-2.0
// Which rows of Q, K and V meet in an attention.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/operations/attention.hpp"

namespace ulpscope::verify {

/// One of a batch: rows of its own, the same for each head.
struct AttentionSequence {
  std::uint64_t first_query = 0, queries = 0;  ///< rows of Q of one head, counted over the sequences
  std::uint64_t first_key = 0, keys = 0;       ///< the same of K and V
};

/// Where a row of the output comes from.
struct AttentionPlace {
  std::uint64_t batch, head, query;  ///< which sequence; which head of Q; which of the sequence's queries
};

/// Keys [begin, end).
struct KeyRange {
  std::uint64_t begin = 0, end = 0;  ///< begin <= end
};

/// What hides keys by their place.
struct Sight {
  Causal causal = Causal::none;  ///< where the diagonal lies, and whether it hides
  AttentionWindow window = {};   ///< around it
  std::int64_t shift = 0;        ///< keys by which the diagonal lies further right than declared

  /// What a query of a sequence sees.
  KeyRange range(const AttentionSequence& sequence, std::uint64_t query) const;
};

/// The extents of an attention whose K and V lie sequence by sequence, of each sequence head by head.
struct AttentionShape {
  std::uint64_t heads = 1, kv_heads = 1;        ///< of Q; of K and V
  std::uint64_t depth = 0, width = 0;           ///< elements of a row of Q and K, and of V
  std::vector<AttentionSequence> sequences;     ///< of the batch
  std::vector<std::uint32_t> sequence_of = {};  ///< of each row of Q, where all heads of a row are together
  std::vector<std::uint64_t> out;               ///< of the output
  std::uint64_t key_rows = 0;                   ///< that K has for a sequence, those beyond its length included
  bool is_packed = false;                       ///< whether sequences of any length lie one behind the other

  /// Whether all heads of a row are together; else all rows of a head are.
  bool has_heads_last() const { return !sequence_of.empty(); }
  /// Rows of the output.
  std::uint64_t rows() const;
  /// Of row `row` of the output.
  AttentionPlace place(std::uint64_t row) const;
  /// The head of K and V that a head of Q meets.
  std::uint64_t kv_head(std::uint64_t head) const { return head / (heads / kv_heads); }
  /// The row of K and V where the keys of a head of a sequence begin.
  std::uint64_t first_row(std::uint64_t batch, std::uint64_t kv_head) const {
    const AttentionSequence& sequence = sequences[static_cast<std::size_t>(batch)];
    return sequence.first_key * kv_heads + kv_head * sequence.keys;
  }
};

/// Lays K and V out sequence by sequence, where `operation.sequences` says that they are not.
/// @throws Error naming the shapes, lengths or blocks that do not fit.
AttentionShape laid_out(Attention& operation);

}  // namespace ulpscope::verify
