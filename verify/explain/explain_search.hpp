// SPDX-License-Identifier: Apache-2.0
// Tries hypotheses on growing samples, within a time, and counts the survivors over all of D.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

#include "verify/explain/explain.hpp"
#include "verify/explain/explain_sample.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {

/// Hypotheses, and how much of a sample they reproduce.
struct Tried {
  std::vector<Hypothesis> hypotheses;  ///< in the order they were given
  Region sample;                       ///< of D
  std::vector<Score> scores;           ///< of each; nothing changed where the time was over
};

/// Hypotheses against one D.
class HypothesisSearch {
 public:
  /// Replays the claim; then the time starts. The configuration, the claim and the data have to outlive it.
  HypothesisSearch(const ExplainConfig& config, const Claim& claim, const MatmulData& data, std::vector<double> d);

  /// D and the claim.
  const ReplayedOutputs& evidence() const noexcept { return evidence_; }
  /// Hypotheses that were not tried, or not to the end, since the time was over.
  std::size_t skipped() const noexcept { return skipped_; }
  /// Samples that every single cause meets, and every pair.
  ///@{
  Region sample_of_singles() const;
  Region sample_of_pairs() const;
  ///@}

  /// Hypotheses that are not the claim on a larger sample, where the claim holds. The time does not end it before one is.
  std::size_t distinct(const std::vector<Hypothesis>& hypotheses) const;
  /// Tries hypotheses on a sample; those that are not in time count as skipped.
  Tried tried(std::vector<Hypothesis> hypotheses, const Region& sample) const;
  /// Those that explain D, in their order.
  std::vector<Finding> explaining(const Tried& tried) const;
  /// Those that come nearest, in their order, where none explains D.
  std::vector<Finding> best(const Tried& tried) const;
  /// Whether no hypothesis is tried any more.
  bool is_trying_over() const;

 private:
  bool is_over(double share) const;
  bool explains(const Score& score) const;
  Score score(const Hypothesis& hypothesis, const Region& region) const;
  std::vector<Score> scored(const std::vector<Hypothesis>& hypotheses, const Region& region, double share,
                            std::atomic<std::size_t>* skipped) const;
  bool survives(const Score& score, const Region& region) const;
  std::vector<std::size_t> surviving(std::vector<std::size_t> indices, const std::vector<Score>& scores,
                                     const Region& region) const;
  std::vector<Score> scored_on_second(const std::vector<Hypothesis>& hypotheses, const std::vector<std::size_t>& some,
                                      double share, std::atomic<std::size_t>* skipped) const;
  std::vector<std::size_t> surviving_second(const std::vector<Hypothesis>& hypotheses,
                                            const std::vector<std::size_t>& alive) const;
  std::vector<std::size_t> best_on_second(const std::vector<Hypothesis>& hypotheses,
                                          const std::vector<std::size_t>& some) const;
  Finding confirmed(const Hypothesis& hypothesis) const;

  const ExplainConfig& config_;
  const Claim& claim_;
  mutable std::atomic<std::size_t> skipped_ = 0;
  ReplayedOutputs evidence_;
  std::chrono::steady_clock::time_point start_;
  Region second_;
};

}  // namespace ulpscope::verify
