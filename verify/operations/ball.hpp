// SPDX-License-Identifier: Apache-2.0
// A double and how far the exact number may be from it. Every operation of IEEE 754 on doubles adds half an ulp, 2^-53 of the
// result, and half the least subnormal, 2^-1075; the radius itself is computed with a margin of 2^-49 for its own roundings.
// J. van der Hoeven, "Ball arithmetic", 2009.
#pragma once

#include <cmath>
#include <limits>

#include "emu/math.hpp"

namespace ulpscope::verify {

/// A number known up to a radius.
struct Ball {
  double value = 0, radius = 0;  ///< the exact number lies within `radius` of `value`

  constexpr Ball() = default;
  /// Known exactly.
  constexpr explicit Ball(double exact) : value(exact) {}
  /// Within r of v.
  constexpr Ball(double v, double r) : value(v), radius(r) {}
};

namespace detail {
constexpr Ball rounded_ball(double value, double inherited) {
  constexpr double margin = 1 + 0x1p-49, least = std::numeric_limits<double>::denorm_min();
  const double size = value < 0 ? -value : value;
  return {value, (inherited + size * 0x1p-53 + least) * margin};
}
}  // namespace detail

/// The largest magnitude of the exact number.
inline double upper(const Ball& x) { return std::abs(x.value) + x.radius; }

/// Of -a.
inline Ball operator-(const Ball& a) { return {-a.value, a.radius}; }
/// Of the sum, with the rounding of `value`.
inline Ball operator+(const Ball& a, const Ball& b) { return detail::rounded_ball(a.value + b.value, a.radius + b.radius); }
/// Of the difference, with the rounding of `value`.
inline Ball operator-(const Ball& a, const Ball& b) { return a + -b; }
/// Of the product, with the rounding of `value`.
inline Ball operator*(const Ball& a, const Ball& b) {
  const double inherited = std::abs(a.value) * b.radius + std::abs(b.value) * a.radius + a.radius * b.radius;
  return detail::rounded_ball(a.value * b.value, inherited);
}
/// Precondition: b does not contain 0.
inline Ball operator/(const Ball& a, const Ball& b) {
  const double quotient = a.value / b.value;
  return detail::rounded_ball(quotient, (a.radius + std::abs(quotient) * b.radius) / (std::abs(b.value) - b.radius));
}
/// Precondition: x holds no negative number and not 0. |sqrt(y) - sqrt(x)| = |y - x| / (sqrt(y) + sqrt(x)).
inline Ball sqrt(const Ball& x) {
  const double root = std::sqrt(x.value);
  return detail::rounded_ball(root, x.radius / root);
}
/// e^x. emu::exp errs by less than 0.8 ulp, 1.6 * 2^-53 of the result, or 1.1 of the least spacing.
inline Ball exp(const Ball& x) {
  constexpr double least = -746;  // e^-746 is less than the least double
  if (x.value + x.radius < least) return {0, std::numeric_limits<double>::denorm_min()};
  const double value = emu::exp(x.value);
  return detail::rounded_ball(value, value * (emu::expm1(x.radius) + 0x1p-52) + 0x1p-1073);
}

}  // namespace ulpscope::verify
