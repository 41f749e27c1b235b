// SPDX-License-Identifier: Apache-2.0
// Sums and updates whose terms become too small for what they are added to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::studies {

/// What a long sum comes to.
struct SumRow {
  std::string name;          ///< of the sum
  emu::Format format{};      ///< of every addition
  emu::Rounding rounding{};  ///< of every addition
  std::uint64_t terms = 0;   ///< that were added
  double value = 0;          ///< after all terms; of stochastic rounding the mean of the repetitions
  double deviation = 0;      ///< of stochastic rounding: their standard deviation
  double exact = 0;          ///< in float64
  /// |value - exact| over the sum of the magnitudes of all terms; of stochastic rounding the root mean square.
  double rel_error = 0;
  /// The first term from which on nothing changes, not even by as many terms again, which are those of an inner product once
  /// more; 0: changes still, or by chance.
  std::uint64_t stops_at = 0;
};

/// Which sums, and how long.
struct SumConfig {
  std::uint64_t terms = 16384;                              ///< of sums that have no number of their own
  std::vector<std::uint64_t> lengths{1000, 10000, 100000};  ///< of inner products
  std::uint64_t repetitions = 8;                            ///< under stochastic rounding
  std::uint64_t seed = 0;                                   ///< key of operands and of stochastic rounding
};

/// Numbers that inner products are made of, as many as the longest has.
struct SumOperands {
  /// Two vectors of the same length.
  struct Pair {
    std::vector<double> x, y;  ///< the factors
  };
  Pair uniform, normal;  ///< of U(0, 1); of N(0, 1)
};
/// As many as the longest of `config.lengths`.
SumOperands draw_operands(const SumConfig& config);

///   harmonic                          1 + 1/2 + 1/3 + ..., each term rounded
///   ones                              1 + 1 + 1 + ...
///   thousandths, thousandths_kahan    1 + 1000 times 0.001, plainly and with Kahan's compensation
///   sgd_weight                        w -= 0.01 (w - 1) from 0: gradient descent on (w - 1)^2/2; w alone is rounded
///   adam_second_moment                v = 0.999 v + 0.001: of gradients that are 1; v alone is rounded
///   dot_uniform, dot_normal           inner products, products and sums rounded
std::vector<SumRow> sums_of(emu::Format format, const emu::RoundingOptions& options, const SumConfig& config,
                            const SumOperands& operands);

}  // namespace ulpscope::studies
