// SPDX-License-Identifier: Apache-2.0
// Rounds piece by piece into the file, beside what is copied.
#include "studies/cast/cast.hpp"

#include <algorithm>
#include <filesystem>
#include <span>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "studies/cast/cast_folder.hpp"
#include "studies/cast/cast_tensors.hpp"
#include "studies/cast/made_finite.hpp"
#include "studies/cast/merged_metadata.hpp"
#include "tensors/caster.hpp"
#include "tensors/checkpoint.hpp"
#include "tensors/inputs.hpp"
#include "tensors/is_no_input.hpp"
#include "tensors/write.hpp"

namespace ulpscope::studies {
namespace {

std::vector<std::string> write_one_file(const CastFileRequest& request, const CastPlan& plan, const std::string& output,
                                        const Progress& progress) {
  const tensors::Inputs inputs =
      tensors::sort_inputs(request.inputs, request.reading.options(), tensors::Integers::leave_out, "FILE:NAME casts one");
  CastTensors cast(request, plan, inputs, progress);
  const MergedMetadata metadata = merged_metadata(request.inputs, inputs);
  const FileContents contents = cast.of(inputs, metadata.json);
  tensors::write_safetensors(output, contents.rounded, contents.beside);
  std::vector<std::string> remarks = cast.remarks();
  if (std::string words = disputed_words(metadata, contents.beside.metadata); !words.empty())
    remarks.push_back(std::move(words));
  return remarks;
}

std::vector<std::string> write_npy(const CastFileRequest& request, const std::string& output, bool codes) {
  if (!request.plan.empty() || request.scale != "none" || !request.copy.empty() || !request.naming.fused.empty() ||
      !request.naming.hadamard.empty() || request.naming.layout != CastPlan{}.layout)
    throw Error(output + ": an .npy holds one tensor without scales or a layout; write a .safetensors, or a folder");
  if (request.to.empty()) throw Error("give --to F");
  const emu::Format format = requests::parse_format_or_integer(request.to);
  const emu::RoundingOptions options = request.rounding.options();
  const tensors::Inputs inputs =
      tensors::sort_inputs(request.inputs, request.reading.options(), tensors::Integers::include, {});
  const tensors::Tensor& tensor = inputs.kept.front();
  const std::size_t count = inputs.kept.size() + inputs.opaque.size();
  if (count != 1)
    throw Error(tensors::inputs_words(request.inputs) + ": holds " + std::to_string(count) + " tensors; name one (" +
                tensor.label + ") or write a .safetensors");
  const tensors::Caster caster(tensor, format, options, emu::RandomBits{request.reading.seed});
  MadeFiniteCounts counts;
  const auto made_finite = counts.of(tensor.label, request.rounding);
  const auto remarks = [&] { return counts.words().empty() ? std::vector<std::string>() : std::vector{counts.words()}; };
  if (codes) {
    tensors::write_npy_codes(output, tensor.shape, format, [&](std::uint64_t first, std::span<emu::Code> out) {
      caster.codes(first, out);
      made_finite(made_finite_without_scales(tensor, format, first, out.size()));
    });
    return remarks();
  }
  if (!tensors::DType{{}, format}.fits_float())
    throw Error(output + ": .npy values are float32, which does not hold every " + emu::format_name(format) +
                "; write --codes or a .safetensors");
  tensors::write_npy(output, tensor.shape, [&](std::uint64_t first, std::span<float> values) {
    caster.values(first, values);
    made_finite(made_finite_without_scales(tensor, format, first, values.size()));
  });
  return remarks();
}

/// Whether the input is some tensors of a checkpoint, `CHECKPOINT:PATTERN`.
bool names_tensors(const std::string& input) {
  const std::size_t colon = input.rfind(':');
  std::error_code ignored;
  if (colon == std::string::npos || std::filesystem::exists(input, ignored)) return false;
  const std::string before = input.substr(0, colon);
  try {
    return std::filesystem::exists(before, ignored) || tensors::checkpoint_of(before);
  } catch (const Error&) {
    return false;  // what is wrong with the whole is told then
  }
}

}  // namespace

void CastRequest::describe(requests::Fields& fields) {
  fields.add("input", input, "tensor file, FILE:NAME, checkpoint, or synthetic tensor").as_input("IN").needed();
  CastRounding::describe(fields);
}

void CastRounding::describe(requests::Fields& fields) {
  fields.add("to", to, "the format; symmetric integers intN").as_value("F").needed();
  rounding.describe(fields);
  requests::describe_seed(fields, reading.seed, "key of stochastic rounding and of synthetic tensors");
  reading.describe(fields);
}

void CastFileRequest::describe(requests::Fields& fields) {
  fields.add("inputs", inputs, "tensor files, FILE:NAME, checkpoint, or synthetic tensor").as_input("IN").needed();
  CastRounding::describe(fields);
  fields.at("to").required = false;
  fields
      .add("scale", scale,
           "the rule of the scales, as census has them: multiply, round, and store what to multiply by to get back")
      .as_value("SCALE")
      .shown();
  fields.add("plan", plan, "what each tensor is stored in, in place of --to and --scale: a file that `ulpscope choose` writes")
      .as_value("PLAN.toml");
  requests::describe_only_dtype(fields, reading.only_dtype, "the tensors of these dtypes alone; the others stay as they are");
  fields.add("copy", copy, "tensors that stay as they are: a pattern of names").as_value("PATTERN").as_repeated();
  naming.describe(fields);
}

CastPlan CastFileRequest::resolved() const {
  if (plan.empty()) {
    if (to.empty()) throw Error("give --to F, or --plan PLAN.toml");
    CastPlan all = naming;
    for (const std::string& pattern : copy) all.rules.push_back({.match = pattern, .to = PlanRule::copy});
    all.rules.push_back({.match = "*", .to = to, .scale = scale});
    requests::parse_format_or_integer(to);
    parse_scaling(scale);
    all.check();
    return all;
  }
  if (!to.empty() || scale != "none") throw Error("--plan " + plan + ": says formats and scales; leave out --to and --scale");
  CastPlan read = read_plan(plan);
  const CastPlan standard;
  if (naming.layout != standard.layout) read.layout = naming.layout;
  if (!naming.hadamard.empty()) read.hadamard = naming.hadamard;
  read.fused.insert(read.fused.end(), naming.fused.begin(), naming.fused.end());
  std::vector<PlanRule> rules;
  for (const std::string& pattern : copy) rules.push_back({.match = pattern, .to = PlanRule::copy});
  read.rules.insert(read.rules.begin(), rules.begin(), rules.end());
  read.check();
  return read;
}

std::vector<std::string> write_cast(const CastFileRequest& request, const std::string& output, bool codes,
                                    const Progress& progress, const ResumedCast& resumed) {
  tensors::check_is_no_input(request.inputs, output);
  const std::string extension = std::filesystem::path(output).extension().string();
  if (!resumed.program.empty() && (extension == ".npy" || extension == ".safetensors"))
    throw Error(emu::visible("--resume: " + output +
                             " is one file, of which nothing is kept before it is done; leave it out, or "
                             "write the files of a checkpoint to a folder"));
  if (extension == ".npy") return write_npy(request, output, codes);
  const bool is_file = extension == ".safetensors";
  if (const auto named = std::ranges::find_if(request.inputs, names_tensors); !is_file && named != request.inputs.end())
    throw Error(
        emu::visible(output + ": a folder is written of a whole checkpoint, and " + *named +
                     " names tensors of one; write a .safetensors, or leave the others as they are with --copy or a plan"));
  const std::optional<tensors::Checkpoint> checkpoint = is_file ? std::nullopt : tensors::checkpoint_of(request.inputs);
  if (!is_file && !checkpoint)
    throw Error(output + ": the name ends in neither .npy nor .safetensors; a folder is written of a checkpoint");
  if (codes) throw Error(output + ": --codes is for an .npy; a .safetensors holds codes as it is");
  const CastPlan plan = request.resolved();
  std::vector<std::string> remarks = is_file ? write_one_file(request, plan, output, progress)
                                             : write_cast_folder(request, plan, *checkpoint, output, resumed, progress);
  for (const PlanRule& rule : plan.rules) {
    if (rule.copies()) continue;
    const std::string outside = outside_rule(rule.scaling(), std::vector{rule.format()});
    if (!outside.empty() && std::ranges::find(remarks, outside) == remarks.end()) remarks.push_back(outside);
  }
  return remarks;
}

}  // namespace ulpscope::studies
