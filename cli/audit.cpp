// SPDX-License-Identifier: Apache-2.0
// The command `audit`: words to a request, tables or text out, and what the exit code is.
#include "verify/audit/audit.hpp"

#include <memory>
#include <string>
#include <utility>

#include "cli/audit_program.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/verify.hpp"
#include "verify/audit/audit_request.hpp"
#include "verify/audit/audit_text.hpp"
#include "verify/audit/operation_audit.hpp"
#include "verify/check_operations.hpp"

namespace ulpscope::cli {
namespace {

/// An audit of whatever operation.
template <class Request>
struct Audit {
  Request request;
  CommonOptions common = {};
};

/// A rule, or a program that is one.
verify::Rule parse_rule(double timeout, const std::string& word) {
  const std::string program = "program:";
  if (!word.starts_with(program)) return verify::parse_rule(word);
  return program_rule(word.substr(program.size()), timeout);
}

void print_text(const std::string& heading, const CommonOptions& common, const verify::AuditResult& result) {
  print(heading);
  print(verify::audit_summary(result), common, 2);
  print(verify::audit_sentences(result));
}

template <class Request>
int run(const Audit<Request>& audit) {
  auto config =
      verify::resolve(audit.request, [&](const std::string& word) { return parse_rule(audit.request.timeout, word); });
  verify::AuditResult result;
  {
    ProgressLine progress;
    config.progress = progress.callback();
    result = verify::audit(config);
  }
  verify::check_unbroken(result);
  if (rendering_of(audit.common) == Rendering::text) {
    print_text(verify::audit_heading(config), audit.common, result);
  } else {
    print(verify::audit_table(result), audit.common, 2);
  }
  return exit_code_of_check(verify::outcome_of(result));
}

template <class Request>
void add_audit_of(Command& parent, const std::string& name, const std::string& what, Request request,
                  const std::string& example, int& exit_code) {
  auto audit = std::make_shared<Audit<Request>>(Audit<Request>{std::move(request)});
  Command& command = *parent.add_subcommand(name, what);
  command.add_request(audit->request);
  audit->common.add_output(command);
  command.footer(
      "A program is given `{ref}` and `{out}` (.npy, float32) or `{ref_codes}` and `{out_codes}`; it accepts with exit code 0\n"
      "and rejects with 1. Its words are split at blanks and read by no shell; for one, write program:sh -c '...'.\n"
      "Exit code 1: a rule rejects the correct output; 3: a required mutant lives.\n"
      "Example: ulpscope audit " +
      example);
  command.callback([audit, &exit_code] { exit_code = run(*audit); });
}

/// The words of `verify OPERATION` on the examples, without its output.
std::string example_of_audit(const std::string& operation) {
  std::string words = example_of_check(operation);
  const std::size_t output = words.find(" --output "), end = words.find(' ', output + sizeof " --output ");
  words.erase(output, end == std::string::npos ? end : end - output);
  if (words.find(" --out ") == std::string::npos) words += " --out fp32";
  return words + " --rule bound";
}

}  // namespace

void add_audit(Command& app, int& exit_code) {
  Command& command =
      *app.add_subcommand("audit", "can a check fail at all? wrong outputs that it must reject, right ones it may not");
  command.require_subcommand(1);
  command.footer("Example: ulpscope audit matmul uniform:0,1:8x64 uniform:0,1:64x8 --in bf16 --engine sm_90 --rule bound");
  for (const verify::CheckOperation& operation : verify::check_operations())
    if (operation.name == "matmul")
      add_audit_of(command, operation.name, "a check of D = A.B + C", verify::AuditRequest{},
                   "matmul normal:0,1:16x256 normal:0,1:256x16 --seed 0,1 --in bf16 --out bf16 --engine sm_90 --rule bound",
                   exit_code);
    else if (verify::has_operation_audit(operation))
      add_audit_of(command, operation.name, operation.what, verify::OperationAuditRequest(operation),
                   example_of_audit(operation.name), exit_code);
}

}  // namespace ulpscope::cli
