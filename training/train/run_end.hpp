// SPDX-License-Identifier: Apache-2.0
// What is known of a run when its last step is done: bytes, statistics that stayed behind, and evaluations.
#pragma once

#include "training/train/run_parts.hpp"

namespace ulpscope::training {

/// Adds it to the result. @throws ulpscope::Error
template <class Real>
void finish(RunParts<Real>& run);

}  // namespace ulpscope::training
