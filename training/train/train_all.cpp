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

/// `fp8_current-0` of a run: its files' name.
std::string name_of(const std::string& recipe, std::uint64_t seed) {
  return recipes::name_of(recipe) + "-" + std::to_string(seed);
}

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

/// A line for all that a study reads beside its recipes: files that were written to since a run was saved make another run.
std::string input_lines(const TrainStudy& study, const Samples& samples) {
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

}  // namespace

std::set<std::string> saved_files(const TrainStudy& study) {
  std::set<std::string> names;
  for (const std::string& recipe : study.run.recipes)
    for (const std::uint64_t seed : study.run.seeds) names.insert(name_of(recipe, seed) + saved_ending);
  return names;
}

std::vector<RunResult> train_all(const TrainStudy& study, const TrainAll& wanted) try {
  const Samples samples = read_samples(study);
  const std::uint64_t steps = steps_of(study, samples), all = steps * study.run.recipes.size() * study.run.seeds.size();
  if (wanted.run.devices != nullptr) rehearse(study, samples, *wanted.run.devices);
  std::optional<ProductTimes> times;
  if (!study.run.product_times.empty()) times.emplace(study.run.product_times);
  const std::string inputs = wanted.saved.empty() ? "" : input_lines(study, samples);
  std::vector<RunResult> runs;
  for (const std::string& recipe : study.run.recipes)
    for (const std::uint64_t seed : study.run.seeds) {
      const std::uint64_t before = steps * runs.size();
      RunOptions options = wanted.run;
      options.times = times ? &*times : nullptr;
      if (!wanted.saved.empty()) options.saved = wanted.saved + "/" + name_of(recipe, seed) + saved_ending;
      if (!wanted.saved.empty()) options.identity += inputs + recipe_lines(recipe);
      std::uint64_t skipped = 0;
      if (wanted.progress)
        options.progress = [&](const TrainStep& step) {
          skipped += step.skipped ? 1 : 0;
          wanted.progress({name_of(recipe, seed), before + step.step + 1, all, skipped, step});
        };
      runs.push_back(train(study, samples, recipe, seed, options));
    }
  return runs;
} catch (const Error& error) {
  if (const auto placed = with_place(study, error)) throw *placed;
  throw;
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
    const std::string of_run = name_of(run.recipe, run.seed);
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
