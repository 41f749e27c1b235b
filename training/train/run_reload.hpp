// SPDX-License-Identifier: Apache-2.0
// A checkpoint that loses something: weights saved in narrow types and read again, or without moments or scaler.
#pragma once

#include <cstdint>

#include "training/train/run_parts.hpp"

namespace ulpscope::training {

/// Takes from the run what `[run] reload_loses` names, before step `step`; what that costs is found.
template <class Real>
void reload(RunParts<Real>& run, std::uint64_t step);

}  // namespace ulpscope::training
