// SPDX-License-Identifier: Apache-2.0
// A recipe at work on a model that is not ours: what it rounds numbers to, and what became of every number that it rounded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emu/format.hpp"
#include "recipes/recipe.hpp"
#include "reports/table.hpp"
#include "training/state/optimizer.hpp"
#include "training/state/running_statistics.hpp"
#include "training/tape/tape.hpp"
#include "training/train/monitor.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/run.hpp"

namespace ulpscope::python {

/// Threads may use it at once: autograd's goes backward in one of its own.
class Emulation : public std::enable_shared_from_this<Emulation> {
 public:
  /// @throws ulpscope::Error where there is no such recipe
  Emulation(const std::string& recipe, std::uint64_t seed);

  /// Those that have products, in order, for rules by depth.
  void set_layers(std::vector<std::string> layers);
  /// Whether numbers are float64: weights of the recipe are no float32 numbers.
  bool is_wide() const { return wide_; }

  /// A tape for the next operation: its stochastic roundings go on where the last one's ended, as those of one tape of the
  /// laboratory for all of a step.
  template <class Real>
  training::Tape<Real> tape() {
    const std::scoped_lock lock(mutex_);
    training::Tape<Real> made(*precision_, batch_key(), 0);
    made.go_on_from(random_);
    return made;
  }
  /// The same for the gradients of an operation: the words of its tape from now on, and what it left.
  ///@{
  template <class Real>
  void give_random_to(training::Tape<Real>& tape) {
    const std::scoped_lock lock(mutex_);
    tape.go_on_from(random_);
  }
  template <class Real>
  void take_random_from(const training::Tape<Real>& tape) {
    const std::scoped_lock lock(mutex_);
    random_ = tape.next_random();
  }
  ///@}

  emu::Format weights_format() const { return storage_.weights.format; }
  emu::Format gradients_format() const;
  /// Of gradients that were unscaled and clipped, as an optimizer is given them.
  emu::Format given_format() const;
  template <class Real>
  void count(const training::Stored<Real>& stored) {
    const std::scoped_lock lock(mutex_);
    monitor_.add(stored);
  }
  /// An optimizer's step has been.
  void step();

  /// What became of the numbers of each layer, operation and place, by step; what monitors of a run of the laboratory say of
  /// it.
  ///@{
  reports::Table tensors();
  reports::Table findings();
  ///@}

  /// Mean and variance of a layer's batch norm behind a batch.
  template <class Real>
  training::BatchStatistics<Real> follow(const std::string& layer, training::BatchStatistics<Real> kept,
                                         const training::BatchStatistics<Real>& batch, double momentum) {
    const std::scoped_lock lock(mutex_);
    training::RunningStatistics<Real> running;
    running.statistics = std::move(kept);
    training::follow(running, batch, {statistics_format(), {}}, momentum);
    training::UpdateCounts& counts = statistics_[layer];
    counts.wanted += running.wanted, counts.lost += running.lost;
    return running.statistics;
  }
  /// What became of a tensor's updates in the present step.
  void count_updates(const training::UpdateCounts& counts);
  const training::StateStorage& storage() const { return storage_; }
  std::uint64_t seed() const { return seed_; }
  /// Random words for the update of so many weights: where they begin.
  std::uint64_t take_update_words(std::size_t count);

 private:
  std::uint64_t batch_key() const;
  emu::Format statistics_format() const;
  training::RunResult so_far();

  recipes::Recipe recipe_;
  std::uint64_t seed_, random_ = 0, update_words_ = 0, step_ = 0;
  training::StateStorage storage_;
  bool wide_;
  training::DelayedScales delayed_;
  training::DynamicLayers dynamic_;
  std::optional<training::Precision> precision_;
  std::mutex mutex_;
  training::Monitor monitor_;
  training::RunResult result_;
  std::vector<training::UpdateCounts> updates_;               // by step
  std::map<std::string, training::UpdateCounts> statistics_;  // of running statistics, by layer
};

}  // namespace ulpscope::python
