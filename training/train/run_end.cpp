// SPDX-License-Identifier: Apache-2.0
// Trained weights under other recipes, and what a run took.
#include "training/train/run_end.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "training/train/evaluation.hpp"
#include "training/train/gan.hpp"
#include "training/train/random_keys.hpp"
#include "training/train/wide.hpp"

namespace ulpscope::training {
namespace {

/// Of the copy that products take of a parameter, where its format is not that of the stored weights: rows and columns apart
/// where a scale is for a row or a part of one, since the product of the input's gradient has the columns as its rows.
template <class Real>
std::uint64_t bits_of_copy(const RunParts<Real>& run, const ParameterShape& parameter) {
  const std::vector<std::string> layers = product_layers(run.study.model);
  const auto [of_parameter, own] = layer_and_parameter(parameter.name);
  const std::string part = own.starts_with("weight_ih") ? ".ih" : own.starts_with("weight_hh") ? ".hh" : "";  // of an LSTM
  const auto layer = std::find(layers.begin(), layers.end(), of_parameter + part);
  if (layer == layers.end() || parameter.shape.size() < 2) return 0;
  const OperandPrecision weight = run.precision.product(parameter.shape.size() == 4 ? "conv" : "linear", *layer).weight;
  if (weight.storage.format == run.storage.weights.format) return 0;
  const studies::ScaleRule rule = weight.scaling.rule;
  const bool is_of_rows =
      studies::is_of_row_parts(rule) || rule == studies::ScaleRule::row || rule == studies::ScaleRule::minmax_row;
  const MomentStorage copy{.format = weight.storage.format, .scaling = weight.scaling};
  const std::size_t rows = parameter.shape.front(), columns = count_of(parameter.shape) / rows;  // as filters are multiplied
  return stored_bits(copy, rows, columns) + (is_of_rows ? stored_bits(copy, columns, rows) : 0);
}

template <class Real>
double bytes_per_parameter(const RunParts<Real>& run) {
  std::uint64_t bits = 0, count = 0;
  for (std::size_t i = 0; i < run.weights.size(); ++i) {
    const auto add = [&](std::size_t numbers, emu::Format format) {
      bits += numbers * static_cast<std::uint64_t>(format.bits());
    };
    add(run.weights[i].size(), run.storage.weights.format), add(run.weights[i].size(), run.gradients.format);
    bits += stored_bits(run.storage.first, run.states[i].first.size()) +
            stored_bits(run.storage.second, run.states[i].second.size());
    add(run.states[i].compensation.size(), run.storage.weights.format);
    bits += bits_of_copy(run, run.result.parameters[i]);
    if (run.study.run.average) add(run.weights[i].size(), run.storage.average.format);
    count += run.weights[i].size();
  }
  return static_cast<double>(bits) / 8 / static_cast<double>(std::max<std::uint64_t>(count, 1));
}

template <class Real>
void look_at_statistics(RunParts<Real>& run) {
  constexpr double notable_loss = 0.5;  // of changes to a running statistic
  for (const auto& [layer, kept] : run.buffers.kept)
    if (const double lost = static_cast<double>(kept.lost) / static_cast<double>(std::max<std::uint64_t>(kept.wanted, 1));
        lost > notable_loss)
      run.result.findings.push_back({run.next_step - 1, layer, "batch_norm", "statistics_stagnation", lost, notable_loss});
}

template <class Real>
double distance(RunParts<Real>& run) {
  constexpr std::size_t points = 4096;
  Tape<Real> tape = run.tape_of(run.precision, key_of(run.seed, 4));
  const Variable made =
      gan_samples(tape, run.study.model, run.parameters_on(tape, 0, 0), points, key_of(run.seed, 0), run.buffers);
  return frechet_distance(wide(tape.value(made).values), run.samples.inputs);
}

template <class Real>
Evaluation evaluate(RunParts<Real>& run, const Precision& precision, const std::string& recipe, std::size_t batches = 0) {
  const TrainedModel<Real> model{.study = run.study,
                                 .samples = run.samples,
                                 .first = run.trained < run.samples.count ? run.trained : 0,
                                 .tape = [&] { return run.tape_of(precision, key_of(run.seed, 4)); },
                                 .parameters = [&](Tape<Real>& tape) { return run.parameters_on(tape, 0, 0); },
                                 .buffers = run.buffers};
  Evaluation evaluation = training::evaluate(model, batches);
  evaluation.recipe = recipe;
  return evaluation;
}

/// Under the recipe itself and those of [run] evaluate.
template <class Real>
void evaluate_all(RunParts<Real>& run) {
  if (run.study.run.evaluate.empty()) return;
  run.result.evaluations.push_back(evaluate(run, run.precision, run.recipe.name));
  for (const std::string& word : run.study.run.evaluate) {
    const recipes::Recipe other = recipes::open_recipe(word);
    if (other.name == run.recipe.name) continue;
    DelayedScales delayed;
    const Precision precision = on_engine(precision_of(other, delayed, product_layers(run.study.model)), run.study.run.engine);
    evaluate(run, precision, "", 1);  // from which delayed scales are made
    delayed.step();
    run.result.evaluations.push_back(evaluate(run, precision, other.name));
  }
}

}  // namespace

template <class Real>
void finish(RunParts<Real>& run) {
  run.result.bytes_per_parameter = bytes_per_parameter(run);
  look_at_statistics(run);
  if (run.result.diverged) return;
  if (run.study.model.kind == "gan") {
    if (run.samples.shape == Shape{2}) run.result.distance = distance(run);
    return;
  }
  if (run.trained < run.samples.count && run.study.loss == "cross_entropy")
    run.result.accuracy = evaluate(run, run.precision, "").accuracy;
  evaluate_all(run);
}

template void finish(RunParts<float>&);
template void finish(RunParts<double>&);

}  // namespace ulpscope::training
