// SPDX-License-Identifier: Apache-2.0
// Many trials at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tensors/parallel.hpp"

namespace ulpscope::verify {

/// trial(i) for each i below `trials`, in the order of i; `progress` is told how many are done.
template <class Trial>
auto all_trials(std::size_t trials, const std::function<void(std::uint64_t done, std::uint64_t total)>& progress, Trial trial) {
  std::vector<std::optional<decltype(trial(std::size_t{}))>> results(trials);
  std::mutex one_at_a_time;
  std::uint64_t done = 0;
  tensors::for_each_index(trials, 0, [&](std::size_t i) {
    results[i] = trial(i);
    if (!progress) return;
    const std::lock_guard lock(one_at_a_time);
    progress(++done, trials);
  });
  std::vector<decltype(trial(std::size_t{}))> all;
  for (auto& result : results) all.push_back(std::move(*result));
  return all;
}

}  // namespace ulpscope::verify
