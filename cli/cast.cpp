// SPDX-License-Identifier: Apache-2.0
// The command `cast`: each tensor of the input rounded, or copied where there is nothing to round.
#include "studies/cast/cast.hpp"

#include <memory>
#include <string_view>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/kept_parts.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "reports/sha256.hpp"
#include "studies/cast/layouts.hpp"
#include "tensors/digest.hpp"

namespace ulpscope::cli {
namespace {

struct Cast {
  studies::CastFileRequest request;
  CommonOptions common;
  std::string output;
  bool codes = false, layouts = false, resume = false;
};

tensors::Digest sha256() {
  const auto digest = std::make_shared<reports::Sha256>();
  return {[digest](std::string_view bytes) { digest->add(bytes); }, [digest] { return digest->hex(); }};
}

void run(const Cast& cast) {
  if (cast.layouts) return print(studies::layout_table(), cast.common, 1);
  if (cast.request.inputs.empty()) throw Error("IN is missing: a tensor file, FILE:NAME, checkpoint, or synthetic tensor");
  if (cast.output.empty()) throw Error("-o OUT is missing: .npy, .safetensors, or a folder for a checkpoint");
  ProgressLine progress;
  studies::ResumedCast resumed;
  if (cast.resume) resumed = {program_line(), sha256};
  for (const std::string& line : studies::write_cast(cast.request, cast.output, cast.codes, progress.callback(), resumed))
    remark(line);
}

}  // namespace

void add_cast(Command& app, int&) {
  auto cast = std::make_shared<Cast>();
  Command& command = *app.add_subcommand("cast", "write a tensor, or a whole checkpoint, rounded to a format");
  requests::Fields fields = requests::fields_of(cast->request);
  fields.at("inputs").required = false;  // --layouts takes none
  command.add(fields);
  command
      .add_option(
          "-o", cast->output,
          ".npy: float32 values, or codes with --codes; .safetensors: codes and scales of every tensor; of a checkpoint "
          "also a folder: its files and its index")
      ->type_name("OUT");
  command.add_flag("--codes", cast->codes, "codes as unsigned integers instead of values; of intN signed ones");
  command.add_flag("--resume", cast->resume,
                   "of a folder: keep the files that are done in OUT.partial until all are, and go on with what is there");
  command.add_flag("--layouts", cast->layouts, "list the layouts");
  cast->common.add_output(command);
  command.footer("Example: ulpscope cast studies/data/breast-cancer.csv --to e4m3 --policy saturating -o rounded.safetensors");
  command.callback([cast] { run(*cast); });
}

}  // namespace ulpscope::cli
