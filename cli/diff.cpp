// SPDX-License-Identifier: Apache-2.0
// The command `diff`: the table, the worst elements, and exit code 1 where a tolerance is exceeded.
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "reports/render.hpp"
#include "studies/diff/diff_request.hpp"

namespace ulpscope::cli {
namespace {

struct Diff {
  studies::DiffRequest request;
  CommonOptions common;
};

int run(const Diff& diff) {
  const studies::StudyResult result = studies::run(diff.request, {});
  const auto tables = chosen_together(result.tables, diff.common);
  const reports::Table &table = tables[0], &worst = tables[1];
  switch (rendering_of(diff.common)) {
    case Rendering::csv:
      print_chosen(table, diff.common, 2);
      if (!worst.rows.empty()) remark("the worst elements:\n" + reports::to_text(worst));
      break;
    case Rendering::json:
      print("{\"diff\": " + json_of(table, diff.common) + ", \"worst\": " + json_of(worst, diff.common) + "}\n");
      break;
    case Rendering::text:
      print_chosen(table, diff.common, 2);
      if (!worst.rows.empty()) print("\nThe worst elements:\n"), print_chosen(worst, diff.common, 1);
      break;
  }
  return exit_code_of(result.outcome);
}

}  // namespace

void add_diff(Command& app, int& exit_code) {
  auto diff = std::make_shared<Diff>();
  Command& command = *app.add_subcommand("diff", "two tensors: a census of their difference; exit code 1 when they differ");
  command.add_request(diff->request);
  diff->common.add_output(command);
  command.footer(
      "Example: ulpscope diff examples/tensors/softmax.npy examples/tensors/cast.npy --dtype bf16 --tolerance ulp=1");
  command.callback([diff, &exit_code] { exit_code = run(*diff); });
}

}  // namespace ulpscope::cli
