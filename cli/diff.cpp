// SPDX-License-Identifier: Apache-2.0
// The command `diff`: the table, the worst elements, or a report; exit code 1 where a tolerance is exceeded.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cli/brief_table.hpp"
#include "cli/cell_report.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/kept_parts.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "cli/precision_text.hpp"
#include "cli/rows.hpp"
#include "reports/directory.hpp"
#include "reports/render.hpp"
#include "studies/diff/diff_request.hpp"

namespace ulpscope::cli {
namespace {

struct Diff {
  studies::DiffRequest request;
  CommonOptions common;
  std::string directory;
  bool resume = false;
};

int write(const Diff& diff, const Arguments& arguments) {
  KeptStudy kept(diff.resume, diff.directory, arguments, 0);
  const studies::StudyResult result = [&] {
    ProgressLine progress;
    return studies::run(diff.request, progress.callback(), kept.open());
  }();
  for (const std::string& line : result.remarks) remark(line);
  write_cell_report({.directory = diff.directory,
                     .title = result.tables.size() == 2 ? "How two tensors differ" : "How two checkpoints differ",
                     .name = "diff",
                     .kind = "diff",
                     .request = toml_of(diff.request),
                     .seed = diff.request.reading.seed},
                    result, arguments);
  kept.remove();
  return exit_code_of(result.outcome);
}

int run(const Diff& diff, const Arguments& arguments) {
  check_resume(diff.resume, diff.directory, {diff.request.reference, diff.request.output});
  if (!diff.directory.empty()) {
    refuse_choice(diff.common, "-o " + diff.directory + ": a report holds");
    reports::check_report_folder(diff.directory);
    return write(diff, arguments);
  }
  const studies::StudyResult result = [&] {
    ProgressLine progress;
    return studies::run(diff.request, progress.callback());
  }();
  const auto tables = chosen_together(result.tables, diff.common);
  const reports::Table &table = tables[0], &worst = tables[1];
  const reports::Table* const unmatched = tables.size() > 2 && !tables[2].rows.empty() ? &tables[2] : nullptr;
  switch (rendering_of(diff.common)) {
    case Rendering::csv:
      print_chosen(table, diff.common, 2);
      if (unmatched != nullptr) remark("not compared, or renamed:\n" + reports::to_text(*unmatched));
      if (!worst.rows.empty()) remark("the worst elements:\n" + reports::to_text(worst));
      break;
    case Rendering::json:
      print("{\"diff\": " + json_of(table, diff.common) + ", \"worst\": " + json_of(worst, diff.common) +
            (tables.size() > 2 ? ", \"unmatched\": " + json_of(tables[2], diff.common) : "") + "}\n");
      break;
    case Rendering::text:
      if (table.rows.size() > few_tensors)
        print_chosen(brief(table, {"ref", "count", "differing", "nonfinite_unlike", "beyond_1_ulp", "max_abs_error",
                                   "max_rel_error", "sqnr_db"}),
                     diff.common, 1);
      else
        print_chosen(table, diff.common, 2);
      if (unmatched != nullptr) print("\nNot compared, or renamed:\n"), print_chosen(*unmatched, diff.common, 1);
      if (!worst.rows.empty()) print("\nThe worst elements:\n"), print_chosen(worst, diff.common, 1);
      break;
  }
  for (const std::string& line : result.remarks) remark(line);
  return exit_code_of(result.outcome);
}

}  // namespace

void add_diff(Command& app, const Arguments& arguments, int& exit_code) {
  auto diff = std::make_shared<Diff>();
  Command& command =
      *app.add_subcommand("diff", "two tensors or checkpoints: a census of their difference; exit code 1 when they differ");
  command.add_request(diff->request);
  diff->common.add_output(command);
  command.add_written("-o", diff->directory,
                      "write a report: diff.csv, worst.csv, findings.csv, index.html, a figure, manifest.json", "DIR");
  command.add_flag(
      "--resume", diff->resume,
      "of checkpoints: keep what is found of each tensor in DIR.partial until the report is written, and go on with "
      "what is there");
  command.footer(
      "Example: ulpscope diff examples/tensors/softmax.npy examples/tensors/cast.npy --dtype bf16 --tolerance ulp=1");
  command.callback([diff, &arguments, &exit_code] { exit_code = run(*diff, arguments); });
}

}  // namespace ulpscope::cli
