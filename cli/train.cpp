// SPDX-License-Identifier: Apache-2.0
// The command `train`: a training study under its recipes and seeds.
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/work_folder.hpp"
#include "reports/directory.hpp"
#include "reports/page_html.hpp"
#include "requests/numbers.hpp"
#include "studies/census/sweep.hpp"
#include "training/train/rehearsal.hpp"
#include "training/train/train_all.hpp"
#include "training/train/train_findings.hpp"
#include "training/train/train_page.hpp"
#include "training/train/train_request.hpp"
#include "training/train/train_tables.hpp"

namespace ulpscope::cli {
namespace {

struct Train {
  training::TrainRequest request;
  CommonOptions common;
  std::string directory;
  std::vector<std::string> record;
  bool dry_run = false, resume = false;
};

/// Where runs are saved while they are on their way: beside the report, which is written when they are all done.
std::unique_ptr<files::WorkFolder> work_folder(const Train& train) {
  if (train.directory.empty()) return nullptr;
  using files::WorkFolder;
  return std::make_unique<WorkFolder>(WorkFolder::beside(reports::report_folder(train.directory), ".unfinished"),
                                      train.resume ? WorkFolder::Existing::resume : WorkFolder::Existing::refuse,
                                      "holds runs that were interrupted: go on with --resume, or remove it");
}

/// `fp16_amp-0: loss 2.31, scale 65536, 1 skipped`.
std::string words_of(const training::TrainProgress& at) {
  std::string words = at.run + ": loss " + studies::digits(at.step.loss, 4);
  if (at.step.scale != 1) words += ", scale " + studies::digits(at.step.scale, 6);
  return words + (at.skipped == 0 ? "" : ", " + std::to_string(at.skipped) + " skipped");
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
  all.run.identity = training::identity_of(train.request);
  for (const std::string& word : train.record) all.run.identity += "\n" + word;
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

int run(const Train& train, const Arguments& arguments) try {
  const training::TrainStudy study = training::resolve(train.request);
  const auto remark_study = [&study] {
    for (const std::string& sentence : training::remarks_of(study)) remark(emu::visible(sentence));
  };
  if (train.dry_run) {
    remark_study();
    training::rehearse_runs(study);
    return print(training::places_table(study), train.common, 4), done;
  }
  if (!train.directory.empty()) {
    refuse_choice(train.common, "-o " + train.directory + ": a report holds");
    reports::check_report_folder(train.directory);
  }
  const std::unique_ptr<training::DeviceProducts> devices = training::devices_of(train.request);
  ProgressLine progress("steps");
  const training::RunOptions options = options_of(train);
  const std::unique_ptr<files::WorkFolder> folder = work_folder(train);
  remark_study();
  training::TrainAll all = all_of(train, folder.get(), options, progress);
  all.run.devices = devices.get();
  std::vector<training::RunResult> runs = training::train_all(study, all);
  const std::vector<reports::Table> tables = training::train_tables(runs);
  if (train.directory.empty()) {
    print(tables[1], train.common, 1);
  } else {
    reports::Page page = training::train_page(runs, study);
    // Of a run that went on the report is that of one that was never interrupted.
    Arguments words = arguments;
    std::erase(words, "--resume");
    page.command = command_line(words);
    const bool weights =
        std::any_of(train.record.begin(), train.record.end(), [](const auto& w) { return w.starts_with("weights"); });
    if (!weights)
      for (training::RunResult& result : runs) result.recorded.clear();
    reports::write_page_report(train.directory, tables, page, {.arguments = words, .texts = training::recorded_files(runs)});
    const std::set<std::string> saved = training::saved_files(study);
    folder->remove([&](const std::string& name) { return saved.contains(name); });
    remark_report(train.directory);
  }
  if (const auto at = study.run.reload_at; at && *at >= runs.front().steps.size() && !runs.front().diverged)
    remark("[run] reload_at " + std::to_string(*at) + ": the run ended after " + std::to_string(runs.front().steps.size()) +
           " steps, and lost nothing");
  for (const reports::Finding& finding : training::train_findings(runs, study.expect)) remark(emu::visible(finding.sentence));
  const bool diverged = std::any_of(runs.begin(), runs.end(), [](const auto& result) { return result.diverged; });
  return diverged && study.expect.empty() ? check_failed : done;
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
  command.add_flag("--resume", train->resume, "go on with the runs of -o DIR that were interrupted: the same bytes come of it");
  train->common.add_output(command);
  command.add_written("-o", train->directory,
                      "write a report: curves.csv, summary.csv, tensors.csv, findings.csv, index.html, figures, manifest.json",
                      "DIR");
  command.footer("Example: ulpscope train studies/training/digits.toml --recipe float32,bf16_amp --steps 20");
  command.callback([train, &arguments, &exit_code] { exit_code = run(*train, arguments); });
}

}  // namespace ulpscope::cli
