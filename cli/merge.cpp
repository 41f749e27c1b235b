// SPDX-License-Identifier: Apache-2.0
// The command `merge`: the report of a census, sweep or study file from the parts that shards of it have written.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "cli/study_report.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "reports/directory.hpp"
#include "requests/toml.hpp"
#include "studies/shards/part_file.hpp"
#include "study_files/study_part.hpp"
#include "tensors/is_no_input.hpp"

namespace ulpscope::cli {
namespace {

struct Merge {
  std::vector<std::string> folders;
  std::string directory;
};

/// Asks once more what the parts were asked.
template <class Request>
Request request_of(const studies::PartFile& part, const std::string& name) {
  Request request;
  Command words;
  words.add_request(request);
  try {
    words.parse(part.request);
  } catch (const Error& error) {
    throw Error(emu::visible(name + ": " + error.what()));
  }
  return request;
}

/// The report of a study file from the cells of all parts.
int merge_cells(const Merge& merge, const std::vector<std::string>& names, const std::vector<std::string>& texts) {
  std::vector<study_files::StudyPart> parts;
  for (std::size_t i = 0; i < texts.size(); ++i) parts.push_back(study_files::study_part_of(texts[i], names[i]));
  const study_files::StudyPart all = study_files::merged(std::move(parts), names);
  const std::vector<study_files::PlannedStudy> planned = study_files::plan(requests::parse_toml(all.text, all.study), all.only);
  study_files::check_complete(planned, all);
  const std::vector<study_files::StudyOutput> outputs = study_files::run(planned, study_files::PartCells(all), {});
  std::vector<std::string> arguments = all.arguments;
  arguments.insert(arguments.end(), {"-o", merge.directory});
  return write_study_report(merge.directory, outputs, {.study = all.study, .text = all.text, .arguments = arguments});
}

int run(const Merge& merge) {
  reports::check_report_folder(merge.directory);
  const PartTexts read = read_parts(merge.folders);
  const std::vector<std::string>& names = read.names;
  for (const std::string& name : names)
    tensors::check_is_no_input({std::filesystem::path(name).parent_path().string()}, merge.directory);
  if (study_files::is_study_part(read.texts.front())) return merge_cells(merge, names, read.texts);
  const std::vector<studies::PartFile> parts = parts_of(read);
  const studies::PartFile& first = parts.front();
  if (first.command == "amax")
    throw Error(emu::visible(names.front() + ": holds magnitudes alone, for `ulpscope census --amax`"));
  const std::vector<studies::TensorPart> whole = studies::merged(parts, names);

  const bool is_sweep = first.command == "sweep";
  if (!is_sweep && first.command != "census") throw Error(emu::visible(names.front() + ": is of no census or sweep"));
  ReportRequest report;
  studies::CensusConfig config;
  if (is_sweep) {
    const auto request = request_of<studies::SweepRequest>(first, names.front());
    report = report_of(request), config = request.config(), report.groups = request.groups.of(first.tensors);
  } else {
    const auto request = request_of<studies::CensusRequest>(first, names.front());
    report = report_of(request, studies::total_count(first.tensors)), config = request.config();
    report.groups = request.groups.of(first.tensors);
  }
  report.directory = merge.directory;
  report.arguments = first.arguments;
  report.arguments.insert(report.arguments.end(), {"-o", merge.directory});
  const std::optional<studies::ScaleRange> range = swept_range(report);
  const std::size_t formats = config.formats.size(), scales = range ? range->count() : 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool fits = whole[i].census.size() == formats && whole[i].sweep.size() == formats * scales;
    if (!fits && first.tensors[i].count() != 0)
      throw Error(emu::visible(names.front() + ": has not the sums of " + first.tensors[i].label + " that it was asked for"));
    studies::check_tensor_scales(first.tensors[i], whole[i], report.scaling, config.formats, names.front());
  }
  const EachResult each = [&](const std::function<void(studies::TensorResults)>& take) {
    for (std::size_t i = 0; i < whole.size(); ++i) take(studies::results_of(first.tensors[i], whole[i], config.formats, range));
  };
  write_precision_report(report, each, config);
  remark_report(merge.directory);
  return done;
}

}  // namespace

void add_merge(Command& app, int& exit_code) {
  auto merge = std::make_shared<Merge>();
  Command& command =
      *app.add_subcommand("merge", "the report of a census, sweep or study file from the parts that its shards have written");
  command.add_option("PART", merge->folders, "folders that --shard has written, or folders of these")->required();
  command.add_written("-o", merge->directory, "the report, as one undivided run writes it", "DIR")->required();
  command.footer(
      "Example: ulpscope census normal:0,1:4096x512 --to e4m3 --shard 0/1 -o parts/0\n"
      "         ulpscope merge parts -o report");
  command.callback([merge, &exit_code] { exit_code = run(*merge); });
}

}  // namespace ulpscope::cli
