// SPDX-License-Identifier: Apache-2.0
// The functions of a network whose inputs the study scales: as programs write them, and as they would be without rounding.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "studies/breaks/rounded_arithmetic.hpp"

namespace ulpscope::studies {

/// A function of a vector, in rounded arithmetic and in float64.
struct ScaledFunction {
  std::string_view name;  ///< `softmax` and others
  /// Of numbers of `in`'s format, every operation rounded to it.
  std::vector<double> (*rounded)(RoundedArithmetic& in, std::span<const double> x);
  /// In float64, by a formula that neither overflows nor cancels for |x| < 2^500.
  std::vector<double> (*exact)(std::span<const double> x);
};

/// All of them.
std::span<const ScaledFunction> scaled_functions();
/// Their names, in the same order.
std::vector<std::string> scaled_function_names();

/// @throws ulpscope::Error naming the nearest
const ScaledFunction& find_scaled_function(const std::string& name);

}  // namespace ulpscope::studies
