// SPDX-License-Identifier: Apache-2.0
// The command `info`.
#include "studies/info/info.hpp"

#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"

namespace ulpscope::cli {

void add_info(Command& app, int&) {
  struct Info {
    CommonOptions common;
    std::vector<std::string> inputs;
    bool headers = false;
  };
  auto info = std::make_shared<Info>();
  Command& command = *app.add_subcommand("info", "name, dtype, shape, range, counts of zero, subnormal, infinite, NaN");
  command.add_option("FILE", info->inputs, "tensor files, FILE:NAME, checkpoints, or synthetic tensors")->required();
  info->common.add_input(command);
  requests::Fields fields;
  requests::describe_only_dtype(fields, info->common.reading.only_dtype, "the tensors of these dtypes alone");
  command.add(fields);
  command.add_flag("--headers", info->headers, "name, dtype, shape and count alone; no element is read");
  info->common.add_threads(command);
  info->common.add_output(command);
  command.footer(
      "Example: ulpscope info studies/data/digits-training.safetensors:end.layer1.weight studies/data/breast-cancer.csv");
  command.callback([info] {
    const std::vector<tensors::Tensor> tensors = open_all(info->inputs, info->common.reading.options());
    if (info->headers) {
      print(studies::header_table(tensors), info->common, 1);
      return;
    }
    ProgressLine progress;
    const reports::Table table = studies::info_table(tensors, info->common.threads, progress.callback());
    progress.clear();
    print(table, info->common, 1);
  });
}

}  // namespace ulpscope::cli
