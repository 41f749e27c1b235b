// SPDX-License-Identifier: Apache-2.0
// Correct computations of sums, softmax and norms: plain float32, in usual orders of the additions.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "verify/audit/operation_source.hpp"

namespace ulpscope::verify {

/// Whether there are plain computations of an operation.
bool has_plain_trials(const std::string& operation);

/// Why there are none of this check, to stand behind `are not measured`: `for this operation`, `with --acc float16`; empty
/// where there are.
std::string without_trials(const OperationSource& source);

/// Computation `index`, drawn with the source's seed: its output, and its order in words. Precondition: without_trials() is
/// empty.
std::pair<std::vector<double>, std::string> plain_trial(const OperationSource& source, std::size_t index);

}  // namespace ulpscope::verify
