// SPDX-License-Identifier: Apache-2.0
// Rounds piece by piece into the file, beside what is copied.
#include "studies/cast/cast.hpp"

#include <filesystem>
#include <memory>
#include <span>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "tensors/caster.hpp"
#include "tensors/inputs.hpp"
#include "tensors/write.hpp"

namespace ulpscope::studies {
namespace {

void check_output(const CastRequest& request, const std::string& output) {
  const std::filesystem::path out(output);
  if (out.extension() != ".npy" && out.extension() != ".safetensors")
    throw Error(output + ": the name ends in neither .npy nor .safetensors");
  std::error_code ignored;
  for (const std::string& in : {request.input, request.input.substr(0, request.input.find(':'))})
    if (std::filesystem::equivalent(in, out, ignored)) throw Error(output + ": is the input itself; choose another name");
}

/// Every tensor: rounded, or as it is where there is nothing to round.
std::vector<std::string> write_all(const CastRequest& request, const std::string& output, emu::Format format,
                                   const emu::RoundingOptions& options) {
  const tensors::Inputs inputs =
      tensors::sort_inputs({request.input}, request.reading.options(), tensors::Integers::leave_out, "FILE:NAME casts one");
  std::vector<tensors::NamedCodes> named;
  for (const tensors::Tensor& tensor : inputs.kept) {
    auto caster = std::make_shared<tensors::Caster>(tensor, format, options, emu::RandomBits{request.reading.seed});
    named.push_back({tensor.name.empty() ? "tensor" : tensor.name, format, tensor.shape,
                     [caster](std::uint64_t first, std::span<emu::Code> codes) { caster->codes(first, codes); }});
  }
  tensors::Beside beside{inputs.integers, tensors::metadata(request.input)};
  std::vector<tensors::Tensor> copied, left_out;
  for (const tensors::Tensor& tensor : inputs.opaque) (tensor.opaque->bytes ? copied : left_out).push_back(tensor);
  beside.copied.insert(beside.copied.end(), copied.begin(), copied.end());
  tensors::write_safetensors(output, named, beside);
  std::vector<std::string> remarks;
  if (!inputs.integers.empty())
    remarks.push_back("copied as they are: " + tensors::named_words(inputs.integers, "integer tensor"));
  if (!copied.empty()) remarks.push_back("copied as they are: " + tensors::unknown_words(copied));
  if (!left_out.empty()) remarks.push_back("left out: " + tensors::unknown_words(left_out));
  return remarks;
}

}  // namespace

void CastRequest::describe(requests::Fields& fields) {
  fields.add("input", input, "tensor file, FILE:NAME, checkpoint, or synthetic tensor").as_input("IN").needed();
  fields.add("to", to, "the format; symmetric integers intN").as_value("F").needed();
  rounding.describe(fields);
  requests::describe_seed(fields, reading.seed, "key of stochastic rounding and of synthetic tensors");
  reading.describe(fields);
}

std::vector<std::string> write_cast(const CastRequest& request, const std::string& output, bool codes) {
  const emu::Format format = requests::parse_format_or_integer(request.to);
  const emu::RoundingOptions options = request.rounding.options();
  check_output(request, output);
  if (std::filesystem::path(output).extension() == ".safetensors") return write_all(request, output, format, options);

  const tensors::Inputs inputs =
      tensors::sort_inputs({request.input}, request.reading.options(), tensors::Integers::include, {});
  const tensors::Tensor& tensor = inputs.kept.front();
  const std::size_t count = inputs.kept.size() + inputs.opaque.size();
  if (count != 1)
    throw Error(request.input + ": holds " + std::to_string(count) + " tensors; name one (" + tensor.label +
                ") or write a .safetensors");
  const tensors::Caster caster(tensor, format, options, emu::RandomBits{request.reading.seed});
  if (codes) {
    tensors::write_npy_codes(output, tensor.shape, format,
                             [&](std::uint64_t first, std::span<emu::Code> out) { caster.codes(first, out); });
    return {};
  }
  if (!tensors::DType{{}, format}.fits_float())
    throw Error(output + ": .npy values are float32, which does not hold every " + emu::format_name(format) +
                "; write --codes or a .safetensors");
  tensors::write_npy(output, tensor.shape, [&](std::uint64_t first, std::span<float> values) { caster.values(first, values); });
  return {};
}

}  // namespace ulpscope::studies
