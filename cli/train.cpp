// SPDX-License-Identifier: Apache-2.0
// The command `train`: a training study under its recipes and seeds, or a shard of these runs.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/kept_parts.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "cli/rows.hpp"
#include "cli/train_report.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/own_files.hpp"
#include "files/work_folder.hpp"
#include "recipes/recipe.hpp"
#include "reports/build_info.hpp"
#include "reports/directory.hpp"
#include "requests/numbers.hpp"
#include "studies/census/sweep.hpp"
#include "training/train/rehearsal.hpp"
#include "training/train/schedule.hpp"
#include "training/train/train_all.hpp"
#include "training/train/train_page.hpp"
#include "training/train/train_part.hpp"
#include "training/train/train_request.hpp"
#include "training/train/train_tables.hpp"

namespace ulpscope::cli {
namespace {

struct Train {
  training::TrainRequest request;
  CommonOptions common;
  std::string directory, shard;
  std::vector<std::string> record;
  bool dry_run = false, resume = false;
};

/// Where runs are saved while they are on their way: beside the report or part, which is written when they are all done.
std::unique_ptr<files::WorkFolder> work_folder(const Train& train, const std::optional<PartPlace>& place) {
  if (train.directory.empty()) return nullptr;
  using files::WorkFolder;
  const std::string written = reports::report_folder(place ? place->folder : train.directory);
  return std::make_unique<WorkFolder>(WorkFolder::beside(written, ".unfinished"),
                                      train.resume ? WorkFolder::Existing::resume : WorkFolder::Existing::refuse,
                                      "holds runs that were interrupted: go on with --resume, or remove it");
}

/// `fp16_amp-0: loss 2.31, scale 65536, 1 skipped`.
std::string words_of(const training::TrainProgress& at) {
  std::string words = at.run + ": loss " + studies::digits(at.step.loss, 4);
  if (at.step.scale != 1) words += ", scale " + studies::digits(at.step.scale, 6);
  return words + (at.skipped == 0 ? "" : ", " + std::to_string(at.skipped) + " skipped");
}

/// What is recorded.
std::string record_line(const Train& train) {
  std::string text = "--record";
  for (const std::string& word : train.record) text += " " + word;
  return text;
}

/// Runs are saved every so often; reports are the same without it.
training::TrainAll all_of(const Train& train, const files::WorkFolder* folder, training::RunOptions options,
                          ProgressLine& progress) {
  using Clock = std::chrono::steady_clock;
  training::TrainAll all{.run = std::move(options)};
  all.progress = [&progress](const training::TrainProgress& at) { progress.show(at.done, at.of, words_of(at)); };
  if (folder == nullptr) return all;
  all.saved = folder->path();
  all.run.resume = train.resume;
  all.run.identity = training::identity_of(train.request) + "\n" + record_line(train);
  all.run.save_now = [last = Clock::now()]() mutable {
    if (Clock::now() - last < std::chrono::seconds(5)) return false;
    last = Clock::now();
    return true;
  };
  return all;
}

/// `weights`, `gradients:10`.
training::RunOptions options_of(const Train& train) {
  training::RunOptions options{.threads = train.request.threads};
  for (const std::string& word : train.record) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    const std::string what = word.substr(0, colon);
    std::string every = colon == word.size() ? "1" : word.substr(colon + 1);
    if (const std::string wrong = requests::read_whole(every, {.least = 1}); !wrong.empty())
      throw Error("--record " + what + ": " + wrong);
    if (what == "weights")
      options.record_every = colon == word.size() ? 0 : std::stoull(every);
    else if (what == "gradients")
      options.gradients_every = std::stoull(every);
    else
      throw Error("--record '" + word + "': give weights or gradients, with :EVERY behind it");
  }
  if (!train.record.empty() && train.directory.empty()) throw Error("--record: -o DIR is missing, the folder that it goes to");
  if (train.resume && train.directory.empty()) throw Error("--resume: -o DIR is missing, whose runs are to go on");
  return options;
}

/// Weights after the last step are there unless the run diverged, and are written where they were asked for.
void drop_unasked(const Train& train, std::vector<training::RunResult>& runs) {
  const auto is_of_weights = [](const std::string& word) { return word.starts_with("weights"); };
  if (std::ranges::none_of(train.record, is_of_weights))
    for (training::RunResult& run : runs) run.recorded.clear();
}

/// What this shard was asked for, before its runs are made.
training::TrainPart part_of(const Train& train, const training::TrainStudy& study, const training::TrainInputs& inputs,
                            const Arguments& arguments) {
  training::TrainPart part{
      .version = reports::version(),
      .commit = reports::commit(),
      .study = train.request.study,
      .text = files::read_file_or_own(train.request.study),
      .work = training::option_lines(train.request) + record_line(train) + training::input_lines(study, inputs),
      .recipes = {},
      .seeds = study.run.seeds,
      .steps = training::steps_of(study, inputs.samples),
      .arguments = undivided(reproducing(arguments)),
      .runs = {}};
  for (const std::string& word : study.run.recipes) part.recipes.push_back(recipes::name_of(word));
  return part;
}

/// Whether the report or part can be written, before the work for it is done.
std::optional<PartPlace> check_output(const Train& train, const Arguments& arguments) {
  std::optional<PartPlace> place = part_place(train.shard, train.directory, arguments);
  if (train.directory.empty()) return place;
  refuse_choice(train.common, "-o " + train.directory + ": a report holds");
  if (!place) reports::check_report_folder(train.directory);
  return place;
}

int run(const Train& train, const Arguments& arguments) try {
  const training::TrainStudy study = training::resolve(train.request);
  const auto remark_study = [&study] {
    for (const std::string& sentence : training::remarks_of(study)) remark(emu::visible(sentence));
  };
  if (train.dry_run) {
    if (!train.shard.empty()) shard_of(train.shard);  // refused as it would be
    remark_study();
    training::rehearse_runs(study);
    return print(training::places_table(study), train.common, 4), done;
  }
  const std::optional<PartPlace> place = check_output(train, arguments);
  const std::unique_ptr<training::DeviceProducts> devices = training::devices_of(train.request);
  ProgressLine progress("steps");
  const training::RunOptions options = options_of(train);
  const std::unique_ptr<files::WorkFolder> folder = work_folder(train, place);
  remark_study();
  training::TrainAll all = all_of(train, folder.get(), options, progress);
  all.run.devices = devices.get();
  if (place) all.shard = place->shard;
  const training::TrainInputs inputs = training::read_inputs(study);
  std::optional<training::TrainPart> part;
  if (place) part = part_of(train, study, inputs, arguments);
  std::vector<training::RunResult> runs = training::train_all(study, inputs, all);
  drop_unasked(train, runs);
  if (part) {
    part->runs.swap(runs);
    reports::write_part(place->folder, [&](const reports::WriteBytes& write) { training::write_train_part(*part, write); },
                        {.arguments = undisturbed(arguments)});
  } else if (!train.directory.empty()) {
    // Whatever threads it had, and whether it was interrupted: the report is the same.
    write_train_report(train.directory, study, runs, reproducing(arguments));
  } else {
    print(training::train_tables(runs)[1], train.common, 1);
  }
  if (folder) {
    const std::set<std::string> saved = training::saved_files(study);
    folder->remove([&](const std::string& name) { return saved.contains(name); });
  }
  if (part) return remark_part(place->folder, "`ulpscope merge` makes a report of all parts"), done;
  if (folder) remark_report(train.directory);
  return tell_of_runs(study, runs);
} catch (const training::ProductDiffers& difference) {
  remark(emu::visible(difference.what()));
  return check_failed;
}

}  // namespace

