// SPDX-License-Identifier: Apache-2.0
// How long a launch takes, by the device's own clock.
#pragma once

#include <cstddef>
#include <functional>

#include "gpu/cublas/calls.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/library.hpp"

namespace ulpscope::gpu::cublas {

/// Random operands and results, as many sets as no cache holds: together at least four times the second-level cache, and at
/// least three.
class RotatingOperands {
 public:
  RotatingOperands(const LibraryCall& call, const Shape& shape, std::size_t cache_bytes);

  std::size_t sets() const noexcept { return sets_; }
  /// Of run number `run`, which takes set run % sets().
  const std::byte* a(std::size_t run) const noexcept { return a_.data() + run % sets_ * (a_.size() / sets_); }
  const std::byte* b(std::size_t run) const noexcept { return b_.data() + run % sets_ * (b_.size() / sets_); }
  /// An addend for all runs where it is not stored as D; else null.
  const std::byte* c() const noexcept { return c_.data(); }
  std::byte* d(std::size_t run) noexcept { return d_.data() + run % sets_ * (d_.size() / sets_); }

 private:
  std::size_t sets_;
  cuda::Buffer<std::byte> a_, b_, c_, d_;
};

/// The time of one launch, from `launch(run)` with run = 0, 1, ...: after a warm-up, medians over runs that are each long
/// enough for the clock: a run of a short kernel is many launches back to back, so that what a launch costs is part of its
/// time.
/// @throws Error when the device fails.
LibraryTime time_of(const std::function<void(std::size_t run)>& launch);

}  // namespace ulpscope::gpu::cublas
