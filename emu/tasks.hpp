// SPDX-License-Identifier: Apache-2.0
// Threads for work that falls into independent tasks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "emu/stop.hpp"

namespace ulpscope::emu {

/// `threads`, or, where it is 0, as many as the machine runs at once. Its system is asked a single time: the answer takes files
/// to find, which costs more than a small product.
inline std::size_t threads_wanted(int threads) {
  static const std::size_t all = std::max(1U, std::thread::hardware_concurrency());
  return threads > 0 ? static_cast<std::size_t>(threads) : all;
}

/// Calls work(0) to work(count - 1) from `threads` threads (0: as many as the machine runs at once); rethrows the first
/// exception. It ends between tasks where this thread is asked to stop (emu/stop.hpp).
template <class Work>
void for_each_task(std::size_t count, int threads, Work work) {
  const std::size_t wanted = threads_wanted(threads);
  std::atomic<std::size_t> next{0};
  std::mutex failing;
  std::exception_ptr failure;
  const std::atomic<bool>* const flag = stop_flag();
  const auto loop = [&] {
    const StopScope scope(flag);
    try {
      for (std::size_t task = next++; task < count; task = next++) {
        stop_if_asked();
        work(task);
      }
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(wanted, count); ++i) others.emplace_back(loop);
    loop();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ulpscope::emu
