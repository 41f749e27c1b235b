// SPDX-License-Identifier: Apache-2.0
// Why a kernel's output is not what was claimed: hypotheses are replayed on the kernel's own inputs and ranked by the elements
// that they reproduce to the bit. The method, and what a verdict is worth: docs/explain.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "products/product.hpp"
#include "reports/table.hpp"
#include "tensors/tensor.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {

/// What is to be explained.
struct ExplainConfig {
  products::Product product;  ///< the claim, with its engine
  tensors::Tensor d;          ///< what the kernel returned
  double at_least = 0.999;    ///< share of all elements, and of those that the claim gets wrong, that explains D
  /// For hypotheses, beside the replay of the claim; 0: no limit. What is found in limited time depends on the machine.
  double seconds = 0;
  /// Where the claim holds, whether all ways to sum are counted that differ from it, or the first one is enough.
  bool counts_sums = true;
};

/// What the hypotheses say of a claim.
enum class ExplainVerdict : std::uint8_t {
  holds,        ///< the claim reproduces every element
  explained,    ///< it does not, and a hypothesis does
  unexplained,  ///< no hypothesis does
  undecided,    ///< hypotheses do, but the elements that differ are too few or too near for it not to be chance
  vacuous,      ///< the claim reproduces every element, and so does every other way to sum
};
/// The word of a verdict, as in tables.
std::string_view name_of(ExplainVerdict verdict) noexcept;

/// A hypothesis and the elements it reproduces, NaN for NaN, all else to the bit. Counted over the whole output.
struct Finding {
  Hypothesis hypothesis;               ///< what may have been computed
  std::uint64_t matched = 0;           ///< elements that it reproduces
  std::uint64_t matched_of_wrong = 0;  ///< of those that the claim gets wrong
  std::uint64_t digest = 0;            ///< equal where two hypotheses give the same output
  std::size_t group = 0;               ///< from 1: hypotheses that this data cannot tell apart
  bool explains = false;               ///< whether it reproduces enough of them
  std::uint64_t choices = 0;           ///< bits of what it is told about tiles of D: which of them, and how
};

/// What was found out.
struct ExplainResult {
  ExplainVerdict verdict = ExplainVerdict::unexplained;  ///< in a word
  Claim claim;                                           ///< what was claimed
  std::uint64_t count = 0, wrong = 0;                    ///< elements of D, and those that the claim does not reproduce
  std::vector<Finding> findings;    ///< those that explain D, the simplest first; without any the best ones
  std::size_t tried = 0;            ///< hypotheses
  std::size_t skipped = 0;          ///< of them not tried, or not to the end, since the time was over
  double seconds = 0;               ///< the time they had; 0: no limit
  std::size_t distinct = 0;         ///< ways to sum that differ from the claim on the sample, where the claim holds
  std::size_t sums = 0;             ///< ways to sum that were tried, where the claim holds
  std::uint64_t evidence_bits = 0;  ///< over all wrong elements: bits of the distance from the claim, counted in codes
  std::uint64_t choices = 0;        ///< the fewest bits of a finding that explains D
  std::string tiles = {};           ///< that have all wrong elements, as a sentence; empty where they are in none
  /// Other matrices of operands that come much nearer to D, as a sentence; empty where none do.
  std::string matrices = {};
  double chance = 0;                ///< where none explains D: median share of a sample that single causes reproduce

  /// Elements that the claim reproduces.
  std::uint64_t equal() const { return count - wrong; }
  /// With fewer bits, one of `tried` hypotheses may fit by chance: log2(tried), 4 more for one in 16, and those of choices.
  std::uint64_t needed_bits() const;
};

/// @throws ulpscope::Error where D does not have the shape of the product, or the claim cannot be replayed.
ExplainResult explain(const ExplainConfig& config);

/// One sentence: what the claim is, and as what the kernel behaves.
std::string verdict_sentence(const ExplainResult& result);
/// What cannot be told apart, and what evidence there is; may be empty.
std::vector<std::string> remarks(const ExplainResult& result);

/// explain.csv: the claim, then the findings. `lift` is the net number of elements that a finding gains over the claim, as a
/// share of those that the claim gets wrong: 1 is all of them, 0 is no better than the claim.
reports::Table explain_table(const ExplainResult& result, const std::function<std::string(const Hypothesis&)>& command);

}  // namespace ulpscope::verify
