// SPDX-License-Identifier: Apache-2.0
// Until when a study may work.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "emu/error.hpp"

namespace ulpscope::studies {

/// A study that was to end did so.
class TimeRanOut : public Error {
 public:
  TimeRanOut() : Error("time ran out") {}
};

/// A time by which work is to be done, or none.
class Deadline {
 public:
  /// Never passes.
  Deadline() = default;
  /// `passed` is asked from any thread.
  explicit Deadline(std::function<bool()> passed) : passed_(std::move(passed)) {}
  /// This many seconds from now; 0 and less: never.
  static Deadline after(double seconds) {
    if (seconds <= 0) return {};
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    return Deadline([end] { return std::chrono::steady_clock::now() >= end; });
  }

  /// Whether it is over; never where there is none.
  bool passed() const { return passed_ && passed_(); }
  /// @throws TimeRanOut
  void check() const {
    if (passed()) throw TimeRanOut();
  }

 private:
  std::function<bool()> passed_;
};

}  // namespace ulpscope::studies
