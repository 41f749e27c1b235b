// SPDX-License-Identifier: Apache-2.0
// Is this output right? Every element judged against what it should have been: counts, how far off in ulps, which way, where,
// and whether the check could have failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "reports/table.hpp"
#include "tensors/tensor.hpp"
#include "verify/expected.hpp"
#include "verify/outcome.hpp"
#include "verify/ulp_histogram.hpp"

namespace ulpscope::verify {

/// An element that is wrong, or the furthest from right.
struct WorstElement {
  std::uint64_t index;   ///< in row-major order
  Standing standing;     ///< where it stands
  double output, exact;  ///< of the kernel; the exact result rounded once
  double error_ulp;      ///< signed, in ulps of the output format at the exact result; infinite where one side alone is finite
  double allowed;        ///< of |output - exact| before the last rounding
  double of_bound;       ///< |output - exact| / (allowed + half an ulp)
  std::optional<emu::Code> output_code = {};  ///< of a NaN, which has several, where the tensor stores codes of the format
};

/// What is to be said of an output.
struct Verdict {
  std::string label;                 ///< of the output
  std::string bound;                 ///< what it was held to, in words
  std::string refusal;               ///< why the bound is worth nothing; empty where it is worth something
  emu::Format out;                   ///< format of the output
  std::vector<std::uint64_t> shape;  ///< of the output
  std::uint64_t count = 0;           ///< elements
  std::uint64_t equal = 0, within = 0, beyond = 0, nonfinite = 0;  ///< elements of each Standing
  std::uint64_t nonfinite_expected = 0;                            ///< elements whose exact result is infinite or NaN
  /// Elements of `within` that are infinite or NaN though the exact result is finite: a correct kernel may overflow there.
  std::uint64_t nonfinite_admitted = 0;
  std::uint64_t unheld = 0;  ///< of these, elements for which both infinities and NaN are right
  std::uint64_t zeros_pass = 0;                                    ///< elements for which a zero would have been right
  /// All elements could be off by this share of themselves before they are rounded, at once and in the same direction, and none
  /// would be wrong: the least that is allowed of an element, relative to it. Infinite where none is finite and not zero.
  double unseen_share = std::numeric_limits<double>::infinity();
  double bias_ulp = 0, mean_abs_ulp = 0;                             ///< over elements finite on both sides
  double max_ulp = 0;                                                ///< infinite where one side alone is finite
  double rms_error = 0, rel_frobenius_error = 0, max_abs_error = 0;  ///< over elements finite on both sides
  double max_of_bound = 0;                                           ///< the greatest WorstElement::of_bound of finite elements
  UlpHistogram histogram;                                            ///< of errors in ulps
  std::vector<WorstElement> worst;                                   ///< at most ten, worst first
  std::vector<std::string> patterns;                                 ///< sentences: where the wrong elements lie
  std::string wrong_odds;  ///< what is wrong with the odds of stochastic rounding (StochasticOdds); empty where nothing is
  std::string weakness;  ///< what else would pass, which only the operation knows; empty where nothing is known

  /// Elements that are wrong.
  std::uint64_t wrong() const { return beyond + nonfinite; }
  /// Whether no element was held to anything: each may overflow in either direction, and did.
  bool is_all_unheld() const { return unheld != 0 && unheld + nonfinite_expected == count; }
  /// Fails where an element is wrong, or the odds of stochastic rounding are; is vacuous where the check could not have failed.
  Outcome outcome() const;
  /// In one sentence, with what to do.
  std::string sentence() const;
};

/// How an output is judged.
struct VerdictOptions {
  LastRounding last;  ///< of the kernel
  int threads = 0;    ///< 0: all; the verdict does not depend on it
  /// That a thread judges before it takes others: whole rows where they are short. Sums of errors depend on it in their last
  /// bits.
  std::uint64_t elements_at_a_time = std::uint64_t{1} << 17;
  /// Told of elements done and of all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

/// @throws ulpscope::Error where the shapes differ.
Verdict verify(const Expectation& expectation, const tensors::Tensor& output, const VerdictOptions& options);

/// Elements that narrower_format() looks at.
inline constexpr std::size_t most_narrower = 16;
/// What explains outputs that are wrong as numbers of `last.out`, and are those of a narrower format: the exact results,
/// rounded to it. Empty where it is none of these. `wrong`: elements; `outputs`: what stands there.
std::string narrower_format(const Expectation& expectation, std::span<const std::uint64_t> wrong,
                            std::span<const double> outputs, const LastRounding& last);

/// What a kernel returned in a format are numbers of that format: elements `first` and those behind it.
/// @throws ulpscope::Error where one is not
void check_values(const tensors::Tensor& output, emu::Format format, std::uint64_t first, std::span<const double> values);

reports::Table verdict_table(const Verdict& verdict);    ///< verify.csv: one row
reports::Table histogram_table(const Verdict& verdict);  ///< bucket and count, empty buckets at the ends left out
reports::Table worst_table(const Verdict& verdict);      ///< index, hex, value, exact, error, what was allowed

}  // namespace ulpscope::verify
