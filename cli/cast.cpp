// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "tensors/write.hpp"

namespace ulpscope::cli {
namespace {

struct Cast {
  CommonOptions common;
  std::string input, output, format;
  bool codes = false;
};

/// Rounds elements of one tensor, in any order.
class Caster {
 public:
  Caster(const tensors::Tensor& tensor, emu::Format format, const emu::RoundingOptions& options, std::uint64_t seed)
      : tensor_(tensor), format_(format), options_(options), seed_(seed) {}

  /// Calls sink(i, rounded) for out-of-file element first + i.
  template <class Sink>
  void round(std::uint64_t first, std::size_t size, Sink sink) const {
    const bool stochastic = options_.rounding == emu::Rounding::stochastic;
    if (tensor_.dtype.format) {
      codes_.resize(size);
      tensor_.source->read_codes(first, codes_);
      for (std::size_t i = 0; i < size; ++i)
        sink(i, emu::convert(*tensor_.dtype.format, codes_[i], format_, options_,
                             stochastic ? emu::rounding_bits(seed_, first + i) : 0));
      return;
    }
    values_.resize(size);
    tensor_.source->read(first, std::span(values_));
    for (std::size_t i = 0; i < size; ++i)
      sink(i, emu::round_to(format_, values_[i], options_, stochastic ? emu::rounding_bits(seed_, first + i) : 0));
  }

 private:
  const tensors::Tensor& tensor_;
  emu::Format format_;
  emu::RoundingOptions options_;
  std::uint64_t seed_;
  mutable std::vector<emu::Code> codes_;
  mutable std::vector<double> values_;
};

void run(const Cast& cast) {
  const emu::Format format = parse_format(cast.format);
  const emu::RoundingOptions options = cast.common.parsed_rounding();
  const auto all = open_all({cast.input}, cast.common.parsed_open());
  const std::filesystem::path out(cast.output);
  std::error_code ignored;
  for (const std::string& in : {cast.input, cast.input.substr(0, cast.input.find(':'))})
    if (std::filesystem::equivalent(in, out, ignored)) throw Error(cast.output + ": is the input itself; choose another name");

  if (out.extension() == ".safetensors") {
    std::vector<tensors::NamedCodes> named;
    for (const tensors::Tensor& tensor : all) {
      auto caster = std::make_shared<Caster>(tensor, format, options, cast.common.seed);
      named.push_back({tensor.name.empty() ? "tensor" : tensor.name, format, tensor.shape,
                       [caster](std::uint64_t first, std::span<emu::Code> codes) {
                         caster->round(first, codes.size(), [&](std::size_t i, const emu::Rounded& r) { codes[i] = r.code; });
                       }});
    }
    return tensors::write_safetensors(cast.output, named);
  }
  if (out.extension() != ".npy") throw Error(cast.output + ": the name ends in neither .npy nor .safetensors");
  if (all.size() != 1)
    throw Error(cast.input + ": holds " + std::to_string(all.size()) + " tensors; name one (" + all.front().label +
                ") or write a .safetensors");
  const Caster caster(all.front(), format, options, cast.common.seed);
  if (cast.codes)
    return tensors::write_npy_codes(
        cast.output, all.front().shape, format, [&](std::uint64_t first, std::span<emu::Code> codes) {
          caster.round(first, codes.size(), [&](std::size_t i, const emu::Rounded& r) { codes[i] = r.code; });
        });
  if (!tensors::DType{{}, format}.fits_float())
    throw Error(cast.output + ": .npy values are float32, which does not hold every " + emu::format_name(format) +
                "; write --codes or a .safetensors");
  tensors::write_npy(cast.output, all.front().shape, [&](std::uint64_t first, std::span<float> values) {
    caster.round(first, values.size(), [&](std::size_t i, const emu::Rounded& r) { values[i] = static_cast<float>(r.value); });
  });
}

}  // namespace

void add_cast(CLI::App& app, int&) {
  auto cast = std::make_shared<Cast>();
  CLI::App& command = *app.add_subcommand("cast", "write a tensor rounded to a format");
  command.add_option("IN", cast->input, "tensor file, FILE:NAME, or synthetic tensor")->required();
  command.add_option("--to", cast->format, "the format")->type_name("F")->required();
  command.add_option("-o", cast->output, ".npy: float32 values, or codes with --codes; .safetensors: codes of every tensor")
      ->type_name("OUT")
      ->required();
  command.add_flag("--codes", cast->codes, "codes as unsigned integers instead of values");
  cast->common.add_rounding(command);
  cast->common.add_input(command);
  command.footer("Example: ulpscope cast weights.npy --to e4m3 --policy saturating -o weights.safetensors");
  command.callback([cast] { run(*cast); });
}

}  // namespace ulpscope::cli
