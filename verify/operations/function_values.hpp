// SPDX-License-Identifier: Apache-2.0
// Functions in float64, quickly, and how far they may be from the exact value. They are made of those of emu/math.hpp and
// emu/special_functions.hpp, whose errors are below 1 ulp, so that they have the same bits on every machine;
// tests/verify/function_values_test.cpp holds the bound against MPFR. At NaN, infinities and zeros they are what
// emu/elementary.hpp has.
#pragma once

#include <cmath>
#include <limits>

namespace ulpscope::verify {

/// What a function of this header may be off by where its value is y, finite: 4 ulp, of subnormal numbers 4 spacings.
inline double value_radius(double y) noexcept { return std::fabs(y) * 0x1p-50 + 4 * std::numeric_limits<double>::denorm_min(); }

/// Of the name that elementwise_words() has.
///@{
double quick_cosh(double x) noexcept;
double quick_exp2(double x) noexcept;
double quick_gelu(double x) noexcept;
double quick_gelu_tanh(double x) noexcept;
double quick_log1p(double x) noexcept;
double quick_rsqrt(double x) noexcept;
double quick_sigmoid(double x) noexcept;
double quick_silu(double x) noexcept;
double quick_sinh(double x) noexcept;
double quick_softplus(double x) noexcept;
double quick_tan(double x) noexcept;
///@}

}  // namespace ulpscope::verify
