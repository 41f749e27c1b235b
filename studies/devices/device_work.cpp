// SPDX-License-Identifier: Apache-2.0
// Keeps deadline, log and the state of the device's context for all pieces.
#include "studies/devices/device_work.hpp"

#include <utility>

namespace ulpscope::studies {

DeviceWork::DeviceWork(Deadline deadline, std::function<bool()> usable, WorkLog* log)
    : deadline_(std::move(deadline)), usable_(std::move(usable)), log_(log) {}

void DeviceWork::piece(std::size_t number, const std::string& name, const std::function<bool()>& work,
                       const std::function<void(const std::string&)>& leave_out) {
  const auto tell = [&](void (WorkLog::*what)(std::size_t)) {
    const std::lock_guard lock(mutex_);
    if (log_ != nullptr) (log_->*what)(number);
  };
  const auto lost_with_another = [&](const Lost& lost) {
    leave_out(log_ == nullptr ? "context lost after " + lost.words : "");
  };
  if (log_ != nullptr && log_->has_ended(number)) return leave_out("");
  if (log_ != nullptr && log_->was_begun(number)) {
    leave_out(process_ended);
    return tell(&WorkLog::end);
  }
  if (const auto lost = this->lost()) return lost_with_another(*lost);
  if (deadline_.passed()) {
    leave_out(TimeRanOut().what());
    return tell(&WorkLog::end);
  }
  tell(&WorkLog::begin);
  const bool done = work();
  if (!done) note_failure(number, name);
  if (const auto lost = this->lost(); !done && lost && lost->piece != number) {
    lost_with_another(*lost);
    return tell(&WorkLog::take_back);
  }
  tell(&WorkLog::end);
}

void DeviceWork::ask_device(std::size_t number, const std::string& name, const std::function<void()>& ask) {
  deadline_.check();
  const std::lock_guard lock(asking_);
  if (const auto lost = this->lost()) throw Error("context lost after " + lost->words);
  try {
    ask();
  } catch (const Error&) {
    note_failure(number, name);
    throw;
  }
}

std::string DeviceWork::context_lost() const {
  const auto lost = this->lost();
  return lost ? lost->words : "";
}

std::optional<DeviceWork::Lost> DeviceWork::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void DeviceWork::note_failure(std::size_t number, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (!lost_ && usable_ && !usable_()) lost_ = Lost{number, name};
}

}  // namespace ulpscope::studies
