// SPDX-License-Identifier: Apache-2.0
// Tables, page and recorded files of runs, which one process has made, or the shards of it.
#include "cli/train_report.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/output.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "reports/build_info.hpp"
#include "reports/directory.hpp"
#include "reports/page_html.hpp"
#include "reports/part_lines.hpp"
#include "training/train/train_all.hpp"
#include "training/train/train_findings.hpp"
#include "training/train/train_page.hpp"
#include "training/train/train_part.hpp"
#include "training/train/train_tables.hpp"

namespace ulpscope::cli {
namespace {

training::TrainPart part_of(const std::string& name) {
  reports::PartLines lines(name);
  const auto next_line = [&] { return lines.next(); };
  training::TrainPart part = training::read_train_part(next_line, name);
  if (const std::string why = reports::unlike_this_program(part.version, part.commit); !why.empty())
    throw Error(emu::visible(name + ": " + why));
  part.runs = training::read_train_runs(next_line, name, part);
  return part;
}

}  // namespace

void write_train_report(const std::string& directory, const training::TrainStudy& study,
                        const std::vector<training::RunResult>& runs, const Arguments& arguments) {
  reports::Page page = training::train_page(runs, study);
  page.command = command_line(arguments);
  reports::write_page_report(directory, training::train_tables(runs), page,
                             {.arguments = arguments, .texts = training::recorded_files(runs)});
}

int tell_of_runs(const training::TrainStudy& study, const std::vector<training::RunResult>& runs) {
  if (const auto at = study.run.reload_at; at && *at >= runs.front().steps.size() && !runs.front().diverged)
    remark("[run] reload_at " + std::to_string(*at) + ": the run ended after " + std::to_string(runs.front().steps.size()) +
           " steps, and lost nothing");
  for (const reports::Finding& finding : training::train_findings(runs, study.expect)) remark(emu::visible(finding.sentence));
  const bool diverged = std::any_of(runs.begin(), runs.end(), [](const auto& result) { return result.diverged; });
  return diverged && study.expect.empty() ? check_failed : done;
}

int merge_train_parts(const std::vector<std::string>& names, const std::string& directory) {
  std::vector<training::TrainPart> parts;
  for (const std::string& name : names) parts.push_back(part_of(name));
  const training::TrainPart all = training::merged(std::move(parts), names);
  const training::TrainStudy study = training::parse_train_study(all.text, all.study);
  Arguments arguments = all.arguments;
  arguments.insert(arguments.end(), {"-o", directory});
  write_train_report(directory, study, all.runs, arguments);
  remark_report(directory);
  return tell_of_runs(study, all.runs);
}

}  // namespace ulpscope::cli
