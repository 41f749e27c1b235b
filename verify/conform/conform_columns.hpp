// SPDX-License-Identifier: Apache-2.0
// Wrong results whose inputs are in no order that computations keep.
#pragma once

#include <vector>

#include "verify/conform/conform_tally.hpp"

namespace ulpscope::verify {

/// Adds what is wrong to the tally, each result by itself.
void tally_each(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, const Compared& compared,
                Tally& tally);

}  // namespace ulpscope::verify
