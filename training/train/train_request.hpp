// SPDX-License-Identifier: Apache-2.0
// `train`: a study under its recipes and seeds, and what is to be said of the runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reports/page.hpp"
#include "requests/field.hpp"
#include "studies/study.hpp"
#include "training/train/run.hpp"

namespace ulpscope::training {

/// The members mean what their fields' help says.
struct TrainRequest {
  /// What the fields of these names say in the help of `ulpscope train`.
  ///@{
  std::string study;
  std::vector<std::string> recipe;
  std::vector<std::uint64_t> seed;
  std::uint64_t steps = 0;
  std::string engine;
  std::vector<std::string> device;
  std::string instruction;
  bool check = false, emulate_rest = false;
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// The study, with what the request changes of it. @throws ulpscope::Error
TrainStudy resolve(const TrainRequest& request);

/// The devices of the request; null where it names none. @throws ulpscope::Error, gpu::NoDevice where there is no such device
std::unique_ptr<DeviceProducts> devices_of(const TrainRequest& request);

/// What a request trains, but for the number of threads and which recipes and seeds: the study's text, steps, engine
/// and instruction, and the program's version. A saved run goes on under the same one alone. @throws ulpscope::Error
std::string identity_of(const TrainRequest& request);

/// How far the runs are.
struct TrainProgress {
  std::string run;                 ///< `fp16_amp-0`: recipe and seed
  std::uint64_t done = 0, of = 0;  ///< steps of all runs
  std::uint64_t skipped = 0;       ///< steps of this run that the scaler skipped
  TrainStep step = {};             ///< the last one
};

/// How runs are made.
struct TrainAll {
  RunOptions run = {};                                      ///< of each; `progress` and `saved` are set here
  std::string saved = {};                                   ///< folder, which is there, of runs on their way; empty: none is saved
  std::function<void(const TrainProgress&)> progress = {};  ///< asked behind each step
};

/// The names of the saved runs of a study.
std::set<std::string> saved_files(const TrainStudy& study);

/// All runs, by recipe and seed. What devices refuse is found before the first one. @throws ulpscope::Error
std::vector<RunResult> train_all(const TrainStudy& study, const TrainAll& options);

/// What the runs recorded, as files of a report, name and content: weights/RECIPE-SEED-STEP.safetensors, whose names and shapes
/// are torch's, and gradients/RECIPE-SEED.safetensors, a trace for `ulpscope scale`. @throws ulpscope::Error
std::vector<std::pair<std::string, std::string>> recorded_files(const std::vector<RunResult>& runs);

/// curves.csv: `recipe,seed,step,loss,grad_norm,scale,skipped,lost_updates`; summary.csv: a row a recipe; tensors.csv: what
/// roundings did, in about ten steps of each run; findings.csv: `recipe,seed,step,layer,place,finding,value,threshold`;
/// where the study asks for it evaluations.csv.
std::vector<reports::Table> train_tables(const std::vector<RunResult>& runs);

/// tensors.csv and findings.csv of train_tables() alone.
///@{
reports::Table tensors_table(const std::vector<RunResult>& runs);
reports::Table findings_table(const std::vector<RunResult>& runs);
///@}

/// A sentence for each recipe, with the mechanism of what went wrong.
std::vector<reports::Finding> train_findings(const std::vector<RunResult>& runs, const std::string& expect);

/// The formats of every place of the model under each recipe: what `--dry-run` shows.
reports::Table places_table(const TrainStudy& study);

/// From train_tables(), or tables with more columns in front: losses, norms and scales over the steps.
std::vector<reports::Figure> train_figures(const std::vector<reports::Table>& tables);

/// Findings, figures, and the ranking of recipes.
reports::Page train_page(const std::vector<RunResult>& runs, const TrainStudy& study);

/// curves.csv, summary.csv, tensors.csv. @throws ulpscope::Error
studies::StudyResult run(const TrainRequest& request, const studies::Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
studies::Work work_of(const TrainRequest& request);

}  // namespace ulpscope::training
