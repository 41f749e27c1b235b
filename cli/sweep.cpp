// SPDX-License-Identifier: Apache-2.0
// The command `sweep`: a table, lines, a figure, or a report.
#include <memory>
#include <optional>

#include "cli/command.hpp"
#include "cli/commands.hpp"
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
  bool best = false;
};

std::string sentences(const std::vector<std::vector<studies::SweepRow>>& rows) {
  std::string text;
  for (const studies::Advice& advice : studies::advise(rows)) text += studies::sentence(advice) + "\n";
  return text;
}

/// The window of the one tensor as an SVG file. @throws ulpscope::Error
void write_figure(const std::string& path, const reports::Table& table) {
  const auto files = reports::figure_files(studies::sweep_figures(table));
  if (files.empty()) throw Error("--svg " + path + ": nothing is lost at any scale, there is nothing to draw");
  files::write_file(path, files.front().second);
  remark(emu::visible(path + " written"));
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
  if (!sweep.directory.empty() && !sweep.figure.empty()) throw Error("-o and --svg: give one of them");
  if (!part && !sweep.directory.empty()) reports::check_report_folder(sweep.directory);
  if (sweep.directory.empty() && sweep.figure.empty())
    chosen_rows(sweep.best ? studies::loss_scale_table({}) : studies::sweep_table({}, config.options), sweep.common);
  const std::vector<tensors::Tensor> tensors = opened(sweep.request);
  const std::vector<studies::Group> groups = sweep.request.groups.of(tensors);
  ProgressLine progress;
  ReportRequest report = report_of(sweep.request);
  report.directory = sweep.directory, report.arguments = arguments, report.groups = groups;
  if (part)
    return write_part(*part, report, {"sweep", requests::words_of(sweep.request)}, tensors, config, progress.callback());
  if (!sweep.directory.empty()) {
    refuse_choice(sweep.common, "-o " + sweep.directory + ": a report holds");
    write_precision_report(report, tensors, config, progress.callback());
    remark_report(sweep.directory);
    return;
  }
  if (!sweep.figure.empty()) {
    refuse_choice(sweep.common, "--svg " + sweep.figure + ": the figure shows");
    if (!sweep.figure.ends_with(".svg")) throw Error("--svg " + sweep.figure + ": give the figure a name that ends in .svg");
    if (tensors.size() != 1) throw Error("--svg draws one tensor; there are " + std::to_string(tensors.size()));
    return write_figure(sweep.figure, studies::sweep_table(studies::sweep(tensors.front(), range, config), config.options));
  }
  const auto rows = studies::with_groups(studies::sweep_all(tensors, range, config, progress.callback()), groups);
  if (sweep.best) return print(studies::loss_scale_table(studies::advise(rows)), sweep.common, 3);
  if (tensors.size() > few_tensors && rendering_of(sweep.common) == Rendering::text)
    return print(
        sweep_lines(studies::with_groups(tensors, groups), rows, config.options, sweep.common) +
        (groups.empty() ? "" : "\n" + sentences({rows.begin() + static_cast<std::ptrdiff_t>(tensors.size()), rows.end()})));
  const auto of_tensor = [&](std::size_t i) { return studies::sweep_table(rows[i], config.options); };
  print_parts(rows.size(), of_tensor, sweep.common, 5);
  if (rendering_of(sweep.common) == Rendering::text) print("\n" + sentences(rows));
}

}  // namespace

void add_sweep(Command& app, const Arguments& arguments, int&) {
  auto sweep = std::make_shared<Sweep>();
  Command& command = *app.add_subcommand("sweep", "what each format does to each tensor at every loss scale 2^k");
  command.add_request(sweep->request);
  sweep->common.add_output(command);
  command.add_written(
      "-o", sweep->directory,
      "write a report: census.csv, sweep.csv, loss_scales.csv, findings.csv, index.html, figures, manifest.json", "DIR");
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
