// SPDX-License-Identifier: Apache-2.0
// The loop: forward, backward, unscale, clip, step.
#include "training/train/run.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "emu/math.hpp"
#include "recipes/scaler.hpp"
#include "requests/parts.hpp"
#include "training/state/all_reduce.hpp"
#include "training/state/average.hpp"
#include "training/train/evaluation.hpp"
#include "training/train/gan.hpp"
#include "training/train/objective.hpp"
#include "training/train/random_keys.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/run_state.hpp"
#include "training/train/saved_run.hpp"

namespace ulpscope::training {
namespace {

constexpr std::uint64_t steps_watched = 10;  // about so many of a run have their roundings in tensors.csv

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

/// What an optimizer steps: parameters from `begin` up to `end` - 1.
struct Part {
  Objective objective;
  OptimizerSettings settings;
};

std::vector<double> wide(const std::vector<float>& values) { return {values.begin(), values.end()}; }
std::vector<double> wide(const std::vector<double>& values) { return values; }
template <class Real>
class Trainer {
 public:
  Trainer(const TrainStudy& study, const Samples& samples, const recipes::Recipe& recipe, std::uint64_t seed,
          const RunOptions& options, RunResult& result)
      : study_(study),
        samples_(samples),
        recipe_(recipe),
        options_(options),
        result_(result),
        dynamic_(recipe.dynamic),
        precision_(on_engine(precision_of(recipe, delayed_, product_layers(study.model), &dynamic_), study.run.engine)),
        storage_(state_storage_of(recipe)),
        gradients_{requests::parse_format(recipe.state.gradients), {}},
        reduced_{recipe.state.all_reduce.empty() ? gradients_.format : requests::parse_format(recipe.state.all_reduce), {}},
        buffers_{.storage = {requests::parse_format(recipe.state.statistics), {}}},
        seed_(seed),
        trained_(samples.count - std::min<std::size_t>(samples.count, static_cast<std::size_t>(study.data.held_back))),
        batches_(study.data, trained_, seed) {
    if (!study.scaler.empty()) scaler_.emplace(study.scaler, gradients_.format);
    if (scaler_ && scaler_->follows_amax())
      throw Error("[scaler] " + study.scaler + ": scales tensors, not losses; a recipe's rule has it as its scaling");
    result.parameters = parameters_of(study.model);
    if (study.data.table == "markov") result.optimum = markov_optimum(study.model.context, study.model.vocabulary);
    result.weights_format = storage_.weights.format, result.average_format = storage_.average.format;
    for (const Objective& objective : objectives_of(study, result.parameters))
      parts_.push_back({objective, objective.optimizer.settings()});
    weights_ = initial_parameters<Real>(study.model, result.parameters, key_of(seed, 1));
    for (auto& values : weights_) store(values, storage_.weights);
    states_.resize(weights_.size());
  }

  void run() {
    const std::uint64_t steps = steps_of(study_, samples_), watched = std::max<std::uint64_t>(1, steps / steps_watched);
    if (options_.resume && std::filesystem::exists(options_.saved)) restore();
    for (std::uint64_t step = next_step_; step < steps && !result_.diverged; ++step) {
      if (study_.run.reload_at == step) reload(step);
      monitor_.clear();
      enter("step " + std::to_string(step));
      one_step(step, steps);
      count_products();
      for (const LayerMove& move : dynamic_.look(step, monitor_.places()))
        result_.findings.push_back(
            {step, move.layer, move.place, move.wider ? "moved_wider" : "moved_back", move.value, move.threshold});
      if (step % watched == 0 || result_.diverged || step + 1 == steps)
        for (const auto& [place, counts] : monitor_.places()) result_.places.push_back({step, place, counts});
      if (options_.progress) options_.progress(result_.steps.back());
      if ((options_.record_every > 0 && (step + 1) % options_.record_every == 0) || step + 1 == steps) record(step + 1);
      next_step_ = step + 1;
      if (options_.save_now && options_.save_now()) save();
    }
    enter("evaluation");
    if (!done_) finish();
    count_products();
    done_ = true;
    save();
  }

 private:
  using Tensors = std::vector<std::vector<Real>>;

  static void store(std::vector<Real>& values, const Storage& storage) {
    emu::round_to(storage.format, std::span<const Real>(values), std::span<Real>(values), storage.options, {});
  }

