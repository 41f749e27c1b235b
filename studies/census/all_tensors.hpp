// SPDX-License-Identifier: Apache-2.0
// A study of each of many tensors, in parallel, with one progress over all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "studies/census/census.hpp"
#include "studies/census/groups.hpp"
#include "studies/census/sweep.hpp"
#include "studies/study.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {

/// Elements of all tensors.
inline std::uint64_t total_count(const std::vector<tensors::Tensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const tensors::Tensor& t) { return sum + t.count(); });
}

/// `study(tensor, config)` for each tensor, telling `progress` of elements over all of them. `take(i, result)` gets the results
/// in the order of the tensors, on the thread that calls this, and says whether to go on; those of so many tensors are held at
/// a time.
template <class Study, class Take>
void for_each_tensor(const std::vector<tensors::Tensor>& tensors, const CensusConfig& config, const Progress& progress,
                     Study study, Take take, std::size_t at_a_time = 256) {
  std::vector<std::optional<decltype(study(tensors.front(), config))>> results(std::min(at_a_time, tensors.size()));
  const std::uint64_t total = total_count(tensors);
  std::uint64_t done = 0;
  std::mutex one_at_a_time;
  for (std::size_t first = 0; first < tensors.size(); first += at_a_time) {
    const std::size_t count = std::min(at_a_time, tensors.size() - first);
    tensors::for_each_index(count, config.threads, [&](std::size_t i) {
      CensusConfig of_tensor = config;
      if (progress)
        of_tensor.progress = [&, before = std::uint64_t{0}](std::uint64_t done_of_tensor) mutable {
          const std::lock_guard lock(one_at_a_time);
          done += done_of_tensor - std::exchange(before, done_of_tensor);
          progress(done, total);
        };
      results[i] = study(tensors[first + i], of_tensor);
    });
    for (std::size_t i = 0; i < count; ++i) {
      if (!take(first + i, std::move(*results[i]))) return;
      results[i].reset();
    }
  }
}

/// The same, and all results.
template <class Study>
auto for_each_tensor(const std::vector<tensors::Tensor>& tensors, const CensusConfig& config, const Progress& progress,
                     Study study) {
  using Result = decltype(study(tensors.front(), config));
  std::vector<Result> all;
  all.reserve(tensors.size());
  for_each_tensor(tensors, config, progress, study, [&](std::size_t, Result result) {
    all.push_back(std::move(result));
    return true;
  });
  return all;
}

/// The censuses of all tensors, in their order.
std::vector<CensusRow> census_all(const std::vector<tensors::Tensor>& tensors, const Scaling& scaling,
                                  const CensusConfig& config, const Progress& progress);
/// The sweep of each tensor, in their order, and of each group behind them, as long as `take` says to go on.
void sweep_each(const std::vector<tensors::Tensor>& tensors, const std::vector<Group>& groups, const ScaleRange& range,
                const CensusConfig& config, const Progress& progress, const std::function<bool(std::vector<SweepRow>)>& take);
/// All of them.
std::vector<std::vector<SweepRow>> sweep_all(const std::vector<tensors::Tensor>& tensors, const std::vector<Group>& groups,
                                             const ScaleRange& range, const CensusConfig& config, const Progress& progress);

}  // namespace ulpscope::studies
