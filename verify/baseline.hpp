// SPDX-License-Identifier: Apache-2.0
// No worse than another: the errors of a kernel and of a baseline, each against the exact result.
#pragma once

#include <string>

#include "reports/table.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::verify {

/// The errors of a kernel beside those of another.
struct BaselineVerdict {
  Verdict kernel, baseline;  ///< each against the exact result
  double at_most = 1.1;      ///< times the baseline's relative Frobenius error

  /// Of the relative Frobenius errors: 1 where both are 0; infinite or NaN where the kernel alone has an error, or neither a
  /// number.
  double ratio() const;
  /// Fails where the ratio is above `at_most`, where the kernel is not finite in more elements than it should be, or than the
  /// baseline is: the bound admits what overflows, the norm does not count it. A baseline that is itself not finite where it
  /// should be says nothing, nor does one against which zeros would pass.
  Outcome outcome() const;
  /// Whether more of the kernel's elements are infinite or NaN where the exact result is finite than of the baseline's.
  bool overflows_more() const { return kernel.nonfinite_admitted > baseline.nonfinite_admitted; }
  /// The outcome in words, with both errors.
  std::string sentence() const;
};

/// @throws ulpscope::Error where shapes differ.
BaselineVerdict verify_against_baseline(const Expectation& expectation, const tensors::Tensor& output,
                                        const tensors::Tensor& baseline, const VerdictOptions& options, double at_most);

/// The columns of verify.csv for the kernel and the baseline; the first column says which is which. `verdict` is the kernel's
/// by this comparison, and the baseline has none.
reports::Table baseline_table(const BaselineVerdict& verdict);

}  // namespace ulpscope::verify
