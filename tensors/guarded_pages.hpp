// SPDX-License-Identifier: Apache-2.0
// Pages of a mapped file that cannot be read any more (the file became shorter, its disk failed) end a program by SIGBUS.
// Guarded pages read as zeros from then on, and say that they were lost, so that the reader can throw and clean up.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

namespace ulpscope::tensors {

struct GuardedRange;

/// Guards a mapping while it lives. The first one made takes SIGBUS for the process; faults elsewhere go to the handler before.
class GuardedPages {
 public:
  /// `lost` becomes true where any is lost; several mappings of one file share it.
  /// @pre `pages` begins and ends where a mapping does, and outlives this.
  explicit GuardedPages(std::span<const std::byte> pages,
                        std::shared_ptr<std::atomic<bool>> lost = std::make_shared<std::atomic<bool>>(false));
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  /// Whether any of it was lost, and all of it now reads as zeros.
  bool lost() const noexcept { return lost_->load(); }

 private:
  std::shared_ptr<std::atomic<bool>> lost_;
  GuardedRange* range_;
};

}  // namespace ulpscope::tensors
