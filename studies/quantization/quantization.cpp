// SPDX-License-Identifier: Apache-2.0
// The measurement: a census of each tensor under each rule, and the quantiles of its relative errors.
#include "studies/quantization/quantization.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/census/all_tensors.hpp"
#include "studies/census/census.hpp"
#include "studies/census/round_and_count.hpp"
#include "studies/quantization/error_quantiles.hpp"
#include "studies/quantization/kept_rows.hpp"
#include "studies/quantization/quantized.hpp"

namespace ulpscope::studies {
namespace {

/// One format under one rule.
struct Quantizer {
  emu::Format format;
  Scaling scaling;

  /// As a census is taken where no policy is named; integers clamp.
  emu::RoundingOptions options() const {
    const bool saturates = clamps(scaling.rule) || format.is_integer();
    return {.policy = saturates ? emu::Policy::saturating : emu::Policy::nonsaturating};
  }
};

std::vector<Quantizer> quantizers_of(const QuantizationRequest& request) {
  std::vector<Quantizer> all;
  for (const std::string& word : request.scale)
    for (const emu::Format format : request.formats.formats())
      if (const Scaling scaling = parse_scaling(word); is_used_with(format, scaling.rule)) all.push_back({format, scaling});
  if (all.empty()) throw Error("--to, --scale: none of these formats is used with one of these scales");
  return all;
}

/// The least float that is not below x, x >= 0.
float rounded_up(double x) {
  const auto nearest = static_cast<float>(x);
  return static_cast<double>(nearest) < x ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) + 1) : nearest;
}

/// Calls use(|error| / |x|, rounded up) with pieces of these quotients, over finite nonzero x.
void for_relative_errors(const tensors::Tensor& tensor, const Quantizer& quantizer, const ScaleMap& scales, std::uint64_t seed,
                         const std::function<void(std::span<const float>)>& use) {
  constexpr std::uint64_t piece = 1 << 16;
  std::vector<double> values(static_cast<std::size_t>(std::min(piece, tensor.count()))), rounded(values.size());
  std::vector<float> errors;
  for (std::uint64_t first = 0; first < tensor.count(); first += piece) {
    const auto size = static_cast<std::size_t>(std::min(piece, tensor.count() - first));
    const std::span<double> in(values.data(), size), out(rounded.data(), size);
    tensor.source->read(first, in);
    round_and_unscale(std::span<const double>(in), first, quantizer.format, scales, tensor.dtype, quantizer.options(), seed,
                      out);
    errors.clear();
    for (std::size_t i = 0; i < size; ++i)
      if (std::isfinite(in[i]) && in[i] != 0) errors.push_back(rounded_up(std::fabs(out[i] - in[i]) / std::fabs(in[i])));
    use(errors);
  }
}

Quantized measure(const tensors::Tensor& tensor, const Quantizer& quantizer, std::uint64_t seed, bool with_quantiles) {
  const CensusConfig config{
      .formats = {quantizer.format}, .options = quantizer.options(), .seed = seed, .threads = 1, .progress = {}};
  const ScaleMap scales(quantizer.scaling, quantizer.format, tensor);
  const ErrorSums sums = run_jobs(tensor, {{quantizer.format, scales}}, config).front();
  Quantized row{.tensor = tensor.label, .format = quantizer.format, .scaling = quantizer.scaling};
  row.count = sums.count();
  const ScaleRule rule = quantizer.scaling.rule;
  const bool has_one = is_nvfp4(rule) || rule == ScaleRule::number;  // of the tensor, beside those of blocks
  const double stored = scale_bits(rule) * static_cast<double>(scales.blocks()) + (has_one ? emu::float32.bits() : 0);
  row.bits_per_element = quantizer.format.bits() + (row.count == 0 ? 0 : stored / static_cast<double>(row.count));
  row.to_zero = sums.of(emu::Outcome::to_zero);
  row.overflow = sums.of(emu::Outcome::overflow);
  row.finite = sums.finite();
  row.infinite = sums.of(emu::Outcome::infinite);
  row.nan = sums.of(emu::Outcome::nan);
  row.lost_share = sums.nonzero == 0 ? 0 : static_cast<double>(row.to_zero + row.overflow) / static_cast<double>(sums.nonzero);
  constexpr double unlimited = std::numeric_limits<double>::infinity(), unknown = std::numeric_limits<double>::quiet_NaN();
  row.sqnr_db = row.finite == 0 ? unknown : sums.lost == 0 ? decibels(sums.input, sums.error) : -unlimited;
  row.max_relative_error = sums.nonzero == 0 ? unknown : sums.lost == 0 ? sums.max_rel : unlimited;
  if (!with_quantiles) return row;
  const Numbers errors = [&](const std::function<void(std::span<const float>)>& use) {
    for_relative_errors(tensor, quantizer, scales, seed, use);
  };
  std::ranges::copy(quantiles(errors, told_quantiles), row.relative_errors.begin());
  return row;
}

/// By element bits, then decibels; among equals the fewer bits and the earlier come first.
void rank(std::vector<Quantized>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Quantized& a, const Quantized& b) {
    if (a.format.bits() != b.format.bits()) return a.format.bits() > b.format.bits();
    return a.sqnr_db != b.sqnr_db ? a.sqnr_db > b.sqnr_db : a.bits_per_element < b.bits_per_element;
  });
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].rank = i > 0 && rows[i].format.bits() == rows[i - 1].format.bits() ? rows[i - 1].rank + 1 : 1;
}

}  // namespace

