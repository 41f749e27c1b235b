// SPDX-License-Identifier: Apache-2.0
// Attention: softmax(scale Q K^T + mask) V, for every head of a batch, as models are trained and served. A. Vaswani et al.,
// "Attention Is All You Need", 2017, 3.2.1; T. Dao et al., "FlashAttention", 2022, for kernels that keep a running maximum.
// docs/verify-attention.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "verify/operations/fully_masked.hpp"
#include "verify/operations/integers.hpp"
#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// Which keys a query sees.
enum class Causal : std::uint8_t {
  none,
  top_left,     ///< query i sees keys 0 .. i
  bottom_right  ///< the last query sees all keys, each one before it one less
};

/// How far from the diagonal a key may be that a query sees. The diagonal is where `Causal` has it; without that the last query
/// lies on the last key.
struct AttentionWindow {
  std::optional<std::uint64_t> left = {}, right = {};  ///< keys before and behind it; none: all of them
};

/// Codes of Q, K and V are multiplied by these before anything else. Shapes: one number; (H) or (B, H), a number a head, of Q
/// also a number for each head of K; (B, H, N), a number for each of N blocks of rows.
struct Descales {
  std::optional<Values> q = {}, k = {}, v = {};  ///< float32; none: 1
};

/// How Q, K, V and the output of four dimensions are stored.
enum class AttentionLayout : std::uint8_t {
  bhld,  ///< batch, heads, rows, elements: torch's scaled_dot_product_attention
  blhd   ///< batch, rows, heads, elements: FlashAttention
};

/// Where the sequences of a batch lie, if not one matrix behind the other.
struct Sequences {
  AttentionLayout layout = AttentionLayout::bhld;  ///< of what is neither in blocks nor packed
  /// (B, blocks): the blocks that hold the keys of a sequence, in order. K and V are (blocks, rows of a block, heads, D) then.
  std::optional<Integers> block_table = {};
  std::optional<Integers> key_lengths = {};  ///< (B): keys that a sequence has, from its first row on; the rest is ignored
  std::optional<Integers> query_starts =
      {};                                   ///< (B + 1): Q is (rows, heads, D), one sequence behind the other; these begin them
  std::optional<Integers> key_starts = {};  ///< likewise of K and V

  /// Whether K and V lie elsewhere than in a matrix for each head.
  bool any() const { return block_table || key_lengths || query_starts || key_starts; }
};

/// softmax(scale Q K^T + mask) V.
struct Attention {
  Values q, k, v;  ///< (L, D), (B, L, D) or (B, H, L, D); K and V may have fewer heads, of which each serves several of Q
  /// Added to the scores; -inf hides a key. (queries, keys), (B, queries, keys), or what broadcasts to (B, H, queries, keys).
  std::optional<Values> mask = {};
  std::optional<double> scale = {};                    ///< instead of 1/sqrt(D)
  std::optional<double> softcap = {};                  ///< c: scores s become c tanh(s / c), before the mask
  Causal causal = Causal::none;                        ///< which keys a query sees
  AttentionWindow window = {};                         ///< of these, those near the diagonal
  std::optional<Values> sinks = {};                    ///< (H): a score more in each row's denominator, of no key
  Descales descales = {};                              ///< of codes
  Sequences sequences = {};                            ///< where those of a batch lie
  KernelArithmetic arithmetic = {};                    ///< of both products and all between them
  std::optional<emu::Format> scores = {};              ///< what Q K^T is rounded to; none: not beside `arithmetic`
  std::optional<emu::Format> probabilities = {};       ///< what the exponentials, or their quotients, are rounded to
  FullyMasked fully_masked = FullyMasked::undeclared;  ///< where there is such a query it must be declared
  std::uint64_t block = 16;                            ///< keys for which the maximum of an online softmax changes at most once
  LastRounding last;                                   ///< of the output
};

/// A hidden key takes no part, whatever its value is; where that value is NaN or infinite NaN is right too, its product with a
/// weight of 0. A query with a score of NaN or +inf is NaN. One without keys is 0 where it has a sink.
/// @throws Error where shapes do not fit, a format is too wide, or a query sees no key and `fully_masked` is undeclared.
std::unique_ptr<Expectation> expect_attention(Attention operation);

/// What an attention returns beside its output.
struct AttentionExpectations {
  std::unique_ptr<Expectation> output;  ///< as expect_attention()
  /// The natural logarithm of each row's denominator, sum of e^s and of e^sink: (B, H, queries), of packed queries (H, rows).
  std::unique_ptr<Expectation> lse;
};
/// Both; `lse` is the last rounding of the logarithms. A row without keys and sink has -inf, or +inf as FlashAttention-2
/// returns it.
/// @throws Error as expect_attention()
AttentionExpectations expect_attention_and_lse(Attention operation, const LastRounding& lse);

}  // namespace ulpscope::verify
