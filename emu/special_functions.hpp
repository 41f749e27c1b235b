// SPDX-License-Identifier: Apache-2.0
// More functions of double, the same bits on every machine: circular and hyperbolic functions, the error function, the normal
// quantile. As in emu/math.hpp they are made of add, multiply, divide, square root and bit operations, all of which IEEE 754
// rounds exactly, and of the integers of emu/transcendental.hpp. tests/emu/special_functions_test.cpp holds the bounds against
// MPFR. NaN gives NaN.
#pragma once

#include <array>
#include <cstddef>

#include "emu/math.hpp"

namespace ulpscope::emu {

namespace detail {

/// What emu::erf() and gelu() compute from; their vectors too.
///@{

/// erf around c: erf(c) as a pair and the Taylor coefficients of the rest. With g = 2/sqrt(pi) e^(-(c + h)^2) = sum g_n h^n,
/// g' = -2 (c + h) g gives (n + 1) g_(n+1) = -2 c g_n - 2 g_(n-1), and erf(c + h) = erf(c) + sum g_n h^(n+1)/(n + 1).
struct ErfExpansion {
  static constexpr std::size_t terms = 14;  // |h| <= 1/16: the first one left out is below 2^-56
  Pair value;
  std::array<double, terms> coefficient;
};
inline constexpr double erf_table_step = 0.125, erf_series_end = 0.5, erf_is_one = 6;  // erfc(6) < 2^-55
inline constexpr auto erf_table_size = static_cast<std::size_t>((erf_is_one - erf_series_end) / erf_table_step) + 1;

/// The coefficients of sum (-1)^n z^n/(n! (2n + 1)), whose first two bits matter most, from n = 1 on, times 2/sqrt(pi).
struct ErfSeries {
  static constexpr std::size_t terms = 13;  // 0.5^28/14!/29 < 2^-69
  Pair first;
  std::array<double, terms> coefficient;
};

/// f(t) = e^(t^2/2) Phi(-t), Phi being the normal distribution's, around c as a pair and Taylor coefficients: f' = t f -
/// 1/sqrt(2 pi) gives f_1 = c f_0 - 1/sqrt(2 pi) and (n + 1) f_(n+1) = c f_n + f_(n-1).
struct NormalTail {
  static constexpr std::size_t terms = 11;  // |h| <= 1/16: the first one left out is below 2^-63
  Pair value;
  std::array<double, terms> coefficient;
};
inline constexpr double normal_tail_step = 0.125, normal_tail_end = 15;  // Phi(-15) < 2^-168
inline constexpr auto normal_tail_size = static_cast<std::size_t>(normal_tail_end / normal_tail_step) + 1;

const std::array<ErfExpansion, erf_table_size>& erf_table();
const ErfSeries& erf_series_near_zero();
const std::array<NormalTail, normal_tail_size>& normal_tails();
///@}

/// sum c[n] x^n
template <std::size_t count>
double polynomial(const std::array<double, count>& c, double x) {
  double sum = c[count - 1];
  for (std::size_t n = count - 1; n-- > 0;) sum = sum * x + c[n];
  return sum;
}

}  // namespace detail

/// sin x and cos x, x in radians, error below 0.9 ulp for every x; of infinities NaN.
double sin(double x) noexcept;
/// cos x, x in radians, error below 0.9 ulp for every x; of infinities NaN.
double cos(double x) noexcept;
/// Error below 0.8 ulp.
double tanh(double x) noexcept;
/// 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x; error below 0.8 ulp.
double erf(double x) noexcept;
/// The angle from -pi/2 to pi/2 whose tangent is x; error below 2.5 ulp.
double atan(double x) noexcept;
/// The real cube root, negative for negative x; error below 0.6 ulp.
double cbrt(double x) noexcept;
/// The z with P(Z <= z) = p for a standard normal Z; error below 8 ulp. 0 gives -inf, 1 gives inf, numbers outside [0, 1] NaN.
/// M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", Applied Statistics 37 (1988), PPND16.
double normal_quantile(double p) noexcept;

}  // namespace ulpscope::emu
