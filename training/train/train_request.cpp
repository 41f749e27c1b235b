// SPDX-License-Identifier: Apache-2.0
// Reads the study, opens devices, and answers with tables and sentences.
#include "training/train/train_request.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "emu/error.hpp"
#include "files/own_files.hpp"
#include "recipes/recipe.hpp"
#include "reports/build_info.hpp"
#include "training/train/schedule.hpp"
#include "training/train/train_all.hpp"
#include "training/train/train_findings.hpp"
#include "training/train/train_page.hpp"
#include "training/train/train_tables.hpp"

namespace ulpscope::training {
namespace {

/// Of all of its runs.
studies::Work work_of(const TrainStudy& study) {
  const Samples samples = read_samples(study);
  std::uint64_t weights = 0;
  for (const ParameterShape& parameter : parameters_of(study.model)) weights += count_of(parameter.shape);
  const std::uint64_t runs = study.run.recipes.size() * study.run.seeds.size(), steps = steps_of(study, samples);
  const std::uint64_t batch = study.data.batch == 0 ? samples.count : study.data.batch;
  return {.operations = 3 * weights * batch * steps * study.run.accumulate * runs, .rows = steps * runs};
}

}  // namespace

void TrainRequest::describe(requests::Fields& fields) {
  fields.add("file", study, "a TOML file: [model], [data], [loss], [optimizer], [scaler], [run]").as_input("STUDY").needed();
  fields.add("recipe", recipe, "in place of the study's").as_commas().as_value("RECIPE,...");
  fields.add("seed", seed, "in place of the study's")
      .as_commas()
      .as_value("N,...")
      .whole({.most = std::numeric_limits<std::int64_t>::max()});
  fields.add("steps", steps, "in place of the study's").whole({1, 1'000'000'000});
  fields.add("engine", engine, "of all products, in place of the recipes'").as_value("E");
  fields.add("product_times", product_times, "device_cost.csv of `devices cost`: what a step's products take on that device")
      .as_value("FILE");
  const auto of_machine = [&](requests::Field& field) -> requests::Field& { return field.in(requests::Scope::machine); };
  of_machine(
      fields.add("device", device, "multiply on it: cuda:0, cpu:avx512_bf16, emulated:sm_90; of several the first that can"))
      .as_commas()
      .as_value("D,...");
  of_machine(fields.add("instruction", instruction, "with --device: a part of the name of the one to use, whatever its claim"))
      .as_value("TEXT");
  of_machine(fields.add("check", check, "with --device: compare each product with the model's; end at the first that differs"));
  of_machine(fields.add("emulate_rest", emulate_rest, "with --device: emulate products that no device can form"));
  requests::Field& threads_field = fields.add("threads", threads, "0: all cores; the results are the same");
  threads_field.whole({.most = 4096}).in(requests::Scope::machine);
}

TrainStudy resolve(const TrainRequest& request) {
  TrainStudy study = read_train_study(request.study);
  if (!request.recipe.empty()) study.run.recipes = request.recipe, study.recipes_place = "--recipe";
  if (!request.seed.empty()) study.run.seeds = request.seed, study.seeds_place = "--seed";
  if (request.steps) study.run.steps = *request.steps, study.run.epochs = 0;
  if (!request.engine.empty()) study.run.engine = request.engine;
  if (!request.product_times.empty()) study.run.product_times = request.product_times;
  check_runs(study);
  return study;
}

std::vector<std::string> remarks_of(const TrainStudy& study) {
  std::vector<std::string> remarks = study.idle;
  for (std::string& sentence : idle_rules(study)) remarks.push_back(std::move(sentence));
  if (std::string unused = unused_in_init(study.model); !unused.empty()) remarks.push_back(std::move(unused));
  return remarks;
}

std::unique_ptr<DeviceProducts> devices_of(const TrainRequest& request) {
  if (request.device.empty() && (!request.instruction.empty() || request.check || request.emulate_rest))
    throw Error("--instruction, --check and --emulate-rest: --device is missing");
  if (request.device.empty()) return nullptr;
  std::vector<gpu::Device> devices;
  for (const std::string& id : request.device) devices.push_back(gpu::open_device(id));
  return std::make_unique<DeviceProducts>(
      std::move(devices),
      DeviceOptions{.instruction = request.instruction, .checked = request.check, .rest_emulated = request.emulate_rest});
}

std::string option_lines(const TrainRequest& request) {
  TrainRequest asked = request;
  std::string text = "ulpscope " + reports::version() + " " + reports::commit() + "\n";
  for (const requests::Field& field : requests::fields_of(asked)) {
    if (field.name == "file" || field.name == "recipe" || field.name == "seed" || field.name == "threads") continue;
    text += field.option();
    for (const std::string& word : field.words()) text += " " + word;
    text += "\n";
  }
  return text;
}

std::string identity_of(const TrainRequest& request) { return option_lines(request) + files::read_file_or_own(request.study); }

studies::StudyResult run(const TrainRequest& request, const studies::Progress& progress) {
  const TrainStudy study = resolve(request);
  TrainAll all{.run = {.threads = request.threads}};
  const std::unique_ptr<DeviceProducts> devices = devices_of(request);
  all.run.devices = devices.get();
  if (progress) all.progress = [&](const TrainProgress& at) { progress(at.done, at.of); };
  const std::vector<RunResult> runs = train_all(study, all);
  std::vector<reports::Table> tables = train_tables(runs);
  tables[3].name = "train_findings";  // a report has findings.csv of all its studies
  const bool failed = study.expect.empty() && std::any_of(runs.begin(), runs.end(), [](const auto& r) { return r.diverged; });
  return {.tables = std::move(tables),
          .findings = train_findings(runs, study.expect),
          .remarks = remarks_of(study),
          .outcome = failed ? studies::StudyOutcome::failed : studies::StudyOutcome::done};
}

studies::Work work_of(const TrainRequest& request) {
  const TrainStudy study = resolve(request);
  try {
    return work_of(study);
  } catch (const Error& error) {
    if (const auto placed = with_place(study, error)) throw *placed;
    throw;
  }
}

}  // namespace ulpscope::training
