// SPDX-License-Identifier: Apache-2.0
// The loop: forward, backward, unscale, clip, step.
#include "training/train/run.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "emu/math.hpp"
#include "recipes/scaler.hpp"
#include "requests/parts.hpp"
#include "training/state/average.hpp"
#include "training/tape/operations.hpp"
#include "training/train/recipe_precision.hpp"

namespace ulpscope::training {
namespace {

constexpr std::uint64_t steps_watched = 10;  // about so many of a run have their roundings in tensors.csv

/// Each step, and each of its batches, has a key of its own.
std::uint64_t key_of(std::uint64_t seed, std::uint64_t index) { return (seed + 1) * 0x9e3779b97f4a7c15U + index * 2; }

template <class Real>
bool all_finite(const std::vector<std::vector<Real>>& all) {
  return std::all_of(all.begin(), all.end(), [](const auto& values) {
    return std::all_of(values.begin(), values.end(), [](Real x) { return std::isfinite(x); });
  });
}

template <class Real>
double norm_of(const std::vector<std::vector<Real>>& all) {
  double sum = 0;
  for (const auto& values : all)
    for (const Real x : values) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum);
}

template <class Real>
class Trainer {
 public:
  Trainer(const TrainStudy& study, const Samples& samples, const recipes::Recipe& recipe, std::uint64_t seed,
          const RunOptions& options, RunResult& result)
      : study_(study),
        samples_(samples),
        options_(options),
        result_(result),
        precision_(precision_of(recipe, delayed_)),
        storage_(state_storage_of(recipe)),
        gradients_{requests::parse_format(recipe.state.gradients), {}},
        settings_(study.optimizer.settings()),
        seed_(seed),
        trained_(samples.count - std::min<std::size_t>(samples.count, static_cast<std::size_t>(study.data.held_back))),
        batches_(study.data, trained_, seed) {
    if (!study.scaler.empty()) scaler_.emplace(study.scaler, gradients_.format);
    if (scaler_ && scaler_->follows_amax())
      throw Error("[scaler] " + study.scaler + ": scales tensors, not losses; a recipe's rule has it as its scaling");
    result.parameters = parameters_of(study.model);
    if (study.data.table == "markov") result.optimum = markov_optimum(study.model.context, study.model.vocabulary);
    result.weights_format = storage_.weights.format, result.average_format = storage_.average.format;
    weights_ = initial_parameters<Real>(study.model, result.parameters, key_of(seed, 1));
    for (auto& values : weights_) store(values, storage_.weights);
    states_.resize(weights_.size());
  }

  void run() {
    const std::uint64_t steps = steps_of(study_, samples_), watched = std::max<std::uint64_t>(1, steps / steps_watched);
    for (std::uint64_t step = 0; step < steps && !result_.diverged; ++step) {
      monitor_.clear();
      one_step(step, steps);
      if (step % watched == 0 || result_.diverged || step + 1 == steps)
        for (const auto& [place, counts] : monitor_.places()) result_.places.push_back({step, place, counts});
      if (options_.progress) options_.progress(result_.steps.back());
      if ((options_.record_every > 0 && (step + 1) % options_.record_every == 0) || step + 1 == steps) record(step + 1);
    }
    if (!result_.diverged && trained_ < samples_.count && study_.loss == "cross_entropy") result_.accuracy = accuracy();
  }

 private:
  using Tensors = std::vector<std::vector<Real>>;

  static void store(std::vector<Real>& values, const Storage& storage) {
    emu::round_to(storage.format, std::span<const Real>(values), std::span<Real>(values), storage.options, {});
  }

  static constexpr emu::Format own = sizeof(Real) == sizeof(float) ? emu::float32 : emu::float64;

  Variable loss_of(Tape<Real>& tape, Variable outputs, const std::vector<std::size_t>& batch) const {
    if (study_.loss == "cross_entropy") return cross_entropy(tape, outputs, samples_.classes_of(batch));
    if (study_.loss == "sum") return sum(tape, outputs);
    const Variable target = tape.input(samples_.targets_of<Real>(batch), own, false);
    return study_.loss == "mse" ? mean_squared_error(tape, outputs, target)
                                : binary_cross_entropy_with_logits(tape, outputs, target);
  }

  std::vector<Variable> parameters_on(Tape<Real>& tape, bool trained) const {
    std::vector<Variable> variables;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      variables.push_back(tape.input(Array<Real>(result_.parameters[i].shape, weights_[i]), storage_.weights.format, trained));
    return variables;
  }

