// SPDX-License-Identifier: Apache-2.0
// From the words of a request to engines, formats, accumulators and promotions.
#include "studies/accumulation/accumulation_request.hpp"

#include <algorithm>
#include <numeric>

#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "requests/parts.hpp"
#include "studies/accumulation/accumulation_page.hpp"

namespace ulpscope::studies {
namespace {

std::vector<emu::Format> parsed(const std::vector<std::string>& words) {
  std::vector<emu::Format> out;
  for (const std::string& word : words) out.push_back(requests::parse_format(word));
  return out;
}

/// The formats of the standard study that an engine takes, where none are asked for.
std::vector<emu::Format> formats_of(const std::string& engine, emu::Format acc) {
  if (emu::is_split(engine)) return {emu::float32};
  std::vector<emu::Format> out;
  for (const emu::Format in : {emu::e4m3, emu::e5m2, emu::float16, emu::bfloat16, emu::tf32})
    for (const emu::EngineMode& mode : emu::engine_modes())
      if (mode.engine == emu::engine_name(engine) && mode.model.accumulator == acc &&
          mode.model.scales == emu::EngineScales::none &&
          (mode.inputs.empty() || std::find(mode.inputs.begin(), mode.inputs.end(), in) != mode.inputs.end())) {
        out.push_back(in);
        break;
      }
  if (out.empty()) out.push_back(emu::float16);  // of an engine of one's own; to any other that is a bad request
  return out;
}

std::vector<Accumulation> standard_with(const std::vector<emu::Format>& in) {
  std::vector<Accumulation> out;
  for (const Accumulation& standard : standard_accumulations())
    if (in.empty() || std::find(in.begin(), in.end(), standard.in) != in.end()) out.push_back(standard);
  if (out.empty())
    throw Error("--in " + emu::format_name(in.front()) +
                ": no engine of the standard study multiplies it; name one with --engine");
  return out;
}

/// Every engine with every format, accumulator and promotion asked for; without an engine, those of the standard study.
std::vector<Accumulation> accumulations_of(const AccumulationRequest& request) {
  const std::vector<emu::Format> in = parsed(request.in);
  if (request.engine.empty()) {
    if (!request.acc.empty() || !request.promote.empty())
      throw Error("--acc and --promote need an --engine, e.g. --engine sm_90 --in e4m3 --promote 0,128");
    return standard_with(in);
  }
  const std::vector<emu::Format> accs = request.acc.empty() ? std::vector{emu::float32} : parsed(request.acc);
  const std::vector<std::uint64_t> promotions = request.promote.empty() ? std::vector<std::uint64_t>{0} : request.promote;
  std::vector<Accumulation> out;
  for (const std::string& engine : request.engine)
    for (const emu::Format acc : accs)
      for (const emu::Format f : in.empty() ? formats_of(engine, acc) : in)
        for (const std::uint64_t promote : promotions) out.push_back(find_accumulation(engine, f, acc, promote));
  return out;
}

}  // namespace

void AccumulationRequest::describe(requests::Fields& fields) {
  fields
      .add("engine", engine,
           "engines, e.g. sm_90 fma block:n=16,f=25,out=rz, and split products of float32, e.g. bf16x9; default: the standard "
           "study")
      .as_value("E...");
  fields.add("in", in, "formats of the operands; default: those of the standard study").as_either().as_value("F,...");
  fields.add("acc", acc, "accumulators: float32, float16").as_either().as_value("F,...").shown_as("float32");
  fields.add("promote", promote, "add to a float32 sum after every N products; 0: never")
      .whole({.most = requests::most_elements})
      .as_either()
      .as_value("N,...")
      .shown_as("0");
  fields.add("k", k, "lengths of the sums: one, or LO, 2 LO, 4 LO, ... HI").as_value("LO:HI").shown();
  fields.add("distribution", distribution, "of the operands; default: normal:0,1 studentt:3 uniform:0,1 lognormal:0,1")
      .as_value("DISTRIBUTION...");
  fields.add("shape", shape, "outputs of each product").as_value("MxN").shown();
  fields.add("seed", seed, "key of the operands: A is drawn under it, B under the next").whole().shown();
  requests::describe_threads(fields, threads);
}

AccumulationConfig resolve(const AccumulationRequest& request) {
  AccumulationConfig config;
  config.accumulations = accumulations_of(request);
  config.lengths = parse_lengths(request.k);
  config.shape = parse_output_shape(request.shape);
  if (!request.distribution.empty()) config.distributions = request.distribution;
  config.seed = request.seed;
  config.threads = request.threads;
  return config;
}

StudyResult run(const AccumulationRequest& request, const Progress& progress) {
  AccumulationConfig config = resolve(request);
  config.progress = progress;
  const std::vector<AccumulationRow> rows = accumulate(config);
  return {.tables = {accumulation_table(rows)}, .findings = accumulation_findings(rows, config)};
}

Work work_of(const AccumulationRequest& request) {
  const AccumulationConfig config = resolve(request);
  const std::uint64_t rows = config.accumulations.size() * config.distributions.size() * config.lengths.size();
  const std::uint64_t products = std::accumulate(config.lengths.begin(), config.lengths.end(), std::uint64_t{0}) *
                                 config.shape.rows * config.shape.columns * config.accumulations.size() *
                                 config.distributions.size();
  return {.operations = products, .rows = rows};
}

}  // namespace ulpscope::studies
