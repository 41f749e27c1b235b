// SPDX-License-Identifier: Apache-2.0
// A point of a curve compares three computations with the exact one: the rounded one, the exact one of rounded inputs, and the
// exact one rounded once.
#include "studies/breaks/curves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/math.hpp"

namespace ulpscope::studies {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double no_bit_right = 0.5;

/// Squares of errors, and of what they are errors of.
struct ErrorOfAll {
  double error = 0, signal = 0;

  void add(double computed, double exact) {
    error += (computed - exact) * (computed - exact);
    signal += exact * exact;
  }
  double relative() const { return std::isfinite(error) ? std::sqrt(error / signal) : infinity; }
};

/// To nearest where chance would decide.
emu::RoundingOptions by_rule(emu::RoundingOptions options) {
  if (options.rounding == emu::Rounding::stochastic) options.rounding = emu::Rounding::nearest_even;
  return options;
}

class Point {
 public:
  Point(const CurveOf& of, const CurveInputs& inputs, int log2_scale)
      : of_(of), storage_(of.format, of.options, inputs.seed), in_(of.arithmetic, of.options, inputs.seed + 1) {
    point_.log2_scale = log2_scale;
    for (std::size_t first = 0; first < inputs.values.size(); first += inputs.vector)
      take(std::span(inputs.values).subspan(first, inputs.vector));
  }

  std::uint64_t outputs() const { return outputs_; }

  ScalePoint result() {
    point_.rel_frobenius_error = computed_.relative();
    point_.once_rel_frobenius_error = once_.relative();
    const auto right = [](const ErrorOfAll& of) { return of.relative() < no_bit_right; };
    point_.outcome = point_.nonfinite != 0 ? ScaleOutcome::nonfinite
                     : right(computed_)    ? ScaleOutcome::right
                     : zeros_ == outputs_  ? ScaleOutcome::zero
                                           : ScaleOutcome::wrong;
    point_.cause = point_.outcome == ScaleOutcome::right ? ScaleCause::none
                   : !right(once_)                       ? ScaleCause::result
                   : !right(of_rounded_inputs_)          ? ScaleCause::inputs
                                                         : ScaleCause::arithmetic;
    return point_;
  }

 private:
  void take(std::span<const double> values) {
    std::vector<double> scaled, stored;
    for (const double value : values) {
      const double x = std::ldexp(value, point_.log2_scale);
      const emu::Rounded once = emu::round_to(of_.format, x, by_rule(of_.options));
      scaled.push_back(x);
      stored.push_back(storage_.round(x));
      point_.inputs_overflow += once.outcome == emu::Outcome::overflow ? 1 : 0;
      point_.inputs_to_zero += x != 0 && stored.back() == 0 ? 1 : 0;
    }
    std::vector<double> computed = of_.function->rounded(in_, stored);
    if (of_.arithmetic != of_.format)
      for (double& one : computed) one = storage_.round(one);
    compare(computed, of_.function->exact(scaled), of_.function->exact(stored));
  }

  void compare(const std::vector<double>& computed, const std::vector<double>& exact, const std::vector<double>& of_stored) {
    const emu::RoundingOptions options = by_rule(of_.options);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double once = emu::round_to(of_.format, exact[i], options).value;
      point_.nonfinite += std::isfinite(computed[i]) ? 0 : 1;
      point_.to_zero += computed[i] == 0 && once != 0 ? 1 : 0;
      zeros_ += computed[i] == 0 ? 1 : 0;
      computed_.add(computed[i], exact[i]);
      of_rounded_inputs_.add(emu::round_to(of_.format, of_stored[i], options).value, exact[i]);
      once_.add(once, exact[i]);
    }
    outputs_ += exact.size();
  }

  const CurveOf& of_;
  RoundedArithmetic storage_, in_;
  ScalePoint point_;
  ErrorOfAll computed_, of_rounded_inputs_, once_;
  std::uint64_t outputs_ = 0, zeros_ = 0;
};

}  // namespace

std::string_view name_of(ScaleOutcome outcome) noexcept {
  switch (outcome) {
    case ScaleOutcome::right: return "right";
    case ScaleOutcome::wrong: return "wrong";
    case ScaleOutcome::zero: return "zero";
    case ScaleOutcome::nonfinite: break;
  }
  return "nonfinite";
}

std::string_view name_of(ScaleCause cause) noexcept {
  switch (cause) {
    case ScaleCause::none: return "";
    case ScaleCause::result: return "result";
    case ScaleCause::inputs: return "inputs";
    case ScaleCause::arithmetic: break;
  }
  return "arithmetic";
}

Curve::Window Curve::window() const {
  Window longest;
  for (auto first = points.begin(); first != points.end();) {
    const bool right = first->outcome == ScaleOutcome::right;
    const auto end = std::find_if(first, points.end(),
                                  [&](const ScalePoint& point) { return (point.outcome == ScaleOutcome::right) != right; });
    if (right && static_cast<std::size_t>(end - first) > longest.right.size())
      longest = {.right = {first, end},
                 .below = first == points.begin() ? nullptr : &*(first - 1),
                 .above = end == points.end() ? nullptr : &*end};
    first = end;
  }
  return longest;
}

std::uint64_t Curve::scales_right() const {
  return static_cast<std::uint64_t>(
      std::count_if(points.begin(), points.end(), [](const ScalePoint& point) { return point.cause == ScaleCause::none; }));
}

std::uint64_t Curve::scales_held() const {
  return static_cast<std::uint64_t>(std::count_if(points.begin(), points.end(), [](const ScalePoint& point) {
    return point.cause == ScaleCause::none || point.cause == ScaleCause::arithmetic;
  }));
}

Curve curve_of(const CurveOf& of, const CurveInputs& inputs) {
  Curve curve{.of = of, .inputs = inputs.values.size(), .points = {}};
  for (const int exponent : inputs.exponents) {
    Point point(of, inputs, exponent);
    curve.points.push_back(point.result());
    curve.outputs = point.outputs();
  }
  return curve;
}

}  // namespace ulpscope::studies
