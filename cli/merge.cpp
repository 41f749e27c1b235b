// SPDX-License-Identifier: Apache-2.0
// The command `merge`: the report of a census, sweep, study file or training from the parts that shards of it have written.
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "cli/study_report.hpp"
#include "cli/train_report.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/read_file.hpp"
#include "reports/directory.hpp"
#include "reports/part_lines.hpp"
#include "requests/toml.hpp"
#include "studies/shards/merged_parts.hpp"
#include "studies/shards/part_file.hpp"
#include "study_files/study_part.hpp"
#include "tensors/is_no_input.hpp"
#include "training/train/train_part.hpp"

namespace ulpscope::cli {
namespace {

struct Merge {
  std::vector<std::string> folders;
  std::string directory;
};

/// Asks once more what the parts were asked.
template <class Request>
Request request_of(const studies::PartHead& part, const std::string& name) {
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

/// How a file begins: by that it says of what it is a part, and those of tensors and runs are not read as a whole.
std::string begin_of(const std::string& name) {
  std::string begin(256, '\0');
  begin.resize(files::read_some(files::open_file(name), begin.data(), begin.size(), name));
  return begin;
}

/// The text of a part that may be of a study file. @throws ulpscope::Error
std::string part_text(const std::string& name) {
  const reports::PartLines checked(name);
  return files::read_file(name);
}

/// The report of a study file from the cells of all parts.
int merge_cells(const Merge& merge, const std::vector<std::string>& names) {
  std::vector<study_files::StudyPart> parts;
  for (const std::string& name : names) {
    const std::string text = part_text(name);
    if (parts.empty() && !study_files::is_study_part(text))
      throw Error(emu::visible(name + ": is no part of a census or sweep, of a study file, or of a training"));
    parts.push_back(study_files::study_part_of(text, name));
  }
  const study_files::StudyPart all = study_files::merged(std::move(parts), names);
  const std::vector<study_files::PlannedStudy> planned = study_files::plan(requests::parse_toml(all.text, all.study), all.only);
  study_files::check_complete(planned, all);
  const std::vector<study_files::StudyOutput> outputs = study_files::run(planned, study_files::PartCells(all), {});
  std::vector<std::string> arguments = all.arguments;
  arguments.insert(arguments.end(), {"-o", merge.directory});
  return write_study_report(merge.directory, outputs, {.study = all.study, .text = all.text, .arguments = arguments});
}

/// The report of the blocks of all parts.
int merge_blocks(const ReportRequest& report, const studies::CensusRequest& request, studies::MergedParts& parts) {
  const std::vector<emu::Format> formats = request.config().formats;
  studies::check_has_blocks(report.scaling);
  studies::BlockRows rows(report.scaling, formats, report.groups);
  parts.for_each(
      [&](std::size_t i, const studies::TensorPart& whole) {
        const tensors::Tensor& tensor = parts.head().all->tensors[i];
        studies::check_blocks(tensor, whole, report.scaling, formats.size(), parts.name());
        studies::check_tensor_scales(tensor, whole, report.scaling, formats, parts.name());
        rows.add(tensor, whole.blocks);
      },
      {.census = 0, .sweep = 0});
  write_block_report(report, request, std::move(rows));
  return done;
}

int run(const Merge& merge) {
  reports::check_report_folder(merge.directory);
  const std::vector<std::string> names = part_files(merge.folders);
  for (const std::string& name : names)
    tensors::check_is_no_input({std::filesystem::path(name).parent_path().string()}, merge.directory);
  const std::string begin = begin_of(names.front());
  if (training::begins_train_part(begin)) return merge_train_parts(names, merge.directory);
  if (!studies::begins_part(begin)) return merge_cells(merge, names);
  std::vector<studies::PartReader> readers = open_parts(names);
  if (readers.front().head().command == "amax")
    throw Error(emu::visible(names.front() + ": holds magnitudes alone, for `ulpscope census --amax`"));
  studies::MergedParts parts(std::move(readers));
  const studies::PartHead& head = parts.head();
  const std::vector<tensors::Tensor>& tensors = head.all->tensors;

  const bool is_sweep = head.command == "sweep";
  if (!is_sweep && head.command != "census") throw Error(emu::visible(names.front() + ": is of no census or sweep"));
  ReportRequest report{};
  studies::CensusConfig config;
  studies::CensusRequest census;
  if (is_sweep) {
    const auto request = request_of<studies::SweepRequest>(head, names.front());
    report = report_of(request), config = request.config(), report.groups = request.groups.of(tensors);
    if (!request.model_inputs.empty()) report.nodes = head.all->nodes;
  } else {
    census = request_of<studies::CensusRequest>(head, names.front());
    report = report_of(census, studies::total_count(tensors)), config = census.config();
    report.groups = census.groups.of(tensors);
    if (!census.model_inputs.empty()) report.nodes = head.all->nodes;
  }
  report.directory = merge.directory;
  report.remarks = head.remarks;
  report.arguments = head.arguments;
  report.arguments.insert(report.arguments.end(), {"-o", merge.directory});
  if (report.blocks) return merge_blocks(report, census, parts);
  const std::optional<studies::ScaleRange> range = swept_range(report);
  const std::size_t formats = config.formats.size(), scales = range ? range->count() : 0;
  const EachResult each = [&](const std::function<void(studies::TensorResults)>& take) {
    const auto take_whole = [&](std::size_t i, const studies::TensorPart& whole) {
      const bool fits = whole.census.size() == formats && whole.sweep.size() == formats * scales;
      if (!fits && tensors[i].count() != 0)
        throw Error(emu::visible(names.front() + ": " + studies::other_sums(tensors[i].label)));
      studies::check_tensor_scales(tensors[i], whole, report.scaling, config.formats, names.front());
      take(studies::results_of(tensors[i], whole, config.formats, range));
    };
    parts.for_each(take_whole, {.census = formats, .sweep = formats * scales});
  };
  write_precision_report(report, each, config);
  remark_report(merge.directory);
  return done;
}

}  // namespace

void add_merge(Command& app, int& exit_code) {
  auto merge = std::make_shared<Merge>();
  Command& command =
      *app.add_subcommand("merge", "the report of a census, sweep, study file or training from the parts of its shards");
  command.add_option("PART", merge->folders, "folders that --shard has written, or folders of these")->required();
  command.add_written("-o", merge->directory, "the report, as one undivided run writes it", "DIR")->required();
  command.footer(
      "Example: ulpscope census normal:0,1:4096x512 --to e4m3 --shard 0/1 -o parts/0\n"
      "         ulpscope merge parts -o report");
  command.callback([merge, &exit_code] { exit_code = run(*merge); });
}

}  // namespace ulpscope::cli
