// SPDX-License-Identifier: Apache-2.0
// Census, exponents and sweep of a part, one after the other, or its blocks.
#include "studies/census/tensor_part.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace ulpscope::studies {
namespace {

void merge_all(std::vector<PartialSums>& into, const std::vector<PartialSums>& next) {
  into.resize(next.size());
  for (std::size_t i = 0; i < next.size(); ++i) into[i].merge(next[i]);
}

}  // namespace

void TensorPart::merge(const TensorPart& next) {
  merge_all(census, next.census);
  merge_all(sweep, next.sweep);
  exponents.merge(next.exponents);
  blocks.resize(next.blocks.size());
  for (std::size_t i = 0; i < next.blocks.size(); ++i) blocks[i].merge(next.blocks[i]);
  tensor_scales = next.tensor_scales;
  if (next.amax) amax = std::max(amax.value_or(0), *next.amax);
}

TensorPart measure(const tensors::Tensor& tensor, const Scaling& scaling, const std::optional<ScaleRange>& range,
                   const CensusConfig& config, const ElementRange& part) {
  CensusConfig quiet = config;
  quiet.progress = nullptr;
  TensorPart found;
  ScaledSums scaled = run_scaled(tensor, scaling, range ? quiet : config, part);
  found.census = std::move(scaled.sums), found.tensor_scales = std::move(scaled.tensor_scales);
  found.exponents = count_exponents(tensor, quiet, part);
  if (range) found.sweep = run_jobs(tensor, sweep_jobs(tensor, *range, config), config, part);
  return found;
}

TensorPart measure_blocks(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config,
                          const ElementRange& part) {
  ScaledBlocks scaled = run_blocks(tensor, scaling, config, part);
  TensorPart found;
  found.blocks = std::move(scaled.sums), found.tensor_scales = std::move(scaled.tensor_scales);
  found.amax = scaled.amax;
  return found;
}

double magnitude_met(const TensorPart& part) {
  if (part.amax) return *part.amax;
  return part.exponents.infinite > 0 ? std::numeric_limits<double>::infinity() : part.census.front().finish().largest.magnitude;
}

TensorResults results_of(const tensors::Tensor& tensor, const TensorPart& whole, const std::vector<emu::Format>& formats,
                         const std::optional<ScaleRange>& range) {
  TensorResults results{.tensor = tensor, .census = {}, .sweep = {}, .exponents = whole.exponents};
  std::size_t swept = 0;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const auto finished = [](const std::vector<PartialSums>& sums, std::size_t j) {
      return j < sums.size() ? sums[j].finish() : ErrorSums{};  // none of a tensor without elements
    };
    results.census.push_back({tensor.label, formats[i], finished(whole.census, i)});
    if (!range) continue;
    for (const int k : range->exponents())
      results.sweep.push_back({tensor.label, formats[i], k, finished(whole.sweep, swept++)});
  }
  return results;
}

}  // namespace ulpscope::studies
