// SPDX-License-Identifier: Apache-2.0
// The command `verify`: each operation is a request, resolved, judged and reported in the same way.
#include "cli/verify.hpp"

#include <memory>
#include <utility>

#include "verify/expressions/expression.hpp"
#include "verify/generate/generated_request.hpp"
#include "verify/grouped/grouped_request.hpp"
#include "verify/operations/elementwise.hpp"
#include "verify/operations/operation_requests.hpp"

namespace ulpscope::cli {
namespace {

template <class Request>
int threads_of(const Request& request) {
  if constexpr (requires { request.product.threads; })
    return request.product.threads;
  else
    return request.threads;
}

template <class Request>
void add_operation(Command& verify, const char* name, const std::string& what, const std::string& example,
                   const Arguments& arguments, int& exit_code) {
  struct Words {
    Request request;
    VerdictOutput output;
  };
  auto words = std::make_shared<Words>();
  Command& command = *verify.add_subcommand(name, what);
  command.add_request(words->request);
  words->output.add_to(command);
  command.footer("Example: ulpscope verify " + example);
  command.callback([words, &arguments, &exit_code] {
    const Request& request = words->request;
    exit_code = report_verdict({verify::resolve(request), request.output, threads_of(request), arguments}, words->output);
  });
}

std::string function_names() {
  std::string names;
  for (const std::string& word : verify::elementwise_words()) names += (names.empty() ? "" : " ") + word;
  return names;
}

std::string formula_names() {
  std::string names;
  for (const verify::KnownFormula& known : verify::known_formulas()) names += (names.empty() ? "" : " ") + known.name;
  return names;
}

}  // namespace

void VerdictOutput::add_to(Command& command) {
  command.add_option("--junit", junit, "write JUnit XML")->type_name("FILE");
  command.add_option("--save", save, "on failure keep inputs and output there, and print the command that reproduces it")
      ->type_name("DIR");
  common.add_output(command);
}

void add_verify(Command& app, const Arguments& arguments, int& exit_code) {
  Command& command =
      *app.add_subcommand("verify", "is this kernel's output right? exit code 1 if not, 3 if that cannot be told");
  command.require_subcommand(1);
  command.footer("Example: ulpscope verify softmax examples/tensors/x.npy --output examples/tensors/softmax.npy");
  const std::string in = "examples/tensors/", out = " --output " + in;
  add_verify_matmul(command, arguments, exit_code);
  add_operation<verify::GroupedMatmulRequest>(
      command, "grouped_matmul", "rows of A, dealt out to groups, each by its group's matrix of B, as experts are",
      "grouped_matmul " + in + "tokens.npy " + in + "experts.npy --offsets " + in + "offsets.npy" + out + "grouped_matmul.npy",
      arguments, exit_code);
  add_operation<verify::SoftmaxRequest>(command, "softmax", "softmax along the last axis",
                                        "softmax " + in + "x.npy" + out + "softmax.npy", arguments, exit_code);
  add_operation<verify::LayerNormRequest>(command, "layer_norm", "layer normalisation along the last axis",
                                          "layer_norm " + in + "x.npy" + out + "layer_norm.npy", arguments, exit_code);
  add_operation<verify::RmsNormRequest>(command, "rms_norm", "RMS norm along the last axis",
                                        "rms_norm " + in + "x.npy" + out + "rms_norm.npy", arguments, exit_code);
  add_operation<verify::AttentionRequest>(command, "attention", "softmax(scale Q K^T + mask) V",
                                          "attention " + in + "q.npy " + in + "k.npy " + in + "v.npy" + out + "attention.npy",
                                          arguments, exit_code);
  add_operation<verify::SumRequest>(command, "sum", "sums along the last axis, or of all elements",
                                    "sum " + in + "x.npy" + out + "sum.npy", arguments, exit_code);
  add_operation<verify::DotRequest>(command, "dot", "sums of products of two tensors of one shape",
                                    "dot " + in + "q.npy " + in + "k.npy" + out + "dot.npy", arguments, exit_code);
  add_operation<verify::ConvRequest>(command, "conv", "convolution (cross-correlation) in 1 to 3 dimensions",
                                     "conv " + in + "image.npy " + in + "filters.npy" + out + "conv.npy", arguments, exit_code);
  add_operation<verify::CastRequest>(command, "cast", "a conversion: one rounding, --out-rounding, and --out-policy",
                                     "cast " + in + "softmax.npy" + out + "cast.npy --out bf16 --out-rounding toward_zero",
                                     arguments, exit_code);
  add_operation<verify::ElementwiseRequest>(command, "elementwise", "a function of each element: " + function_names(),
                                            "elementwise exp " + in + "x.npy" + out + "exp.npy", arguments, exit_code);
  add_operation<verify::ExprRequest>(
      command, "expr", "a formula over tensors; known by name: " + formula_names(),
      "expr \"silu(g) * u\" --input g=" + in + "x.npy --input u=" + in + "x.npy" + out + "swiglu.npy", arguments, exit_code);
  add_operation<verify::GeneratedRequest>(
      command, "generated", "a case of `ulpscope generate matmul` whose kind says more than a bound: cancellation, order, ...",
      "generated signed_zero --m 4 --n 3 --k 8" + out + "signed_zero.npy", arguments, exit_code);
}

}  // namespace ulpscope::cli