  Tape<Real> tape_of(const Precision& precision, std::uint64_t key) const {
    Tape<Real> tape(precision, key, options_.threads);
    tape.multiply_by(options_.devices);
    return tape;
  }

  /// Says to devices where the run is.
  void enter(const std::string& when) const {
    if (options_.devices != nullptr) options_.devices->enter(result_.recipe, "seed " + std::to_string(seed_) + ", " + when);
  }

  /// What devices have multiplied.
  void count_products() {
    if (options_.devices == nullptr) return;
    for (const auto& [what, count] : options_.devices->take_counts()) result_.products[what] += count;
  }

  std::vector<Variable> parameters_on(Tape<Real>& tape, std::size_t begin, std::size_t end) const {
    std::vector<Variable> variables;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      variables.push_back(
          tape.input(Array<Real>(result_.parameters[i].shape, weights_[i]), storage_.weights.format, begin <= i && i < end));
    return variables;
  }

  /// Scaled gradients of a batch, in their format; the loss is added to `loss`. The n-th batch of a run.
  Tensors gradients_of(std::uint64_t index, std::size_t part, double scale, double share, double& loss) {
    const Objective& objective = parts_[part].objective;
    const std::vector<std::size_t> batch = batches_.at(index);
    const std::uint64_t own = index * parts_.size() + part;
    Tape<Real> tape = tape_of(precision_, batch_key(seed_, own));
    tape.on_stored([this](const Stored<Real>& stored) { monitor_.add(stored); });
    const std::vector<Variable> variables = parameters_on(tape, objective.begin, objective.end);
    const Variable result = loss_of(tape, study_, objective, variables, samples_, batch, key_of(seed_, 2 * own + 6), buffers_);
    result_.activation_bytes = std::max(result_.activation_bytes, tape.kept_bytes());
    result_.bytes_per_activation = static_cast<double>(tape.kept_bytes()) / static_cast<double>(tape.kept_numbers());
    loss += static_cast<double>(tape.value(result).values[0]) * share;
    tape.backward(result, static_cast<Real>(scale * share));
    Tensors all;
    for (std::size_t i = objective.begin; i < objective.end; ++i) {
      std::vector<Real> gradient = tape.gradient(variables[i]).values;
      if (gradient.empty()) gradient.assign(weights_[i].size(), 0);
      store(gradient, gradients_);
      all.push_back(std::move(gradient));
    }
    return all;
  }

