// SPDX-License-Identifier: Apache-2.0
// All runs of a study, and the files that they record.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "studies/shards/shard.hpp"
#include "training/train/product_times.hpp"
#include "training/train/run.hpp"
#include "training/train/samples.hpp"

namespace ulpscope::training {

/// How far the runs are.
struct TrainProgress {
  std::string run;                 ///< `fp16_amp-0`: recipe and seed
  std::uint64_t done = 0, of = 0;  ///< steps of all runs
  std::uint64_t skipped = 0;       ///< steps of this run that the scaler skipped
  TrainStep step = {};             ///< the last one
};

/// How runs are made.
struct TrainAll {
  RunOptions run = {};     ///< of each; `progress` and `saved` are set here
  std::string saved = {};  ///< folder, which is there, of runs on their way; empty: none is saved
  std::function<void(const TrainProgress&)> progress = {};  ///< asked behind each step
  studies::Shard shard = {};                                ///< whose runs are made: of all every count-th, from its own on
};

/// What the runs of a study read, once for all of them.
struct TrainInputs {
  Samples samples;                    ///< trained on, and held back
  std::optional<ProductTimes> times;  ///< what products take on a device, where the study names a file
};
/// @throws ulpscope::Error
TrainInputs read_inputs(const TrainStudy& study);
/// What all runs of a study are made of beside its text, by lines: digests of what they read, and their recipes. Files that
/// were written to meanwhile make other runs. @throws ulpscope::Error
std::string input_lines(const TrainStudy& study, const TrainInputs& inputs);

/// `fp8_current-0` of a recipe, or the name of one: that of a run's files.
std::string run_name(const std::string& recipe, std::uint64_t seed);

/// The names of the saved runs of a study.
std::set<std::string> saved_files(const TrainStudy& study);

/// All runs, by recipe and seed. What devices refuse is found before the first one. @throws ulpscope::Error
///@{
std::vector<RunResult> train_all(const TrainStudy& study, const TrainInputs& inputs, const TrainAll& options);
std::vector<RunResult> train_all(const TrainStudy& study, const TrainAll& options);
///@}

/// What the runs recorded, as files of a report, name and content: weights/RECIPE-SEED-STEP.safetensors, whose names and shapes
/// are torch's, and gradients/RECIPE-SEED.safetensors, a trace for `ulpscope scale`. @throws ulpscope::Error
std::vector<std::pair<std::string, std::string>> recorded_files(const std::vector<RunResult>& runs);

}  // namespace ulpscope::training
