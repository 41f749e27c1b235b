// SPDX-License-Identifier: Apache-2.0
// The output that an expectation says is exact.
#pragma once

#include <vector>

#include "verify/expected.hpp"

namespace ulpscope::verify {

/// The exact result of every element, rounded once as `last` says; where that is stochastic, to nearest even. On `threads`
/// threads (0: all), on which it does not depend.
std::vector<double> exact_output(const Expectation& expectation, const LastRounding& last, int threads);

}  // namespace ulpscope::verify
