// SPDX-License-Identifier: Apache-2.0
// Steps, and what is to be said of them.
#include "python/emulation.hpp"

#include <algorithm>
#include <utility>

#include "requests/parts.hpp"
#include "training/train/random_keys.hpp"
#include "training/train/run_findings.hpp"
#include "training/train/train_tables.hpp"

namespace ulpscope::python {

Emulation::Emulation(const std::string& recipe, std::uint64_t seed)
    : recipe_(recipes::open_recipe(recipe)),
      seed_(seed),
      storage_(training::state_storage_of(recipe_)),
      wide_(training::is_wide(recipe_)),
      dynamic_(recipe_.dynamic) {
  result_.recipe = recipe, result_.seed = seed;
  set_layers({});
}

void Emulation::set_layers(std::vector<std::string> layers) {
  precision_ = training::precision_of(recipe_, delayed_, std::move(layers), &dynamic_);
}

std::uint64_t Emulation::batch_key() const { return training::batch_key(seed_, step_); }

emu::Format Emulation::gradients_format() const { return requests::parse_format(recipe_.state.gradients); }

emu::Format Emulation::given_format() const {
  if (training::gradients_stay_narrow(recipe_)) return gradients_format();
  return wide_ ? emu::float64 : emu::float32;
}

emu::Format Emulation::statistics_format() const { return requests::parse_format(recipe_.state.statistics); }

void Emulation::step() {
  const std::scoped_lock lock(mutex_);
  result_ = so_far();
  for (const training::LayerMove& move : dynamic_.look(step_, monitor_.places()))
    result_.findings.push_back({step_, move.layer, move.place, move.wider ? "wider" : "narrower", move.value, move.threshold});
  delayed_.step();
  monitor_.clear();
  random_ = 0;
  ++step_;
}

reports::Table Emulation::tensors() {
  const std::scoped_lock lock(mutex_);
  return training::tensors_table({so_far()});
}

reports::Table Emulation::findings() {
  const std::scoped_lock lock(mutex_);
  training::RunResult all = so_far();
  // Of losses and norms of gradients nothing is known here: a skipped step says nothing of them.
  for (std::uint64_t step = 0; step <= step_; ++step) {
    all.steps.emplace_back();
    all.steps.back().step = step, all.steps.back().skipped = true;
    if (step < updates_.size()) all.steps.back().wanted = updates_[step].wanted, all.steps.back().lost = updates_[step].lost;
  }
  constexpr double notable_loss = 0.5;  // of changes to a running statistic, as the laboratory has it
  for (const auto& [layer, kept] : statistics_)
    if (const double lost = static_cast<double>(kept.lost) / static_cast<double>(std::max<std::uint64_t>(kept.wanted, 1));
        lost > notable_loss)
      all.findings.push_back({step_, layer, "batch_norm", "statistics_stagnation", lost, notable_loss});
  return training::findings_table({all});
}

void Emulation::count_updates(const training::UpdateCounts& counts) {
  const std::scoped_lock lock(mutex_);
  updates_.resize(step_ + 1);
  updates_[step_].wanted += counts.wanted, updates_[step_].lost += counts.lost;
}

std::uint64_t Emulation::take_update_words(std::size_t count) {
  const std::scoped_lock lock(mutex_);
  return std::exchange(update_words_, update_words_ + count);
}

training::RunResult Emulation::so_far() {
  training::RunResult all = result_;
  for (const auto& [place, counts] : monitor_.places()) all.places.push_back({step_, place, counts});
  return all;
}

}  // namespace ulpscope::python
