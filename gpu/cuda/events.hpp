// SPDX-License-Identifier: Apache-2.0
// Time by the device's own clock.
#pragma once

#include "gpu/cuda/runtime.hpp"

namespace ulpscope::gpu::cuda {

/// From its making on, in the default stream.
class Stopwatch {
 public:
  Stopwatch() { check(cudaEventRecord(begin_.event), "cudaEventRecord"); }

  /// Waits until all that was started is done. @throws Error where that failed.
  double seconds() const {
    check(cudaEventRecord(end_.event), "cudaEventRecord");
    check(cudaEventSynchronize(end_.event), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_.event, end_.event), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1000;
  }

 private:
  struct Event {
    cudaEvent_t event = nullptr;
    Event() { check(cudaEventCreate(&event), "cudaEventCreate"); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() { static_cast<void>(cudaEventDestroy(event)); }
  };
  Event begin_, end_;
};

}  // namespace ulpscope::gpu::cuda
