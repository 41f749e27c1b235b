// SPDX-License-Identifier: Apache-2.0
#include "studies/diff.hpp"

#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "cli/rows.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "reports/render.hpp"

namespace ulpscope::cli {
namespace {

struct Diff {
  CommonOptions common;
  std::string reference, output, tolerance;
};

int run(const Diff& diff) {
  const studies::Tolerance tolerance = studies::parse_tolerance(diff.tolerance);
  // --dtype names codes where a file does not say, and the format whose ulps count.
  const auto wanted = diff.common.parsed_open();
  const tensors::Tensor reference = tensors::open_one(diff.reference, wanted), output = tensors::open_one(diff.output, wanted);
  const emu::Format format = wanted.dtype.value_or(output.dtype.format.value_or(emu::float32));
  const studies::DiffResult result = studies::diff(reference, output, format, tolerance);

  const auto tables = chosen_together({studies::diff_table(result), studies::worst_elements(result)}, diff.common);
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
  return result.fails(tolerance) ? check_failed : done;
}

}  // namespace

void add_diff(Command& app, int& exit_code) {
  auto diff = std::make_shared<Diff>();
  Command& command = *app.add_subcommand("diff", "two tensors: a census of their difference; exit code 1 when they differ");
  command.add_option("REF", diff->reference, "the reference")->required();
  command.add_option("OUT", diff->output, "what is compared with it")->required();
  command.add_option("--tolerance", diff->tolerance, "what may differ: ulp=N,abs=X,rel=X (any one suffices), frobenius=X")
      ->type_name("RULES");
  diff->common.add_input(command);
  diff->common.add_output(command);
  command.footer(
      "Example: ulpscope diff examples/tensors/softmax.npy examples/tensors/cast.npy --dtype bf16 --tolerance ulp=1");
  command.callback([diff, &exit_code] { exit_code = run(*diff); });
}

}  // namespace ulpscope::cli
