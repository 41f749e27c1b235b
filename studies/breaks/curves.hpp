// SPDX-License-Identifier: Apache-2.0
// A function of inputs that grow by powers of two: at which scales it is right, and what breaks it at the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "studies/breaks/scaled_functions.hpp"

namespace ulpscope::studies {

/// What becomes of a function's outputs at a scale.
enum class ScaleOutcome : std::uint8_t {
  right,     ///< the rest: an error below half the result
  wrong,     ///< an error of half the result or more: no significant bit is right
  zero,      ///< so, and all outputs are zero
  nonfinite  ///< an output is infinite or NaN
};
/// `right`, `wrong`, `zero`, `nonfinite`.
std::string_view name_of(ScaleOutcome outcome) noexcept;

/// What alone suffices to make a result wrong, the first of these.
enum class ScaleCause : std::uint8_t {
  none,
  result,     ///< the function itself rounded once: the format cannot hold it
  inputs,     ///< the function of the rounded inputs
  arithmetic  ///< the operations between
};
/// The word of a cause.
std::string_view name_of(ScaleCause cause) noexcept;

/// One function, in one format, at one scale: over all outputs, against the function of the unrounded inputs.
struct ScalePoint {
  int log2_scale = 0;                                     ///< inputs are drawn at scale 1 and multiplied by 2^log2_scale
  std::uint64_t inputs_overflow = 0, inputs_to_zero = 0;  ///< of the rounding to the format
  std::uint64_t nonfinite = 0;                            ///< outputs
  std::uint64_t to_zero = 0;                              ///< outputs that are zero where the function rounded once is not
  double rel_frobenius_error = 0;                         ///< infinite where an output is not finite
  double once_rel_frobenius_error = 0;                    ///< of the function rounded once
  ScaleOutcome outcome = ScaleOutcome::right;             ///< what became of the outputs
  ScaleCause cause = ScaleCause::none;                    ///< what broke them, where they are not right
};

/// Inputs and outputs are numbers of `format`, results between them numbers of `arithmetic`.
struct CurveOf {
  const ScaledFunction* function = nullptr;  ///< not owned; null: none
  emu::Format format{}, arithmetic{};        ///< of inputs and outputs, and of the results between
  emu::RoundingOptions options;              ///< of every operation
};

/// A function over all scales.
struct Curve {
  CurveOf of;                             ///< what is computed, and in which formats
  std::uint64_t inputs = 0, outputs = 0;  ///< at each scale
  std::vector<ScalePoint> points;         ///< by scale, ascending

  /// Where the function is right.
  struct Window {
    std::span<const ScalePoint> right;  ///< the longest run of such points, the first of several; empty: there is none
    const ScalePoint* below = nullptr;  ///< its neighbour at the lesser scales; null at their end
    const ScalePoint* above = nullptr;  ///< its neighbour at the greater scales; null at their end
  };
  /// The longest run of scales at which the function is right.
  Window window() const;
  /// At how many scales the function is right.
  std::uint64_t scales_right() const;
  /// Scales at which the format holds inputs and results: what is wrong there the arithmetic breaks.
  std::uint64_t scales_held() const;
};

/// What a curve is made of.
struct CurveInputs {
  std::vector<double> values;  ///< at scale 1
  std::size_t vector = 1;      ///< values that make one argument of the function
  std::vector<int> exponents;  ///< of the scales, ascending
  std::uint64_t seed = 0;      ///< of stochastic rounding
};

/// Computes the function at every scale of `inputs`.
Curve curve_of(const CurveOf& of, const CurveInputs& inputs);

}  // namespace ulpscope::studies
