// SPDX-License-Identifier: Apache-2.0
// The statistics of a census element by element, with exact sums. It shares nothing with the studies but the
// record it fills; single values are rounded by emu::round_to, which other tests hold against MPFR.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::oracle {

/// A number of so many bits that nothing below is ever rounded.
class Exact {
 public:
  explicit Exact(double x = 0) {
    mpfr_init2(value_, 2000);
    mpfr_set_d(value_, x, MPFR_RNDN);
  }
  Exact(const Exact& other) : Exact() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Exact& operator=(const Exact& other) {
    if (this != &other) mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Exact() { mpfr_clear(value_); }

  Exact& operator+=(const Exact& other) {
    if (mpfr_add(value_, value_, other.value_, MPFR_RNDN) != 0) std::abort();
    return *this;
  }
  Exact& operator-=(const Exact& other) {
    if (mpfr_sub(value_, value_, other.value_, MPFR_RNDN) != 0) std::abort();
    return *this;
  }
  Exact squared() const {
    Exact square;
    if (mpfr_sqr(square.value_, value_, MPFR_RNDN) != 0) std::abort();
    return square;
  }
  Exact magnitude() const {
    Exact size;
    mpfr_abs(size.value_, value_, MPFR_RNDN);
    return size;
  }
  /// To the nearest double, ties to even.
  double nearest() const { return mpfr_get_d(value_, MPFR_RNDN); }

 private:
  mpfr_t value_;
};

struct Statistics {
  std::uint64_t counts[emu::outcome_count] = {};
  std::uint64_t nonzero = 0, lost = 0, lost_when_saturating = 0;
  double max_abs = 0, max_rel = 0, max_ulp = 0;
  Exact sum_abs, sum_signed, squares, saturating_squares, input_squares;
  long double sum_rel = 0;           ///< of quotients of 64 bits
  long double quotients_off_by = 0;  ///< what the sum may be off by: for each quotient 2^-44 of what bounds it
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  std::uint64_t largest_at = 0, smallest_at = 0;
};

/// Precondition: x * 2^log2_scale is a double.
inline Statistics census(std::span<const float> values, emu::Format format, int log2_scale, const emu::RoundingOptions& options,
                         double least_normal_input) {
  Statistics s;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(values[i]);
    const bool counts_as_zero = options.subnormals_are_zero && x != 0 && std::fabs(x) < least_normal_input;
    const double scaled = counts_as_zero ? std::copysign(0.0, x) : std::ldexp(x, log2_scale);
    const emu::Rounded result = emu::round_to(format, scaled, options);
    emu::Outcome outcome = result.outcome;
    if (counts_as_zero) outcome = format.has_zero() ? emu::Outcome::to_zero : emu::Outcome::rounded;
    ++s.counts[static_cast<int>(outcome)];
    if (!std::isfinite(x)) continue;

    const double magnitude = std::fabs(x);
    s.input_squares += Exact(x).squared();
    if (magnitude > s.largest) s.largest = magnitude, s.largest_at = i;
    if (magnitude != 0) {
      ++s.nonzero;
      if (magnitude < s.smallest) s.smallest = magnitude, s.smallest_at = i;
    }
    const bool saturates = outcome == emu::Outcome::overflow && (format.is_signed() || x > 0);
    const double saturated = saturates ? std::copysign(emu::max_finite(format), x) : result.value;
    if (std::isfinite(saturated)) {
      Exact error(std::ldexp(saturated, -log2_scale));
      error -= Exact(x);
      s.saturating_squares += error.squared();
    } else {
      ++s.lost_when_saturating;
    }
    if (!std::isfinite(result.value)) {
      ++s.lost;
      continue;
    }
    Exact error(std::ldexp(result.value, -log2_scale));
    error -= Exact(x);
    const double size = error.magnitude().nearest();
    s.sum_abs += error.magnitude();
    s.sum_signed += error;
    s.squares += error.squared();
    s.max_abs = std::max(s.max_abs, size);
    const int spacing = emu::spacing_exponent(format, std::ldexp(x, log2_scale));
    s.max_ulp = std::max(s.max_ulp, std::ldexp(size, log2_scale - spacing));
    if (magnitude == 0) continue;
    s.max_rel = std::max(s.max_rel, size / magnitude);
    const long double quotient = static_cast<long double>(size) / static_cast<long double>(magnitude);
    const double bound = std::max(1.0, magnitude == 0 ? 0 : std::ldexp(emu::min_positive(format), -log2_scale) / magnitude);
    const bool ordinary = outcome == emu::Outcome::exact || outcome == emu::Outcome::rounded;
    s.sum_rel += quotient;
    s.quotients_off_by += 1.25L * 0x1p-44L * (ordinary && bound <= 1 ? std::ldexp(1.0L, -format.fraction_bits) : 2 * bound);
  }
  return s;
}

}  // namespace ulpscope::oracle
