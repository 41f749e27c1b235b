// SPDX-License-Identifier: Apache-2.0
// The command `matmul`: computes, then prints a table or writes D.
#include "studies/matmul/matmul.hpp"

#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/matmul_output.hpp"
#include "cli/output.hpp"

namespace ulpscope::cli {
namespace {

int run(const MatmulWords& words) {
  check_output(words);
  studies::MatmulConfig config = studies::resolve(words.request);
  if (words.only_writes()) config.against.clear();
  studies::MatmulResult result;
  {
    ProgressLine progress;
    config.progress = progress.callback();
    result = studies::matmul(config);
  }
  for (const std::string& line : warnings(words, config, result)) remark(line);
  if (!words.output.empty()) write_product(words, config, result.products.front());
  if (words.only_writes()) {
    remark(product_sentence(words.output, config, result.products.front()));
  } else {
    print_matmul(words, config, result);
  }
  return done;
}

}  // namespace

void add_matmul(Command& app, int& exit_code) {
  auto words = std::make_shared<MatmulWords>();
  Command& command = *app.add_subcommand("matmul", "D = A.B + C on emulated matrix engines, and what that costs");
  requests::Fields fields = requests::fields_of(words->request);
  const requests::Field device = fields.at("device"), instruction = fields.at("instruction");
  fields.remove("device"), fields.remove("instruction");
  command.add(fields);
  command.add_written("-o", words->output, "write D: .npy (float32; float64 if D is), or .safetensors", "D.npy");
  command.add_flag("--codes", words->codes, "write codes as unsigned integers to the .npy");
  command.add(device), command.add(instruction);
  words->common.add_output(command);
  command.footer(
      "Shapes are those of numpy.matmul. Scales lie over their operand as stored: one number, one for each row of A or column "
      "of\n"
      "B, or a grid of blocks (1x128, 128x128; blocks of 32 or 16 along K with e8m0 or e4m3 scales are applied by the engines\n"
      "that take them). `exact` stands for the exact value, rounded once.\n"
      "Example: ulpscope matmul uniform:0,1:64x4096 uniform:0,1:4096x64 --seed 0,1 --engine sm_90 --in e4m3 --promote 128");
  command.callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace ulpscope::cli
