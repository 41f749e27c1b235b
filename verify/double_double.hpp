// SPDX-License-Identifier: Apache-2.0
// Unevaluated sums of two doubles, |low| at most half an ulp of high: about 106 bits.
#pragma once

#include <cmath>

#include "emu/bulk.hpp"
#include "emu/encode.hpp"
#include "emu/format.hpp"

namespace ulpscope::verify {

/// The number high + low.
struct DoubleDouble {
  double high = 0, low = 0;  ///< |low| at most half an ulp of high
};

/// D. E. Knuth, TAOCP 2, 4.2.2, theorem B: x + y without error.
inline DoubleDouble exact_add(double x, double y) noexcept {
  const double sum = x + y, of_y = sum - x;
  return {sum, std::isfinite(sum) ? (x - (sum - of_y)) + (y - of_y) : 0};
}

/// x * y within 2^-102, relatively.
inline DoubleDouble operator*(DoubleDouble x, double y) noexcept {
  const double product = x.high * y;
  if (!std::isfinite(product)) return {product, 0};
  return exact_add(product, std::fma(x.high, y, -product) + x.low * y);
}

/// x + y within 2^-102 of |x| + |y|.
inline DoubleDouble operator+(DoubleDouble x, DoubleDouble y) noexcept {
  const DoubleDouble sum = exact_add(x.high, y.high);
  return exact_add(sum.high, sum.low + (x.low + y.low));
}
inline DoubleDouble operator+(DoubleDouble x, double y) noexcept { return x + DoubleDouble{y, 0}; }

/// x as a double rounded to odd, from which any rounding to a format of two bits less is that of x (S. Boldo and G. Melquiond,
/// IEEE Trans. Comput. 57 (2008), 462).
inline double rounded_to_odd(DoubleDouble x) noexcept {
  const bool is_even = (emu::bit_cast<std::uint64_t>(x.high) & 1) == 0;
  if (x.low == 0 || !std::isfinite(x.high) || !is_even) return x.high;
  return std::nextafter(x.high, x.low > 0 ? HUGE_VAL : -HUGE_VAL);
}

/// x rounded once, to nearest even.
inline double rounded_once(DoubleDouble x, emu::Format out) noexcept {
  return emu::round_to(out, emu::fits_float(out) ? rounded_to_odd(x) : x.high).value;
}

}  // namespace ulpscope::verify
