// SPDX-License-Identifier: Apache-2.0
// The command `verify`: each operation is a request, resolved, judged and reported in the same way.
#include "cli/verify.hpp"

#include <map>
#include <memory>

#include "verify/check_operations.hpp"

namespace ulpscope::cli {
namespace {

/// An operation, and words that check it on the examples.
void add_operation(Command& verify, const verify::CheckOperation& operation, const Arguments& arguments, int& exit_code) {
  struct Words {
    std::unique_ptr<verify::Check> check;
    VerdictOutput output;
  };
  auto words = std::make_shared<Words>(Words{operation.make(), {}});
  Command& command = *verify.add_subcommand(operation.name, operation.what);
  command.add(words->check->fields());
  words->output.add_to(command);
  command.footer("Example: ulpscope verify " + example_of_check(operation.name));
  command.callback([words, &arguments, &exit_code] {
    const verify::Check& check = *words->check;
    exit_code = report_verdict({check.resolve(), check.output(), check.threads(), arguments}, words->output);
  });
}

}  // namespace

std::string example_of_check(const std::string& operation) {
  const std::string in = "examples/tensors/", out = " --output " + in;
  const std::map<std::string, std::string> examples{
      {"matmul", in + "a.npy " + in + "b.npy" + out + "matmul.npy --in bf16"},
      {"grouped_matmul", in + "tokens.npy " + in + "experts.npy --offsets " + in + "offsets.npy" + out + "grouped_matmul.npy"},
      {"softmax", in + "x.npy" + out + "softmax.npy"},
      {"layer_norm", in + "x.npy" + out + "layer_norm.npy"},
      {"rms_norm", in + "x.npy" + out + "rms_norm.npy"},
      {"attention", in + "q.npy " + in + "k.npy " + in + "v.npy" + out + "attention.npy"},
      {"sum", in + "x.npy" + out + "sum.npy"},
      {"dot", in + "q.npy " + in + "k.npy" + out + "dot.npy"},
      {"conv", in + "image.npy " + in + "filters.npy" + out + "conv.npy"},
      {"cast", in + "softmax.npy" + out + "cast.npy --out bf16 --out-rounding toward_zero"},
      {"elementwise", "exp " + in + "x.npy" + out + "exp.npy"},
      {"expr", "\"silu(g) * u\" --input g=" + in + "x.npy --input u=" + in + "x.npy" + out + "swiglu.npy"},
      {"generated", "signed_zero --m 4 --n 3 --k 8" + out + "signed_zero.npy"}};
  return operation + " " + examples.at(operation);
}

void VerdictOutput::add_to(Command& command) {
  command.add_written("--junit", junit, "write JUnit XML", "FILE");
  command.add_written("--save", save, "on failure keep inputs and output there, and print the command that reproduces it",
                      "DIR");
  common.add_output(command);
}

void add_verify(Command& app, const Arguments& arguments, int& exit_code) {
  Command& command =
      *app.add_subcommand("verify", "is this kernel's output right? exit code 1 if not, 3 if that cannot be told");
  command.require_subcommand(1);
  command.footer("Example: ulpscope verify " + example_of_check("softmax"));
  for (const verify::CheckOperation& operation : verify::check_operations())
    if (operation.name == "matmul")
      add_verify_matmul(command, arguments, exit_code);
    else
      add_operation(command, operation, arguments, exit_code);
}

}  // namespace ulpscope::cli
