// SPDX-License-Identifier: Apache-2.0
// Counts and error sums of one tensor in one format. Sums are formed in sixteen lanes of a chunk, and chunks are merged in
// their order (PairwiseSums): the bits depend on neither threads nor machine.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "emu/rounding.hpp"

namespace ulpscope::studies {

/// A sum of squares that neither overflows nor underflows: large, ordinary and small terms apart, each at its own scale
/// (J. L. Blue, "A portable Fortran program to find the Euclidean norm of a vector", ACM TOMS 4 (1978), section 2).
class SquareSum {
 public:
  /// Squares of numbers between them are summed as they are.
  static constexpr double least_ordinary = 0x1p-500, most_ordinary = 0x1p500;

  /// Whether ordinary() takes the square of x; those of zeros may be added to it, too.
  static bool is_ordinary(double x) noexcept { return std::fabs(x) >= least_ordinary && std::fabs(x) <= most_ordinary; }
  /// Adds x^2.
  void add(double x) noexcept {
    const double magnitude = std::fabs(x);
    if (magnitude > most_ordinary) {
      large_ += (x * 0x1p-600) * (x * 0x1p-600);
    } else if (magnitude < least_ordinary) {
      small_ += (x * 0x1p600) * (x * 0x1p600);
    } else {
      ordinary_ += x * x;
    }
  }
  /// What add() adds the squares of ordinary numbers to.
  double& ordinary() noexcept { return ordinary_; }
  /// Adds the sum of another.
  void merge(const SquareSum& other) noexcept {
    large_ += other.large_;
    ordinary_ += other.ordinary_;
    small_ += other.small_;
  }
  /// significand * 2^exponent, exponent even, as near as doubles are.
  static SquareSum of(double significand, int exponent) noexcept {
    SquareSum sum;
    const int leading = significand == 0 ? 0 : std::ilogb(significand) + exponent;
    double& part = leading > 1000 ? sum.large_ : leading < -1000 ? sum.small_ : sum.ordinary_;
    part = std::ldexp(significand, exponent + (leading > 1000 ? -1200 : leading < -1000 ? 1200 : 0));
    return sum;
  }
  /// The sums of large, ordinary and small terms, each at its own scale.
  std::array<double, 3> parts() const noexcept { return {large_, ordinary_, small_}; }
  /// The sum that has these parts.
  static SquareSum of_parts(const std::array<double, 3>& parts) noexcept {
    SquareSum sum;
    sum.large_ = parts[0], sum.ordinary_ = parts[1], sum.small_ = parts[2];
    return sum;
  }
  /// Whether nothing but zeros was added.
  bool is_zero() const noexcept { return large_ == 0 && ordinary_ == 0 && small_ == 0; }

  /// The sum is significand * 2^exponent.
  struct Value {
    double significand;  ///< not normalised
    int exponent;        ///< 1200, 0 or -1200
  };
  /// The sum, which may exceed the range of double.
  Value value() const noexcept {
    if (large_ != 0) return {large_ + ordinary_ * 0x1p-600 * 0x1p-600, 1200};
    if (ordinary_ != 0) return {ordinary_ + small_ * 0x1p-600 * 0x1p-600, 0};
    return {small_, -1200};
  }

 private:
  double large_ = 0, ordinary_ = 0, small_ = 0;
};

/// A sum of numbers that may exceed the range of double, where their mean does not: those beyond most_ordinary are summed
/// apart.
class LargeSum {
 public:
  /// 2^63 of these have a finite sum.
  static constexpr double most_ordinary = 0x1p960;

  /// Adds a number beyond most_ordinary.
  void add(double x) noexcept { scaled_ += x * 0x1p-100; }
  /// Adds the sum of another.
  void merge(const LargeSum& other) noexcept { scaled_ += other.scaled_; }
  /// The mean of n numbers, `ordinary` being the sum of those that are not summed here.
  double mean(double ordinary, std::uint64_t n) const noexcept {
    const auto count = static_cast<double>(n);
    return scaled_ == 0 ? ordinary / count : (scaled_ + ordinary * 0x1p-100) / count * 0x1p100;
  }
  /// The sum times 2^-100.
  double scaled() const noexcept { return scaled_; }
  /// The sum that has this.
  static LargeSum of_scaled(double scaled) noexcept {
    LargeSum sum;
    sum.scaled_ = scaled;
    return sum;
  }

 private:
  double scaled_ = 0;
};

/// sqrt(sum / n).
double root_mean(const SquareSum& sum, std::uint64_t n);

/// 10 log10(signal / error): inf when the error is zero.
double decibels(const SquareSum& signal, const SquareSum& error);

/// An element by value and place.
struct Extreme {
  double magnitude;     ///< of the element; infinite where there is none
  std::uint64_t index;  ///< in the tensor
};

/// Counts of outcomes and sums of errors over the elements of a tensor, in one format and scale.
struct ErrorSums {
  std::array<std::uint64_t, emu::outcome_count> counts{};  ///< by emu::Outcome
  std::uint64_t nonzero = 0;                               ///< finite nonzero inputs
  std::uint64_t lost = 0;                                  ///< finite inputs that became infinite or NaN
  std::uint64_t lost_when_saturating = 0;                  ///< the same under saturating overflow
  /// Absolute, signed, relative errors and errors in ulp, over finite inputs.
  double max_abs = 0, sum_abs = 0, sum_signed = 0, max_rel = 0, sum_rel = 0, max_ulp = 0;
  LargeSum large_abs, large_signed;          ///< what sum_abs and sum_signed leave out, as it is large
  SquareSum input, error, saturating_error;  ///< sums of squares: of inputs, of errors, and of errors under saturating overflow
  Extreme largest{0, 0};                     ///< finite
  Extreme smallest{std::numeric_limits<double>::infinity(), 0};  ///< finite nonzero

  /// All elements.
  std::uint64_t count() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t c : counts) sum += c;
    return sum;
  }
  /// Elements of one class.
  std::uint64_t of(emu::Outcome outcome) const noexcept { return counts[static_cast<std::size_t>(outcome)]; }
  /// Elements that are neither NaN nor infinite.
  std::uint64_t finite() const noexcept { return count() - of(emu::Outcome::nan) - of(emu::Outcome::infinite); }

  /// Adds what follows in the tensor.
  void merge(const ErrorSums& next) noexcept;
};

}  // namespace ulpscope::studies
