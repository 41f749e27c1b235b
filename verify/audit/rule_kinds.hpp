// SPDX-License-Identifier: Apache-2.0
// What the rules compute. Sources and weaknesses: docs/rules.md.
#pragma once

#include <span>

#include "emu/format.hpp"
#include "verify/audit/rules.hpp"

namespace ulpscope::verify {

/// Tolerances as of numpy.isclose.
struct CloseTolerance {
  double rtol, atol;  ///< of the reference's magnitude, and of any element
};
/// The defaults of torch.testing.assert_close for a dtype; 0 and 0 for those that its table does not name.
CloseTolerance assert_close_tolerance(emu::Format format);

/// |output - reference| <= atol + rtol |reference| in float64; infinities are close where they are equal, NaN never is.
RuleVerdict judge_close(CloseTolerance tolerance, std::span<const double> reference, std::span<const double> output);

/// Close elements, and how many there must be.
struct MatchedRatio {
  CloseTolerance tolerance;  ///< when an element counts as close
  double ratio;              ///< a share from 0 to 1
};
/// The share of elements with |output - reference| <= atol + rtol |output| is `ratio` or more, and all of both are finite.
RuleVerdict judge_matched_ratio(const MatchedRatio& rule, std::span<const double> reference, std::span<const double> output);

/// |output - reference| in spacings of `out` at the reference; infinite where they differ and one of them is no finite number.
double ulps_between(emu::Format out, double reference, double output);

/// |output - reference| <= most spacings of `out` at the reference.
RuleVerdict judge_ulp(emu::Format out, double most, std::span<const double> reference, std::span<const double> output);

/// The same code in every element; NaN is the code of NaN.
RuleVerdict judge_bitwise(emu::Format out, std::span<const double> reference, std::span<const double> output);

/// 1 - 2 <x,y> / (<x,x> + <y,y>) < limit.
RuleVerdict judge_calc_diff(double limit, std::span<const double> reference, std::span<const double> output);

/// <x,y> / (max(|x|, 1e-8) max(|y|, 1e-8)) >= limit.
RuleVerdict judge_cosine(double limit, std::span<const double> reference, std::span<const double> output);

/// 20 log10(|reference| / |reference - output|) >= limit, in dB.
RuleVerdict judge_sqnr(double limit, std::span<const double> reference, std::span<const double> output);

/// |output - reference| / |reference| <= limit, Frobenius norms.
RuleVerdict judge_frobenius(double limit, std::span<const double> reference, std::span<const double> output);

}  // namespace ulpscope::verify
