// SPDX-License-Identifier: Apache-2.0
// Whether results of stochastic rounding have its odds: that they are neighbours of the exact numbers says nothing of that.
#pragma once

#include <cstdint>
#include <string>

#include "emu/rounding.hpp"

namespace ulpscope::verify {

/// Counts how often numbers were rounded away from zero, and how often they should have been. Each is so with probability
/// p = floor(f 2^r) / 2^r, f being the discarded fraction and r the random bits, whatever the others are. With u = 1 where it
/// was, else 0, three sums have mean 0:
///   bias        of u - p
///   slope       of (u - p) (p - 1/2): rounding that does not depend on p enough, or too much
///   neighbours  of the products of u - p of neighbours: random bits that two numbers share
/// A sum S whose terms are at most M and whose variance is V is as far from 0 with a chance of at most 2 exp(-x), where
/// x = S^2 / (2 (V + M |S| / 3)) (Bernstein); of neighbours V is what the former of each two was, squared, times the variance
/// of the latter, summed (Freedman, Ann. Probab. 3 (1975), 100). Where p is 0 it may not happen at all.
class StochasticOdds {
 public:
  /// Adds the number that follows the last one. `rounded` is one of its two neighbours; a number that is its own is passed
  /// over.
  void add(double exact, double rounded, const emu::RoundingOptions& options, double toward_zero, double away);
  /// Adds those of another part, whose first number follows the last one here.
  void merge(const StochasticOdds& other);

  /// Numbers of which fewer are said to say too little: those whose variances p (1 - p) add up to this.
  static constexpr double least_variance = 100;

  std::uint64_t count() const noexcept { return count_; }  ///< numbers that lie between two neighbours
  bool says_something() const noexcept { return bias_.variance >= least_variance; }  ///< whether they are enough
  /// What is wrong, in a sentence; empty where nothing is. Right results are called wrong once in 10^6 outputs.
  std::string fault() const;

 private:
  /// A sum of mean 0.
  struct Sum {
    double of = 0, variance = 0, most = 0;
    void add(double term, double its_variance, double its_most) noexcept;
    void merge(const Sum& other) noexcept;
    double exponent() const noexcept;
  };
  std::uint64_t count_ = 0, away_ = 0, never_away_ = 0;
  double expected_ = 0, last_rest_ = 0;
  Sum bias_, slope_, neighbours_;
};

}  // namespace ulpscope::verify
