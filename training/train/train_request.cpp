// SPDX-License-Identifier: Apache-2.0
// Runs of a training study, their tables and sentences.
#include "training/train/train_request.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "reports/build_info.hpp"
#include "studies/census/sweep.hpp"
#include "tensors/write.hpp"
#include "training/train/run_findings.hpp"

namespace ulpscope::training {
namespace {

using reports::whole;
using studies::digits;

/// Runs of one recipe together.
struct Together {
  std::string recipe;
  std::vector<const RunResult*> runs;

  template <class Of>
  std::vector<double> of(Of of_run) const {
    std::vector<double> values;
    for (const RunResult* const run : runs) values.push_back(of_run(*run));
    return values;
  }
  /// Of the runs that have one.
  std::vector<double> accuracies() const {
    std::vector<double> values;
    for (const RunResult* const run : runs)
      if (run->accuracy) values.push_back(*run->accuracy);
    return values;
  }
  /// Likewise.
  std::vector<double> distances() const {
    std::vector<double> values;
    for (const RunResult* const run : runs)
      if (run->distance) values.push_back(*run->distance);
    return values;
  }
};

std::vector<Together> by_recipe(const std::vector<RunResult>& runs) {
  std::vector<Together> all;
  for (const RunResult& run : runs) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Together& t) { return t.recipe == run.recipe; });
    if (found == all.end())
      all.push_back({run.recipe, {&run}});
    else
      found->runs.push_back(&run);
  }
  return all;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

/// With divisor n - 1; 0 of one value.
double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double x : values) sum += (x - mean) * (x - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

/// Mean loss of the last tenth of the steps: of a single batch it says less.
double final_loss(const RunResult& run) {
  const std::size_t last = std::max<std::size_t>(1, run.steps.size() / 10);
  std::vector<double> losses;
  for (std::size_t i = run.steps.size() - last; i < run.steps.size(); ++i) losses.push_back(run.steps[i].loss);
  return run.diverged ? std::nan("") : mean_of(losses);
}

double skipped_in(const RunResult& run) {
  return static_cast<double>(std::count_if(run.steps.begin(), run.steps.end(), [](const TrainStep& s) { return s.skipped; }));
}

double lost_share(const RunResult& run) {
  std::uint64_t wanted = 0, lost = 0;
  for (const TrainStep& step : run.steps) wanted += step.wanted, lost += step.lost;
  return wanted == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(wanted);
}

double diverged(const RunResult& run) { return run.diverged ? 1 : 0; }

/// Welch's t of two samples: how many standard errors their means are apart; NaN where there is no spread to compare with.
double welch(const std::vector<double>& a, const std::vector<double>& b) {
  const auto error = [](const std::vector<double>& values) {
    const double deviation = deviation_of(values);
    return deviation * deviation / static_cast<double>(values.size());
  };
  if (a.size() < 2 || b.size() < 2) return std::nan("");
  return (mean_of(a) - mean_of(b)) / std::sqrt(error(a) + error(b));
}

bool has_two_losses(const std::vector<RunResult>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const RunResult& run) {
    return std::any_of(run.parameters.begin(), run.parameters.end(),
                       [](const auto& parameter) { return parameter.name.starts_with("discriminator."); });
  });
}

reports::Table curves_table(const std::vector<RunResult>& runs) {
  reports::Table table{"curves", {"recipe", "seed", "step", "loss", "grad_norm", "scale", "skipped", "lost_updates"}, {}};
  const bool two = has_two_losses(runs);
  if (two) table.columns.insert(table.columns.end(), {"discriminator_loss", "discriminator_skipped"});
  for (const RunResult& run : runs)
    for (const TrainStep& step : run.steps) {
      auto& row = table.rows.emplace_back();
      row = {run.recipe,
             whole(run.seed),
             whole(step.step),
             step.loss,
             step.grad_norm,
             step.scale,
             whole(step.skipped ? 1 : 0),
             step.wanted == 0 ? 0.0 : static_cast<double>(step.lost) / static_cast<double>(step.wanted)};
      if (two) row.insert(row.end(), {step.other_loss, whole(step.other_skipped ? 1 : 0)});
    }
  return table;
}

