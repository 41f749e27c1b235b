// SPDX-License-Identifier: Apache-2.0
// The command `audit`: words to a request, tables or text out, and what the exit code is.
#include "verify/audit/audit.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/audit_program.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/kept_parts.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "cli/verify.hpp"
#include "reports/directory.hpp"
#include "reports/page_html.hpp"
#include "verify/audit/audit_page.hpp"
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
  std::string directory = {};
  bool resume = false;
};

int threads_of(const verify::AuditRequest& request) { return request.product.threads; }
int threads_of(const verify::OperationAuditRequest& request) { return request.check->threads(); }
std::uint64_t seed_of(const verify::AuditConfig& config) { return config.seed; }
std::uint64_t seed_of(const verify::OperationAudit& config) { return config.source->seed; }

/// A rule, or a program that is one.
verify::Rule parse_rule(double timeout, const std::string& word) {
  const std::optional<std::string> program = program_of(word);
  return program ? program_rule(*program, timeout) : verify::parse_rule(word);
}

std::vector<std::string> labels_of(const std::vector<tensors::Tensor>& inputs) {
  std::vector<std::string> labels;
  for (const tensors::Tensor& input : inputs) labels.push_back(input.label);
  return labels;
}

void print_text(const std::string& heading, const CommonOptions& common, const verify::AuditResult& result) {
  print(heading);
  print(verify::audit_summary(result), common, 2);
  print(verify::audit_sentences(result));
}

void write(const std::string& directory, const std::string& heading, std::uint64_t seed, const verify::AuditResult& result,
           const Arguments& arguments) {
  const Arguments made_by = undisturbed(arguments);
  reports::Page page = verify::audit_page(heading, result);
  page.command = command_line(made_by);
  reports::write_page_report(directory, {verify::audit_table(result)}, page, {.arguments = made_by, .seed = seed});
  remark_report(directory);
}

/// The report is written. Verdicts stay where a rule still owes some.
void finish(KeptStudy& kept, const std::string& directory) {
  const std::size_t missing = kept.missing();
  if (missing == 0) return kept.remove();
  remark(kept_folder(directory) + ": keeps all verdicts but of " + std::to_string(missing) +
         (missing == 1 ? " output" : " outputs") +
         " on which a rule gave none; the same command with --resume asks again about " + (missing == 1 ? "it" : "them"));
}

template <class Request>
int run(const Audit<Request>& audit, const Arguments& arguments) {
  if (!audit.directory.empty()) {
    refuse_choice(audit.common, "-o " + audit.directory + ": a report holds");
    reports::check_report_folder(audit.directory);
  }
  auto config =
      verify::resolve(audit.request, [&](const std::string& word) { return parse_rule(audit.request.timeout, word); });
  check_resume(audit.resume, audit.directory, labels_of(tensors_of(config)));
  KeptStudy kept(audit.resume, audit.directory, arguments, threads_of(audit.request),
                 audit.resume ? program_lines(audit.request.rule) : "");
  config.kept = kept.open();
  verify::AuditResult result;
  {
    ProgressLine progress;
    config.progress = progress.callback();
    result = verify::audit(config);
  }
  verify::check_unbroken(result);
  if (!audit.directory.empty()) {
    write(audit.directory, verify::audit_heading(config), seed_of(config), result, arguments);
    finish(kept, audit.directory);
  } else if (rendering_of(audit.common) == Rendering::text) {
    print_text(verify::audit_heading(config), audit.common, result);
  } else {
    print(verify::audit_table(result), audit.common, 2);
  }
  return exit_code_of_check(verify::outcome_of(result));
}

template <class Request>
void add_audit_of(Command& parent, const std::string& name, const std::string& what, Request request,
                  const std::string& example, const Arguments& arguments, int& exit_code) {
  auto audit = std::make_shared<Audit<Request>>(Audit<Request>{std::move(request)});
  Command& command = *parent.add_subcommand(name, what);
  command.add_request(audit->request);
  audit->common.add_output(command);
  command.add_written("-o", audit->directory, "write a report: audit.csv, index.html, manifest.json", "DIR");
  command.add_flag(
      "--resume", audit->resume,
      "keep what rules say of each output in DIR.partial until the report is written, and go on with what is there");
  command.footer(
      "A program is given `{ref}` and `{out}` (.npy, float32) or `{ref_codes}` and `{out_codes}`; it accepts with exit code 0\n"
      "and rejects with 1. Its words are split at blanks and read by no shell; for one, write program:sh -c '...'.\n"
      "Exit code 1: a rule rejects the correct output; 3: a required mutant lives.\n"
      "Example: ulpscope audit " +
      example);
  command.callback([audit, &arguments, &exit_code] { exit_code = run(*audit, arguments); });
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

void add_audit(Command& app, const Arguments& arguments, int& exit_code) {
  Command& command =
      *app.add_subcommand("audit", "can a check fail at all? wrong outputs that it must reject, right ones it may not");
  command.require_subcommand(1);
  command.footer("Example: ulpscope audit matmul uniform:0,1:8x64 uniform:0,1:64x8 --in bf16 --engine sm_90 --rule bound");
  for (const verify::CheckOperation& operation : verify::check_operations())
    if (operation.name == "matmul")
      add_audit_of(command, operation.name, "a check of D = A.B + C", verify::AuditRequest{},
                   "matmul normal:0,1:16x256 normal:0,1:256x16 --seed 0,1 --in bf16 --out bf16 --engine sm_90 --rule bound",
                   arguments, exit_code);
    else if (verify::has_operation_audit(operation))
      add_audit_of(command, operation.name, operation.what, verify::OperationAuditRequest(operation),
                   example_of_audit(operation.name), arguments, exit_code);
}

}  // namespace ulpscope::cli
