// SPDX-License-Identifier: Apache-2.0
// The elementary functions of emu/elementary.hpp for Number, found by argument-dependent lookup. Host only.
#pragma once

#include "emu/elementary.hpp"
#include "emu/number_functions.hpp"
#include "emu/number_type.hpp"

namespace ulpscope::emu {

/// e^x
template <Format F, RoundingOptions O>
constexpr Number<F, O> exp(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(exp(F, x.code(), O));
}
/// 2^x
template <Format F, RoundingOptions O>
constexpr Number<F, O> exp2(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(exp2(F, x.code(), O));
}
/// 10^x
template <Format F, RoundingOptions O>
constexpr Number<F, O> exp10(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(exp10(F, x.code(), O));
}
/// e^x - 1
template <Format F, RoundingOptions O>
constexpr Number<F, O> expm1(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(expm1(F, x.code(), O));
}
/// ln x
template <Format F, RoundingOptions O>
constexpr Number<F, O> log(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(log(F, x.code(), O));
}
/// The logarithm to base 2.
template <Format F, RoundingOptions O>
constexpr Number<F, O> log2(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(log2(F, x.code(), O));
}
/// The logarithm to base 10.
template <Format F, RoundingOptions O>
constexpr Number<F, O> log10(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(log10(F, x.code(), O));
}
/// ln(1 + x)
template <Format F, RoundingOptions O>
constexpr Number<F, O> log1p(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(log1p(F, x.code(), O));
}
/// x in radians
template <Format F, RoundingOptions O>
constexpr Number<F, O> sin(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(sin(F, x.code(), O));
}
/// cos x, x in radians.
template <Format F, RoundingOptions O>
constexpr Number<F, O> cos(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(cos(F, x.code(), O));
}
/// tan x, x in radians.
template <Format F, RoundingOptions O>
constexpr Number<F, O> tan(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(tan(F, x.code(), O));
}
/// sin(pi x)
template <Format F, RoundingOptions O>
constexpr Number<F, O> sinpi(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(sinpi(F, x.code(), O));
}
/// cos(pi x)
template <Format F, RoundingOptions O>
constexpr Number<F, O> cospi(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(cospi(F, x.code(), O));
}
/// tan(pi x)
template <Format F, RoundingOptions O>
constexpr Number<F, O> tanpi(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(tanpi(F, x.code(), O));
}
/// The hyperbolic sine.
template <Format F, RoundingOptions O>
constexpr Number<F, O> sinh(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(sinh(F, x.code(), O));
}
/// The hyperbolic cosine.
template <Format F, RoundingOptions O>
constexpr Number<F, O> cosh(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(cosh(F, x.code(), O));
}
/// The hyperbolic tangent.
template <Format F, RoundingOptions O>
constexpr Number<F, O> tanh(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(tanh(F, x.code(), O));
}
/// The angle in radians, from -pi/2 to pi/2, whose tangent is x.
template <Format F, RoundingOptions O>
constexpr Number<F, O> atan(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(atan(F, x.code(), O));
}
/// The angle in radians, from -pi/2 to pi/2, whose sine is x.
template <Format F, RoundingOptions O>
constexpr Number<F, O> asin(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(asin(F, x.code(), O));
}
/// The angle in radians, from 0 to pi, whose cosine is x.
template <Format F, RoundingOptions O>
constexpr Number<F, O> acos(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(acos(F, x.code(), O));
}
/// The number whose hyperbolic sine is x.
template <Format F, RoundingOptions O>
constexpr Number<F, O> asinh(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(asinh(F, x.code(), O));
}
/// The number, not negative, whose hyperbolic cosine is x.
template <Format F, RoundingOptions O>
constexpr Number<F, O> acosh(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(acosh(F, x.code(), O));
}
/// The number whose hyperbolic tangent is x.
template <Format F, RoundingOptions O>
constexpr Number<F, O> atanh(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(atanh(F, x.code(), O));
}
/// The error function.
template <Format F, RoundingOptions O>
constexpr Number<F, O> erf(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(erf(F, x.code(), O));
}
/// 1 - erf x
template <Format F, RoundingOptions O>
constexpr Number<F, O> erfc(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(erfc(F, x.code(), O));
}
/// The cube root.
template <Format F, RoundingOptions O>
constexpr Number<F, O> cbrt(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(cbrt(F, x.code(), O));
}
/// 1/sqrt(x)
template <Format F, RoundingOptions O>
constexpr Number<F, O> rsqrt(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(rsqrt(F, x.code(), O));
}
/// 1/(1 + e^-x)
template <Format F, RoundingOptions O>
constexpr Number<F, O> sigmoid(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(sigmoid(F, x.code(), O));
}
/// ln(1 + e^x)
template <Format F, RoundingOptions O>
constexpr Number<F, O> softplus(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(softplus(F, x.code(), O));
}
/// x (1 + erf(x/sqrt(2)))/2
template <Format F, RoundingOptions O>
constexpr Number<F, O> gelu(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(gelu(F, x.code(), O));
}
/// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))/2
template <Format F, RoundingOptions O>
constexpr Number<F, O> gelu_tanh(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(gelu_tanh(F, x.code(), O));
}
/// x/(1 + e^-x)
template <Format F, RoundingOptions O>
constexpr Number<F, O> silu(Number<F, O> x) noexcept {
  return detail::number<Number<F, O>>(silu(F, x.code(), O));
}

}  // namespace ulpscope::emu
