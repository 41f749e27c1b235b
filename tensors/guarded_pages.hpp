// SPDX-License-Identifier: Apache-2.0
// Pages of a mapped file that cannot be read any more (the file became shorter, its disk failed) end a program by SIGBUS.
// Guarded pages read as zeros from then on, and say that they were lost, so that the reader can throw and clean up.
#pragma once

#include <cstddef>
#include <span>

namespace ulpscope::tensors {

struct GuardedRange;

/// Guards a mapping while it lives. The first one made takes SIGBUS for the process; faults elsewhere go to the handler before.
class GuardedPages {
 public:
  /// @pre `pages` begins and ends where a mapping does, and outlives this.
  explicit GuardedPages(std::span<const std::byte> pages);
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  /// Whether any of it was lost, and all of it now reads as zeros.
  bool lost() const noexcept;

 private:
  GuardedRange* range_;
};

}  // namespace ulpscope::tensors
