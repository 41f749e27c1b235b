// SPDX-License-Identifier: Apache-2.0
// One training run: a study under one recipe and one seed, to the last bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/recipe.hpp"
#include "training/state/optimizer.hpp"
#include "training/train/device_products.hpp"
#include "training/train/model.hpp"
#include "training/train/monitor.hpp"
#include "training/train/product_times.hpp"
#include "training/train/samples.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::training {

/// A step of the optimizer.
struct TrainStep {
  std::uint64_t step = 0;                              ///< from 0
  double loss = 0;                                     ///< mean over the batches of the step, unscaled
  double grad_norm = 0;                                ///< of all unscaled gradients together, before they are clipped
  double scale = 1;                                    ///< of the loss
  bool skipped = false;                                ///< by the scaler
  std::uint64_t wanted = 0, lost = 0, small = 0;       ///< as UpdateCounts has them, of all weights
  std::uint64_t average_wanted = 0, average_lost = 0;  ///< the same of the weights' moving average
  std::uint64_t right = 0, asked = 0;                  ///< classes of the step's samples: guessed, and all
  double other_loss = 0;                               ///< of gan: the discriminator's; `loss` is the generator's
  bool other_skipped = false;                          ///< and whether its optimizer did not step
};

/// The roundings of a step that was looked at.
struct WatchedPlace {
  std::uint64_t step = 0;  ///< of the run
  Place place;             ///< where
  PlaceCounts counts;      ///< what became of them
};

/// A finding of a run, before it is a sentence.
struct TrainFinding {
  std::uint64_t step = 0;           ///< at which
  std::string layer, place;         ///< where; empty: the run as a whole
  std::string finding;              ///< `non_finite`, `gradient_underflow`, `stagnation`, ...
  double value = 0, threshold = 0;  ///< what was held to what
};

/// What became of the updates of one parameter.
struct ParameterUpdates {
  std::uint64_t wanted = 0, lost = 0;       ///< in the last tenth of the steps: as TrainStep has them
  std::optional<std::uint64_t> since = {};  ///< the step since which more than notable_loss of them were lost at each
};

/// The share of updates that change no weight from which on a weight stagnates.
inline constexpr double notable_loss = 0.5;
/// How many steps the last tenth of a run has.
constexpr std::uint64_t tenth_of(std::uint64_t steps) { return std::max<std::uint64_t>(1, steps / 10); }
/// `2.weight` as its layer and its own name.
std::pair<std::string, std::string> layer_and_parameter(const std::string& name);

/// The weights after a step, as numbers of the recipe's stored weights.
struct RecordedWeights {
  std::uint64_t step = 0;                                   ///< updates that were made; of gradients the step
  std::vector<std::vector<double>> values;                  ///< by parameter
  std::map<std::string, std::vector<double>> statistics{};  ///< of batch norms: `2.running_mean`, `2.running_var`
  std::vector<std::vector<double>> averages = {};  ///< by parameter, where there is a moving average; of gradients none
};

/// The unscaled gradients of a step, before they are clipped.
using RecordedGradients = RecordedWeights;

/// Trained weights on the samples held back, or on all where none are, with the precision of a recipe.
struct Evaluation {
  std::string recipe;              ///< under which
  double loss = 0;                 ///< mean over the samples
  std::optional<double> accuracy;  ///< where the samples have classes
};

/// What came of a run.
struct RunResult {
  std::string recipe;                            ///< its name
  std::uint64_t seed = 0;                        ///< of init, order and stochastic rounding
  std::vector<ParameterShape> parameters;        ///< of the model
  emu::Format weights_format = emu::float32;     ///< of the stored weights
  emu::Format average_format = emu::float32;     ///< of their moving average
  emu::Format statistics_format = emu::float32;  ///< of the running statistics of batch norms
  std::vector<TrainStep> steps;                  ///< in order
  std::vector<WatchedPlace> places;              ///< of the steps that were looked at
  std::vector<ParameterUpdates> updates;         ///< by parameter
  std::vector<TrainFinding> findings;            ///< in order of steps
  std::vector<RecordedWeights> recorded;         ///< what was asked for, and the last ones
  std::vector<RecordedGradients> gradients;      ///< of the steps that were asked for
  bool diverged = false;                         ///< loss or weights became infinite or NaN, or the scaler raised
  std::optional<double> accuracy;                ///< on the samples held back
  std::optional<double> optimum;                 ///< least loss that any model has on average, where it is known
  std::optional<double> distance;                ///< of gan: frechet_distance() of its points to those of the data
  std::vector<Evaluation> evaluations;           ///< under the recipe itself and those of [run] evaluate; empty where none are
  double bytes_per_parameter = 0;                ///< of weights, their copy for products, gradients and optimizer states
  double bytes_per_activation = 0;               ///< of a number that is kept from the forward pass to the backward pass
  std::uint64_t activation_bytes = 0;            ///< of all that a batch keeps
  ProductCounts products;                        ///< where they ran; empty: nobody asked for devices
  std::optional<StepTime> step_time = {};        ///< of the products of the first step on a device; none: nobody asked
  std::uint64_t all_reduce_bytes = 0;            ///< that workers send in a step
};

/// What a run is told beside its study.
struct RunOptions {
  int threads = 0;                    ///< 0: all
  std::uint64_t gradients_every = 0;  ///< gradients are recorded at every so many steps, from the first on; 0: at none
  std::uint64_t record_every = 0;     ///< weights are recorded after so many steps; 0: after the last one alone
  std::function<void(const TrainStep&)> progress = {};
  DeviceProducts* devices = nullptr;    ///< they form the products; null: the emulated engines
  const ProductTimes* times = nullptr;  ///< what products take on a device; null: nobody asks
  /// Where the run is saved; none: nowhere. One that is there is gone on from with `resume`, with the same bits.
  std::string saved = {};
  bool resume = false;                  ///< without it, what is there is written over
  std::string identity = {};            ///< of the work, by lines: a run of other work is refused
  std::function<bool()> save_now = {};  ///< asked behind each step; none: the run is saved when it is done
};

/// The same bits for any number of threads. @throws ulpscope::Error
RunResult train(const TrainStudy& study, const Samples& samples, const std::string& recipe, std::uint64_t seed,
                const RunOptions& options);

}  // namespace ulpscope::training
