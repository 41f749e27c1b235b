// SPDX-License-Identifier: Apache-2.0
// One step of a run: gradients, the scaler's word, clipping, and the update.
#pragma once

#include <cstdint>

#include "training/train/run_parts.hpp"

namespace ulpscope::training {

/// Step `step` of `steps`: the weights, states and scales behind it, and a row and findings of the result.
/// @throws ulpscope::Error
template <class Real>
void one_step(RunParts<Real>& run, std::uint64_t step, std::uint64_t steps);

}  // namespace ulpscope::training
