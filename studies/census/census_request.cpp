// SPDX-License-Identifier: Apache-2.0
// The fields of census and sweep, and what they ask for.
#include "studies/census/census_request.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/census/all_tensors.hpp"
#include "studies/census/amax_history.hpp"
#include "studies/census/block_findings.hpp"
#include "studies/census/block_statistics.hpp"
#include "studies/census/census_findings.hpp"
#include "studies/census/node_causes.hpp"
#include "studies/onnx/graph.hpp"

namespace ulpscope::studies {

PrecisionInputs PrecisionRequest::open() const {
  tensors::OpenOptions options = reading.options();
  std::vector<std::string> remarks;
  ValueNodes nodes;
  bool has_model = false;
  if (!model_inputs.empty()) {
    const OnnxRun run{.inputs = model_inputs_of(model_inputs, options), .threads = threads, .integers = integers};
    options.onnx = [&remarks, &nodes, &has_model, run](const tensors::FileBytes& file) {
      OnnxValues values = onnx_values(file, run);
      has_model = true;
      nodes.merge(values.nodes);
      remarks.insert(remarks.end(), values.remarks.begin(), values.remarks.end());
      return std::move(values.tensors);
    };
  }
  const auto opened_numbers = [&] {
    try {
      return tensors::open_numbers(inputs, options, integers ? tensors::Integers::include : tensors::Integers::leave_out);
    } catch (const Error& error) {  // where nothing is left, what was not computed is why
      std::string why = error.what();
      for (const std::string& remark : remarks) why += "; " + remark;
      throw Error(why);
    }
  };
  PrecisionInputs opened{opened_numbers()};
  if (!model_inputs.empty() && !has_model)
    throw Error("--inputs " + model_inputs.front() + ": is for a model; none of the files ends in .onnx");
  opened.remarks.insert(opened.remarks.end(), remarks.begin(), remarks.end());
  opened.others.clear();  // which nobody asked about
  if (has_model) opened.nodes = std::make_shared<const ValueNodes>(std::move(nodes));
  return opened;
}

void PrecisionRequest::describe_tail(requests::Fields& fields) {
  rounding.describe(fields);
  requests::describe_seed(fields, reading.seed, "key of stochastic rounding and of synthetic tensors");
  reading.describe(fields);
  requests::describe_only_dtype(fields, reading.only_dtype, "the tensors of these dtypes alone");
  requests::describe_hadamard(fields, reading.hadamard);
  groups.describe(fields);
  fields
      .add("model_inputs", model_inputs,
           "of a model in ONNX: the tensors that it is given; what its nodes compute of them in float32 is counted, too")
      .as_repeated()
      .as_value("[NAME=]FILE")
      .short_option = "--inputs";
  fields.add("integers", integers, "integer tensors of files with others, too");
  requests::describe_threads(fields, threads);
}

CensusConfig PrecisionRequest::config_with(emu::Policy policy) const {
  return {.formats = formats.formats(),
          .options = rounding.options(policy),
          .seed = reading.seed,
          .threads = threads,
          .progress = {}};
}

void CensusRequest::describe(requests::Fields& fields) {
  fields.add("inputs", inputs, "tensor files, FILE:NAME, checkpoints, or synthetic tensors such as normal:0,1:4096x512")
      .as_input("INPUT")
      .needed();
  formats.describe(fields);
  fields
      .add("scale", scale,
           "none, a number, amax, pow2, row, 1x128, 128x128 (these three also :pow2, :divide, :reciprocal), "
           "mx:floor|ceil|rceil|even, nvfp4[:16x16], of integers minmax[:row|:1x128]: multiply, round, divide")
      .as_value("SCALE")
      .shown();
  fields.add("blocks", blocks,
             "a row for the blocks of each tensor, and of each group, instead: their scales, what saturates or becomes zero, "
             "decibels");
  fields.add("history", history,
             "a row for each tensor in each of several checkpoints, the oldest first, instead: its largest magnitude, and how "
             "many binades above those before");
  describe_tail(fields);
}

CensusConfig CensusRequest::config() const {
  const Scaling rule = scaling();
  const bool saturates = clamps(rule.rule) || has_zero_point(rule.rule);
  const CensusConfig config = config_with(saturates ? emu::Policy::saturating : emu::Policy::nonsaturating);
  for (const emu::Format format : config.formats) check_format(rule, format);
  return config;
}

std::vector<std::string> CensusRequest::remarks() const {
  const std::string outside = outside_rule(scaling(), formats.formats());
  return outside.empty() ? std::vector<std::string>{} : std::vector{outside};
}

void SweepRequest::describe(requests::Fields& fields) {
  fields.add("inputs", inputs, "tensor files, FILE:NAME, checkpoints, or synthetic tensors").as_input("INPUT").needed();
  formats.describe(fields);
  fields.add("log2_scale", log2_scale, "the scales 2^LO to 2^HI").as_value("LO:HI[:STEP]").shown();
  describe_tail(fields);
}

CensusConfig SweepRequest::config() const { return config_with(emu::Policy::nonsaturating); }

StudyResult run(const CensusRequest& request, const Progress& progress) { return run(request, progress, {}); }

StudyResult run(const CensusRequest& request, const Progress& progress, const OpenKeptRows& open_kept) {
  const Scaling scaling = request.scaling();
  const CensusConfig config = request.config();
  if (request.history) {
    StudyResult result;
    const auto rows = amax_history(request, result.remarks, progress, open_kept);
    result.tables = {amax_history_table(rows)};
    result.findings = history_findings(rows);
    return result;
  }
  const PrecisionInputs inputs = request.open();
  std::vector<std::string> remarks = request.remarks();
  std::ranges::copy(tensors::left_out(inputs), std::back_inserter(remarks));
  const std::vector<Group> groups = request.groups.of(inputs.kept);
  if (request.blocks) {
    const auto rows = block_statistics_all(inputs.kept, groups, scaling, config, progress);
    return blocks_result(rows, scaling, config.options, std::move(remarks));
  }
  const auto rows = with_groups(census_all(inputs.kept, scaling, config, progress), groups, inputs.kept.size());
  std::vector<reports::Finding> findings;
  NodeCauses causes(inputs.nodes, scaling, config.options);
  for (const CensusRow& row : rows) findings.push_back(finding_of(row, scaling, row.tensor, causes.of(row)));
  return {.tables = {census_table(rows, scaling, config.options, inputs.nodes.get())},
          .findings = findings,
          .remarks = std::move(remarks)};
}

StudyResult run(const SweepRequest& request, const Progress& progress) {
  const CensusConfig config = request.config();
  const ScaleRange range = request.range();
  const tensors::Inputs inputs = request.open();
  std::vector<SweepRow> rows;
  std::vector<reports::Finding> findings;
  const std::vector<Group> groups = request.groups.of(inputs.kept);
  const auto of_tensors = sweep_all(inputs.kept, groups, range, config, progress);
  for (const auto& of_tensor : of_tensors) rows.insert(rows.end(), of_tensor.begin(), of_tensor.end());
  const std::vector<Advice> scales = advise(of_tensors);
  for (const Advice& advice : scales) findings.push_back(finding_of(advice));
  return {.tables = {sweep_table(rows, config.options), loss_scale_table(scales)},
          .findings = findings,
          .remarks = tensors::left_out(inputs)};
}

Work work_of(const CensusRequest& request) {
  const std::vector<tensors::Tensor> kept = request.open().kept;
  const std::uint64_t formats = request.config().formats.size();
  return {.operations = total_count(kept) * formats, .rows = kept.size() * formats};
}

Work work_of(const SweepRequest& request) {
  const std::vector<tensors::Tensor> kept = request.open().kept;
  const std::uint64_t formats = request.config().formats.size(), scales = request.range().count();
  return {.operations = total_count(kept) * formats * scales, .rows = kept.size() * formats * scales};
}

}  // namespace ulpscope::studies
