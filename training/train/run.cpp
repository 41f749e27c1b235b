// SPDX-License-Identifier: Apache-2.0
// The loop over steps, with what is recorded and saved between them.
#include "training/train/run.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>

#include "emu/error.hpp"
#include "files/work_folder.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/run_end.hpp"
#include "training/train/run_findings.hpp"
#include "training/train/run_parts.hpp"
#include "training/train/run_reload.hpp"
#include "training/train/run_step.hpp"
#include "training/train/saved_run.hpp"
#include "training/train/schedule.hpp"
#include "training/train/wide.hpp"

namespace ulpscope::training {
namespace {

constexpr std::uint64_t steps_watched = 10;  // about so many of a run have their roundings in tensors.csv

template <class Real>
class Trainer {
 public:
  explicit Trainer(RunParts<Real>& parts) : run_(parts), result_(parts.result), options_(parts.options) {}

  void run() {
    const std::uint64_t steps = steps_of(run_.study, run_.samples);
    if (options_.resume && std::filesystem::exists(options_.saved)) restore();
    for (const WatchedPlace& watched : result_.places) note_findings(watched);
    while (run_.next_step < steps && !result_.diverged) one_step(run_.next_step, steps);
    run_.enter("evaluation");
    if (!run_.done) finish(run_);
    count_products();
    run_.done = true;
    save();
  }

 private:
  void one_step(std::uint64_t step, std::uint64_t steps) {
    const bool is_last = step + 1 == steps, is_watched = step % std::max<std::uint64_t>(1, steps / steps_watched) == 0;
    if (run_.study.run.reload_at == step) reload(run_, step);
    run_.monitor.clear();
    run_.enter("step " + std::to_string(step));
    training::one_step(run_, step, steps);
    count_products();
    if (step == 0 && options_.times != nullptr) result_.step_time = options_.times->of(run_.tally);
    if (run_.dynamic.looks_at(step))
      for (const LayerMove& move : run_.dynamic.look(step, run_.monitor.places()))
        result_.findings.push_back(
            {step, move.layer, move.place, move.wider ? "moved_wider" : "moved_back", move.value, move.threshold});
    keep_places(step, is_watched || result_.diverged || is_last);
    if (options_.progress) options_.progress(result_.steps.back());
    const bool is_asked_for = options_.record_every > 0 && (step + 1) % options_.record_every == 0;
    if ((is_asked_for || is_last) && !result_.diverged) record(step + 1);  // what is no number is no checkpoint
    run_.next_step = step + 1;
    if (options_.save_now && options_.save_now()) save();
  }

  /// The roundings of a step: all, or those of a place that are a finding for the first time.
  void keep_places(std::uint64_t step, bool all) {
    for (const auto& [place, counts] : run_.monitor.places()) {
      const WatchedPlace watched{step, place, counts};
      if (note_findings(watched) || all) result_.places.push_back(watched);
    }
  }

  /// @returns whether there is one that was not there before
  bool note_findings(const WatchedPlace& watched) {
    bool is_new = false;
    for (const TrainFinding& found : findings_of(watched))
      is_new |= found_.emplace(found.layer, found.place, found.finding).second;
    return is_new;
  }

  /// What devices have multiplied.
  void count_products() {
    if (options_.devices == nullptr) return;
    for (const auto& [what, count] : options_.devices->take_counts()) result_.products[what] += count;
  }

  void record(std::uint64_t step) {
    RecordedWeights& recorded = result_.recorded.emplace_back();
    recorded.step = step;
    for (const auto& values : run_.weights) recorded.values.push_back(wide(values));
    for (const auto& values : run_.average.tensors) recorded.averages.push_back(wide(values));
    for (const auto& [layer, kept] : run_.buffers.kept) {
      recorded.statistics[layer + running_mean] = wide(kept.statistics.mean);
      recorded.statistics[layer + running_variance] = wide(kept.statistics.variance);
    }
  }

  void save() {
    if (options_.saved.empty()) return;
    SavedRun run;
    run.words["identity"] = options_.identity;
    save_state(run_.state(), run);
    save_result(result_, run);
    write_saved_run(options_.saved, run);
  }

  void restore() {
    try {
      const SavedRun run = read_saved_run(options_.saved);
      const auto found = run.words.find("identity");
      const std::string identity = found == run.words.end() ? "" : found->second;
      if (identity != options_.identity)
        throw Error("is of other work: " + files::first_difference(identity, options_.identity) + "; remove it to begin anew");
      restore_state(run, run_.state());
      restore_result(run, result_);
    } catch (const Error& error) {
      const std::string what = error.what(), place = options_.saved + ": ";
      throw Error((what.starts_with(options_.saved) ? what : place + what) +
                  (what.ends_with("to begin anew") ? "" : "; remove it to begin anew"));
    }
  }

  std::set<std::tuple<std::string, std::string, std::string>> found_;  ///< layer, place and name of findings of roundings
  RunParts<Real>& run_;
  RunResult& result_;
  const RunOptions& options_;
};

template <class Real>
void train_in(const TrainStudy& study, const Samples& samples, const recipes::Recipe& recipe, std::uint64_t seed,
              const RunOptions& options, RunResult& result) {
  RunParts<Real> parts(study, samples, recipe, seed, options, result);
  Trainer<Real>(parts).run();
}

}  // namespace

std::pair<std::string, std::string> layer_and_parameter(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

RunResult train(const TrainStudy& study, const Samples& samples, const std::string& recipe, std::uint64_t seed,
                const RunOptions& options) {
  const recipes::Recipe opened = recipes::open_recipe(recipe);
  RunResult result;
  result.recipe = opened.name;
  result.seed = seed;
  (is_wide(opened) ? train_in<double> : train_in<float>)(study, samples, opened, seed, options, result);
  return result;
}

}  // namespace ulpscope::training
