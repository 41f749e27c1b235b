// SPDX-License-Identifier: Apache-2.0
// Portions of tests handed out to threads.
#include "studies/devices/device_portions.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "emu/stop.hpp"

namespace ulpscope::studies {

void for_each_portion(std::uint64_t total, std::uint64_t most, int threads, const std::function<void(const Portion&)>& act) {
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::exception_ptr failure;
  const std::uint64_t portions = (total + most - 1) / most;
  const std::atomic<bool>* const flag = emu::stop_flag();
  const auto work = [&] {
    const emu::StopScope scope(flag);
    for (std::uint64_t i = next++; i < portions && !failed; i = next++) try {
        emu::stop_if_asked();
        act({i * most, std::min(most, total - i * most)});
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failed.exchange(true)) failure = std::current_exception();
      }
  };
  const auto wanted = threads > 0 ? static_cast<unsigned>(threads) : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  for (std::uint64_t i = 1; i < std::min<std::uint64_t>(wanted, portions); ++i) others.emplace_back(work);
  work();
  others.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ulpscope::studies
