// SPDX-License-Identifier: Apache-2.0
// How far the moments of a row, as a kernel computes them, may be from the exact ones. docs/verify-operations.md derives this.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/layer_norm.hpp"

namespace ulpscope::verify {

/// Upper bounds of exact sums over a row of n elements x with the mean m.
struct RowSums {
  double n = 0;           ///< elements of the row
  double magnitudes = 0;  ///< of |x|
  double squares = 0;     ///< of x^2
  double centred = 0;     ///< of (x - m)^2; RMS norm: of x^2
  double mean = 0;        ///< |m|; RMS norm: 0
};

/// How a kernel finds the sum of (x - m)^2, or of x^2.
enum class MomentWay : std::uint8_t {
  squares,   ///< RMS norm: of x^2
  two_pass,  ///< the mean, and then the sum
  updates,   ///< both at once, by Welford's updates and Chan's merges
  one_pass   ///< sum of x^2 less n m^2
};

/// Those that a declaration allows.
std::vector<MomentWay> ways_of(Norm norm, Variance variance);

/// How far the computed mean and the computed sum of (x - m)^2, or of x^2, may be off. The error of each is at most the sum of
/// both members; `random_` ones are what random roundings come to, but for the declared probability.
struct MomentErrors {
  double mean = 0, squares = 0;                ///< certain bounds
  double random_mean = 0, random_squares = 0;  ///< 0 where none is taken as random
  /// Whether no rounding takes part in both random errors, so that the squares of their effects add up.
  bool independent = false;
};

/// For any roundings.
MomentErrors worst_errors(const KernelArithmetic& arithmetic, const RowSums& sums, MomentWay way);

/// For random ones (verify/operations/random_sums.hpp) of `rows` rows, which together and with each of their elements are
/// beyond them with the probability `false_alarm`. `centred`: the elements less the mean, in the order of memory. Not for
/// `one_pass`.
MomentErrors random_errors(const KernelArithmetic& arithmetic, const RowSums& sums, MomentWay way, std::span<const float> x,
                           std::span<const double> centred, double rows, double false_alarm);

}  // namespace ulpscope::verify
