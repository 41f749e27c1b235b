// SPDX-License-Identifier: Apache-2.0
// The commands `report check` and `report diff`.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/description.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "cli/scratch_folder.hpp"
#include "emu/error.hpp"
#include "files/confinement.hpp"
#include "reports/compare/compare.hpp"
#include "reports/directory.hpp"

namespace ulpscope::cli {
namespace {

struct ReportCheck {
  CommonOptions common;
  std::string directory;
  bool allow_programs = false;
};

struct ReportDiff {
  CommonOptions common;
  std::string a, b;
  double absolute = 0, relative = 0;
};

/// Whether a command line is one that writes a report: others print, or wait for what they are told.
bool writes_report(const std::vector<std::string>& arguments, const CommandDescription& program) {
  const CommandDescription* command = &program;
  for (const std::string& word : arguments) {
    const auto named = std::ranges::find(command->commands, word, &CommandDescription::name);
    if (named == command->commands.end()) break;
    command = &*named;
  }
  const auto is_folder = [](const OptionDescription& option) {
    return option.value == "DIR" && std::ranges::find(option.names, "-o") != option.names.end();
  };
  const auto names_one = [](const std::string& word) { return word.starts_with("-o"); };
  return std::ranges::any_of(command->options, is_folder) && std::ranges::any_of(arguments, names_one);
}

/// The manifest may be anyone's: its command writes nothing but the report, and starts nothing without being allowed to.
int check(const ReportCheck& asked, const RunProgram& run_program, const CommandDescription& program) {
  const reports::Manifest manifest = reports::read_manifest(asked.directory);
  if (manifest.arguments.empty()) throw Error(asked.directory + ": its manifest does not say how it was made");
  if (!writes_report(manifest.arguments, program))
    throw Error(asked.directory + ": `" + command_line(manifest.arguments) + "` of its manifest writes no report");
  const ScratchFolder scratch;
  const std::string again = scratch.file("report");
  {
    const reports::WriteElsewhere elsewhere({.from = asked.directory, .to = again});
    const files::Confinement confined({.whose = asked.directory + ": the command of its manifest",
                                       .programs = asked.allow_programs,
                                       .writing_below = scratch.file("")});
    if (run_program(manifest.arguments) == bad_usage) return bad_usage;  // which is said
  }
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::path(again) / reports::manifest_name, ignored))
    throw Error(asked.directory + ": `" + command_line(manifest.arguments) + "` writes no report now");
  const reports::Table table = reports::compare_with_again(asked.directory, again);
  print(table, asked.common, 1);
  const bool same = std::all_of(table.rows.begin(), table.rows.end(),
                                [](const auto& row) { return std::get<std::string>(row[1]) == "same"; });
  return same ? done : check_failed;
}

int diff(const ReportDiff& asked) {
  const reports::Table table = reports::compare_reports(asked.a, asked.b, {asked.absolute, asked.relative});
  print(table, asked.common, 3);
  return table.rows.empty() ? done : check_failed;
}

}  // namespace

void add_report(Command& app, const RunProgram& run_program, int& exit_code) {
  Command& group = *app.add_subcommand("report", "is a report what its command gives now, and what changed between two?");
  group.require_subcommand(1);
  group.footer("Example: ulpscope census normal:0,1:1000 -o out\n         ulpscope report check out");

  auto checked = std::make_shared<ReportCheck>();
  Command& of_check = *group.add_subcommand(
      "check", "runs the manifest's command again and compares every file byte by byte; exit code 1 where one differs");
  of_check.add_option("DIR", checked->directory, "the folder of a report; run this where the report was made, for its inputs")
      ->required();
  of_check.add_flag("--allow-programs", checked->allow_programs,
                    "let the command start programs and load libraries that it names");
  checked->common.add_output(of_check);
  of_check.footer("Example: ulpscope census normal:0,1:1000 -o out\n         ulpscope report check out");
  of_check.callback(
      [checked, run_program, &app, &exit_code] { exit_code = check(*checked, run_program, describe(app.app())); });

  auto compared = std::make_shared<ReportDiff>();
  Command& of_diff = *group.add_subcommand("diff", "what changed, by row and column; exit code 1 where anything did");
  of_diff.add_option("A", compared->a, "the folder of a report")->required();
  of_diff.add_option("B", compared->b, "that of another")->required();
  of_diff.add_option("--absolute", compared->absolute, "numbers may be so far apart")
      ->real({.least = 0})
      ->capture_default_str();
  of_diff.add_option("--relative", compared->relative, "or so far, of the magnitude in A")
      ->real({.least = 0})
      ->capture_default_str();
  compared->common.add_output(of_diff);
  of_diff.footer(
      "Example: ulpscope census normal:0,1:1000 -o yesterday\n         ulpscope census normal:0,1:1000 -o today\n"
      "         ulpscope report diff yesterday today --relative 1e-12");
  of_diff.callback([compared, &exit_code] { exit_code = diff(*compared); });
}

}  // namespace ulpscope::cli
