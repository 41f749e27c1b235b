// SPDX-License-Identifier: Apache-2.0
// What the monitor says of a run, beside what ended it.
#pragma once

#include <vector>

#include "training/train/run.hpp"

namespace ulpscope::training {

/// Gradients that underflow, updates that are lost, spikes of the loss, vanishing and exploding gradients, a scaler on its
/// floor: the first step of each, with the value and the threshold that it passed.
std::vector<TrainFinding> watched_findings(const RunResult& run);

/// The findings that the roundings of a place alone are, such as `overflow`: each counts at the first step that has it.
std::vector<TrainFinding> findings_of(const WatchedPlace& watched);

}  // namespace ulpscope::training
