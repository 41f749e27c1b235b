// SPDX-License-Identifier: Apache-2.0
// The command `audit`: words to a request, tables or text out, and what the exit code is.
#include "verify/audit/audit.hpp"

#include <memory>
#include <string>

#include "cli/audit_program.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "reports/render.hpp"
#include "tensors/tensor.hpp"
#include "verify/audit/audit_request.hpp"

namespace ulpscope::cli {
namespace {

struct Audit {
  verify::AuditRequest request;
  CommonOptions common;
};

/// A rule, or a program that is one.
verify::Rule parse_rule(const verify::AuditRequest& request, const std::string& word) {
  const std::string program = "program:";
  if (!word.starts_with(program)) return verify::parse_rule(word);
  return program_rule(word, {split_words(word.substr(program.size())), request.timeout});
}

/// @throws ulpscope::Error where a rule has no verdict about the correct output: what it says of mutants is worth nothing.
void check_unbroken(const verify::AuditResult& result) {
  for (std::size_t rule = 0; rule < result.rules.size(); ++rule)
    if (result.breaks_on_correct(rule))
      throw Error("rule '" + result.rules[rule] + "': on the correct output it " + result.correct[rule].broken);
}

std::string heading(const verify::AuditConfig& config, const products::MatmulShape& shape) {
  const products::Product& p = config.product;
  std::string text = "A  " + p.a.input.words() + ", " + emu::format_name(p.a.rounding.format) + "\n";
  text += "B  " + p.b.input.words() + ", " + emu::format_name(p.b.rounding.format) + "\n";
  if (p.c) text += "C  " + p.c->label + " (" + tensors::shape_text(p.c->shape) + "), " + emu::format_name(p.acc) + "\n";
  text += "D  " + tensors::shape_text(shape.d) + ", K = " + std::to_string(shape.k) + ", engine " + p.engine +
          ", accumulator " + emu::format_name(p.acc) + ", out " + emu::format_name(p.out) + "\n";
  const bool exact = config.reference == verify::AuditReference::exact;
  return text + "Compared with " + (exact ? "the exact product, rounded once" : "the engine's own product") + ".\n\n";
}

std::string mutant_word(const verify::Mutant& mutant) {
  const std::string severity = mutant.severity_word();
  return std::string(mutant.kind->name) + (severity.empty() ? "" : " " + severity);
}

/// What a rule makes of right outputs.
std::string of_right_outputs(const verify::AuditResult& result, std::size_t rule) {
  const verify::RuleVerdict& verdict = result.correct[rule];
  const verify::FalseAlarms& alarms = result.false_alarms[rule];
  std::string text = result.rules[rule] + (verdict.passes ? ": accepts" : ": REJECTS") + " the correct output (" +
                     reports::shortest(verdict.figure) + ", limit " + reports::shortest(verdict.limit) + ")";
  if (alarms.trials == 0) return text + ".\n";
  text += "; rejects " + std::to_string(alarms.alarms) + " of " + std::to_string(alarms.trials) +
          " correct computations in other orders";
  if (alarms.alarms == 0) text += " (rate below " + reports::shortest(alarms.most_where_none()) + " at 95 % confidence)";
  if (alarms.alarms != 0) text += ", the first: " + alarms.first;
  if (alarms.broken != 0) text += ", gives no verdict on " + std::to_string(alarms.broken);
  return text + ".\n";
}

/// What it makes of the mutants that every check must reject.
std::string of_required(const verify::AuditResult& result, std::size_t rule) {
  const auto living = result.required_that_live(rule);
  if (living.empty()) return result.rules[rule] + ": every required mutant that is not equivalent is killed.\n";
  std::string text = result.rules[rule] + ": " + std::to_string(living.size()) + " required mutants LIVE:";
  for (const verify::AuditedMutant* mutant : living)
    text += (mutant == living.front() ? " " : ", ") + mutant_word(mutant->mutant) +
            (mutant->fate(rule) == verify::Fate::broken ? " (no verdict: the rule " + mutant->verdicts[rule].broken + ")" : "");
  return text + ".\n";
}

void print_text(const verify::AuditConfig& config, const Audit& audit, const verify::AuditResult& result) {
  print(heading(config, products::matmul_shape(config.product.a.input, config.product.b.input)));
  print(verify::audit_summary(result), audit.common, 2);
  std::string text = "\n";
  for (std::size_t rule = 0; rule < result.rules.size(); ++rule) text += of_right_outputs(result, rule);
  text += "\n";
  for (std::size_t rule = 0; rule < result.rules.size(); ++rule) text += of_required(result, rule);
  print(text);
}

ExitCode exit_code_of(const verify::AuditResult& result) {
  ExitCode code = done;
  for (std::size_t rule = 0; rule < result.rules.size(); ++rule) {
    if (result.rejects_correct(rule)) return check_failed;
    if (!result.required_that_live(rule).empty()) code = vacuous;
  }
  return code;
}

int run(const Audit& audit) {
  verify::AuditConfig config =
      verify::resolve(audit.request, [&](const std::string& word) { return parse_rule(audit.request, word); });
  verify::AuditResult result;
  {
    ProgressLine progress;
    config.progress = progress.callback();
    result = verify::audit(config);
  }
  check_unbroken(result);
  if (rendering_of(audit.common) == Rendering::text) {
    print_text(config, audit, result);
  } else {
    print(verify::audit_table(result), audit.common, 2);
  }
  return exit_code_of(result);
}

void add_matmul_audit(Command& parent, int& exit_code) {
  auto audit = std::make_shared<Audit>();
  Command& command = *parent.add_subcommand("matmul", "a check of D = A.B + C");
  command.add_request(audit->request);
  audit->common.add_output(command);
  command.footer(
      "A program is given `{ref}` and `{out}` (.npy, float32) or `{ref_codes}` and `{out_codes}`; it accepts with exit code 0\n"
      "and rejects with 1. Its words are split at blanks and read by no shell; for one, write program:sh -c '...'.\n"
      "Exit code 1: a rule rejects the correct output; 3: a required mutant lives.\n"
      "Example: ulpscope audit matmul normal:0,1:16x256 normal:0,1:256x16 --seed 0,1 --in bf16 --out bf16 --engine sm_90 "
      "--rule bound");
  command.callback([audit, &exit_code] { exit_code = run(*audit); });
}

}  // namespace

void add_audit(Command& app, int& exit_code) {
  Command& command =
      *app.add_subcommand("audit", "can a check fail at all? wrong outputs that it must reject, right ones it may not");
  command.require_subcommand(1);
  command.footer("Example: ulpscope audit matmul uniform:0,1:8x64 uniform:0,1:64x8 --in bf16 --engine sm_90 --rule bound");
  add_matmul_audit(command, exit_code);
}

}  // namespace ulpscope::cli
