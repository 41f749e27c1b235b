// SPDX-License-Identifier: Apache-2.0
// What changes in a run from step to step, into a saved run and back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "recipes/scaler.hpp"
#include "training/state/average.hpp"
#include "training/train/model.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/saved_run.hpp"

namespace ulpscope::training {

/// Where a run keeps it.
template <class Real>
struct RunState {
  std::uint64_t &next_step, &next_random;         ///< the step to come, and the random word
  bool& done;                                     ///< all steps and evaluations were made
  const std::vector<ParameterShape>& parameters;  ///< names
  std::vector<std::vector<Real>>& weights;        ///< in their order
  std::vector<OptimizerState<Real>>& states;      ///< likewise
  WeightAverage<Real>& average;                   ///< empty where there is none
  std::optional<recipes::Scaler>& scaler;         ///< of the loss
  DelayedScales& delayed;                         ///< of operands
  DynamicLayers& dynamic;                         ///< which layers are wide
  Buffers<Real>& buffers;                         ///< running statistics
};

/// @throws ulpscope::Error where an entry is missing, or has another size than the run's
///@{
template <class Real>
void save_state(const RunState<Real>& state, SavedRun& run);
template <class Real>
void restore_state(const SavedRun& run, const RunState<Real>& state);
///@}

}  // namespace ulpscope::training
