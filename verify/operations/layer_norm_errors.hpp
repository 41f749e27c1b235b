// SPDX-License-Identifier: Apache-2.0
// How far the moments of a row, as a kernel computes them, may be from the exact ones. docs/verify-operations.md derives this.
#pragma once

#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/layer_norm.hpp"

namespace ulpscope::verify {

/// Upper bounds of exact sums over a row of n elements x with the mean m.
struct RowSums {
  double n = 0;           ///< elements of the row
  double magnitudes = 0;  ///< of |x|
  double squares = 0;     ///< of x^2
  double centred = 0;     ///< of (x - m)^2; RMS norm: of x^2
};

/// Of the computed mean.
double mean_error(const KernelArithmetic& arithmetic, const RowSums& sums);

/// Of the computed sum of (x - m)^2.
double centred_error(const KernelArithmetic& arithmetic, const RowSums& sums, Variance variance);

/// Of the computed sum of x^2.
double squares_error(const KernelArithmetic& arithmetic, const RowSums& sums);

}  // namespace ulpscope::verify
