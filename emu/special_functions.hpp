// SPDX-License-Identifier: Apache-2.0
// More functions of double, the same bits on every machine: circular and hyperbolic functions, the error function, the normal
// quantile. As in emu/math.hpp they are made of add, multiply, divide, square root and bit operations, all of which IEEE 754
// rounds exactly, and of the integers of emu/transcendental.hpp. tests/emu/special_functions_test.cpp holds the bounds against
// MPFR. NaN gives NaN.
#pragma once

namespace ulpscope::emu {

/// sin x and cos x, x in radians, error below 0.9 ulp for every x; of infinities NaN.
double sin(double x) noexcept;
/// cos x, x in radians, error below 0.9 ulp for every x; of infinities NaN.
double cos(double x) noexcept;
/// Error below 0.8 ulp.
double tanh(double x) noexcept;
/// 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x; error below 0.8 ulp.
double erf(double x) noexcept;
/// The z with P(Z <= z) = p for a standard normal Z; error below 8 ulp. 0 gives -inf, 1 gives inf, numbers outside [0, 1] NaN.
/// M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", Applied Statistics 37 (1988), PPND16.
double normal_quantile(double p) noexcept;

}  // namespace ulpscope::emu
