// SPDX-License-Identifier: Apache-2.0
// What a kernel returns beside its output: verdicts of their own, and one outcome of all.
#pragma once

#include <string>
#include <vector>

#include "verify/check_request.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::verify {

/// What is to be said of another output.
struct FurtherVerdict {
  std::string name;     ///< of the option that names it: `lse`
  std::string heading;  ///< what is judged, in one line that ends with LF
  Verdict verdict;      ///< about it
};

/// Judges all that the kernel returned beside its output. @throws ulpscope::Error where shapes differ
std::vector<FurtherVerdict> verify_further(const ResolvedCheck& check, int threads);

/// Fails where one does, is vacuous where one is and none fails.
Outcome together(Outcome outcome, const std::vector<FurtherVerdict>& further);

}  // namespace ulpscope::verify
