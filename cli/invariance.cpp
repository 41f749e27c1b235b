// SPDX-License-Identifier: Apache-2.0
// The command `invariance`: the operations of `verify`, each with several outputs.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/invariance_program.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "cli/verify.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/new_file.hpp"
#include "reports/directory.hpp"
#include "reports/finding.hpp"
#include "reports/junit.hpp"
#include "reports/page_html.hpp"
#include "reports/render.hpp"
#include "tensors/held.hpp"
#include "verify/check_operations.hpp"
#include "verify/grouped/grouped_request.hpp"
#include "verify/invariance/invariance_request.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t most_sentences = 8;

/// Where the answer goes.
struct InvarianceOutput {
  CommonOptions common;
  std::string junit, directory;
  InvarianceProgram program;
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

/// The request, with outputs that the program has computed into `folder`.
template <class Operation>
verify::InvarianceRequest<Operation> with_outputs(verify::InvarianceRequest<Operation> request, const std::string& name,
                                                  const InvarianceProgram& program, const ScratchFolder& folder) {
  if (!request.output.empty()) throw Error("--output, --program: give one of them");
  Operation operation = request.operation;
  const tensors::Held none(tensors::from_values("output", {0}, std::vector<float>{}));  // whose place the outputs will take
  operation.output.output = none.word();
  request.output = outputs_of_program(name, verify::resolve(operation), program, folder);
  return request;
}

template <class Operation>
int run(const std::string& name, const verify::InvarianceRequest<Operation>& request, const InvarianceOutput& output,
        const Arguments& arguments) {
  if (!output.directory.empty()) {
    refuse_choice(output.common, "-o " + output.directory + ": a report holds");
    reports::check_report_folder(output.directory);
  }
  if (request.output.empty() && output.program.command.empty())
    throw Error("--output: give two or more, each as NAME=FILE, or --program WORDS");
  std::optional<ScratchFolder> folder;
  if (!output.program.command.empty()) folder.emplace();
  const verify::ResolvedInvariance resolved =
      verify::resolve(folder ? with_outputs(request, name, output.program, *folder) : request);
  const verify::InvarianceResult result = [&] {
    ProgressLine progress;
    return verify::judged(resolved, progress.callback());
  }();
  const reports::Table table = verify::invariance_table(result);
  const std::vector<reports::Finding> findings = verify::invariance_findings(result);
  if (output.directory.empty()) {
    print(table, output.common, 2);
  } else {
    reports::Page page = verify::invariance_page(result);
    page.command = command_line(arguments);
    reports::write_page_report(output.directory,
                               {table, verify::invariance_rows_table(result), reports::findings_table(findings)}, page,
                               {.arguments = arguments});
    remark_report(output.directory);
  }
  for (std::size_t i = 0; i < std::min(most_sentences, findings.size()); ++i) remark(emu::visible(findings[i].sentence));
  if (findings.size() > most_sentences) remark(std::to_string(findings.size() - most_sentences) + " more, all in the table");
  const bool again = reports::WriteElsewhere::present() != nullptr;  // the report alone is made then
  if (!output.junit.empty() && !again) files::write_file(output.junit, junit_of(resolved.check.operation, result));
  return exit_code_of_check(result.outcome());
}

/// The example of `verify`, with its output twice.
std::string example_of(const std::string& operation) {
  std::string words = example_of_check(operation);
  const std::string option = " --output ";
  const std::size_t at = words.find(option), file = at + option.size(), end = std::min(words.find(' ', file), words.size());
  const std::string output = words.substr(file, end - file);
  words.replace(at, end - at, option + "one=" + output + option + "two=" + output);
  return "Example: ulpscope invariance " + words;
}

template <class Operation>
void add_operation(Command& parent, const std::string& name, const Arguments& arguments, int& exit_code) {
  struct InvarianceWords {
    verify::InvarianceRequest<Operation> request;
    InvarianceOutput output;
  };
  auto words = std::make_shared<InvarianceWords>();
  Command& command = *parent.add_subcommand(name, verify::find_check_operation(name).what);
  requests::Fields fields = requests::fields_of(words->request);
  fields.at("output").required = false;  // a program may compute them
  command.add(fields);
  InvarianceProgram& program = words->output.program;
  command
      .add_option("--program", program.command, "a program that computes them: it is given {x} and other inputs, writes {out}")
      ->type_name("WORDS");
  command.add_option("--batched", program.batched, "inputs that --program is given in parts; may be repeated")
      ->repeatable()
      ->type_name("ROLE");
  command.add_option("--timeout", program.timeout_s, "seconds that the program may take for one output")->type_name("S");
  command.add_written("--junit", words->output.junit, "write JUnit XML", "FILE");
  command.add_written(
      "-o", words->output.directory,
      "write a report: invariance.csv, invariance_rows.csv, findings.csv, index.html, the figure, manifest.json", "DIR");
  words->output.common.add_output(command);
  command.footer(example_of(name));
  command.callback([name, words, &arguments, &exit_code] { exit_code = run(name, words->request, words->output, arguments); });
}

}  // namespace

void add_invariance(Command& app, const Arguments& arguments, int& exit_code) {
  Command& command = *app.add_subcommand(
      "invariance", "does a row's result depend on its batch, the splits, the run? exit code 1 if anything moved or is wrong");
  command.require_subcommand(1);
  command.footer(example_of("matmul"));
  add_operation<verify::MatmulRequest>(command, "matmul", arguments, exit_code);
  add_operation<verify::GroupedMatmulRequest>(command, "grouped_matmul", arguments, exit_code);
  add_operation<verify::SoftmaxRequest>(command, "softmax", arguments, exit_code);
  add_operation<verify::LayerNormRequest>(command, "layer_norm", arguments, exit_code);
  add_operation<verify::RmsNormRequest>(command, "rms_norm", arguments, exit_code);
  add_operation<verify::AttentionRequest>(command, "attention", arguments, exit_code);
  add_operation<verify::SumRequest>(command, "sum", arguments, exit_code);
  add_operation<verify::DotRequest>(command, "dot", arguments, exit_code);
  add_operation<verify::ConvRequest>(command, "conv", arguments, exit_code);
  add_operation<verify::CastRequest>(command, "cast", arguments, exit_code);
  add_operation<verify::ElementwiseRequest>(command, "elementwise", arguments, exit_code);
  add_operation<verify::ExprRequest>(command, "expr", arguments, exit_code);
}

}  // namespace ulpscope::cli
