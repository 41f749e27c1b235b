// SPDX-License-Identifier: Apache-2.0
// A study of each of many tensors, in parallel, with one progress over all of them.
#pragma once

#include <cstdint>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "studies/census/census.hpp"
#include "studies/census/sweep.hpp"
#include "studies/study.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {

/// Elements of all tensors.
inline std::uint64_t total_count(const std::vector<tensors::Tensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const tensors::Tensor& t) { return sum + t.count(); });
}

/// `study(tensor, config)` for each tensor, telling `progress` of elements over all of them.
template <class Study>
auto for_each_tensor(const std::vector<tensors::Tensor>& tensors, const CensusConfig& config, const Progress& progress,
                     Study study) {
  using Result = decltype(study(tensors.front(), config));
  std::vector<std::optional<Result>> results(tensors.size());
  const std::uint64_t total = total_count(tensors);
  std::uint64_t done = 0;
  std::mutex one_at_a_time;
  tensors::for_each_index(tensors.size(), config.threads, [&](std::size_t i) {
    CensusConfig of_tensor = config;
    if (progress)
      of_tensor.progress = [&, before = std::uint64_t{0}](std::uint64_t done_of_tensor) mutable {
        const std::lock_guard lock(one_at_a_time);
        done += done_of_tensor - std::exchange(before, done_of_tensor);
        progress(done, total);
      };
    results[i] = study(tensors[i], of_tensor);
  });
  std::vector<Result> all;
  for (std::optional<Result>& result : results) all.push_back(std::move(*result));
  return all;
}

/// The censuses of all tensors, in their order.
std::vector<CensusRow> census_all(const std::vector<tensors::Tensor>& tensors, const Scaling& scaling,
                                  const CensusConfig& config, const Progress& progress);
/// The sweeps of all tensors, in their order.
std::vector<std::vector<SweepRow>> sweep_all(const std::vector<tensors::Tensor>& tensors, const ScaleRange& range,
                                             const CensusConfig& config, const Progress& progress);

}  // namespace ulpscope::studies
