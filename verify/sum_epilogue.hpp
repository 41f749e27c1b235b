// SPDX-License-Identifier: Apache-2.0
// What alpha, beta and C make of a sum of products: the element, its bound, and what it may overflow to.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "verify/expected.hpp"

namespace ulpscope::verify {

/// alpha * (sum + C), or alpha * sum + beta * C.
class SumEpilogue {
 public:
  /// How it is computed.
  struct Options {
    double alpha = 1, beta = 1;         ///< factors of the sum and of C
    bool c_is_last = false;             ///< C joins after alpha; else `beta` counts for nothing
    double roundings = 0;               ///< of a sum here, in float64
    double relative = 0, absolute = 0;  ///< what a kernel's error is allowed, of the sum of magnitudes and beside it
    double largest = 0;                 ///< of the format in which a kernel adds
  };
  /// Of this sum.
  explicit SumEpilogue(const Options& options) : options_(options) {}

  double alpha() const noexcept { return options_.alpha; }         ///< factor of the sum
  double beta() const noexcept { return options_.beta; }           ///< factor of C
  bool c_is_last() const noexcept { return options_.c_is_last; }   ///< whether C joins after alpha
  double largest() const noexcept { return options_.largest; }     ///< of the format in which a kernel adds
  double grown() const noexcept { return 1 + options_.relative; }  ///< how much larger a kernel's sums may be

  /// The element of a sum and C.
  double value_of(double sum, double c) const noexcept {
    return options_.c_is_last ? options_.alpha * sum + options_.beta * c : options_.alpha * (sum + c);
  }
  /// The element of a float64 sum, of a sum of magnitudes, and C, before the last rounding.
  Expected finish(double sum, double magnitude, double c) const noexcept {
    const double value = value_of(sum, c), size = size_of(magnitude, c);
    return {.value = value,
            .radius = std::isfinite(value) ? error_of(size) : 0,
            .allowed = options_.relative * size * (1 + 0x1p-20) + options_.absolute,
            .magnitude = size,
            .may_overflow = overflow_of_sums(sum, magnitude, c, 1)};
  }

  /// Of a sum of finite terms in any order, by float64 sums whose errors count so many times: with 1 all that may be, with -1
  /// what is for certain.
  Overflow overflow_of_sums(double sum, double magnitude, double c, double errors) const noexcept;
  /// Whether terms that overflow may be lost in float64 sums of these magnitudes, before alpha and after it.
  bool hides_overflow(double magnitude, double size) const noexcept {
    return !(error_of(std::max(magnitude, size)) <= 0x1p-20 * options_.largest);
  }
  /// Of the sum of these products in any order, before alpha multiplies it or after that. `value`: the exact result, which may
  /// be infinite.
  Overflow overflow_of_terms(std::span<const double> products, double c, double value) const noexcept;

 private:
  /// Every sum and factor rounds once: gamma_n with more n than there are, and the loss of tiny products.
  double error_of(double magnitude) const noexcept {
    return options_.roundings * 0x1p-53 * (1 + 0x1p-20) * magnitude + 0x1p-1060;
  }
  double size_of(double magnitude, double c) const noexcept {
    return std::fabs(options_.alpha) * magnitude + std::fabs((options_.c_is_last ? options_.beta : options_.alpha) * c);
  }
  Overflow after_alpha(Overflow of_sum, double c) const noexcept;

  Options options_;
};

}  // namespace ulpscope::verify
