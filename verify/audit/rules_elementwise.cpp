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

/// What the tolerances of a rule count beside the element: of the finite elements of the tensor that they are relative to.
struct Magnitudes {
  double max = 0, rms = 0;
};

Magnitudes magnitudes_of(std::span<const double> tensor) {
  Magnitudes all;
  double squares = 0, count = 0;
  for (const double x : tensor) {
    if (!std::isfinite(x)) continue;
    all.max = std::max(all.max, std::fabs(x));
    squares += x * x, ++count;
  }
  if (count > 0) all.rms = std::sqrt(squares / count);
  return all;
}

/// Of one element whose reference and output are finite.
double allowed_error(const Closeness& rule, const Magnitudes& all, emu::Format out, double reference, double output) {
  const double relative = rule.tolerance.rtol * magnitude_of(rule.relative_to, reference, output);
  const double spacings = rule.ulp == 0 ? 0 : std::ldexp(rule.ulp, emu::spacing_exponent(out, reference));
  if (rule.terms == Terms::greater)
    return std::max({rule.tolerance.atol, relative, rule.max * all.max, rule.rms * all.rms, spacings});
  return rule.tolerance.atol + relative + rule.max * all.max + rule.rms * all.rms + spacings;
}

/// The error in units of what is allowed: 1 is the most.
double share_of_allowed(const Closeness& rule, const Magnitudes& all, emu::Format out, double reference, double output) {
  if (output == reference) return 0;
  if (std::isnan(output) && std::isnan(reference) && rule.nan == NanMeans::equal) return 0;
  if ((std::isnan(output) || std::isnan(reference)) && rule.nan == NanMeans::passes) return 0;
  if (!std::isfinite(output) || !std::isfinite(reference)) return infinity;
  const double error = std::fabs(output - reference), allowed = allowed_error(rule, all, out, reference, output);
  // The quotient may round to 1 where the error is beyond.
  return error <= allowed ? std::min(error / allowed, 1.0) : std::max(error / allowed, std::nextafter(1.0, 2.0));
}

}  // namespace

double magnitude_of(RelativeTo relative_to, double reference, double output) {
  const double r = std::fabs(reference), o = std::fabs(output);
  switch (relative_to) {
    case RelativeTo::reference: return r;
    case RelativeTo::output: return o;
    case RelativeTo::larger: return std::max(r, o);
    case RelativeTo::sum: return r + o;
  }
  return r;
}

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

RuleVerdict judge_closeness(const Closeness& rule, emu::Format out, std::span<const double> reference,
                            std::span<const double> output) {
  const Magnitudes all = rule.max == 0 && rule.rms == 0
                             ? Magnitudes{}
                             : magnitudes_of(rule.relative_to == RelativeTo::output ? output : reference);
  RuleVerdict verdict;
  bool finite = true;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    finite = finite && std::isfinite(reference[i]) && std::isfinite(output[i]);
    const double share = share_of_allowed(rule, all, out, reference[i], output[i]);
    verdict.violations += !(share <= 1);
    verdict.figure = std::max(verdict.figure, share);
  }
  const auto count = static_cast<double>(reference.size());
  const double close = (count - static_cast<double>(verdict.violations)) / count;
  verdict.passes = (finite || !rule.finite) && (verdict.violations == 0 || close >= rule.ratio);
  verdict.limit = 1;
  if (rule.finite || rule.ratio < 1) verdict.figure = close, verdict.limit = rule.ratio;
  return verdict;
}

RuleVerdict judge_ulp(emu::Format out, double most, double ratio, NanMeans nan, std::span<const double> reference,
                      std::span<const double> output) {
  RuleVerdict verdict{.limit = most};
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const bool r = std::isnan(reference[i]), o = std::isnan(output[i]);
    if ((r && o && nan == NanMeans::equal) || ((r || o) && nan == NanMeans::passes)) continue;
    const double ulps = ulps_between(out, reference[i], output[i]);
    verdict.figure = std::max(verdict.figure, ulps);
    verdict.violations += !(ulps <= most);
  }
  const auto count = static_cast<double>(reference.size());
  const double within = (count - static_cast<double>(verdict.violations)) / count;
  verdict.passes = verdict.violations == 0 || within >= ratio;
  if (ratio < 1) verdict.figure = within, verdict.limit = ratio;
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
