// SPDX-License-Identifier: Apache-2.0
// The command `cast`: each tensor of the input rounded, or copied where there is nothing to round.
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "tensors/caster.hpp"
#include "tensors/inputs.hpp"
#include "tensors/write.hpp"

namespace ulpscope::cli {
namespace {

struct Cast {
  CommonOptions common;
  std::string input, output, format;
  bool codes = false;
};

void check_output(const Cast& cast) {
  const std::filesystem::path out(cast.output);
  if (out.extension() != ".npy" && out.extension() != ".safetensors")
    throw Error(cast.output + ": the name ends in neither .npy nor .safetensors");
  std::error_code ignored;
  for (const std::string& in : {cast.input, cast.input.substr(0, cast.input.find(':'))})
    if (std::filesystem::equivalent(in, out, ignored)) throw Error(cast.output + ": is the input itself; choose another name");
}

/// Every tensor: rounded, or as it is where there is nothing to round.
void write_all(const Cast& cast, emu::Format format, const emu::RoundingOptions& options) {
  const tensors::Inputs inputs =
      tensors::sort_inputs({cast.input}, cast.common.reading.options(), tensors::Integers::leave_out, "FILE:NAME casts one");
  std::vector<tensors::NamedCodes> named;
  for (const tensors::Tensor& tensor : inputs.kept) {
    auto caster = std::make_shared<tensors::Caster>(tensor, format, options, emu::RandomBits{cast.common.reading.seed});
    named.push_back({tensor.name.empty() ? "tensor" : tensor.name, format, tensor.shape,
                     [caster](std::uint64_t first, std::span<emu::Code> codes) { caster->codes(first, codes); }});
  }
  tensors::Beside beside{inputs.integers, tensors::metadata(cast.input)};
  std::vector<tensors::Tensor> copied, left_out;
  for (const tensors::Tensor& tensor : inputs.opaque) (tensor.opaque->bytes ? copied : left_out).push_back(tensor);
  beside.copied.insert(beside.copied.end(), copied.begin(), copied.end());
  tensors::write_safetensors(cast.output, named, beside);
  if (!inputs.integers.empty()) remark("copied as they are: " + tensors::named_words(inputs.integers, "integer tensor"));
  if (!copied.empty()) remark("copied as they are: " + tensors::unknown_words(copied));
  if (!left_out.empty()) remark("left out: " + tensors::unknown_words(left_out));
}

void run(const Cast& cast) {
  const emu::Format format = requests::parse_format(cast.format);
  const emu::RoundingOptions options = cast.common.rounding.options();
  check_output(cast);
  if (std::filesystem::path(cast.output).extension() == ".safetensors") return write_all(cast, format, options);

  const tensors::Inputs inputs =
      tensors::sort_inputs({cast.input}, cast.common.reading.options(), tensors::Integers::include, {});
  const tensors::Tensor& tensor = inputs.kept.front();
  const std::size_t count = inputs.kept.size() + inputs.opaque.size();
  if (count != 1)
    throw Error(cast.input + ": holds " + std::to_string(count) + " tensors; name one (" + tensor.label +
                ") or write a .safetensors");
  const tensors::Caster caster(tensor, format, options, emu::RandomBits{cast.common.reading.seed});
  if (cast.codes)
    return tensors::write_npy_codes(cast.output, tensor.shape, format,
                                    [&](std::uint64_t first, std::span<emu::Code> codes) { caster.codes(first, codes); });
  if (!tensors::DType{{}, format}.fits_float())
    throw Error(cast.output + ": .npy values are float32, which does not hold every " + emu::format_name(format) +
                "; write --codes or a .safetensors");
  tensors::write_npy(cast.output, tensor.shape,
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
