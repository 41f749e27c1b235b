// SPDX-License-Identifier: Apache-2.0
// The work of a study of a device, piece by piece: a piece is an operation, a call or a product. It ends at a deadline, and
// with the device's context: after a kernel that faulted every later call of the process fails, and says nothing of what it
// asks for.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "gpu/library.hpp"
#include "gpu/unit.hpp"
#include "studies/devices/deadline.hpp"

namespace ulpscope::studies {

/// What becomes of a study's pieces, kept for a process that goes on after one that ended. Pieces have the same numbers in
/// both.
class WorkLog {
 public:
  virtual ~WorkLog() = default;

  /// In an earlier process.
  virtual bool has_ended(std::size_t piece) const = 0;
  /// In an earlier process, which ended before the piece did.
  virtual bool was_begun(std::size_t piece) const = 0;
  /// Called before the device is asked.
  virtual void begin(std::size_t piece) = 0;
  /// Called after its results are kept.
  virtual void end(std::size_t piece) = 0;
  /// The piece did not end, and is not why the process does.
  virtual void take_back(std::size_t piece) = 0;
};

/// Why there is no result of a piece that ended the process that did it.
inline constexpr const char* process_ended = "the process that asked for it ended";

/// Pieces of work on a device, one after another or side by side, by a process that the device may end.
class DeviceWork {
 public:
  /// @param usable whether the device's context takes calls; null: it always does. @param log null: no process goes on.
  explicit DeviceWork(Deadline deadline = {}, std::function<bool()> usable = {}, WorkLog* log = nullptr);

  /// One piece. `work` returns false where the device failed; `leave_out` is given the reason why there is no result, in place
  /// of one that `work` may have left; empty: another process has it or will have it. Pieces may be done side by side.
  void piece(std::size_t number, const std::string& name, const std::function<bool()>& work,
             const std::function<void(const std::string& reason)>& leave_out);

  /// Calls `ask` of a piece, one at a time. @throws what it throws, TimeRanOut, and Error where the context is lost.
  void ask_device(std::size_t number, const std::string& name, const std::function<void()>& ask);

  /// When pieces are to be done.
  const Deadline& deadline() const noexcept { return deadline_; }
  /// The piece whose kernel took the context with it, in words; empty where there is none.
  std::string context_lost() const;

 private:
  struct Lost {
    std::size_t piece;
    std::string words;
  };
  std::optional<Lost> lost() const;
  /// A piece failed: it is to blame for the context if that is lost since.
  void note_failure(std::size_t number, const std::string& name);

  Deadline deadline_;
  std::function<bool()> usable_;
  WorkLog* log_;
  mutable std::mutex mutex_;
  std::mutex asking_;
  std::optional<Lost> lost_;
};

/// A unit asked on behalf of a piece.
class WorkedUnit final : public gpu::Unit {
 public:
  /// Asks `unit` for piece `piece` of `work`; both must outlive it.
  WorkedUnit(const gpu::Unit& unit, DeviceWork& work, std::size_t piece) : unit_(unit), work_(work), piece_(piece) {}

  std::string name() const override { return unit_.name(); }
  std::vector<gpu::Operation> operations() const override { return unit_.operations(); }
  void multiply(const gpu::Operation& operation, const gpu::InnerProducts& problem, std::span<emu::Code> d) const override {
    work_.ask_device(piece_, operation.instruction, [&] { unit_.multiply(operation, problem, d); });
  }

 private:
  const gpu::Unit& unit_;
  DeviceWork& work_;
  std::size_t piece_;
};

}  // namespace ulpscope::studies
