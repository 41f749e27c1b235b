// SPDX-License-Identifier: Apache-2.0
// Attention: softmax(scale Q K^T + mask) V, for every head of a batch. A. Vaswani et al., "Attention Is All You Need",
// 2017, 3.2.1; T. Dao et al., "FlashAttention", 2022, for kernels that keep a running maximum. docs/verify-operations.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// Which keys a query sees.
enum class Causal : std::uint8_t {
  none,
  top_left,     ///< query i sees keys 0 .. i
  bottom_right  ///< the last query sees all keys, each one before it one less
};

/// What a query returns that sees no key: the formula is 0/0, and many kernels return zeros.
enum class FullyMasked : std::uint8_t { undeclared, nan, zero };

/// softmax(scale Q K^T + mask) V.
struct Attention {
  Values q, k, v;  ///< (L, D), (B, L, D) or (B, H, L, D); K and V may have fewer heads, of which each serves several of Q
  std::optional<Values> mask = {};                     ///< (queries, keys), added to the scaled scores; -inf hides a key
  std::optional<double> scale = {};                    ///< instead of 1/sqrt(D)
  Causal causal = Causal::none;                        ///< which keys a query sees
  KernelArithmetic arithmetic = {};                    ///< of both products and all between them
  std::optional<emu::Format> scores = {};              ///< what Q K^T is rounded to; none: not beside `arithmetic`
  std::optional<emu::Format> probabilities = {};       ///< what the exponentials, or their quotients, are rounded to
  FullyMasked fully_masked = FullyMasked::undeclared;  ///< where there is such a query it must be declared
  std::uint64_t block = 16;                            ///< keys for which the maximum of an online softmax changes at most once
  LastRounding last;                                   ///< of the output
};

/// A hidden key takes no part, whatever its value is; where that value is NaN or infinite NaN is right too, its product with a
/// weight of 0. A query with a score of NaN or +inf is NaN.
/// @throws Error where shapes do not fit, a format is too wide, or a query sees no key and `fully_masked` is undeclared.
std::unique_ptr<Expectation> expect_attention(Attention operation);

}  // namespace ulpscope::verify
