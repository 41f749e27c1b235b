// SPDX-License-Identifier: Apache-2.0
// The command `audit`: words to a request, tables or text out, and what the exit code is.
#include "verify/audit/audit.hpp"

#include <memory>
#include <string>

#include "cli/audit_program.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/verify.hpp"
#include "verify/audit/audit_request.hpp"
#include "verify/audit/audit_text.hpp"

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
  return program_rule(word.substr(program.size()), request.timeout);
}

void print_text(const verify::AuditConfig& config, const Audit& audit, const verify::AuditResult& result) {
  print(verify::audit_heading(config));
  print(verify::audit_summary(result), audit.common, 2);
  print(verify::audit_sentences(result));
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
  verify::check_unbroken(result);
  if (rendering_of(audit.common) == Rendering::text) {
    print_text(config, audit, result);
  } else {
    print(verify::audit_table(result), audit.common, 2);
  }
  return exit_code_of_check(verify::outcome_of(result));
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