void add_train(Command& app, const Arguments& arguments, int& exit_code) {
  auto train = std::make_shared<Train>();
  Command& command = *app.add_subcommand("train", "train a model under recipes: what low precision does to it, step by step");
  command.add_request(train->request);
  command.add_flag("--dry-run", train->dry_run, "print what every place is rounded to, and train nothing");
  command
      .add_option("--record", train->record, "write weights (after the last step, or every EVERY) or gradients below -o DIR")
      ->repeatable()
      ->type_name("weights|gradients[:EVERY]");
  command
      .add_option("--shard", train->shard,
                  "train the I-th of N parts of the runs, a run for each recipe and seed, I from 0, and write them to -o PART "
                  "for `ulpscope merge`; auto: the place that Slurm, Open MPI or PMI gives, in a folder of PART")
      ->type_name("I/N");
  command.add_flag("--resume", train->resume, "go on with the runs of -o DIR that were interrupted: the same bytes come of it");
  train->common.add_output(command);
  command.add_written("-o", train->directory,
                      "write a report: curves.csv, summary.csv, tensors.csv, findings.csv, index.html, figures, manifest.json",
                      "DIR");
  command.footer("Example: ulpscope train studies/training/digits.toml --recipe float32,bf16_amp --steps 20");
  command.callback([train, &arguments, &exit_code] { exit_code = run(*train, arguments); });
}

}  // namespace ulpscope::cli
