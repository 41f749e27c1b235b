// SPDX-License-Identifier: Apache-2.0
// Sums of numbers that are not negative, of balls or in 200 digits. Balls are added in two doubles: half an ulp for each term
// would leave float64 without an answer for a share of the elements that grows with the row.
#pragma once

#include "verify/double_double.hpp"
#include "verify/operations/ball.hpp"

namespace ulpscope::verify {

/// A sum of terms of at least 0.
template <class T>
class PositiveSum {
 public:
  void add(const T& term) { total_ = total_ + term; }  ///< a term more
  T total() const { return total_; }                   ///< of those so far

 private:
  T total_ = T(0.0);
};

/// Of balls: its radius is that of the terms and one rounding.
template <>
class PositiveSum<Ball> {
 public:
  /// A term more.
  void add(const Ball& term) {
    values_ = values_ + term.value;
    radii_ += term.radius;
    ++count_;
  }
  /// Every addition of values loses 2^-102 of the sum, every one of radii 2^-53.
  Ball total() const {
    const double inherited = radii_ * (1 + count_ * 0x1p-52) + values_.high * count_ * 0x1p-100;
    return detail::rounded_ball(values_.high, inherited);
  }

 private:
  DoubleDouble values_;
  double radii_ = 0, count_ = 0;
};

}  // namespace ulpscope::verify
