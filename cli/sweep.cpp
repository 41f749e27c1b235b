// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/inputs.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "cli/precision_text.hpp"
#include "cli/rows.hpp"

namespace ulpscope::cli {
namespace {

struct Sweep {
  CommonOptions common;
  std::vector<std::string> inputs;
  std::string range = "-10:24", directory;
  bool integers = false;
};

std::string sentences(const std::vector<std::vector<studies::SweepRow>>& rows) {
  std::string text;
  for (const auto& of_tensor : rows)
    for (const studies::Advice& advice : studies::advise(of_tensor))
      text += studies::sentence(of_tensor.front().tensor, advice) + "\n";
  return text;
}

void run(const Sweep& sweep, const Arguments& arguments) {
  const studies::ScaleRange range = studies::parse_scale_range(sweep.range);
  studies::CensusConfig config;
  config.formats = sweep.common.parsed_formats();
  config.options = sweep.common.parsed_rounding();
  config.seed = sweep.common.seed;
  config.threads = sweep.common.threads;
  const auto tensors =
      open_numbers(sweep.inputs, sweep.common.parsed_open(), sweep.integers ? Integers::include : Integers::leave_out);
  ProgressLine progress;
  if (!sweep.directory.empty()) {
    refuse_choice(sweep.common, sweep.directory);
    write_precision_report({sweep.directory, arguments, {}, range, true, true}, tensors, config, progress.callback());
    remark(sweep.directory + "/index.html written");
    return;
  }
  chosen_rows(studies::sweep_table({}, config.options), sweep.common);  // a wrong column is told at once
  const auto rows = sweep_all(tensors, range, config, progress.callback());
  if (tensors.size() > few_tensors && rendering_of(sweep.common) == Rendering::text)
    return print(sweep_lines(tensors, rows, config.options, sweep.common));
  std::vector<studies::SweepRow> all;
  for (const auto& of_tensor : rows) all.insert(all.end(), of_tensor.begin(), of_tensor.end());
  print(studies::sweep_table(all, config.options), sweep.common, 5);
  if (rendering_of(sweep.common) == Rendering::text) print("\n" + sentences(rows));
}

}  // namespace

void add_sweep(Command& app, const Arguments& arguments, int&) {
  auto sweep = std::make_shared<Sweep>();
  Command& command = *app.add_subcommand("sweep", "what each format does to each tensor at every loss scale 2^k");
  command.add_option("INPUT", sweep->inputs, "tensor files, FILE:NAME, or synthetic tensors")->required();
  sweep->common.add_formats(command);
  command.add_option("--log2-scale", sweep->range, "the scales 2^LO to 2^HI")->type_name("LO:HI[:STEP]")->capture_default_str();
  sweep->common.add_rounding(command);
  sweep->common.add_input(command);
  command.add_flag("--integers", sweep->integers, "integer tensors of files with others, too");
  sweep->common.add_threads(command);
  sweep->common.add_output(command);
  command.add_option("-o", sweep->directory, "write a report: census.csv, sweep.csv, index.html, manifest.json")
      ->type_name("DIR");
  command.footer(
      "Example: ulpscope sweep studies/data/digits-training.safetensors:end.layer1.weight_grad --to e4m3,fp16 --log2-scale "
      "0:24");
  command.callback([sweep, &arguments] { run(*sweep, arguments); });
}

}  // namespace ulpscope::cli
