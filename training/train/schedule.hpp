// SPDX-License-Identifier: Apache-2.0
// How many steps a run has, and the learning rate of each.
#pragma once

#include <cstdint>

#include "training/train/samples.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::training {

/// Steps of the optimizer in a run. @throws ulpscope::Error
std::uint64_t steps_of(const TrainStudy& study, const Samples& samples);

/// The rate of step `step` of `steps`, `full` being the optimizer's.
double learning_rate(const RunSpec& run, double full, std::uint64_t step, std::uint64_t steps);

}  // namespace ulpscope::training
