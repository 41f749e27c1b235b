// SPDX-License-Identifier: Apache-2.0
// Work that somebody may end before it is done: a thread is given a flag, its loops look at it, and threads that they start
// look at the same one. No result depends on it.
#pragma once

#include <atomic>
#include <utility>

namespace ulpscope::emu {

/// Thrown where work ends because it was asked to. No std::exception: what handles errors lets it pass.
struct Stopped {};

namespace detail {
inline thread_local const std::atomic<bool>* stop_flag = nullptr;
}

/// The flag of this thread; null where nobody can end its work.
inline const std::atomic<bool>* stop_flag() noexcept { return detail::stop_flag; }

/// Gives this thread a flag, which must outlive this, or null; at the end it has the one of before.
class StopScope {
 public:
  /// `flag`: work ends soon after it is true.
  explicit StopScope(const std::atomic<bool>* flag) noexcept : before_(std::exchange(detail::stop_flag, flag)) {}
  ~StopScope() { detail::stop_flag = before_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::atomic<bool>* before_;
};

/// For loops whose steps take some microseconds or more. @throws Stopped where this thread's flag is true
inline void stop_if_asked() {
  if (detail::stop_flag != nullptr && detail::stop_flag->load(std::memory_order_relaxed)) throw Stopped();
}

}  // namespace ulpscope::emu
