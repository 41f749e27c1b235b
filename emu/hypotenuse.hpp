// SPDX-License-Identifier: Apache-2.0
// The length of a vector of two numbers, with the same bits on every machine: C libraries differ in the last one.
#pragma once

#include <algorithm>
#include <cmath>

namespace ulpscope::emu {

/// sqrt(x^2 + y^2), wrong by less than an ulp; no square overflows or underflows. NaN where one of them is NaN.
inline double hypotenuse(double x, double y) noexcept {
  const double large = std::max(std::fabs(x), std::fabs(y)), small = std::min(std::fabs(x), std::fabs(y));
  if (!(small > 0) || !std::isfinite(large) || std::isnan(x + y)) return std::fabs(x) + std::fabs(y);
  if (large > 0x1p511) return hypotenuse(large * 0x1p-600, small * 0x1p-600) * 0x1p600;
  if (small < 0x1p-459 && large < 0x1p-400) return hypotenuse(large * 0x1p600, small * 0x1p600) * 0x1p-600;
  // The root's own error is found and taken off (Borges, An Improved Algorithm for hypot(a, b), arXiv 1904.09481, algorithm 2).
  const double root = std::sqrt(large * large + small * small);
  const bool is_flat = root <= 2 * small;
  const double rest = root - (is_flat ? small : large);
  const double error = is_flat ? large * (2 * rest - large) + (rest - 2 * (large - small)) * rest
                               : 2 * rest * (large - 2 * small) + (4 * rest - small) * small + rest * rest;
  return root - error / (2 * root);
}

}  // namespace ulpscope::emu
