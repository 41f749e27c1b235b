// SPDX-License-Identifier: Apache-2.0
// Functions of one number as operations use them: of float32 computed in float64 and rounded once.
#pragma once

#include <cmath>
#include <limits>

#include "emu/math.hpp"
#include "emu/special_functions.hpp"

namespace ulpscope::training {

template <class Real>
Real exponential(Real x) {
  return static_cast<Real>(emu::exp(static_cast<double>(x)));
}

/// log(1 + e^x), without overflow.
inline double softplus(double x) {
  const double tail = emu::exp(-std::fabs(x));
  // log(1 + t) = 2 artanh(t / (2 + t)); for t in [0, 1] the logarithm of 1 + t loses no more than an ulp of the sum.
  const double rest = tail < 0x1p-30 ? tail * (1 - tail / 2) : emu::log_of_normal(1 + tail);
  return std::fmax(x, 0.0) + rest;
}

/// The natural logarithm: -inf of zeros, NaN of negative numbers.
template <class Real>
Real logarithm(Real x) {
  const auto wide = static_cast<double>(x);
  if (std::isnan(wide) || wide < 0) return std::numeric_limits<Real>::quiet_NaN();
  if (wide == 0) return -std::numeric_limits<Real>::infinity();
  if (std::isinf(wide)) return x;
  if (wide < std::numeric_limits<double>::min())
    return static_cast<Real>(emu::log_of_normal(wide * 0x1p54) - 54 * 0.69314718055994530942);
  return static_cast<Real>(emu::log_of_normal(wide));
}

template <class Real>
Real logistic(Real x) {
  const auto wide = static_cast<double>(x);
  if (wide >= 0) return static_cast<Real>(1 / (1 + emu::exp(-wide)));
  const double e = emu::exp(wide);
  return static_cast<Real>(e / (1 + e));
}

/// The normal distribution function, and its density.
inline double normal_distribution(double x) { return 0.5 * (1 + emu::erf(x * 0.70710678118654752440)); }
inline double normal_density(double x) { return 0.39894228040143267794 * emu::exp(-x * x / 2); }

}  // namespace ulpscope::training
