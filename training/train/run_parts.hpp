// SPDX-License-Identifier: Apache-2.0
// What a run is made of: the study, its precision, and all that changes from step to step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/recipe.hpp"
#include "recipes/scaler.hpp"
#include "training/state/average.hpp"
#include "training/tape/product_tally.hpp"
#include "training/tape/tape.hpp"
#include "training/tape/workspace.hpp"
#include "training/train/model.hpp"
#include "training/train/monitor.hpp"
#include "training/train/objective.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/run.hpp"
#include "training/train/run_state.hpp"
#include "training/train/samples.hpp"

namespace ulpscope::training {

/// What an optimizer steps.
struct OptimizedPart {
  Objective objective;         ///< which parameters, and by which loss
  OptimizerSettings settings;  ///< of its optimizer
};

/// Numbers of each of several parameters.
template <class Real>
using Tensors = std::vector<std::vector<Real>>;

/// Rounds them in place, to nearest even where the storage says nothing else.
template <class Real>
void round_in_place(std::vector<Real>& values, const Storage& storage);

/// It stays where it is: its precision refers to its scales.
template <class Real>
struct RunParts {
  /// Before the first step. All but the seed is kept by reference. @throws ulpscope::Error
  RunParts(const TrainStudy& study, const Samples& samples, const recipes::Recipe& recipe, std::uint64_t seed,
           const RunOptions& options, RunResult& result);
  RunParts(const RunParts&) = delete;
  RunParts& operator=(const RunParts&) = delete;

  /// A tape of the run, in the precision of its recipe or another one.
  Tape<Real> tape_of(const Precision& precision, std::uint64_t key) const;
  /// All weights on a tape; those from `begin` up to `end` - 1 have gradients.
  std::vector<Variable> parameters_on(Tape<Real>& tape, std::size_t begin, std::size_t end) const;
  /// The scaler of the study, if it has one, as it is at first.
  void start_scaler();
  /// Says to devices where the run is.
  void enter(const std::string& when) const;
  /// What changes from step to step.
  RunState<Real> state();

  const TrainStudy& study;                                                           ///< that is run
  const Samples& samples;                                                            ///< trained on, and held back
  const recipes::Recipe& recipe;                                                     ///< under which
  const RunOptions& options;                                                         ///< of the run
  RunResult& result;                                                                 ///< what has come of it
  DelayedScales delayed = {};                                                        ///< of operands
  DynamicLayers dynamic;                                                             ///< which layers are wide
  Precision precision;                                                               ///< of the recipe
  StateStorage storage;                                                              ///< of weights and optimizer states
  Storage gradients, reduced;                                                        ///< of a worker, and of those that travel
  Buffers<Real> buffers;                                                             ///< running statistics
  std::vector<OptimizedPart> parts = {};                                             ///< of a step, in turn
  std::shared_ptr<Workspace<Real>> workspace = std::make_shared<Workspace<Real>>();  ///< of all tapes
  std::uint64_t seed;                                                                ///< of the run
  std::uint64_t next_random = 0;                                                     ///< word of the updates to come
  std::uint64_t next_step = 0;                                                       ///< the step to come
  std::uint64_t reduced_bytes = 0;                                                   ///< that workers have sent in this step
  bool done = false;                                                                 ///< all steps and evaluations were made
  std::size_t trained;                                                               ///< samples that are not held back
  Batches batches;                                                                   ///< of these
  std::optional<recipes::Scaler> scaler = {};                                        ///< of the loss
  Tensors<Real> weights = {};                                                        ///< by parameter
  std::vector<OptimizerState<Real>> states = {};                                     ///< likewise
  WeightAverage<Real> average = {};                                                  ///< empty where there is none
  std::optional<TrainFinding> bad_gradient = {};                                     ///< made by unscaling in this step
  ProductTally tally = {};                                                           ///< of the first step
  Monitor monitor = {};                                                              ///< of the roundings of a step
};

}  // namespace ulpscope::training
