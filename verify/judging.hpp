// SPDX-License-Identifier: Apache-2.0
// Elements of an output against what they should have been, and what they add to a verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "studies/census/error_sums.hpp"
#include "verify/expected.hpp"
#include "verify/judging_kernels.hpp"
#include "verify/stochastic_odds.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::verify {

/// What neighbouring elements add to a verdict.
struct JudgedPart {
  Verdict counts;                          ///< counts, greatest errors, worst elements
  double signed_ulp = 0, abs_ulp = 0;      ///< sums of errors in ulps
  std::uint64_t finite = 0;                ///< elements finite on both sides
  studies::SquareSum exact, error;         ///< of these
  StochasticOdds odds = {};                ///< of conversions that round stochastically
  std::vector<std::uint64_t> wrong = {};   ///< indices
  std::vector<double> wrong_outputs = {};  ///< what stands there
};

/// Most elements are decided in vectors (judging_kernels.hpp), the others by judge(); the verdict is the same as if it had been
/// asked of each.
class Judge {
 public:
  static constexpr std::size_t most_worst = 10;  ///< elements that are kept as the worst

  /// Both are kept by reference.
  Judge(const Expectation& expectation, const LastRounding& last);

  /// Adds elements `first` and those behind it to a part.
  void add(JudgedPart& part, std::uint64_t first, std::span<const Expected> expected, std::span<const double> outputs) const;
  /// The same of a block. What lies behind its last element is overwritten.
  void add(JudgedPart& part, std::uint64_t first, ExpectedBlock& expected, std::span<const double> outputs) const;

 private:
  void round_ends(std::size_t count, JudgedBlock& block) const;
  void decide(JudgedPart& part, std::uint64_t first, const ExpectedBlock& expected, JudgedBlock& block) const;
  void add_plain(JudgedPart& part, std::uint64_t first, const ExpectedBlock& expected, const JudgedBlock& block,
                 const JudgedSums& sums) const;
  void add_one(JudgedPart& part, std::uint64_t index, JudgedElement judged, const Expected& expected, double output) const;
  void add_odds(StochasticOdds& odds, double exact, double output) const;

  const Expectation& expectation_;
  const LastRounding& last_;
  double greatest_;  ///< the greatest that is not made less
  JudgedQuestion question_;
  bool in_vectors_, in_float_;
};

/// Whether the first of two elements comes first among the worst: wrong ones first, then by how far they are off, then by
/// index.
bool is_worse(const WorstElement& a, const WorstElement& b);

}  // namespace ulpscope::verify
