// SPDX-License-Identifier: Apache-2.0
// Functions of double, quick ones: within 4 ulp of the exact value (of subnormal values within 4 spacings), the same bits on
// every machine, made of those of emu/math.hpp and emu/special_functions.hpp. tests/verify/function_values_test.cpp holds the
// bound against MPFR. NaN gives NaN; zeros and infinities give what emu/elementary.hpp has.
#pragma once

#include "emu/math.hpp"

namespace ulpscope::emu {

namespace detail {
/// gelu_tanh(x) = x sigmoid(factor (x + cubic x^3)): cubic is 0.044715, factor 2 sqrt(2/pi).
inline constexpr Pair gelu_tanh_cubic = divide({44715, 0}, {1e6, 0});
Pair gelu_tanh_factor();  ///< likewise
}  // namespace detail

/// Of the names in emu/elementary.hpp.
///@{
double acos(double x) noexcept;
double acosh(double x) noexcept;
double asin(double x) noexcept;
double asinh(double x) noexcept;
double atanh(double x) noexcept;
double cosh(double x) noexcept;
double cospi(double x) noexcept;
double erfc(double x) noexcept;
double exp10(double x) noexcept;
double exp2(double x) noexcept;
double gelu(double x) noexcept;
double gelu_tanh(double x) noexcept;
double log1p(double x) noexcept;
double rsqrt(double x) noexcept;
double sigmoid(double x) noexcept;
double silu(double x) noexcept;
double sinh(double x) noexcept;
double sinpi(double x) noexcept;
double softplus(double x) noexcept;
double tan(double x) noexcept;
double tanpi(double x) noexcept;
///@}

}  // namespace ulpscope::emu
