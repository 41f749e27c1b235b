// SPDX-License-Identifier: Apache-2.0
// Rules that look at each element by itself.
#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "verify/audit/rule_kinds.hpp"

namespace ulpscope::verify {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// numpy.isclose and torch.isclose: equal, or both finite and within.
bool is_close(CloseTolerance tolerance, double value, double of) {
  if (value == of) return true;
  const double error = std::fabs(value - of);
  return std::isfinite(of) && std::isfinite(error) && error <= tolerance.atol + tolerance.rtol * std::fabs(of);
}

/// The error in units of what is allowed: 1 is the most.
double share_of_allowed(CloseTolerance tolerance, double value, double of) {
  if (value == of) return 0;
  const double share = std::fabs(value - of) / (tolerance.atol + tolerance.rtol * std::fabs(of));
  return std::isfinite(value) && std::isfinite(of) ? share : infinity;
}

}  // namespace

double ulps_between(emu::Format out, double reference, double output) {
  if (output == reference) return 0;
  if (!std::isfinite(reference) || !std::isfinite(output)) return infinity;
  return std::ldexp(std::fabs(output - reference), -emu::spacing_exponent(out, reference));
}

CloseTolerance assert_close_tolerance(emu::Format format) {
  // torch/testing/_comparison.py, _DTYPE_PRECISIONS: {dtype: (rtol, atol)}.
  if (format == emu::float16) return {1e-3, 1e-5};
  if (format == emu::bfloat16) return {1.6e-2, 1e-5};
  if (format == emu::float32) return {1.3e-6, 1e-5};
  if (format == emu::float64) return {1e-7, 1e-7};
  return {0, 0};
}

RuleVerdict judge_close(CloseTolerance tolerance, std::span<const double> reference, std::span<const double> output) {
  RuleVerdict verdict{.limit = 1};
  for (std::size_t i = 0; i < reference.size(); ++i) {
    verdict.violations += !is_close(tolerance, output[i], reference[i]);
    verdict.figure = std::max(verdict.figure, share_of_allowed(tolerance, output[i], reference[i]));
  }
  verdict.passes = verdict.violations == 0;
  return verdict;
}

RuleVerdict judge_matched_ratio(const MatchedRatio& rule, std::span<const double> reference, std::span<const double> output) {
  RuleVerdict verdict{.limit = rule.ratio};
  bool finite = true;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    finite = finite && std::isfinite(reference[i]) && std::isfinite(output[i]);
    verdict.violations += !is_close(rule.tolerance, reference[i], output[i]);
  }
  const auto count = static_cast<double>(reference.size());
  verdict.figure = (count - static_cast<double>(verdict.violations)) / count;
  verdict.passes = finite && verdict.figure >= rule.ratio;
  return verdict;
}

RuleVerdict judge_ulp(emu::Format out, double most, std::span<const double> reference, std::span<const double> output) {
  RuleVerdict verdict{.limit = most};
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double ulps = ulps_between(out, reference[i], output[i]);
    verdict.figure = std::max(verdict.figure, ulps);
    verdict.violations += !(ulps <= most);
  }
  verdict.passes = verdict.violations == 0;
  return verdict;
}

RuleVerdict judge_bitwise(emu::Format out, std::span<const double> reference, std::span<const double> output) {
  RuleVerdict verdict{.limit = 0};
  for (std::size_t i = 0; i < reference.size(); ++i)
    verdict.violations += emu::encode(out, reference[i]) != emu::encode(out, output[i]);
  verdict.figure = static_cast<double>(verdict.violations);
  verdict.passes = verdict.violations == 0;
  return verdict;
}

}  // namespace ulpscope::verify
