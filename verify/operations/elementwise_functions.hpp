// SPDX-License-Identifier: Apache-2.0
// What is known of each function: its value in float64, in 200 digits, and what a kernel's composition of it costs.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/real.hpp"

namespace ulpscope::verify {

/// What the value of a function may be off by where it is y, finite: 4 ulp, of subnormal numbers 4 spacings.
inline double value_radius(double y) { return std::fabs(y) * 0x1p-50 + 4 * std::numeric_limits<double>::denorm_min(); }

/// A function of one number, and what bounds its error.
struct Function {
  std::string_view name;           ///< one of elementwise_words()
  double (*value)(double x);       ///< in float64, within value_radius()
  Real (*precise)(const Real& x);  ///< where that is finite
  /// |a kernel's result - y|; nothing: function_ulp of y.
  double (*error)(const KernelArithmetic& arithmetic, double x, double y) = nullptr;
};

/// Whether it is x times a factor that is 0 for x = -infinity: a kernel has NaN there, the limit is 0.
inline bool is_gated(const Function& function) {
  return function.name == "silu" || function.name == "gelu" || function.name == "gelu_tanh";
}

/// In alphabetical order.
std::span<const Function> functions();

}  // namespace ulpscope::verify
