// SPDX-License-Identifier: Apache-2.0
// Compares a converter or an elementwise function with what it should give, on every input, and says what is wrong with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "verify/conform/computation.hpp"
#include "verify/conform/conform_hypotheses.hpp"
#include "verify/conform/conform_inputs.hpp"
#include "verify/conform/subject.hpp"

namespace ulpscope::verify {

/// One wrong result.
struct Mismatch {
  std::uint64_t index;             ///< of the input among all inputs
  emu::Code input, expected, got;  ///< codes of the input, of the right result and of the subject's
};

/// How results are judged.
struct ConformConfig {
  Computation right;         ///< what the results should be
  std::uint64_t ulp = 0;     ///< codes that may lie between a result and the right one
  std::size_t examples = 3;  ///< of each finding
  int threads = 0;           ///< 0: all
  /// Both are called by one thread at a time.
  ///@{
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
  std::function<void(const Mismatch&)> mismatch = {};  ///< of the first ones, while later inputs are still to be asked about
  ///@}
};
inline constexpr std::size_t mismatches_at_once = 5;  ///< so many are the first ones

/// Mismatches of one class and one explanation.
struct ConformFinding {
  Fault fault;                     ///< the class
  std::string explanation;         ///< the hypothesis that gives these results; empty where none does
  std::uint64_t count = 0;         ///< mismatches
  std::uint64_t otherwise = 0;     ///< inputs where the explanation would give a wrong result, and the subject's is not that
  std::vector<Mismatch> examples;  ///< the first ones
};

/// What a subject's results come to.
struct Conformance {
  std::uint64_t compared = 0;            ///< inputs whose results were judged
  std::uint64_t not_judged = 0;          ///< inputs for which the rules prescribe nothing
  std::uint64_t mismatches = 0;          ///< results that are wrong
  std::uint64_t computed = 0;            ///< inputs for which it was computed what hypotheses give
  std::vector<ConformFinding> findings;  ///< most mismatches first
};

/// Asks the subject all the questions. The same for any number of threads, but for `computed`.
/// @throws ulpscope::Error what the subject throws.
Conformance conform(Subject& subject, const Questions& questions, const ConformConfig& config);

/// One sentence: what is wrong, or that nothing is. `subject` is its name.
std::string diagnosis(const Conformance& result, const std::string& subject);

}  // namespace ulpscope::verify