  /// Scaled gradients of the batches of a worker, added up in their format.
  Tensors gradients_of_worker(std::uint64_t step, std::uint64_t worker, std::size_t part, double scale, double& loss) {
    const std::uint64_t batches = study_.run.accumulate, first = (step * study_.run.workers + worker) * batches;
    // As torch's DistributedDataParallel has it, gradients are divided by the number of workers before they are added.
    const double share = 1 / static_cast<double>(batches * study_.run.workers);
    Tensors all;
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
      Tensors gradients = gradients_of(first + batch, part, scale, share, loss);
      if (all.empty()) {
        all = std::move(gradients);
        continue;
      }
      for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < all[i].size(); ++j) all[i][j] += gradients[i][j];
        store(all[i], gradients_);
      }
    }
    return all;
  }

  /// Of all workers; `loss` gets the mean.
  Tensors scaled_gradients(std::uint64_t step, std::size_t part, double scale, double& loss) {
    const std::uint64_t workers = study_.run.workers;
    if (workers == 1) return gradients_of_worker(step, 0, part, scale, loss);
    // All tensors of a worker are one bucket.
    std::vector<std::vector<Real>> buckets;
    Tensors all;
    for (std::uint64_t worker = 0; worker < workers; ++worker) {
      all = gradients_of_worker(step, worker, part, scale, loss);
      std::vector<Real>& bucket = buckets.emplace_back();
      for (const auto& values : all) bucket.insert(bucket.end(), values.begin(), values.end());
      store(bucket, reduced_);
    }
    const std::vector<Real> sum = all_reduce(buckets, parse_reduce_order(study_.run.all_reduce), reduced_);
    reduced_bytes_ += bytes_moved(static_cast<std::size_t>(workers), sum.size(), reduced_.format);
    auto next = sum.begin();
    for (auto& values : all) {
      std::copy_n(next, values.size(), values.begin());
      next += static_cast<std::ptrdiff_t>(values.size());
      store(values, gradients_);
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

  double learning_rate(double full, std::uint64_t step, std::uint64_t steps) const {
    const std::uint64_t warmup = study_.run.warmup;
    if (step < warmup) return full * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (study_.run.schedule == "constant") return full;
    const double share = static_cast<double>(step - warmup) / static_cast<double>(std::max<std::uint64_t>(1, steps - warmup));
    return full * (1 + emu::cos_two_pi(share / 2)) / 2;
  }

  double share_above_edge(const Tensors& gradients) const {
    std::uint64_t above = 0, count = 0;
    for (const auto& values : gradients)
      for (const Real x : values) above += std::fabs(static_cast<double>(x)) > *scaler_->bin_edge() ? 1 : 0, ++count;
    return count == 0 ? 0 : static_cast<double>(above) / static_cast<double>(count);
  }

  /// The loss, gradients and update of one optimizer. @returns what the scaler is to be told
  recipes::Seen one_part(std::uint64_t step, std::uint64_t steps, std::size_t part, TrainStep& row) {
    const bool is_last = part + 1 == parts_.size();  // of gan the generator, whose loss is the curve
    double& loss = is_last ? row.loss : row.other_loss;
    Tensors gradients = scaled_gradients(step, part, row.scale, loss);
    // The scaled gradients are looked at before they are multiplied, as PyTorch does; Genesis looks behind.
    recipes::Seen seen{.found_inf = !all_finite(gradients)};
    if (scaler_ && scaler_->bin_edge()) seen.upper = share_above_edge(gradients);
    if (study_.run.clip == "before_unscale") clip(gradients);
    if (study_.run.unscale == "before_step") unscale(gradients, row.scale);
    if (scaler_ && scaler_->unscales_in_format()) seen.found_inf = !all_finite(gradients);
    if (is_last) row.grad_norm = norm_of(gradients);
    look_for_explosions(step, parts_[part], gradients);
    if (options_.gradients_every > 0 && step % options_.gradients_every == 0) keep_gradients(step, part, gradients);
    if (study_.run.clip == "after_unscale") clip(gradients);
    // One scaler may serve several optimizers: whether a step is skipped is each one's own, the next scale comes of them all.
    bool skipped = false;
    if (scaler_ && study_.run.on_overflow == "skip") skipped = recipes::Scaler(*scaler_).step(seen).skipped;
    (is_last ? row.skipped : row.other_skipped) = skipped;
    if (!skipped) update(step, steps, parts_[part], gradients, row);
    return seen;
  }

  void one_step(std::uint64_t step, std::uint64_t steps) {
    TrainStep row{.step = step, .scale = scaler_ ? scaler_->scale() : 1};
    recipes::Seen all;
    reduced_bytes_ = 0;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const recipes::Seen seen = one_part(step, steps, part, row);
      all.found_inf |= seen.found_inf;
      if (seen.upper) all.upper = std::max(all.upper.value_or(0), *seen.upper);
    }
    if (study_.run.average && !(row.skipped && (parts_.size() == 1 || row.other_skipped))) {
      const UpdateCounts of_average = follow(average_, weights_, *study_.run.average, storage_.average);
      row.average_wanted = of_average.wanted, row.average_lost = of_average.lost;
    }
    delayed_.step();
    result_.all_reduce_bytes = reduced_bytes_;
    const bool raised = scaler_ && scaler_->step(all).raised;
    result_.steps.push_back(row);
    look_at_scale(step, row.scale);
    if (raised) finding(step, {}, "scaler_raised", row.scale, scaler_->floor());
    const double losses = row.loss + row.other_loss;
    const bool bad_loss = !std::isfinite(losses), bad_weights = !all_finite(weights_);
    if (bad_loss || bad_weights) finding(step, monitor_.first_nonfinite(), "non_finite", bad_loss ? losses : std::nan(""), 0);
    result_.diverged = raised || bad_loss || bad_weights;
  }

  void update(std::uint64_t step, std::uint64_t steps, const Part& part, const Tensors& gradients, TrainStep& row) {
    const double rate = learning_rate(part.objective.optimizer.lr, step, steps);
    for (std::size_t i = part.objective.begin; i < part.objective.end; ++i) {
      const UpdateCounts counts =
          optimizer_step(part.settings, storage_, rate, weights_[i], gradients[i - part.objective.begin], states_[i],
                         update_key(seed_), next_random_, result_.parameters[i].shape, options_.threads);
      next_random_ += weights_[i].size();
      row.wanted += counts.wanted;
      row.lost += counts.lost;
    }
  }

  /// A gradient so large in one tensor is found once.
  void look_for_explosions(std::uint64_t step, const Part& part, const Tensors& gradients) {
    constexpr double exploding = 1e4;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      double largest = 0;
      for (const Real x : gradients[i]) largest = std::max(largest, std::fabs(static_cast<double>(x)));
      if (largest > exploding && std::isfinite(largest))
        find_once(
            {step, result_.parameters[part.objective.begin + i].name, "gradient", "exploding_tensor", largest, exploding});
    }
  }

  void look_at_scale(std::uint64_t step, double scale) {
    if (!scaler_ || scaler_->floor() >= scaler_->cap()) return;  // a static one is at both
    if (scale <= scaler_->floor()) find_once({step, "", "scale", "scaler_on_floor", scale, scaler_->floor()});
    if (scale >= scaler_->cap()) find_once({step, "", "scale", "scaler_on_cap", scale, scaler_->cap()});
  }

  void find_once(TrainFinding found) {
    for (const TrainFinding& other : result_.findings)
      if (other.finding == found.finding && other.layer == found.layer) return;
    result_.findings.push_back(std::move(found));
  }

  void finding(std::uint64_t step, const std::optional<Place>& place, const char* what, double value, double threshold) {
    result_.findings.push_back(
        {step, place ? place->layer : "", place ? place->operation + " " + place->place : "", what, value, threshold});
  }

  /// Weights, or gradients of all parameters: what a step did not form is zero.
  void keep_gradients(std::uint64_t step, std::size_t part, const Tensors& gradients) {
    if (part == 0) {
      RecordedGradients& recorded = result_.gradients.emplace_back();
      recorded.step = step;
      for (const auto& values : weights_) recorded.values.emplace_back(values.size(), 0.0);
    }
    for (std::size_t i = 0; i < gradients.size(); ++i)
      result_.gradients.back().values[parts_[part].objective.begin + i] = wide(gradients[i]);
  }

  void record(std::uint64_t step) {
    RecordedWeights& recorded = result_.recorded.emplace_back();
    recorded.step = step;
    for (const auto& values : weights_) recorded.values.push_back(wide(values));
    for (const auto& values : average_.tensors) recorded.averages.push_back(wide(values));
  }

  /// Saved in narrow types and read again, or without what a checkpoint must have: what that costs is found.
  void reload(std::uint64_t step) {
    for (const std::string& lost : study_.run.reload_loses) {
      double value = 0;
      if (lost == "master_weights") {
        // As numbers of the format that products give: the type that the model computes in.
        const Storage narrow_type = precision_.product("linear", "").output;
        std::size_t changed = 0, all = 0;
        for (auto& values : weights_) {
          const std::vector<Real> before = values;
          store(values, narrow_type);
          for (std::size_t i = 0; i < values.size(); ++i) changed += values[i] != before[i] ? 1 : 0, ++all;
        }
        value = static_cast<double>(changed) / static_cast<double>(std::max<std::size_t>(all, 1));
      } else if (lost == "moments") {
        std::size_t nonzero = 0, all = 0;
        for (OptimizerState<Real>& state : states_) {
          for (const auto* const moment : {&state.first, &state.second})
            for (const Real x : *moment) nonzero += x != 0 ? 1 : 0, ++all;
          state = {};
        }
        value = static_cast<double>(nonzero) / static_cast<double>(std::max<std::size_t>(all, 1));
      } else if (scaler_) {
        const double before = scaler_->scale();
        scaler_.emplace(study_.scaler, gradients_.format);
        value = scaler_->scale() / before;
      }
      // A scale that is as it was is no loss.
      if (value != (lost == "scaler" ? 1 : 0)) result_.findings.push_back({step, "", lost, "reload_lost", value, 0});
    }
  }

  /// What is known when the last step is done.
  void finish() {
    std::uint64_t bits = 0, count = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const auto add = [&](std::size_t numbers, emu::Format format) {
        bits += numbers * static_cast<std::uint64_t>(format.bits());
      };
      add(weights_[i].size(), storage_.weights.format), add(weights_[i].size(), gradients_.format);
      bits += stored_bits(storage_.first, states_[i].first.size()) + stored_bits(storage_.second, states_[i].second.size());
      add(states_[i].compensation.size(), storage_.weights.format);
      count += weights_[i].size();
    }
    result_.bytes_per_parameter = static_cast<double>(bits) / 8 / static_cast<double>(std::max<std::uint64_t>(count, 1));
    constexpr double notable_loss = 0.5;  // of changes to a running statistic
    for (const auto& [layer, kept] : buffers_.kept)
      if (const double lost = static_cast<double>(kept.lost) / static_cast<double>(std::max<std::uint64_t>(kept.wanted, 1));
          lost > notable_loss)
        result_.findings.push_back({next_step_ - 1, layer, "batch_norm", "statistics_stagnation", lost, notable_loss});
    if (result_.diverged) return;
    if (study_.model.kind == "gan") {
      if (samples_.shape == Shape{2}) result_.distance = distance();
      return;
    }
    if (trained_ < samples_.count && study_.loss == "cross_entropy") result_.accuracy = evaluate(precision_, "").accuracy;
    if (study_.run.evaluate.empty()) return;
    result_.evaluations.push_back(evaluate(precision_, recipe_.name));
    for (const std::string& word : study_.run.evaluate) {
      const recipes::Recipe other = recipes::open_recipe(word);
      if (other.name == recipe_.name) continue;
      DelayedScales delayed;
      const Precision precision = on_engine(precision_of(other, delayed, product_layers(study_.model)), study_.run.engine);
      evaluate(precision, "", 1);  // from which delayed scales are made
      delayed.step();
      result_.evaluations.push_back(evaluate(precision, word));
    }
  }

  double distance() {
    constexpr std::size_t points = 4096;
    Tape<Real> tape = tape_of(precision_, key_of(seed_, 4));
    const Variable made = gan_samples(tape, study_.model, parameters_on(tape, 0, 0), points, key_of(seed_, 0), buffers_);
    return frechet_distance(wide(tape.value(made).values), samples_.inputs);
  }

  Evaluation evaluate(const Precision& precision, const std::string& recipe, std::size_t batches = 0) {
    const TrainedModel<Real> model{.study = study_,
                                   .samples = samples_,
                                   .first = trained_ < samples_.count ? trained_ : 0,
                                   .tape = [&] { return tape_of(precision, key_of(seed_, 4)); },
                                   .parameters = [&](Tape<Real>& tape) { return parameters_on(tape, 0, 0); },
                                   .buffers = buffers_};
    Evaluation evaluation = training::evaluate(model, batches);
    evaluation.recipe = recipe;
    return evaluation;
  }

  void save() {
    if (options_.saved.empty()) return;
    SavedRun run;
    run.words["identity"] = options_.identity;
    save_state(state(), run);
    save_result(result_, run);
    write_saved_run(options_.saved, run);
  }

  void restore() {
    const SavedRun run = read_saved_run(options_.saved);
    try {
      const auto identity = run.words.find("identity");
      if (identity == run.words.end() || identity->second != options_.identity)
        throw Error("saved by another study or version: remove it to begin anew");
      restore_state(run, state());
      restore_result(run, result_);
    } catch (const Error& error) {
      throw Error(options_.saved + ": " + error.what());
    }
  }

  /// What changes from step to step.
  RunState<Real> state() {
    return {next_step_, next_random_, done_,    result_.parameters, weights_, states_,
            average_,   scaler_,      delayed_, dynamic_,           buffers_};
  }

  const TrainStudy& study_;
  const Samples& samples_;
  const recipes::Recipe& recipe_;
  const RunOptions& options_;
  RunResult& result_;
  DelayedScales delayed_;
  DynamicLayers dynamic_;
  Precision precision_;
  StateStorage storage_;
  Storage gradients_, reduced_;  // of a worker, and of those that travel
  Buffers<Real> buffers_;
  std::vector<Part> parts_;
  std::uint64_t seed_, next_random_ = 0, next_step_ = 0, reduced_bytes_ = 0;
  bool done_ = false;
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
  return std::max<std::uint64_t>(1, batches / (study.run.accumulate * study.run.workers));
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
