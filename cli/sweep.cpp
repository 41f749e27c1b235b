// SPDX-License-Identifier: Apache-2.0
// The command `sweep`: a table, lines, a figure, or a report.
#include <memory>
#include <optional>

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
#include "files/new_file.hpp"
#include "reports/page_html.hpp"
#include "studies/census/census_request.hpp"
#include "studies/census/sweep_figures.hpp"

namespace ulpscope::cli {
namespace {

struct Sweep {
  studies::SweepRequest request;
  CommonOptions common;
  std::string directory, figure, shard;
  bool best = false, resume = false;
};

std::string sentences(const std::vector<studies::Advice>& scales) {
  std::string text;
  for (const studies::Advice& advice : scales) text += studies::sentence(advice) + "\n";
  return text;
}

/// The window of the one tensor as an SVG file. @throws ulpscope::Error
void write_figure(const std::string& path, const reports::Table& table) {
  const auto files = reports::figure_files(studies::sweep_figures(table));
  if (files.empty()) throw Error("--svg " + path + ": nothing is lost at any scale, there is nothing to draw");
  files::write_file(path, files.front().second);
  remark(emu::visible(path + " written"));
}

/// Of 100,000 tensors the rows of all scales are too many to be held: no more is kept of them than is printed at the end.
void print_sweep(const Sweep& sweep, const std::vector<tensors::Tensor>& tensors, const std::vector<studies::Group>& groups,
                 ProgressLine& progress) {
  const studies::CensusConfig config = sweep.request.config();
  const bool is_text = rendering_of(sweep.common) == Rendering::text;
  const bool in_lines = tensors.size() > few_tensors && is_text && !sweep.best;
  PartsPrinter all_rows(sweep.common, 5);
  std::vector<studies::Advice> advice;
  std::vector<BestScale> lines;
  std::size_t place = 0;
  const auto take = [&](const std::vector<studies::SweepRow>& rows) {
    const bool is_group = place >= tensors.size();
    if (sweep.best || (is_text && (!in_lines || is_group)))
      for (studies::Advice& one : studies::advise(rows)) advice.push_back(std::move(one));
    if (in_lines)
      for (BestScale& best : best_scales(place, rows)) lines.push_back(std::move(best));
    ++place;
    return sweep.best || in_lines || all_rows.add(studies::sweep_table(rows, config.options));
  };
  studies::sweep_each(tensors, groups, sweep.request.range(), config,
                      all_rows.draws_lines() && !sweep.best ? studies::Progress{} : progress.callback(), take);
  if (sweep.best) return print(studies::loss_scale_table(advice), sweep.common, 3);
  if (in_lines)
    return print(sweep_lines(studies::with_groups(tensors, groups), lines, config.options, sweep.common) +
                 (groups.empty() ? "" : "\n" + sentences(advice)));
  all_rows.finish();
  if (is_text) print("\n" + sentences(advice));
}

void run(const Sweep& sweep, const Arguments& arguments) {
  const studies::ScaleRange range = sweep.request.range();
  const studies::CensusConfig config = sweep.request.config();
  const std::optional<PartPlace> part = part_place(sweep.shard, sweep.directory, arguments);
  if (sweep.best && (part || !sweep.directory.empty() || !sweep.figure.empty()))
    throw Error("--best prints a table, and -o, --shard and --svg write files; a report has it as loss_scales.csv");
  if (part) {
    if (!sweep.figure.empty()) throw Error("--shard and --svg: give one of them");
    refuse_choice(sweep.common, "--shard " + sweep.shard + ": a part holds");
  }
  // What is wrong with options is told before anything of the inputs is.
  check_resume(sweep.resume, part ? part->folder : sweep.directory, sweep.request.inputs);
  if (!sweep.directory.empty() && !sweep.figure.empty()) throw Error("-o and --svg: give one of them");
  if (!part && !sweep.directory.empty()) reports::check_report_folder(sweep.directory);
  if (sweep.directory.empty() && sweep.figure.empty())
    chosen_rows(sweep.best ? studies::loss_scale_table({}) : studies::sweep_table({}, config.options), sweep.common);
  const OpenedTensors inputs = opened(sweep.request);
  const std::vector<tensors::Tensor>& tensors = inputs.tensors;
  const std::vector<studies::Group> groups = sweep.request.groups.of(tensors);
  ProgressLine progress;
  ReportRequest report = report_of(sweep.request);
  report.directory = sweep.directory, report.arguments = undisturbed(arguments), report.groups = groups;
  report.nodes = inputs.nodes;
  report.resume = sweep.resume;
  const PartWork work{"sweep", requests::words_of(sweep.request)};
  if (part) return write_part(*part, report, work, tensors, config, progress.callback());
  if (!sweep.directory.empty()) {
    refuse_choice(sweep.common, "-o " + sweep.directory + ": a report holds");
    write_precision_report(report, work, tensors, config, progress.callback());
    remark_report(sweep.directory);
    return;
  }
  if (!sweep.figure.empty()) {
    refuse_choice(sweep.common, "--svg " + sweep.figure + ": the figure shows");
    if (!sweep.figure.ends_with(".svg")) throw Error("--svg " + sweep.figure + ": give the figure a name that ends in .svg");
    if (tensors.size() != 1) throw Error("--svg draws one tensor; there are " + std::to_string(tensors.size()));
    return write_figure(sweep.figure, studies::sweep_table(studies::sweep(tensors.front(), range, config), config.options));
  }
  print_sweep(sweep, tensors, groups, progress);
}

}  // namespace

void add_sweep(Command& app, const Arguments& arguments, int&) {
  auto sweep = std::make_shared<Sweep>();
  Command& command = *app.add_subcommand("sweep", "what each format does to each tensor at every loss scale 2^k");
  command.add_request(sweep->request);
  sweep->common.add_output(command);
  command.add_written(
      "-o", sweep->directory,
      "write a report: census.csv, exponents.csv, sweep.csv, loss_scales.csv, findings.csv, index.html, figures, manifest.json",
      "DIR");
  command.add_flag("--resume", sweep->resume, resume_help);
  command.add_option("--shard", sweep->shard, shard_help)->type_name("I/N");
  command.add_flag("--best", sweep->best, "one row for each tensor and format: the scale to use, and what it loses");
  command.add_written("--svg", sweep->figure, "draw the scales of one tensor that lose least, and what the others lose",
                      "FILE.svg");
  command.footer(
      "Example: ulpscope sweep studies/data/digits-training.safetensors:end.layer1.weight_grad --to e4m3,fp16 --log2-scale "
      "0:24");
  command.callback([sweep, &arguments] { run(*sweep, arguments); });
}

}  // namespace ulpscope::cli
