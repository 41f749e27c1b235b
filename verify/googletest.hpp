// SPDX-License-Identifier: Apache-2.0
// A predicate and a matcher of GoogleTest for the output of a kernel; the matcher is what EXPECT_THAT of GoogleMock takes, and
// needs nothing of it:
//
//   EXPECT_TRUE(is_matmul_of(d, {.a = a, .b = b, .m = 64, .n = 48, .k = 256, .in = emu::bf16}));
//   EXPECT_THAT(d, IsMatmulOf({.a = a, .b = b, .m = 64, .n = 48, .k = 256, .in = emu::bf16}));
//
// A failure prints the whole census. Bad sizes or words are an ulpscope::Error, which fails the test with its sentence.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <span>

#include "verify/check.hpp"

namespace ulpscope::verify {
inline namespace googletest {  // so that a program may have verify/catch2.hpp elsewhere

/// A report for EXPECT_TRUE: whether the output passes; if not, the message is the census.
inline testing::AssertionResult assertion_of(const CheckReport& report) {
  return (report.passes() ? testing::AssertionSuccess() : testing::AssertionFailure()) << '\n' << report.text;
}
/// For EXPECT_TRUE: whether `output` is what the product gives.
inline testing::AssertionResult is_matmul_of(std::span<const float> output, const MatmulCheck& check) {
  return assertion_of(check_output(check, output));
}
/// For EXPECT_TRUE: whether `output` is what the operation gives.
inline testing::AssertionResult is_result_of(std::span<const float> output, const OperationCheck& check) {
  return assertion_of(check_output(check, output));
}

/// Matches a contiguous range of float that passes `Check`.
template <class Check>
class IsOutputOf {
 public:
  using is_gtest_matcher = void;  ///< tells GoogleTest that this is a matcher

  /// Judges outputs by `check`, whose spans must live until then.
  explicit IsOutputOf(const Check& check) : check_(check) {}

  /// Whether the output passes; `explanation` gets the census.
  template <class Range>
  bool MatchAndExplain(const Range& output, std::ostream* explanation) const {
    const CheckReport report = check_output(check_, output);
    if (explanation != nullptr) *explanation << '\n' << report.text;
    return report.passes();
  }
  /// What EXPECT_THAT prints as expected.
  void DescribeTo(std::ostream* out) const { *out << "is right, judged by ulpscope"; }
  /// The same of Not().
  void DescribeNegationTo(std::ostream* out) const { *out << "is wrong, judged by ulpscope"; }

 private:
  Check check_;
};

/// The matcher: EXPECT_THAT(d, IsMatmulOf({...})).
inline IsOutputOf<MatmulCheck> IsMatmulOf(const MatmulCheck& check) { return IsOutputOf<MatmulCheck>(check); }
/// The same of any operation.
inline IsOutputOf<OperationCheck> IsResultOf(const OperationCheck& check) { return IsOutputOf<OperationCheck>(check); }

}  // namespace googletest
}  // namespace ulpscope::verify