  /// Scaled gradients of the batches of a step, added up in their format; `loss` gets the mean.
  Tensors scaled_gradients(std::uint64_t step, double scale, double& loss) {
    const std::uint64_t parts = study_.run.accumulate;
    Tensors all(weights_.size());
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::uint64_t index = step * parts + part;
      const std::vector<std::size_t> batch = batches_.at(index);
      Tape<Real> tape(precision_, key_of(seed_, 2 * index + 3), options_.threads);
      tape.on_stored([this](const Stored<Real>& stored) { monitor_.add(stored); });
      const std::vector<Variable> variables = parameters_on(tape, true);
      const Variable outputs = apply(tape, study_.model, variables, samples_, batch);
      const Variable result = loss_of(tape, outputs, batch);
      loss += static_cast<double>(tape.value(result).values[0]) / static_cast<double>(parts);
      tape.backward(result, static_cast<Real>(scale / static_cast<double>(parts)));
      for (std::size_t i = 0; i < variables.size(); ++i) {
        std::vector<Real> gradient = tape.gradient(variables[i]).values;
        if (gradient.empty()) gradient.assign(weights_[i].size(), 0);
        store(gradient, gradients_);
        if (all[i].empty()) {
          all[i] = std::move(gradient);
          continue;
        }
        for (std::size_t j = 0; j < gradient.size(); ++j) all[i][j] += gradient[j];
        store(all[i], gradients_);
      }
    }
    return all;
  }

  void clip(Tensors& gradients) const {
    if (study_.run.clip_value)
      for (auto& values : gradients)
        for (Real& x : values)
          if (std::fabs(x) > static_cast<Real>(*study_.run.clip_value))
            x = std::copysign(static_cast<Real>(*study_.run.clip_value), x);
    if (!study_.run.clip_norm) return;
    const double norm = norm_of(gradients),
                 factor = *study_.run.clip_norm / (norm + 1e-6);  // as torch.nn.utils.clip_grad_norm_
    if (!(factor < 1)) return;
    for (auto& values : gradients)
      for (Real& x : values) x *= static_cast<Real>(factor);
  }

  void unscale(Tensors& gradients, double scale) const {
    const bool in_format = scaler_ && scaler_->unscales_in_format();
    const Real inverse = static_cast<Real>(1 / scale);
    for (auto& values : gradients) {
      for (Real& x : values) x = in_format ? static_cast<Real>(static_cast<double>(x) / scale) : scale == 1 ? x : x * inverse;
      if (in_format) store(values, gradients_);
    }
  }

  double learning_rate(std::uint64_t step, std::uint64_t steps) const {
    const std::uint64_t warmup = study_.run.warmup;
    if (step < warmup) return study_.optimizer.lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (study_.run.schedule == "constant") return study_.optimizer.lr;
    const double share = static_cast<double>(step - warmup) / static_cast<double>(std::max<std::uint64_t>(1, steps - warmup));
    return study_.optimizer.lr * (1 + emu::cos_two_pi(share / 2)) / 2;
  }

  recipes::Seen seen_of(const Tensors& gradients, bool found_inf) const {
    recipes::Seen seen{.found_inf = found_inf};
    if (!scaler_ || !scaler_->bin_edge()) return seen;
    std::uint64_t above = 0, count = 0;
    for (const auto& values : gradients)
      for (const Real x : values) above += std::fabs(static_cast<double>(x)) > *scaler_->bin_edge() ? 1 : 0, ++count;
    seen.upper = count == 0 ? 0 : static_cast<double>(above) / static_cast<double>(count);
    return seen;
  }

  void one_step(std::uint64_t step, std::uint64_t steps) {
    TrainStep row{.step = step, .scale = scaler_ ? scaler_->scale() : 1};
    Tensors gradients = scaled_gradients(step, row.scale, row.loss);
    delayed_.step();
    // The scaled gradients are looked at before they are multiplied, as PyTorch does; Genesis looks behind.
    bool found_inf = !all_finite(gradients);
    const recipes::Seen seen = seen_of(gradients, found_inf);
    if (study_.run.clip == "before_unscale") clip(gradients);
    unscale(gradients, row.scale);
    if (scaler_ && scaler_->unscales_in_format()) found_inf = !all_finite(gradients);
    row.grad_norm = norm_of(gradients);
    if (options_.gradients_every > 0 && step % options_.gradients_every == 0)
      result_.gradients.push_back({step, widened(gradients)});
    if (study_.run.clip == "after_unscale") clip(gradients);
    bool raised = false;
    if (scaler_) {
      recipes::Seen told = seen;
      told.found_inf = found_inf;
      const recipes::ScalerStep made = scaler_->step(told);
      row.skipped = made.skipped, raised = made.raised;
    }
    if (!row.skipped) update(step, steps, gradients, row);
    result_.steps.push_back(row);
    if (raised) finding(step, {}, "scaler_raised", row.scale, scaler_->floor());
    const bool bad_loss = !std::isfinite(row.loss), bad_weights = !all_finite(weights_);
    if (bad_loss || bad_weights) finding(step, monitor_.first_nonfinite(), "non_finite", bad_loss ? row.loss : std::nan(""), 0);
    result_.diverged = raised || bad_loss || bad_weights;
  }