reports::Table summary_table(const std::vector<RunResult>& runs) {
  const std::vector<Together> recipes = by_recipe(runs);
  const auto base = std::find_if(recipes.begin(), recipes.end(), [](const Together& t) { return t.recipe == "float32"; });
  reports::Table table{"summary", {}, {}};
  for (const Together& t : recipes) {
    const std::vector<double> losses = t.of(final_loss);
    const double gap = base == recipes.end() ? std::nan("") : mean_of(losses) - mean_of(base->of(final_loss));
    const std::vector<double> accuracies = t.accuracies();
    const auto cell = [](double x) { return std::isnan(x) ? reports::Cell(std::string()) : reports::Cell(x); };
    table.add(
        {{"recipe", t.recipe},
         {"runs", whole(t.runs.size())},
         {"diverged", whole(static_cast<std::uint64_t>(mean_of(t.of(diverged)) * static_cast<double>(t.runs.size()) + 0.5))},
         {"final_loss", cell(mean_of(losses))},
         {"final_loss_sd", cell(deviation_of(losses))},
         {"gap_to_float32", cell(gap)},
         {"welch_t", cell(base == recipes.end() || &*base == &t ? std::nan("") : welch(losses, base->of(final_loss)))},
         {"accuracy", accuracies.empty() ? reports::Cell(std::string()) : reports::Cell(mean_of(accuracies))},
         {"accuracy_sd", accuracies.empty() ? reports::Cell(std::string()) : reports::Cell(deviation_of(accuracies))},
         {"optimum", t.runs.front()->optimum ? reports::Cell(*t.runs.front()->optimum) : reports::Cell(std::string())},
         {"distance", t.distances().empty() ? reports::Cell(std::string()) : reports::Cell(mean_of(t.distances()))},
         {"skipped_steps", mean_of(t.of(skipped_in))},
         {"lost_updates", mean_of(t.of(lost_share))},
         {"bytes_per_parameter", t.runs.front()->bytes_per_parameter},
         {"bytes_per_activation", t.runs.front()->bytes_per_activation},
         {"activation_bytes", whole(t.runs.front()->activation_bytes)},
         {"all_reduce_bytes", whole(t.runs.front()->all_reduce_bytes)}});
  }
  return table;
}

reports::Table evaluations_table(const std::vector<RunResult>& runs) {
  reports::Table table{"evaluations", {"recipe", "seed", "evaluated_under", "loss", "accuracy"}, {}};
  for (const RunResult& run : runs)
    for (const Evaluation& e : run.evaluations)
      table.rows.push_back({run.recipe, whole(run.seed), e.recipe, e.loss,
                            e.accuracy ? reports::Cell(*e.accuracy) : reports::Cell(std::string())});
  return table;
}

/// `layer 2, linear grad_output: gradient_underflow (0.31 at step 0)`.
std::string mechanism(const TrainFinding& found) {
  const std::string where =
      (found.layer.empty() ? "" : "layer " + found.layer + (found.place.empty() ? "" : ", ")) + found.place;
  return found.finding + (where.empty() ? "" : " in " + where) + " (" + digits(found.value, 3) + " at step " +
         std::to_string(found.step) + ")";
}

/// Of the findings of a run one of each kind, the most telling first.
std::vector<TrainFinding> one_of_each(const RunResult& run) {
  const std::vector<std::string> order{
      "non_finite",  "scaler_raised", "reload_lost",        "stagnation",         "exploding",
      "spike",       "vanishing",     "scaler_on_floor",    "scaler_on_cap",      "exploding_tensor",
      "moved_wider", "overflow",      "gradient_underflow", "average_stagnation", "statistics_stagnation"};
  std::vector<TrainFinding> findings;
  std::set<std::string> seen;
  for (const std::string& kind : order)
    for (const TrainFinding& found : watched_findings(run))
      if (found.finding == kind && seen.insert(kind).second) findings.push_back(found);
  return findings;
}

}  // namespace

