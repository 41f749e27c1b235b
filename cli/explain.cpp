// SPDX-License-Identifier: Apache-2.0
// The command `explain`.
#include "verify/explain/explain.hpp"

#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "verify/explain/explain_request.hpp"
#include "verify/operations/operation_requests.hpp"

namespace ulpscope::cli {
namespace {

struct Explain {
  verify::ExplainRequest request;
  CommonOptions common;
};

/// The table without the sentences, which are those of the verdict, and the commands, which are long.
reports::Table text_table(const reports::Table& all) {
  reports::Table table{all.name, {}, std::vector<std::vector<reports::Cell>>(all.rows.size())};
  for (std::size_t column = 0; column < all.columns.size(); ++column) {
    const std::string& name = all.columns[column];
    if (name == "command" || name == "count" || name == "wrong") continue;
    table.columns.push_back(name);
    for (std::size_t row = 0; row < all.rows.size(); ++row) table.rows[row].push_back(all.rows[row][column]);
  }
  return table;
}

void print_text(const Explain& explain, const verify::ExplainResult& result, const reports::Table& table) {
  std::string text = verify::verdict_sentence(explain.request, result) + ".\n";
  for (const std::string& line : verify::remarks(result)) text += line + ".\n";
  print(text + "\n");
  print_chosen(text_table(chosen(table, explain.common)), explain.common, 1);
  if (result.verdict != verify::ExplainVerdict::explained && result.verdict != verify::ExplainVerdict::undecided) return;
  std::string commands;
  for (const auto& row : table.rows)
    if (const auto& command = std::get<std::string>(row.back()); &row != &table.rows.front() && !command.empty())
      commands += "  " + command + "\n";
  if (!commands.empty()) print("\nThe same by command:\n" + commands);
}

int exit_code_of_explanation(verify::ExplainVerdict verdict) {
  switch (verdict) {
    case verify::ExplainVerdict::holds: return done;
    case verify::ExplainVerdict::vacuous: return vacuous;
    default: return check_failed;
  }
}

int run(const Explain& explain) {
  const verify::ExplainResult result = verify::explain(verify::resolve(explain.request));
  const reports::Table table = verify::explain_table(result, [&](const verify::Hypothesis& hypothesis) {
    const std::vector<std::string> words = verify::replaying_words(explain.request, result.claim, hypothesis);
    return words.empty() ? std::string() : command_line(words);
  });
  if (rendering_of(explain.common) == Rendering::text) {
    print_text(explain, result, table);
  } else {
    remark(verify::verdict_sentence(explain.request, result));
    for (const std::string& line : verify::remarks(result)) remark(line);
    print(table, explain.common, 1);
  }
  return exit_code_of_explanation(result.verdict);
}

struct ExplainExpr {
  verify::ExplainExprRequest request;
  CommonOptions common;
};

int run(const ExplainExpr& explain) {
  const studies::StudyResult result = verify::run(explain.request, {});
  const reports::Table& table = result.tables.front();
  if (rendering_of(explain.common) == Rendering::text) {
    print(result.text + "\n");
    print_chosen(chosen(table, explain.common), explain.common, 1);
  } else {
    remark(result.findings.front().sentence);
    print(table, explain.common, 1);
  }
  return exit_code_of(result.outcome);
}

void add_explain_expr(Command& group, int& exit_code) {
  auto explain = std::make_shared<ExplainExpr>();
  Command& command = *group.add_subcommand("expr", "where does a kernel round that computes a formula?");
  command.add_request(explain->request);
  explain->common.add_output(command);
  command.footer(
      "Exit code 0: it rounds where the formula does; 1: it does not, explained or not.\n"
      "Example: ulpscope explain expr \"silu(g) * u\" --input g=examples/tensors/x.npy --input u=examples/tensors/x.npy "
      "--output examples/tensors/swiglu.npy");
  command.callback([explain, &exit_code] { exit_code = run(*explain); });
}

}  // namespace

void add_explain(Command& app, int& exit_code) {
  auto explain = std::make_shared<Explain>();
  Command& group = *app.add_subcommand("explain", "why a kernel's output is not what it claims to be");
  group.require_subcommand(1);
  group.footer(
      "Example: ulpscope explain matmul examples/tensors/a.npy examples/tensors/b.npy --output examples/tensors/matmul.npy "
      "--engine fma --in bf16");
  Command& command = *group.add_subcommand("matmul", "replays what D = A.B + C may have been computed by, and ranks it");
  command.add_request(explain->request);
  explain->common.add_output(command);
  command.footer(
      "The options before --output say what is claimed, as for `ulpscope matmul`. Exit code 0: the claim reproduces D; 1: it "
      "does\n"
      "not, explained or not; 3: it does, and so does every other way to sum.\n"
      "Example: ulpscope explain matmul examples/tensors/a.npy examples/tensors/b.npy --output examples/tensors/matmul.npy "
      "--engine fma --in bf16");
  command.callback([explain, &exit_code] { exit_code = run(*explain); });
  add_explain_expr(group, exit_code);
}

}  // namespace ulpscope::cli