  void update(std::uint64_t step, std::uint64_t steps, const Tensors& gradients, TrainStep& row) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const UpdateCounts counts =
          optimizer_step(settings_, storage_, learning_rate(step, steps), weights_[i], gradients[i], states_[i],
                         key_of(seed_, 2), next_random_, result_.parameters[i].shape, options_.threads);
      next_random_ += weights_[i].size();
      row.wanted += counts.wanted;
      row.lost += counts.lost;
    }
    if (!study_.run.average) return;
    const UpdateCounts of_average = follow(average_, weights_, *study_.run.average, storage_.average);
    row.average_wanted = of_average.wanted, row.average_lost = of_average.lost;
  }

  void finding(std::uint64_t step, const std::optional<Place>& place, const char* what, double value, double threshold) {
    result_.findings.push_back(
        {step, place ? place->layer : "", place ? place->operation + " " + place->place : "", what, value, threshold});
  }

  static std::vector<std::vector<double>> widened(const Tensors& tensors) {
    std::vector<std::vector<double>> all;
    for (const auto& values : tensors) all.emplace_back(values.begin(), values.end());
    return all;
  }

  void record(std::uint64_t step) { result_.recorded.push_back({step, widened(weights_), widened(average_.tensors)}); }

  double accuracy() {
    constexpr std::size_t at_once = 256;
    std::size_t right = 0, all = 0;
    for (std::size_t begin = trained_; begin < samples_.count; begin += at_once) {
      std::vector<std::size_t> batch;
      for (std::size_t i = begin; i < std::min(samples_.count, begin + at_once); ++i) batch.push_back(i);
      Tape<Real> tape(precision_, key_of(seed_, 4), options_.threads);
      const auto& values = tape.value(apply(tape, study_.model, parameters_on(tape, false), samples_, batch)).values;
      const std::vector<std::size_t> wanted = samples_.classes_of(batch);
      const std::size_t classes = values.size() / wanted.size();
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto row = values.begin() + static_cast<std::ptrdiff_t>(i * classes);
        const auto best = static_cast<std::size_t>(std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row);
        right += best == wanted[i] ? 1 : 0;
      }
      all += wanted.size();
    }
    return static_cast<double>(right) / static_cast<double>(all);
  }

  const TrainStudy& study_;
  const Samples& samples_;
  const RunOptions& options_;
  RunResult& result_;
  DelayedScales delayed_;
  Precision precision_;
  StateStorage storage_;
  Storage gradients_;
  OptimizerSettings settings_;
  std::uint64_t seed_, next_random_ = 0;
  std::size_t trained_;
  Batches batches_;
  std::optional<recipes::Scaler> scaler_;
  Tensors weights_;
  std::vector<OptimizerState<Real>> states_;
  WeightAverage<Real> average_;
  Monitor monitor_;
};

}  // namespace

std::uint64_t steps_of(const TrainStudy& study, const Samples& samples) {
  if (study.run.steps > 0) return study.run.steps;
  const std::size_t held = std::min<std::size_t>(samples.count, static_cast<std::size_t>(study.data.held_back));
  const std::uint64_t batches = study.run.epochs * Batches(study.data, samples.count - held, 0).per_epoch();
  return std::max<std::uint64_t>(1, batches / study.run.accumulate);
}

RunResult train(const TrainStudy& study, const Samples& samples, const std::string& recipe, std::uint64_t seed,
                const RunOptions& options) {
  const recipes::Recipe opened = recipes::open_recipe(recipe);
  RunResult result;
  result.recipe = recipe;
  result.seed = seed;
  if (is_wide(opened))
    Trainer<double>(study, samples, opened, seed, options, result).run();
  else
    Trainer<float>(study, samples, opened, seed, options, result).run();
  return result;
}

}  // namespace ulpscope::training
