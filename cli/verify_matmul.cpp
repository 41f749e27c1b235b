// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_matmul.hpp"

#include "cli/output.hpp"
#include "cli/verify_rules.hpp"
#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/audit/rules.hpp"
#include "verify/engine_output.hpp"
#include "verify/matmul_bound.hpp"
#include "verify/verdict_text.hpp"

namespace ulpscope::cli {
namespace {

/// The output's format where nothing says it: that of its file, if it is no storage for a narrower one.
emu::Format out_format(const VerifyMatmul& words, const studies::MatmulConfig& problem, const tensors::Tensor& output) {
  if (!words.problem.out.empty()) return problem.out;
  return output.dtype.format.value_or(problem.acc);
}

verify::Arithmetic arithmetic_of(const VerifyMatmul& words, const studies::MatmulConfig& problem) {
  verify::Arithmetic arithmetic{.engine = {}, .false_alarm = words.check.false_alarm};
  if (words.check.false_alarm && !(*words.check.false_alarm > 0 && *words.check.false_alarm < 1))
    throw Error("--false-alarm: a probability between 0 and 1, e.g. 1e-6");
  const auto rounding = emu::parse_rounding(words.acc_rounding);
  if (rounding != emu::Rounding::nearest_even && rounding != emu::Rounding::toward_zero)
    throw Error("--acc-rounding '" + words.acc_rounding + "': give nearest_even or toward_zero");
  arithmetic.rounding = *rounding;
  if (!words.engine.empty())
    arithmetic.engine =
        studies::choose_engine(problem.engines.front(), {problem.a.rounding.format, problem.b.rounding.format, problem.acc},
                               studies::matmul_shape(problem.a.input, problem.b.input).k, problem.a.scales, problem.b.scales);
  return arithmetic;
}

std::unique_ptr<verify::Expectation> expectation_of(const VerifyMatmul& words, const studies::MatmulConfig& problem) {
  if (words.check.against != "engine")
    return verify::expect_matmul(problem, verify::matmul_allowance(problem, arithmetic_of(words, problem)));
  if (words.engine.empty()) throw Error("--against engine: say which, --engine E; `ulpscope engines` lists them");
  if (words.check.false_alarm) throw Error("--false-alarm: against an engine every bit must be right");
  const bool any = words.reduction_order == "any";
  if (!any && words.reduction_order != "ascending")
    throw Error("--reduction-order '" + words.reduction_order + "': give ascending or any");
  return verify::expect_engine(problem, any ? verify::ReductionOrder::any : verify::ReductionOrder::ascending);
}

int run(const VerifyMatmul& words, const Arguments& arguments) {
  const MatmulCheck parsed = parse_verify_matmul(words);
  const studies::MatmulConfig& problem = parsed.problem;
  VerifyCase check{.operation = "matmul", .heading = verify::heading_of(problem), .arguments = arguments};
  check.inputs = {{words.problem.a, problem.a.input.tensor}, {words.problem.b, problem.b.input.tensor}};
  if (problem.c) check.inputs.push_back({words.problem.c, *problem.c});
  if (words.problem.in.empty())
    check.stated = {"--in", emu::format_name(problem.a.rounding.format) + "," + emu::format_name(problem.b.rounding.format)};
  if (words.problem.out.empty()) check.stated.insert(check.stated.end(), {"--out", emu::format_name(problem.out)});
  if (!words.rules.empty()) check.more = {rules_table(words.rules, problem, *parsed.expectation, parsed.output)};
  return report_verdict(words.check, words.problem.common, check, *parsed.expectation, parsed.output);
}

}  // namespace

MatmulCheck parse_verify_matmul(VerifyMatmul words) {
  if (!words.engine.empty()) words.problem.engines = {words.engine};
  words.problem.against = {"none"};
  MatmulCheck check{.problem = parse_matmul(words.problem), .output = {}, .expectation = {}};
  check.output =
      words.check.open(words.check.output, words.problem.out.empty() ? std::nullopt : std::optional(check.problem.out));
  check.problem.out = out_format(words, check.problem, check.output);
  check.expectation = expectation_of(words, check.problem);
  return check;
}

void VerifyMatmul::add_to(Command& command) {
  problem.add_problem(command);
  command
      .add_option("--engine", engine,
                  "the engine that multiplied: its bound, or its bits; without it any order of additions in --acc")
      ->type_name("E");
  command.add_option("--acc-rounding", acc_rounding, "of additions without an engine: nearest_even or toward_zero")
      ->type_name("R")
      ->capture_default_str();
  command.add_option("--reduction-order", reduction_order, "of the parts of --split-k, against an engine")
      ->type_name("ascending|any")
      ->capture_default_str();
  check.add_to(command);
  problem.common.add_output(command);
}

void add_verify_matmul(Command& verify, const Arguments& arguments, int& exit_code) {
  auto words = std::make_shared<VerifyMatmul>();
  Command& command = *verify.add_subcommand("matmul", "D = A.B + C");
  words->add_to(command);
  std::string forms;
  for (const std::string& form : verify::rule_forms()) forms += (forms.empty() ? "" : ", ") + form;
  command
      .add_option("--rule", words->rules,
                  "what another rule says, and what it would let through: " + forms + "; may be repeated")
      ->repeatable()
      ->type_name("RULE");
  command.footer(
      "Example: ulpscope verify matmul examples/tensors/a.npy examples/tensors/b.npy --output examples/tensors/matmul.npy --in "
      "bf16");
  command.callback([words, &arguments, &exit_code] { exit_code = run(*words, arguments); });
}

}  // namespace ulpscope::cli
