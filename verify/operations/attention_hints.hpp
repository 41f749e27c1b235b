// SPDX-License-Identifier: Apache-2.0
// What may have been done otherwise than it is declared, where an attention is wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "verify/operations/attention_scores.hpp"

namespace ulpscope::verify {

/// Other rules, and what is said where the wrong elements are right by them, or within their bound.
struct AttentionHint {
  AttentionRules rules;  ///< as a kernel may have them
  std::string words;     ///< `without the softcap`; `scores rounded to bfloat16: --scores bfloat16 if the kernel rounds them`
};

/// Roundings of scores and probabilities to 16 bits that are not declared and that kernels have, the rarer ones last.
std::vector<AttentionHint> undeclared_roundings(const AttentionRows& rows);
/// Declarations left out, and diagonals, windows and lengths off by one.
std::vector<AttentionHint> broken_rules(const AttentionRows& rows);
/// Whether these wrong elements of rows of `width` are the NaN, or the zeros, of queries whose scores may all be -inf: a
/// sentence with the option that says so, else empty.
std::string hint_of_hidden_rows(const AttentionRows& rows, std::uint64_t width, std::span<const std::uint64_t> indices,
                                std::span<const double> outputs);

}  // namespace ulpscope::verify
