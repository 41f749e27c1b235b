// SPDX-License-Identifier: Apache-2.0
// The command `census`: a table, lines, or a report.
#include <memory>
#include <optional>

#include "cli/brief_table.hpp"
#include "cli/cell_report.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/kept_parts.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "cli/precision_text.hpp"
#include "cli/rows.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "studies/census/amax_history.hpp"
#include "studies/census/block_statistics.hpp"
#include "studies/census/census_request.hpp"
#include "studies/shards/merged_parts.hpp"
#include "studies/shards/sample.hpp"

namespace ulpscope::cli {
namespace {

struct Census {
  studies::CensusRequest request;
  CommonOptions common;
  std::string directory, shard, pass;
  std::vector<std::string> amax;  ///< folders of parts of --pass amax
  bool resume = false;
};

/// What is asked of a part, beside what is asked of the whole.
void check_passes(const Census& census, const studies::Scaling& scaling) {
  if (!census.pass.empty() && census.pass != "amax") throw Error("--pass '" + census.pass + "': give amax");
  const std::string given = !census.pass.empty() ? "--pass amax" : !census.amax.empty() ? "--amax " + census.amax.front() : "";
  if (given.empty()) return;
  if (census.shard.empty()) throw Error(given + ": is for parts; one run finds magnitudes itself, without --shard");
  if (!census.pass.empty() && !census.amax.empty()) throw Error("--pass amax, --amax: give one of them");
  if (!has_tensor_scale(scaling.rule))
    throw Error(given + ": --scale " + scaling.word +
                " has no scale that follows from the largest magnitude of a whole tensor, as amax, pow2 and nvfp4 have");
}

/// The largest magnitudes that the first pass has found of the tensors.
std::vector<double> known_amax(const std::vector<std::string>& folders, const std::vector<tensors::Tensor>& tensors,
                               int threads) {
  if (folders.empty()) return {};
  return studies::merged_amax(open_parts(part_files(folders)), tensors, studies::samples_of(tensors, threads));
}

void print_blocks(const Census& census, const std::vector<tensors::Tensor>& tensors, const std::vector<studies::Group>& groups,
                  const studies::Scaling& scaling, const studies::CensusConfig& config, ProgressLine& progress) {
  const auto rows = studies::block_statistics_all(tensors, groups, scaling, config, progress.callback());
  const reports::Table table = chosen(studies::blocks_table(rows, scaling, config.options), census.common);
  print_chosen(
      rendering_of(census.common) == Rendering::text
          ? brief(table, {"tensor", "format", "block", "blocks", "saturated", "with_to_zero", "all_to_zero", "scale_min",
                          "scale_p50", "scale_max", "sqnr_min_db", "sqnr_p10_db", "sqnr_p50_db", "worst_block"})
          : table,
      census.common, 2);
}

/// What --history gives of all inputs, as a report.
void write_history_report(const Census& census, const Arguments& arguments, ProgressLine& progress) {
  refuse_choice(census.common, "-o " + census.directory + ": a report holds");
  reports::check_report_folder(census.directory);
  KeptStudy kept(census.resume, census.directory, arguments, census.request.threads);
  const studies::StudyResult result = studies::run(census.request, progress.callback(), kept.open());
  progress.clear();
  for (const std::string& line : result.remarks) remark(line);
  write_cell_report({.directory = census.directory,
                     .title = "Magnitudes from checkpoint to checkpoint",
                     .name = "history",
                     .kind = "census",
                     .request = toml_of(census.request),
                     .seed = census.request.reading.seed},
                    result, arguments);
  kept.remove();
}

void print_history(const Census& census, ProgressLine& progress) {
  chosen_rows(studies::amax_history_table({}), census.common);
  std::vector<std::string> remarks;
  const auto rows = studies::amax_history(census.request, remarks, progress.callback());
  for (const std::string& line : remarks) remark(emu::visible(line));
  print(studies::amax_history_table(rows), census.common, 2);
}

void run(const Census& census, const Arguments& arguments) {
  const studies::Scaling scaling = census.request.scaling();
  const studies::CensusConfig config = census.request.config();
  check_passes(census, scaling);
  ProgressLine progress;
  if (census.request.blocks && census.request.history) throw Error("--blocks, --history: give one of them");
  if (census.request.history && !census.shard.empty())
    throw Error("--history, --shard " + census.shard +
                ": the magnitudes of whole checkpoints are compared, and a part has none of the others; leave out one");
  if (census.request.history) {
    check_resume(census.resume, census.directory, census.request.inputs);
    return census.directory.empty() ? print_history(census, progress) : write_history_report(census, arguments, progress);
  }
  if (census.request.blocks) studies::check_has_blocks(scaling);
  const std::optional<PartPlace> part = part_place(census.shard, census.directory, arguments);
  if (part) {
    refuse_choice(census.common, "--shard " + census.shard + ": a part holds");
  }
  // What is wrong with options is told before anything of the inputs is.
  check_resume(census.resume, part ? part->folder : census.directory, census.request.inputs);
  if (!part && !census.directory.empty()) reports::check_report_folder(census.directory);
  if (!part && census.directory.empty()) {
    const studies::ValueNodes nodes;
    chosen_rows(census.request.blocks ? studies::blocks_table({}, scaling, config.options)
                                      : studies::census_table({}, scaling, config.options,
                                                              census.request.model_inputs.empty() ? nullptr : &nodes),
                census.common);
  }
  std::vector<std::string> remarks = census.request.remarks();
  const OpenedTensors inputs = opened(census.request);
  const std::vector<tensors::Tensor>& tensors = inputs.tensors;
  for (const std::string& line : remarks) remark(line);
  const std::vector<studies::Group> groups = census.request.groups.of(tensors);
  ReportRequest report = report_of(census.request, studies::total_count(tensors));
  report.directory = census.directory, report.arguments = undisturbed(arguments), report.groups = groups;
  report.nodes = inputs.nodes;
  report.resume = census.resume;
  if (census.request.blocks) {
    remarks.insert(remarks.end(), inputs.left_out.begin(), inputs.left_out.end());
    report.remarks = std::move(remarks);
  }
  const PartWork work{census.pass.empty() ? "census" : "amax", requests::words_of(census.request),
                      known_amax(census.amax, tensors, config.threads)};
  if (part) return write_part(*part, report, work, tensors, config, progress.callback());
  if (census.request.blocks && census.directory.empty())
    return print_blocks(census, tensors, groups, scaling, config, progress);
  if (census.directory.empty()) {
    const auto rows =
        studies::with_groups(studies::census_all(tensors, scaling, config, progress.callback()), groups, tensors.size());
    const reports::Table table = studies::census_table(rows, scaling, config.options, inputs.nodes.get());
    if (tensors.size() > few_tensors && rendering_of(census.common) == Rendering::text)
      return print(census_lines(studies::with_groups(tensors, groups), rows, table, census.common));
    print(table, census.common, 2);
    return;
  }
  refuse_choice(census.common, "-o " + census.directory + ": a report holds");
  if (census.request.blocks) return write_block_report(report, work, census.request, tensors, progress.callback());
  write_precision_report(report, work, tensors, config, progress.callback());
  remark_report(census.directory);
}

}  // namespace

void add_census(Command& app, const Arguments& arguments, int&) {
  auto census = std::make_shared<Census>();
  Command& command = *app.add_subcommand("census", "what each format does to each tensor");
  command.add_request(census->request);
  census->common.add_output(command);
  command.add_written("-o", census->directory,
                      "write a report: census.csv, exponents.csv, findings.csv, index.html, figures, manifest.json", "DIR");
  command.add_flag("--resume", census->resume, resume_help);
  command.add_option("--shard", census->shard, shard_help)->type_name("I/N");
  command
      .add_option("--pass", census->pass,
                  "amax: with --shard, write the largest magnitude of each tensor alone, for --amax of a second pass")
      .type_name("amax");
  command
      .add_option(
          "--amax", census->amax,
          "with --shard and a scale of whole tensors: parts that --pass amax has written, all of them, or a folder of these; "
          "spares reading tensors whose elements lie in several parts as a whole; may be repeated")
      .repeatable()
      .type_name("PART");
  command.footer(
      "Example: ulpscope census studies/data/digits-training.safetensors:end.layer1.weight normal:0,1:4096x512 --to e4m3,e5m2");
  command.callback([census, &arguments] { run(*census, arguments); });
}

}  // namespace ulpscope::cli
