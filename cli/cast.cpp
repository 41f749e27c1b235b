// SPDX-License-Identifier: Apache-2.0
// The command `cast`: each tensor of the input rounded, or copied where there is nothing to round.
#include "studies/cast/cast.hpp"

#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"

namespace ulpscope::cli {
namespace {

struct Cast {
  studies::CastRequest request;
  std::string output;
  bool codes = false;
};

}  // namespace

void add_cast(Command& app, int&) {
  auto cast = std::make_shared<Cast>();
  Command& command = *app.add_subcommand("cast", "write a tensor rounded to a format");
  command.add_request(cast->request);
  command.add_option("-o", cast->output, ".npy: float32 values, or codes with --codes; .safetensors: codes of every tensor")
      ->type_name("OUT")
      ->required();
  command.add_flag("--codes", cast->codes, "codes as unsigned integers instead of values; of intN signed ones");
  command.footer("Example: ulpscope cast studies/data/breast-cancer.csv --to e4m3 --policy saturating -o rounded.safetensors");
  command.callback([cast] {
    for (const std::string& line : studies::write_cast(cast->request, cast->output, cast->codes)) remark(line);
  });
}

}  // namespace ulpscope::cli
