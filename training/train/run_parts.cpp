// SPDX-License-Identifier: Apache-2.0
// A run before its first step.
#include "training/train/run_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "requests/parts.hpp"
#include "tensors/memory_limit.hpp"
#include "training/train/random_keys.hpp"

namespace ulpscope::training {
namespace {

/// A model is what a few words ask for: weights and their gradients have to find room, before either is made.
void check_memory(const std::vector<ParameterShape>& parameters, std::size_t bytes_each) {
  double weights = 0;
  for (const ParameterShape& parameter : parameters) {
    double count = 1;
    for (const std::size_t extent : parameter.shape) count *= static_cast<double>(extent);
    weights += count;
  }
  const double bytes = 2 * weights * static_cast<double>(bytes_each);
  if (bytes > static_cast<double>(tensors::memory_limit()))
    throw Error("[model]: its weights and their gradients take " +
                std::to_string(static_cast<std::uint64_t>(std::ceil(bytes / 0x1p20))) + " MiB, and tensors may take " +
                std::to_string(tensors::memory_limit()) + " bytes; --max-memory SIZE allows more");
}

/// Of the formats that gradients of weights have in products and behind them, the one with the least range.
emu::Format narrowest_gradient(const recipes::Recipe& recipe) {
  emu::Format narrowest = requests::parse_format(recipe.state.gradients);
  for (const recipes::RecipeRule& rule : recipe.rules) {
    if (rule.grad_weight.empty() || rule.grad_weight == "keep") continue;
    const emu::Format format = requests::parse_format(rule.grad_weight);
    if (emu::max_finite(format) < emu::max_finite(narrowest)) narrowest = format;
  }
  return narrowest;
}

}  // namespace

template <class Real>
void round_in_place(std::vector<Real>& values, const Storage& storage) {
  emu::round_to(storage.format, std::span<const Real>(values), std::span<Real>(values), storage.options, {});
}

template <class Real>
RunParts<Real>::RunParts(const TrainStudy& of_study, const Samples& of_samples, const recipes::Recipe& under,
                         std::uint64_t with_seed, const RunOptions& with_options, RunResult& into)
    : study(of_study),
      samples(of_samples),
      recipe(under),
      options(with_options),
      result(into),
      dynamic(recipe.dynamic),
      precision(on_engine(precision_of(recipe, delayed, product_layers(study.model), &dynamic), study.run.engine)),
      storage(state_storage_of(recipe)),
      gradients{requests::parse_format(recipe.state.gradients), {}},
      reduced{recipe.state.all_reduce.empty() ? gradients.format : requests::parse_format(recipe.state.all_reduce), {}},
      buffers{.storage = {requests::parse_format(recipe.state.statistics), {}}},
      seed(with_seed),
      trained(samples.count - std::min<std::size_t>(samples.count, static_cast<std::size_t>(study.data.held_back))),
      batches(study.data, trained, seed) {
  start_scaler();
  if (scaler && scaler->follows_amax())
    throw Error("[scaler] " + study.scaler +
                ": scales tensors, not losses; a recipe's rule has such scales as scaling = \"delayed\" or \"current\"");
  result.parameters = parameters_of(study.model);
  check_memory(result.parameters, sizeof(Real));
  if (study.data.table == "markov") result.optimum = markov_optimum(study.model.context, study.model.vocabulary);
  result.weights_format = storage.weights.format, result.average_format = storage.average.format;
  result.statistics_format = buffers.storage.format;
  for (const Objective& objective : objectives_of(study, result.parameters))
    parts.push_back({objective, objective.optimizer.settings()});
  weights = initial_parameters<Real>(study.model, result.parameters, key_of(seed, 1));
  for (auto& values : weights) round_in_place(values, storage.weights);
  initial_statistics(study.model, buffers);
  for (auto& [layer, kept] : buffers.kept)
    for (auto* const values : {&kept.statistics.mean, &kept.statistics.variance}) round_in_place(*values, buffers.storage);
  states.resize(weights.size());
  result.updates.resize(weights.size());
}

template <class Real>
void RunParts<Real>::start_scaler() {
  if (!study.scaler.empty()) scaler.emplace(study.scaler, narrowest_gradient(recipe));
}

template <class Real>
Tape<Real> RunParts<Real>::tape_of(const Precision& of_tape, std::uint64_t key) const {
  Tape<Real> tape(of_tape, key, options.threads, workspace);
  tape.multiply_by(options.devices);
  return tape;
}

template <class Real>
std::vector<Variable> RunParts<Real>::parameters_on(Tape<Real>& tape, std::size_t begin, std::size_t end) const {
  std::vector<Variable> variables;
  for (std::size_t i = 0; i < weights.size(); ++i)
    variables.push_back(tape.input(result.parameters[i].shape, weights[i], storage.weights.format, begin <= i && i < end));
  return variables;
}

template <class Real>
void RunParts<Real>::enter(const std::string& when) const {
  if (options.devices != nullptr) options.devices->enter(result.recipe, "seed " + std::to_string(seed) + ", " + when);
}

template <class Real>
RunState<Real> RunParts<Real>::state() {
  return {next_step, next_random, done, result.parameters, weights, states, average, scaler, delayed, dynamic, buffers};
}

template void round_in_place(std::vector<float>&, const Storage&);
template void round_in_place(std::vector<double>&, const Storage&);
template struct RunParts<float>;
template struct RunParts<double>;

}  // namespace ulpscope::training
