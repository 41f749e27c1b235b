// SPDX-License-Identifier: Apache-2.0
// Whether results of stochastic rounding have its odds: that they are neighbours of the exact numbers says nothing of that.
#pragma once

#include <cstdint>
#include <string>

#include "emu/rounding.hpp"

namespace ulpscope::verify {

/// Counts how often numbers were rounded away from zero, and how often they should have been. Each is so with probability
/// p = floor(f 2^r) / 2^r, f being the discarded fraction and r the random bits, whatever the others are. With u = 1 where it
/// was, else 0, these have mean 0 and variance 1, and are normal where the numbers are many (Lindeberg), p (1 - p) being the
/// variance v of u:
///   bias        sum of u - p over the root of the sum of v
///   slope       sum of (u - p) (p - 1/2) over the root of the sum of v (p - 1/2)^2: rounding that does not depend on p enough
///   neighbours  sum of the products of u - p of neighbours over the root of the sum of the products of their v: random bits
///               that two numbers share
class StochasticOdds {
 public:
  /// Adds the number that follows the last one. `rounded` is one of its two neighbours; a number that is its own is passed
  /// over.
  void add(double exact, double rounded, const emu::RoundingOptions& options, double toward_zero, double away);
  /// Adds those of another part, whose first number follows the last one here.
  void merge(const StochasticOdds& other);

  /// Numbers of which fewer say nothing: those whose variances add up to this.
  static constexpr double least_variance = 100;
  /// The greatest magnitude of the three that is not called wrong. Right results exceed it once in 10^6 outputs:
  /// 3 erfc(5.11 / sqrt(2)) < 10^-6.
  static constexpr double greatest = 5.11;

  std::uint64_t count() const noexcept { return count_; }                       ///< numbers that lie between two neighbours
  bool says_something() const noexcept { return variance_ >= least_variance; }  ///< whether they are enough
  double bias() const noexcept;                                                 ///< see above
  double slope() const noexcept;                                                ///< see above
  double neighbours() const noexcept;                                           ///< see above
  /// What is wrong, in a sentence; empty where nothing is, or too few numbers say something.
  std::string fault() const;

 private:
  std::uint64_t count_ = 0, away_ = 0;
  double expected_ = 0, variance_ = 0, slope_ = 0, slope_variance_ = 0, products_ = 0, products_variance_ = 0;
  double last_rest_ = 0, last_variance_ = 0;
};

}  // namespace ulpscope::verify
