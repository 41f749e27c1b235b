// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/caster.hpp"
#include "tensors/write.hpp"

namespace ulpscope::cli {
namespace {

struct Cast {
  CommonOptions common;
  std::string input, output, format;
  bool codes = false;
};

void run(const Cast& cast) {
  const emu::Format format = parse_format(cast.format);
  const emu::RoundingOptions options = cast.common.parsed_rounding();
  const emu::RandomBits random{cast.common.seed};
  const auto all = open_all({cast.input}, cast.common.parsed_open());
  const std::filesystem::path out(cast.output);
  std::error_code ignored;
  for (const std::string& in : {cast.input, cast.input.substr(0, cast.input.find(':'))})
    if (std::filesystem::equivalent(in, out, ignored)) throw Error(cast.output + ": is the input itself; choose another name");

  if (out.extension() == ".safetensors") {
    std::vector<tensors::NamedCodes> named;
    for (const tensors::Tensor& tensor : all) {
      auto caster = std::make_shared<studies::Caster>(tensor, format, options, random);
      named.push_back({tensor.name.empty() ? "tensor" : tensor.name, format, tensor.shape,
                       [caster](std::uint64_t first, std::span<emu::Code> codes) { caster->codes(first, codes); }});
    }
    return tensors::write_safetensors(cast.output, named);
  }
  if (out.extension() != ".npy") throw Error(cast.output + ": the name ends in neither .npy nor .safetensors");
  if (all.size() != 1)
    throw Error(cast.input + ": holds " + std::to_string(all.size()) + " tensors; name one (" + all.front().label +
                ") or write a .safetensors");
  const studies::Caster caster(all.front(), format, options, random);
  if (cast.codes)
    return tensors::write_npy_codes(cast.output, all.front().shape, format,
                                    [&](std::uint64_t first, std::span<emu::Code> codes) { caster.codes(first, codes); });
  if (!tensors::DType{{}, format}.fits_float())
    throw Error(cast.output + ": .npy values are float32, which does not hold every " + emu::format_name(format) +
                "; write --codes or a .safetensors");
  tensors::write_npy(cast.output, all.front().shape,
                     [&](std::uint64_t first, std::span<float> values) { caster.values(first, values); });
}

}  // namespace

void add_cast(Command& app, int&) {
  auto cast = std::make_shared<Cast>();
  Command& command = *app.add_subcommand("cast", "write a tensor rounded to a format");
  command.add_option("IN", cast->input, "tensor file, FILE:NAME, or synthetic tensor")->required();
  command.add_option("--to", cast->format, "the format")->type_name("F")->required();
  command.add_option("-o", cast->output, ".npy: float32 values, or codes with --codes; .safetensors: codes of every tensor")
      ->type_name("OUT")
      ->required();
  command.add_flag("--codes", cast->codes, "codes as unsigned integers instead of values");
  cast->common.add_rounding(command);
  cast->common.add_input(command);
  command.footer("Example: ulpscope cast studies/data/breast-cancer.csv --to e4m3 --policy saturating -o rounded.safetensors");
  command.callback([cast] { run(*cast); });
}

}  // namespace ulpscope::cli