reports::Table tensors_table(const std::vector<RunResult>& runs) {
  reports::Table table{"tensors",
                       {"recipe", "seed", "step", "layer", "operation", "place", "format", "count", "to_zero", "subnormal",
                        "overflow", "nonfinite", "sqnr_db"},
                       {}};
  for (const RunResult& run : runs)
    for (const WatchedPlace& watched : run.places) {
      const PlaceCounts& c = watched.counts;
      table.rows.push_back({run.recipe, whole(run.seed), whole(watched.step), watched.place.layer, watched.place.operation,
                            watched.place.place, emu::format_name(c.format), whole(c.count), whole(c.to_zero),
                            whole(c.subnormal), whole(c.overflow), whole(c.nonfinite), c.sqnr_db()});
    }
  return table;
}

reports::Table findings_table(const std::vector<RunResult>& runs) {
  reports::Table table{"findings", {"recipe", "seed", "step", "layer", "place", "finding", "value", "threshold"}, {}};
  for (const RunResult& run : runs)
    for (const TrainFinding& found : watched_findings(run))
      table.rows.push_back({run.recipe, whole(run.seed), whole(found.step), found.layer, found.place, found.finding,
                            found.value, found.threshold});
  return table;
}

void TrainRequest::describe(requests::Fields& fields) {
  fields.add("study", study, "a TOML file: [model], [data], [loss], [optimizer], [scaler], [run]").as_input("STUDY").needed();
  fields.add("recipe", recipe, "in place of the study's").as_commas().as_value("RECIPE,...");
  fields.add("seed", seed, "in place of the study's").as_commas().as_value("N,...").whole();
  fields.add("steps", steps, "in place of the study's").whole();
  fields.add("engine", engine, "of all products, in place of the recipes'").as_value("E");
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
  if (!request.recipe.empty()) study.run.recipes = request.recipe;
  if (!request.seed.empty()) study.run.seeds = request.seed;
  if (request.steps > 0) study.run.steps = request.steps, study.run.epochs = 0;
  if (!request.engine.empty()) study.run.engine = request.engine;
  for (const std::string& word : study.run.recipes) recipes::open_recipe(word);
  return study;
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

std::string identity_of(const TrainRequest& request) {
  std::ifstream file(request.study, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(request.study + ": cannot be read");
  return reports::version() + "\n" + std::to_string(request.steps) + "\n" + request.engine + "\n" + request.instruction + "\n" +
         text;
}

namespace {

constexpr const char* saved_ending = ".safetensors";

/// `fp8_current-0` of a run: its files' name.
std::string name_of(const std::string& recipe, std::uint64_t seed) {
  return std::filesystem::path(recipe).stem().string() + "-" + std::to_string(seed);
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

}  // namespace

std::set<std::string> saved_files(const TrainStudy& study) {
  std::set<std::string> names;
  for (const std::string& recipe : study.run.recipes)
    for (const std::uint64_t seed : study.run.seeds) names.insert(name_of(recipe, seed) + saved_ending);
  return names;
}

std::vector<RunResult> train_all(const TrainStudy& study, const TrainAll& wanted) {
  const Samples samples = read_samples(study);
  const std::uint64_t steps = steps_of(study, samples), all = steps * study.run.recipes.size() * study.run.seeds.size();
  if (wanted.run.devices != nullptr) rehearse(study, samples, *wanted.run.devices);
  std::vector<RunResult> runs;
  for (const std::string& recipe : study.run.recipes)
    for (const std::uint64_t seed : study.run.seeds) {
      const std::uint64_t before = steps * runs.size();
      RunOptions options = wanted.run;
      if (!wanted.saved.empty()) options.saved = wanted.saved + "/" + name_of(recipe, seed) + saved_ending;
      std::uint64_t skipped = 0;
      if (wanted.progress)
        options.progress = [&](const TrainStep& step) {
          skipped += step.skipped ? 1 : 0;
          wanted.progress({name_of(recipe, seed), before + step.step + 1, all, skipped, step});
        };
      runs.push_back(train(study, samples, recipe, seed, options));
    }
  return runs;
}

std::vector<std::pair<std::string, std::string>> recorded_files(const std::vector<RunResult>& runs) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const RunResult& run : runs) {
    const auto named = [&](const ParameterShape& parameter, const std::string& prefix, emu::Format format,
                           const std::vector<double>& values) {
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

std::vector<reports::Table> train_tables(const std::vector<RunResult>& runs) {
  std::vector<reports::Table> tables{curves_table(runs), summary_table(runs), tensors_table(runs), findings_table(runs)};
  if (reports::Table evaluations = evaluations_table(runs); !evaluations.rows.empty()) tables.push_back(std::move(evaluations));
  return tables;
}

std::vector<reports::Finding> train_findings(const std::vector<RunResult>& runs, const std::string& expect) {
  std::vector<reports::Finding> findings;
  for (const Together& t : by_recipe(runs)) {
    const double failed = mean_of(t.of(diverged));
    const std::vector<double> losses = t.of(final_loss);
    std::string text = t.recipe + ": ";
    if (failed > 0)
      text += std::to_string(static_cast<int>(failed * static_cast<double>(t.runs.size()) + 0.5)) + " of " +
              std::to_string(t.runs.size()) + " runs diverged";
    else
      text += "loss " + digits(mean_of(losses), 4) + (losses.size() > 1 ? " +- " + digits(deviation_of(losses), 2) : "");
    if (t.runs.front()->optimum && failed == 0) text += " (optimum " + digits(*t.runs.front()->optimum, 4) + ")";
    if (const std::vector<double> accuracies = t.accuracies(); !accuracies.empty())
      text += ", accuracy " + digits(100 * mean_of(accuracies), 4) + " %";
    if (const std::vector<double> distances = t.distances(); !distances.empty())
      text += ", Frechet distance " + digits(mean_of(distances), 3);
    if (const double skipped = mean_of(t.of(skipped_in)); skipped > 0)
      text += ", " + digits(skipped, 3) + (skipped == 1 ? " step" : " steps") + " skipped";
    ProductCounts products;
    for (const RunResult* const one : t.runs)
      for (const auto& [what, count] : one->products) products[what] += count;
    if (!products.empty()) text += "; " + words_of(products);
    const std::vector<TrainFinding> of_first = one_of_each(*t.runs.front());
    for (std::size_t i = 0; i < std::min<std::size_t>(3, of_first.size()); ++i) text += "; " + mechanism(of_first[i]);
    const bool expected = expect == "diverges";
    findings.push_back({.what = "final_loss",
                        .where = t.recipe,
                        .value = mean_of(losses),
                        .threshold = failed > 0 ? reports::Cell("finite") : reports::Cell(""),
                        .source = failed > 0 ? "a loss or weight that is infinite or NaN trains no further" : "",
                        .severity = failed > 0 && !expected ? reports::Severity::bad
                                    : of_first.empty()      ? reports::Severity::good
                                                            : reports::Severity::warning,
                        .sentence = text + "."});
  }
  return findings;
}

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
          .outcome = failed ? studies::StudyOutcome::failed : studies::StudyOutcome::done};
}

studies::Work work_of(const TrainRequest& request) {
  const TrainStudy study = resolve(request);
  const Samples samples = read_samples(study);
  std::uint64_t weights = 0;
  for (const ParameterShape& parameter : parameters_of(study.model)) weights += count_of(parameter.shape);
  const std::uint64_t runs = study.run.recipes.size() * study.run.seeds.size(), steps = steps_of(study, samples);
  const std::uint64_t batch = study.data.batch == 0 ? samples.count : study.data.batch;
  return {.operations = 3 * weights * batch * steps * study.run.accumulate * runs, .rows = steps * runs};
}

}  // namespace ulpscope::training
