// SPDX-License-Identifier: Apache-2.0
// What the rules compute. Sources and weaknesses: docs/rules.md.
#pragma once

#include <cstdint>
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

/// What a NaN of the reference or of the output is to a rule.
enum class NanMeans : std::uint8_t {
  fails,   ///< it is close to nothing, and a figure that is NaN fails
  equal,   ///< it is close to a NaN in the other tensor: `equal_nan` of numpy and torch
  passes,  ///< it is close to everything, and a figure that is NaN passes: what `error > limit` of a NaN does
  zero,    ///< it counts as 0, in either tensor
  skip,    ///< elements that are not finite in both tensors are left out
};

/// The magnitude that a relative tolerance is a factor of: r of the reference, o of the output.
enum class RelativeTo : std::uint8_t {
  reference,  ///< |r|
  output,     ///< |o|
  larger,     ///< the greater of |r| and |o|
  sum,        ///< |r| + |o|
};

/// Of one element.
double magnitude_of(RelativeTo relative_to, double reference, double output);

/// How the parts of a tolerance make one.
enum class Terms : std::uint8_t {
  sum,      ///< they are added, as numpy.isclose does
  greater,  ///< the greatest counts, as math.isclose does
};

/// When an element is close, and how many must be.
struct Closeness {
  CloseTolerance tolerance = {};                   ///< rtol of RelativeTo, and atol
  double max = 0, rms = 0;                         ///< of the tensor's largest magnitude, of its root mean square
  double ulp = 0;                                  ///< spacings of the output's format at the reference
  RelativeTo relative_to = RelativeTo::reference;  ///< what rtol counts; `output`: max and rms are the output's, too
  Terms terms = Terms::sum;                        ///< how the tolerances make one
  NanMeans nan = NanMeans::fails;                  ///< fails, equal or passes
  double ratio = 1;                                ///< share of the elements that must be close
  bool finite = false;                             ///< whether all of both must be finite
};
/// |output - reference| <= what is allowed, in float64; infinities are close where they are equal. The figure is the greatest
/// error over what is allowed, or the share of close elements where `ratio` is below 1 or all must be finite.
RuleVerdict judge_closeness(const Closeness& rule, emu::Format out, std::span<const double> reference,
                            std::span<const double> output);

/// |output - reference| in spacings of `out` at the reference; infinite where they differ and one of them is no finite number.
double ulps_between(emu::Format out, double reference, double output);

/// |output - reference| <= most spacings of `out` at the reference, for that share of the elements. Two NaN may be equal.
RuleVerdict judge_ulp(emu::Format out, double most, double ratio, NanMeans nan, std::span<const double> reference,
                      std::span<const double> output);

/// The same code in every element; NaN is the code of NaN.
RuleVerdict judge_bitwise(emu::Format out, std::span<const double> reference, std::span<const double> output);

/// 1 - 2 <x,y> / (<x,x> + <y,y>) < limit; of zeros against zeros it is 0.
RuleVerdict judge_calc_diff(double limit, std::span<const double> reference, std::span<const double> output);

/// <x,y> / (max(|x|, 1e-8) max(|y|, 1e-8)) >= limit.
RuleVerdict judge_cosine(double limit, std::span<const double> reference, std::span<const double> output);

/// 20 log10(|reference| / |reference - output|) >= limit, in dB.
RuleVerdict judge_sqnr(double limit, std::span<const double> reference, std::span<const double> output);

/// |output - reference| / |reference| <= limit, Frobenius norms.
RuleVerdict judge_frobenius(double limit, std::span<const double> reference, std::span<const double> output);

/// Pearson's correlation coefficient of the two >= limit; NaN where one of them is constant.
RuleVerdict judge_pcc(double limit, std::span<const double> reference, std::span<const double> output);

/// The mean of (output - reference)^2 <= limit.
RuleVerdict judge_mse(double limit, std::span<const double> reference, std::span<const double> output);

/// sum (output - reference)^2 / sum reference^2 <= limit.
RuleVerdict judge_nmse(double limit, std::span<const double> reference, std::span<const double> output);

/// The root of the mean squared error <= limit times the distance from the least to the greatest number of both tensors.
RuleVerdict judge_nrmse(double limit, std::span<const double> reference, std::span<const double> output);

/// The mean of |output - reference| <= limit.
RuleVerdict judge_mean_abs(double limit, std::span<const double> reference, std::span<const double> output);

/// The mean of |output - reference| over the magnitude of RelativeTo <= limit; 0 / 0 is 0.
RuleVerdict judge_mean_rel(double limit, RelativeTo of, std::span<const double> reference, std::span<const double> output);

/// sum |output - reference| / sum |reference| <= limit.
RuleVerdict judge_l1(double limit, std::span<const double> reference, std::span<const double> output);

/// The root mean square of |output - reference| / max(rms(reference), |reference|) <= limit.
RuleVerdict judge_rms_rel(double limit, std::span<const double> reference, std::span<const double> output);

/// The greatest |output - reference| <= factor * (the greatest |baseline - reference|) + atol.
RuleVerdict judge_baseline(double factor, double atol, std::span<const double> baseline, std::span<const double> reference,
                           std::span<const double> output);

}  // namespace ulpscope::verify
