// SPDX-License-Identifier: Apache-2.0
// `verify matmul`, and what other rules say beside its verdict.
#include <memory>
#include <utility>

#include "cli/output.hpp"
#include "cli/verify.hpp"
#include "cli/verify_rules.hpp"
#include "emu/error.hpp"
#include "products/request.hpp"
#include "verify/audit/rules.hpp"
#include "verify/explain/explain_request.hpp"
#include "verify/matmul_request.hpp"

namespace ulpscope::cli {
namespace {

struct VerifyMatmul {
  verify::MatmulRequest request;
  VerdictOutput output;
  std::vector<std::string> rules;
};

/// The command that replays what the kernel may have computed; none where `explain` does not take what was asked.
std::string explain_command(const verify::MatmulRequest& request, products::Product product) {
  if (!request.output.output_dtype.empty()) return {};
  verify::ExplainRequest explain{.product = request.product, .output = request.output.output};
  if (!request.engine.empty()) explain.engine = request.engine;
  product.engine = explain.engine;
  try {
    verify::declared_kernel(product);
  } catch (const Error&) {
    return {};
  }
  Arguments words{"explain", "matmul"};
  const std::vector<std::string> asked = requests::words_of(explain);
  words.insert(words.end(), asked.begin(), asked.end());
  return command_line(words);
}

int run(const VerifyMatmul& words, const Arguments& arguments) {
  verify::ResolvedMatmul resolved = verify::resolve(words.request);
  const products::Product product = resolved.product;
  const bool sums_integers = resolved.sums_integers;
  for (const std::string& line : products::ambiguous_scales(product)) remark(line);
  VerifyCase checked{std::move(resolved), words.request.output, words.request.product.threads, arguments};
  if (!words.rules.empty() && sums_integers)
    throw Error("--rule: rules are about sums in floating point; --acc int32 sums exactly, leave one of them out");
  if (!sums_integers) checked.explain = explain_command(words.request, product);
  if (!words.rules.empty())
    checked.more = {rules_table(words.rules, product, *checked.check.expectation, checked.check.output)};
  return report_verdict(checked, words.output);
}

}  // namespace

void add_verify_matmul(Command& verify, const Arguments& arguments, int& exit_code) {
  auto words = std::make_shared<VerifyMatmul>();
  Command& command = *verify.add_subcommand("matmul", "D = A.B + C");
  command.add_request(words->request);
  words->output.add_to(command);
  std::string forms;
  for (const std::string& form : verify::rule_forms()) forms += (forms.empty() ? "" : ", ") + form;
  command
      .add_option(
          "--rule", words->rules,
          "what another rule says, and what it would let through: " + forms + "; RULE and RULE, RULE or RULE; may be repeated")
      ->repeatable()
      ->type_name("RULE");
  command.footer("Example: ulpscope verify " + example_of_check("matmul"));
  command.callback([words, &arguments, &exit_code] { exit_code = run(*words, arguments); });
}

}  // namespace ulpscope::cli