void QuantizationRequest::describe(requests::Fields& fields) {
  fields.add("inputs", inputs, "tensor files, FILE:NAME, checkpoints, or synthetic tensors").as_input("INPUT").needed();
  formats.describe(fields);
  fields.add("scale", scale, "rules of scales, as census has them").as_commas().as_value("SCALE,...").shown();
  fields
      .add("sqnr_db", sqnr_db,
           "decibels that a recommended format reaches; 30: two such operands change a product by sqrt(2e-3), DeepGEMM's limit "
           "for fp8")
      .real({.least = 0})
      .shown();
  requests::describe_seed(fields, reading.seed, "key of synthetic tensors");
  reading.describe(fields);
  requests::describe_hadamard(fields, reading.hadamard);
  requests::describe_threads(fields, threads);
}

std::string objection_to(const Quantized& row) {
  const bool keeps_nonfinite =
      (row.infinite == 0 || row.format.has_infinity()) && (row.nan == 0 || row.format.has_nan()) && !clamps(row.scaling.rule);
  if (!is_storable(row.scaling)) return "their scale would be stored as no normal float32";
  return row.count == row.finite || keeps_nonfinite ? "" : "they would lose its infinities or NaN";
}

bool is_used_with(emu::Format format, ScaleRule rule) noexcept {
  constexpr int most_element_bits = 8;
  switch (rule) {
    case ScaleRule::none: return !format.is_integer();
    case ScaleRule::number:
    case ScaleRule::amax:
    case ScaleRule::pow2: return true;
    case ScaleRule::minmax:
    case ScaleRule::minmax_row:
    case ScaleRule::minmax_1x128: return format.is_integer() && format.bits() <= most_element_bits;
    case ScaleRule::nvfp4:
    case ScaleRule::nvfp4_16x16: return format == emu::e2m1;
    default: return format.bits() <= most_element_bits;
  }
}

std::vector<Quantized> quantize(const QuantizationRequest& request, const Progress& progress) {
  quantizers_of(request);  // what is asked wrongly is told before files are opened
  tensors::OpenOptions plain = request.reading.options();
  plain.hadamard.clear();
  const auto opened = [&](const tensors::OpenOptions& options) {
    return tensors::open_numbers(request.inputs, options, tensors::Integers::leave_out).kept;
  };
  return quantize({opened(request.reading.options()), opened(plain)}, request, progress);
}

std::vector<Quantized> quantize(const QuantizationInputs& inputs, const QuantizationRequest& request,
                                const Progress& progress) {
  const std::vector<tensors::Tensor>& tensors = inputs.tensors;
  const std::vector<Quantizer> quantizers = quantizers_of(request);
  const std::uint64_t total = total_count(tensors) * quantizers.size();
  std::vector<Quantized> measured(tensors.size() * quantizers.size());
  std::uint64_t done = 0;
  std::mutex one_at_a_time;
  tensors::for_each_index(measured.size(), request.threads, [&](std::size_t i) {
    Quantizer quantizer = quantizers[i % quantizers.size()];
    const std::size_t at = i / quantizers.size();
    const tensors::Tensor& tensor = quantizer.scaling.rule == ScaleRule::none ? inputs.plain[at] : tensors[at];
    if (!inputs.shared_amax.empty() && has_tensor_scale(quantizer.scaling.rule))
      quantizer.scaling.shared_amax = inputs.shared_amax[at];
    const std::optional<std::string> line = inputs.kept ? inputs.kept->find(i) : std::nullopt;
    if (line) {
      measured[i] = {.tensor = tensor.label, .format = quantizer.format, .scaling = quantizer.scaling};
      read_row_line(*line, measured[i]);
    } else {
      measured[i] = measure(tensor, quantizer, request.reading.seed, request.quantiles);
      if (inputs.kept) inputs.kept->keep(i, row_line(measured[i]));
    }
    if (!progress) return;
    const std::lock_guard lock(one_at_a_time);
    progress(done += tensor.count(), total);
  });
  std::vector<Quantized> all;
  for (std::size_t first = 0; first < measured.size(); first += quantizers.size()) {
    const auto begin = measured.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<Quantized> of_tensor(begin, begin + static_cast<std::ptrdiff_t>(quantizers.size()));
    rank(of_tensor);
    all.insert(all.end(), of_tensor.begin(), of_tensor.end());
  }
  return all;
}

std::size_t measured_pairs(const QuantizationRequest& request) { return quantizers_of(request).size(); }

std::string left_out(const QuantizationRequest& request) {
  const std::size_t pairs = request.formats.formats().size() * request.scale.size(), kept = measured_pairs(request);
  if (pairs == kept) return {};
  return "left out: " + std::to_string(pairs - kept) + " of " + std::to_string(pairs) +
         " pairs of a format and a scale: integers without a scale, scales of rows and blocks with formats of more than 8 "
         "bits, "
         "nvfp4 with others than e2m1, minmax with others than integers";
}

Work work_of(const QuantizationRequest& request) {
  const tensors::Inputs inputs = tensors::open_numbers(request.inputs, request.reading.options(), tensors::Integers::leave_out);
  const std::uint64_t pairs = quantizers_of(request).size();
  return {.operations = total_count(inputs.kept) * pairs, .rows = inputs.kept.size() * pairs};
}

}  // namespace ulpscope::studies
