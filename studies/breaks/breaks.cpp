// SPDX-License-Identifier: Apache-2.0
// From a request to curves, limits and sums: every function in every format under every rounding, in threads.
#include "studies/breaks/breaks.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <span>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/census/sweep.hpp"
#include "tensors/parallel.hpp"
#include "tensors/synthetic.hpp"

namespace ulpscope::studies {
namespace {

/// The words of a request, understood.
struct Config {
  std::vector<emu::Format> formats;
  std::vector<const ScaledFunction*> functions;
  std::vector<emu::RoundingOptions> roundings;
  std::vector<int> exponents;
};

Config resolve(const BreaksRequest& request) {
  Config config{.formats = request.formats.formats(), .functions = {}, .roundings = {}, .exponents = {}};
  for (const emu::Format format : config.formats)
    if (!format.is_signed()) throw Error("--to " + emu::format_name(format) + ": has no sign; sums and functions need one");
  for (const std::string& name : request.function) config.functions.push_back(&find_scaled_function(name));
  const emu::Policy policy = requests::parse_policy(request.policy);
  for (const std::string& word : request.rounding)
    config.roundings.push_back({.rounding = requests::parse_rounding(word), .policy = policy});
  config.exponents = parse_scale_range(request.log2_scale).exponents();
  return config;
}

std::vector<CurveOf> curves_of(const Config& config) {
  std::vector<CurveOf> all;
  for (const ScaledFunction* const function : config.functions)
    for (const emu::Format format : config.formats)
      for (const bool wide : {false, true}) {
        if (wide && format.precision() >= emu::float32.precision()) continue;
        for (const emu::RoundingOptions& options : config.roundings)
          all.push_back({function, format, wide ? emu::float32 : format, options});
      }
  return all;
}

CurveInputs inputs_of(const BreaksRequest& request, const Config& config) {
  CurveInputs inputs{.values = std::vector<double>(request.vectors * request.elements),
                     .vector = request.elements,
                     .exponents = config.exponents,
                     .seed = request.seed};
  const std::string words = "normal:0,1:" + std::to_string(inputs.values.size());
  tensors::synthetic(words, request.seed).source->read(0, std::span(inputs.values));
  return inputs;
}

template <class Row>
std::vector<Row> joined(const std::vector<std::vector<Row>>& parts) {
  std::vector<Row> all;
  for (const std::vector<Row>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

std::vector<std::string> standard_roundings() {
  std::vector<std::string> names;
  for (const emu::Rounding rounding : emu::all_roundings) names.emplace_back(emu::name_of(rounding));
  return names;
}

void BreaksRequest::describe(requests::Fields& fields) {
  formats.describe(fields);
  fields.add("function", function, "functions whose inputs are scaled").as_commas().as_value("NAME,...").shown();
  fields.add("rounding", rounding, "rounding modes").as_commas().as_value("R,...").shown();
  fields.add("policy", policy, "what overflow gives").as_value("nonsaturating|saturating").shown();
  fields.add("log2_scale", log2_scale, "the scales 2^LO to 2^HI of the inputs").as_value("LO:HI[:STEP]").shown();
  fields.add("vectors", vectors, "arguments that each function is given at each scale").whole({1, 4096}).shown();
  fields.add("elements", elements, "of an argument; they are normal").whole({1, 1 << 16}).shown();
  fields.add("terms", sums.terms, "of the sums").whole({1, std::uint64_t{1} << 26}).shown();
  fields.add("lengths", sums.lengths, "of the inner products").whole({1, std::uint64_t{1} << 24}).as_commas().shown();
  fields.add("repetitions", sums.repetitions, "of each sum under stochastic rounding").whole({1, 4096}).shown();
  requests::describe_seed(fields, seed, "key of the inputs and of stochastic rounding");
  requests::describe_threads(fields, threads);
}

BreaksResult measure(const BreaksRequest& request, const Progress& progress) {
  const Config config = resolve(request);
  const CurveInputs inputs = inputs_of(request, config);
  SumConfig of_sums = request.sums;
  of_sums.seed = request.seed;
  const SumOperands operands = draw_operands(of_sums);
  const std::vector<CurveOf> curves = curves_of(config);
  BreaksResult result{.curves = std::vector<Curve>(curves.size()), .limits = {}, .sums = {}, .policy = {}};
  result.policy = requests::parse_policy(request.policy);
  const std::size_t roundings = config.roundings.size(), pairs = config.formats.size() * roundings;
  std::vector<std::vector<LimitRow>> limits(pairs);
  std::vector<std::vector<SumRow>> sums(pairs);

  std::uint64_t done = 0;
  std::mutex one_at_a_time;
  tensors::for_each_index(pairs + curves.size(), request.threads, [&](std::size_t i) {
    if (i >= pairs) {
      result.curves[i - pairs] = curve_of(curves[i - pairs], inputs);
    } else {
      const emu::Format format = config.formats[i / roundings];
      const emu::RoundingOptions& options = config.roundings[i % roundings];
      if (options.rounding != emu::Rounding::stochastic) limits[i] = limits_of(format, options);
      sums[i] = sums_of(format, options, of_sums, operands);
    }
    if (!progress) return;
    const std::lock_guard lock(one_at_a_time);
    progress(++done, pairs + curves.size());
  });
  result.limits = joined(limits);
  result.sums = joined(sums);
  return result;
}

StudyResult run(const BreaksRequest& request, const Progress& progress) {
  const BreaksResult result = measure(request, progress);
  return {.tables = breaks_tables(result), .findings = breaks_findings(result)};
}

Work work_of(const BreaksRequest& request) {
  const Config config = resolve(request);
  const std::uint64_t curves = curves_of(config).size(), pairs = config.formats.size() * config.roundings.size();
  const std::uint64_t dots = std::accumulate(request.sums.lengths.begin(), request.sums.lengths.end(), std::uint64_t{0});
  return {.operations = curves * config.exponents.size() * request.vectors * request.elements +
                        pairs * (4 * request.sums.terms + 2 * dots),
          .rows = curves};
}

}  // namespace ulpscope::studies
