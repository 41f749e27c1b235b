// SPDX-License-Identifier: Apache-2.0
// The command `invariance`: the operations of `verify`, each with several outputs.
#include <algorithm>
#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "cli/verify.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/new_file.hpp"
#include "reports/directory.hpp"
#include "reports/junit.hpp"
#include "reports/page_html.hpp"
#include "reports/render.hpp"
#include "verify/invariance/invariance_request.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t most_sentences = 8;

/// Where the answer goes.
struct InvarianceOutput {
  CommonOptions common;
  std::string junit, directory;
};

std::string junit_of(const std::string& operation, const verify::InvarianceResult& result) {
  std::vector<reports::JUnitCase> cases;
  for (const verify::PairResult& pair : result.pairs) {
    verify::InvarianceResult one = result;
    one.pairs = {pair};
    one.conditions[pair.condition].wrong = one.conditions[pair.other].wrong = 0;  // said of the outputs below
    const bool moved = pair.rows_moved != 0;
    cases.push_back({.classname = "ulpscope.invariance." + operation,
                     .name = result.conditions[pair.condition].name + " and " + result.conditions[pair.other].name,
                     .failure = moved ? verify::invariance_findings(one).back().sentence : "",
                     .type = moved ? "moved" : "",
                     .output = reports::to_text(verify::invariance_table(one))});
  }
  for (const verify::ConditionResult& condition : result.conditions)
    cases.push_back({.classname = "ulpscope.invariance." + operation,
                     .name = condition.name,
                     .failure = condition.wrong == 0 ? "" : std::to_string(condition.wrong) + " wrong elements",
                     .type = condition.wrong == 0 ? "" : std::string(name_of(condition.outcome)),
                     .output = {}});
  return reports::to_junit("ulpscope invariance", cases);
}

template <class Operation>
int run(const verify::InvarianceRequest<Operation>& request, const InvarianceOutput& output, const Arguments& arguments) {
  if (!output.directory.empty()) {
    refuse_choice(output.common, "-o " + output.directory + ": a report holds");
    reports::check_report_folder(output.directory);
  }
  const verify::ResolvedInvariance resolved = verify::resolve(request);
  const verify::InvarianceResult result = [&] {
    ProgressLine progress;
    return verify::judged(resolved, progress.callback());
  }();
  const reports::Table table = verify::invariance_table(result);
  if (output.directory.empty()) {
    print(table, output.common, 2);
  } else {
    reports::Page page = verify::invariance_page(result);
    page.command = command_line(arguments);
    reports::write_page_report(output.directory, {table}, page, {.arguments = arguments});
    remark_report(output.directory);
  }
  const std::vector<reports::Finding> findings = verify::invariance_findings(result);
  for (std::size_t i = 0; i < std::min(most_sentences, findings.size()); ++i) remark(emu::visible(findings[i].sentence));
  if (findings.size() > most_sentences) remark(std::to_string(findings.size() - most_sentences) + " more, all in the table");
  if (!output.junit.empty()) files::write_file(output.junit, junit_of(resolved.check.operation, result));
  return exit_code_of_check(result.outcome());
}

/// Files that come with the program.
struct Example {
  std::vector<const char*> inputs;
  const char* output;
  const char* more = "";
};

template <class Operation>
void add_operation(Command& parent, const char* name, const std::string& what, const Example& example,
                   const Arguments& arguments, int& exit_code) {
  struct InvarianceWords {
    verify::InvarianceRequest<Operation> request;
    InvarianceOutput output;
  };
  auto words = std::make_shared<InvarianceWords>();
  Command& command = *parent.add_subcommand(name, what);
  command.add_request(words->request);
  command.add_option("--junit", words->output.junit, "write JUnit XML")->type_name("FILE");
  command.add_option("-o", words->output.directory, "write a report, with a map of the rows that moved")->type_name("DIR");
  words->output.common.add_output(command);
  std::string words_of_example = std::string("Example: ulpscope invariance ") + name;
  const std::string folder = "examples/tensors/";
  if constexpr (std::same_as<Operation, verify::ElementwiseRequest>) words_of_example += " exp " + folder + "x.npy";
  for (const char* const input : example.inputs) words_of_example += " " + folder + input;
  for (const char* const condition : {"one", "two"})
    words_of_example += std::string(" --output ") + condition + "=" + folder + example.output;
  command.footer(words_of_example + example.more);
  command.callback([words, &arguments, &exit_code] { exit_code = run(words->request, words->output, arguments); });
}

}  // namespace

void add_invariance(Command& app, const Arguments& arguments, int& exit_code) {
  Command& command = *app.add_subcommand(
      "invariance", "does a row's result depend on its batch, the splits, the run? exit code 1 if anything moved or is wrong");
  command.require_subcommand(1);
  command.footer(
      "Example: ulpscope invariance matmul examples/tensors/a.npy examples/tensors/b.npy --in bf16 --output "
      "one=examples/tensors/matmul.npy --output two=examples/tensors/matmul.npy");
  add_operation<verify::MatmulRequest>(command, "matmul", "D = A.B + C", {{"a.npy", "b.npy"}, "matmul.npy", " --in bf16"},
                                       arguments, exit_code);
  add_operation<verify::SoftmaxRequest>(command, "softmax", "softmax along the last axis", {{"x.npy"}, "softmax.npy"},
                                        arguments, exit_code);
  add_operation<verify::LayerNormRequest>(command, "layer_norm", "layer normalisation along the last axis",
                                          {{"x.npy"}, "layer_norm.npy"}, arguments, exit_code);
  add_operation<verify::RmsNormRequest>(command, "rms_norm", "RMS norm along the last axis", {{"x.npy"}, "rms_norm.npy"},
                                        arguments, exit_code);
  add_operation<verify::AttentionRequest>(command, "attention", "softmax(scale Q K^T + mask) V",
                                          {{"q.npy", "k.npy", "v.npy"}, "attention.npy"}, arguments, exit_code);
  add_operation<verify::SumRequest>(command, "sum", "sums along the last axis", {{"x.npy"}, "sum.npy"}, arguments, exit_code);
  add_operation<verify::DotRequest>(command, "dot", "sums of products of two tensors of one shape",
                                    {{"q.npy", "k.npy"}, "dot.npy"}, arguments, exit_code);
  add_operation<verify::ConvRequest>(command, "conv", "convolution (cross-correlation) in 1 to 3 dimensions",
                                     {{"image.npy", "filters.npy"}, "conv.npy"}, arguments, exit_code);
  add_operation<verify::CastRequest>(command, "cast", "a conversion",
                                     {{"softmax.npy"}, "cast.npy", " --out bf16 --out-rounding toward_zero"}, arguments,
                                     exit_code);
  add_operation<verify::ElementwiseRequest>(command, "elementwise", "a function of each element", {{}, "exp.npy"}, arguments,
                                            exit_code);
}

}  // namespace ulpscope::cli
