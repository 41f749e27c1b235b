// SPDX-License-Identifier: Apache-2.0
// The command `choose`: a table, and a plan for `cast`.
#include "studies/choose/choose.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/brief_table.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/kept_parts.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "cli/rows.hpp"
#include "emu/error.hpp"
#include "emu/shell_word.hpp"
#include "emu/visible.hpp"
#include "files/new_file.hpp"

namespace ulpscope::cli {
namespace {

struct Choose {
  studies::ChooseRequest request;
  CommonOptions common;
  std::string plan;
  bool resume = false;
};

/// What fits a terminal: a few columns, and of a reason what stands before the first semicolon.
reports::Table brief_choices(const reports::Table& table) {
  reports::Table text = brief(table, {"tensor", "count", "format", "scale", "bits_per_element", "sqnr_db", "lost_share"});
  const std::size_t reason = table.column("reason");
  text.columns.push_back(table.columns[reason]);
  for (std::size_t i = 0; i < text.rows.size(); ++i) {
    const auto& all = std::get<std::string>(table.rows[i][reason]);
    text.rows[i].emplace_back(all.substr(0, all.find(';')));
  }
  return text;
}

void run(const Choose& choose, const Arguments& arguments) {
  chosen_rows(studies::choose_table(choose.request, {}), choose.common);  // a wrong column is told at once
  if (!choose.plan.empty() && !choose.plan.ends_with(".toml"))
    throw Error("-o " + choose.plan + ": give the plan a name that ends in .toml");
  if (choose.resume && choose.plan.empty()) throw Error("--resume: -o PLAN.toml is missing, beside which work is kept");
  check_resume(choose.resume, choose.plan, choose.request.inputs);
  std::optional<files::NewFile> plan;  // one that cannot be written is told at once, too
  if (!choose.plan.empty()) plan.emplace(choose.plan);
  KeptStudy kept(choose.resume, choose.plan, arguments, choose.request.threads);
  ProgressLine progress;
  const studies::Choices choices = studies::choose(choose.request, progress.callback(), kept.open());
  const reports::Table table = chosen(studies::choose_table(choose.request, choices), choose.common);
  print_chosen(rendering_of(choose.common) == Rendering::text ? brief_choices(table) : table, choose.common, 1);
  for (const std::string& line : choices.remarks) remark(line);
  if (!plan) return;
  plan->write("# " + command_line(undisturbed(arguments)) +
              "\n# The first table whose `match` (a pattern of names) fits a tensor says what it is stored in; what none "
              "fits stays as it is.\n\n" +
              studies::plan_text(studies::plan_of(choose.request, choices)));
  plan->commit();
  kept.remove();
  remark(
      emu::visible(choose.plan + " written; ulpscope cast IN --plan " + emu::shell_word(choose.plan) + " -o OUT casts by it"));
}

}  // namespace

void add_choose(Command& app, const Arguments& arguments) {
  auto choose = std::make_shared<Choose>();
  Command& command = *app.add_subcommand("choose", "the narrowest format and scale of each tensor that keeps what you ask");
  command.add_request(choose->request);
  command.add_written("-o", choose->plan,
                      "write a plan for `ulpscope cast --plan`: what each tensor is stored in, to be edited", "PLAN.toml");
  command.add_flag("--resume", choose->resume,
                   "keep what is measured in PLAN.toml.partial until the plan is written, and go on with what is there");
  choose->common.add_output(command);
  command.footer("Example: ulpscope choose studies/data/digits-training.safetensors --to e4m3,bf16 --sqnr 30 --below 0.1%");
  command.callback([choose, &arguments] { run(*choose, arguments); });
}

}  // namespace ulpscope::cli
