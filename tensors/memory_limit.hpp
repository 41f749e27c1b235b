// SPDX-License-Identifier: Apache-2.0
// How much memory the tensors of files may take beside the files' own pages. A small file can promise much: who opens it says
// what the machine has for it.
#pragma once

#include <cstdint>
#include <string>

#include "emu/error.hpp"

namespace ulpscope::tensors {

/// That more memory is needed than is left: fewer threads, which hold less at a time, may do with it.
class NoMemoryLeft : public Error {
 public:
  using Error::Error;
};

/// Bytes that all tensors of files may take together; at first half of what this process could have: of the machine's memory,
/// its control group's or its address space's (ulimit -v), whichever is least.
std::uint64_t memory_limit();
/// Safe to call while tensors are opened: those that are there keep what they have.
void set_memory_limit(std::uint64_t bytes);

/// Memory of one tensor, counted from before it is taken until this ends.
class HeldMemory {
 public:
  /// `what` is whose it is, for messages.
  explicit HeldMemory(std::string what) : what_(std::move(what)) {}
  ~HeldMemory();
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  /// From now on it is so much, which is not less than before. @throws NoMemoryLeft in one line where that is more than the limit
  void grow(std::uint64_t bytes);

 private:
  std::string what_;
  std::uint64_t bytes_ = 0;
};

}  // namespace ulpscope::tensors
