// SPDX-License-Identifier: Apache-2.0
// A loop in oneTBB's task arena.
#include "tensors/parallel.hpp"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>

#include "emu/stop.hpp"

namespace ulpscope::tensors {

void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& act) {
  const int wanted = threads > 0 ? threads : tbb::info::default_concurrency();
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(wanted));
  tbb::task_arena arena(wanted);
  const std::atomic<bool>* const flag = emu::stop_flag();
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
      const emu::StopScope scope(flag);
      emu::stop_if_asked();
      act(i);
    });
  });
}

}  // namespace ulpscope::tensors
