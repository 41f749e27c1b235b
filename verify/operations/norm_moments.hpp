// SPDX-License-Identifier: Apache-2.0
// The mean of a row, its elements less the mean and the sum of their squares: as balls, and exactly where balls are too wide.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "emu/exact_sum.hpp"
#include "verify/operations/ball.hpp"
#include "verify/operations/layer_norm.hpp"
#include "verify/operations/positive_sum.hpp"
#include "verify/operations/real.hpp"

namespace ulpscope::verify {

/// A row without its mean, and what it is divided by. RMS norm has the mean 0.
template <class T>
struct Moments {
  std::vector<T> centred;  ///< x - mean
  T sum = T(0.0);          ///< of x, in 200 digits alone
  T mean = T(0.0);         ///< of x
  T squares = T(0.0);      ///< sum of centred^2
  T variance = T(0.0);     ///< mean of centred^2
};

namespace detail {

inline Ball mean_of(std::span<const float> x) {
  emu::ExactSum sum;
  for (const float v : x) sum.add(v);
  const double value = sum.value();
  return Ball(value, std::abs(value) * 0x1p-53) / Ball(static_cast<double>(x.size()));
}

inline void centre(Norm norm, std::span<const float> x, Moments<Ball>& out) {
  if (norm == Norm::layer) out.mean = mean_of(x);
  for (const float v : x)
    out.centred.push_back(norm == Norm::layer ? Ball(static_cast<double>(v)) - out.mean : Ball(static_cast<double>(v)));
}
/// n x - sum x is exact.
inline Real centred(float x, double n, const Real& sum) { return (Real(static_cast<double>(x)) * n - sum) / n; }
inline void centre(Norm norm, std::span<const float> x, Moments<Real>& out) {
  const double n = static_cast<double>(x.size());
  if (norm == Norm::layer)
    for (const float v : x) out.sum += static_cast<double>(v);
  out.mean = out.sum / n;
  for (const float v : x) out.centred.push_back(centred(v, n, out.sum));
}

}  // namespace detail

/// Of a row of finite numbers.
template <class T>
Moments<T> moments(Norm norm, std::span<const float> x) {
  Moments<T> out;
  out.centred.reserve(x.size());
  detail::centre(norm, x, out);
  PositiveSum<T> squares;
  for (const T& c : out.centred) squares.add(c * c);
  out.squares = squares.total();
  out.variance = out.squares / T(static_cast<double>(x.size()));
  return out;
}

/// The nearest doubles: where float64 cannot tell the variance from zero.
inline Moments<Ball> narrowed(const Moments<Real>& exact) {
  const auto ball = [](const Real& v) {
    const double value = v.convert_to<double>();
    return Ball(value, std::abs(value) * 0x1p-53 + std::numeric_limits<double>::denorm_min());
  };
  Moments<Ball> out{
      .centred = {}, .sum = {}, .mean = ball(exact.mean), .squares = ball(exact.squares), .variance = ball(exact.variance)};
  for (const Real& c : exact.centred) out.centred.push_back(ball(c));
  return out;
}

}  // namespace ulpscope::verify
