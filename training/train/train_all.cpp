// SPDX-License-Identifier: Apache-2.0
// Recipe by recipe, seed by seed.
#include "training/train/train_all.hpp"

#include <cstddef>
#include <optional>
#include <span>

#include "emu/bulk.hpp"
#include "files/own_files.hpp"
#include "recipes/recipe.hpp"
#include "reports/sha256.hpp"
#include "studies/cast/layouts.hpp"
#include "tensors/write.hpp"
#include "training/train/schedule.hpp"

namespace ulpscope::training {
namespace {

constexpr const char* saved_ending = ".safetensors";

/// A step of each recipe whose products are zeros: all instructions are chosen, and what is refused is so before hours of
/// training.
void rehearse(const TrainStudy& study, const Samples& samples, DeviceProducts& devices) {
  TrainStudy first = study;
  first.run.steps = 1, first.run.epochs = 0;
  devices.rehearse(true);
  for (const std::string& recipe : study.run.recipes)
    train(first, samples, recipe, study.run.seeds.front(), {.devices = &devices});
  devices.rehearse(false);
}

/// Numbers as they lie in memory.
template <class Number>
void add_to(reports::Sha256& digest, const std::vector<Number>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  digest.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// The text of a recipe and of the wider one that it names.
std::string recipe_lines(const std::string& word) {
  const std::string wider = recipes::open_recipe(word).dynamic.wider;
  return "\n" + recipes::recipe_text(word) + (wider.empty() ? "" : "\n" + recipes::recipe_text(wider));
}

/// A line for all that a study reads beside the recipes that it trains under.
std::string read_lines(const TrainStudy& study, const Samples& samples) {
  const DataSpec& data = study.data;
  std::string text;
  const auto line = [&text](const std::string& of, reports::Sha256& digest) {
    text += "\n" + of + ", SHA-256 " + digest.hex();
  };
  reports::Sha256 inputs, targets, init;
  add_to(inputs, samples.shape), add_to(inputs, samples.inputs), add_to(inputs, samples.tokens);
  line(std::string("[data] ") + (!data.text.empty() ? "text" : !data.table.empty() ? "table" : "inputs"), inputs);
  add_to(targets, samples.target_shape), add_to(targets, samples.targets), add_to(targets, samples.classes);
  line("[data] targets", targets);
  if (study.model.init != ModelSpec{}.init) {  // else they are drawn
    for (const ParameterShape& parameter : parameters_of(study.model))
      add_to(init, initial_parameters<double>(study.model, {parameter}, 0).front());
    Buffers<double> buffers;
    initial_statistics(study.model, buffers);
    for (const auto& [layer, kept] : buffers.kept) add_to(init, kept.statistics.mean), add_to(init, kept.statistics.variance);
    line("[model] init", init);
  }
  if (const std::string& path = study.run.product_times; !path.empty())
    text += "\n[run] product_times, SHA-256 " + reports::sha256(files::read_file_or_own(path));
  for (const std::string& word : study.run.evaluate) text += recipe_lines(word);
  return text;
}

/// Calls `act`, and says of an error about a key where that stands.
template <class Act>
auto in_study(const TrainStudy& study, Act act) {
  try {
    return act();
  } catch (const Error& error) {
    if (const auto placed = with_place(study, error)) throw *placed;
    throw;
  }
}

/// A recipe, as the study names it, and a seed.
using Asked = std::pair<std::string, std::uint64_t>;

std::vector<Asked> own_runs(const TrainStudy& study, const studies::Shard& shard) {
  std::vector<Asked> own;
  std::uint64_t place = 0;
  for (const std::string& recipe : study.run.recipes)
    for (const std::uint64_t seed : study.run.seeds)
      if (place++ % shard.count == shard.index) own.emplace_back(recipe, seed);
  return own;
}

}  // namespace

std::string run_name(const std::string& recipe, std::uint64_t seed) {
  return recipes::name_of(recipe) + "-" + std::to_string(seed);
}

TrainInputs read_inputs(const TrainStudy& study) {
  return in_study(study, [&] {
    TrainInputs inputs{read_samples(study), std::nullopt};
    if (!study.run.product_times.empty()) inputs.times.emplace(study.run.product_times);
    return inputs;
  });
}

std::string input_lines(const TrainStudy& study, const TrainInputs& inputs) {
  std::string text = read_lines(study, inputs.samples);
  for (const std::string& recipe : study.run.recipes) text += recipe_lines(recipe);
  return text;
}

std::set<std::string> saved_files(const TrainStudy& study) {
  std::set<std::string> names;
  for (const std::string& recipe : study.run.recipes)
    for (const std::uint64_t seed : study.run.seeds) names.insert(run_name(recipe, seed) + saved_ending);
  return names;
}

std::vector<RunResult> train_all(const TrainStudy& study, const TrainInputs& from, const TrainAll& wanted) {
  return in_study(study, [&] {
    const std::vector<Asked> own = own_runs(study, wanted.shard);
    const std::uint64_t steps = steps_of(study, from.samples);
    if (wanted.run.devices != nullptr) rehearse(study, from.samples, *wanted.run.devices);
    const std::string read = wanted.saved.empty() ? "" : read_lines(study, from.samples);
    std::vector<RunResult> runs;
    for (const auto& [recipe, seed] : own) {
      const std::uint64_t before = steps * runs.size();
      const std::string name = run_name(recipe, seed);
      RunOptions options = wanted.run;
      options.times = from.times ? &*from.times : nullptr;
      if (!wanted.saved.empty()) options.saved = wanted.saved + "/" + name + saved_ending;
      if (!wanted.saved.empty()) options.identity += read + recipe_lines(recipe);
      std::uint64_t skipped = 0;
      if (wanted.progress)
        options.progress = [&](const TrainStep& step) {
          skipped += step.skipped ? 1 : 0;
          wanted.progress({name, before + step.step + 1, steps * own.size(), skipped, step});
        };
      runs.push_back(train(study, from.samples, recipe, seed, options));
    }
    return runs;
  });
}

std::vector<RunResult> train_all(const TrainStudy& study, const TrainAll& options) {
  return train_all(study, read_inputs(study), options);
}

std::vector<std::pair<std::string, std::string>> recorded_files(const std::vector<RunResult>& runs) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const RunResult& run : runs) {
    const auto named = [&](const ParameterShape& parameter, const std::string& prefix, emu::Format stored,
                           const std::vector<double>& values) {
      const emu::Format format = studies::fills_bytes(stored, values.size()) ? stored : emu::float32;  // which has its numbers
      return tensors::NamedCodes{prefix + parameter.name,
                                 format,
                                 {parameter.shape.begin(), parameter.shape.end()},
                                 [format, &values](std::uint64_t first, std::span<emu::Code> out) {
                                   emu::encode(format, std::span(values).subspan(static_cast<std::size_t>(first), out.size()),
                                               out);
                                 }};
    };
    const auto write = [&](const std::string& part, const std::string& name, const std::vector<tensors::NamedCodes>& all) {
      const std::string file = part + "/" + name + ".safetensors";
      files.emplace_back(file, tensors::safetensors_bytes(file, all));
    };
    const std::string of_run = run_name(run.recipe, run.seed);
    for (const RecordedWeights& weights : run.recorded) {
      std::vector<tensors::NamedCodes> all;
      for (std::size_t i = 0; i < weights.values.size(); ++i)
        all.push_back(named(run.parameters[i], "", run.weights_format, weights.values[i]));
      for (std::size_t i = 0; i < weights.averages.size(); ++i)
        all.push_back(named(run.parameters[i], "average.", run.average_format, weights.averages[i]));
      for (const auto& [name, values] : weights.statistics)
        all.push_back(named({.name = name, .shape = {values.size()}}, "", run.statistics_format, values));
      write("weights", of_run + "-" + std::to_string(weights.step), all);
    }
    std::vector<tensors::NamedCodes> gradients;
    const emu::Format wide = emu::fits_float(run.weights_format) ? emu::float32 : emu::float64;
    for (const RecordedGradients& step : run.gradients)
      for (std::size_t i = 0; i < step.values.size(); ++i)
        gradients.push_back(named(run.parameters[i], std::to_string(step.step) + "/", wide, step.values[i]));
    if (!gradients.empty()) write("gradients", of_run, gradients);
  }
  return files;
}

}  // namespace ulpscope::training
