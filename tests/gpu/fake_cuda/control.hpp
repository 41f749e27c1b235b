// SPDX-License-Identifier: Apache-2.0
// What a test sets and asks of the stand-in for the CUDA runtime.
#pragma once

#include <cstddef>
#include <string>

#include "cuda_runtime.h"

namespace fake_cuda {

/// The devices that there are.
struct Machine {
  int devices = 1;
  int capability = 90;  ///< 90 for 9.0
  std::string name = "Emulated CUDA device";
  int multiprocessors = 2;
  std::size_t memory = std::size_t{8} << 30;
  std::size_t kernel_stack = 0;           ///< bytes that every kernel declares
  std::size_t stack_limit = 1024;         ///< bytes
  cudaError_t count_error = cudaSuccess;  ///< of cudaGetDeviceCount: cudaErrorInsufficientDriver where there is no driver
};
Machine& machine();

/// The n-th call from now on, counted from 1, fails with `error` and does nothing. Releasing what is held, and asking for the
/// words of an error, never fails.
void fail_call(std::size_t n, cudaError_t error = cudaErrorUnknown);
/// How many calls can fail have been made since fail_call() or the start.
std::size_t calls();

/// Allocations, streams and events not yet given back.
std::size_t live_objects();

/// What went wrong on the device, in words: threads that wait at a barrier that others never reach, writes beside an
/// allocation; empty where nothing did. Asking clears it.
std::string report();

/// Kernels started so far, memory allocated (times), and copies between host and device.
std::size_t launches();
std::size_t allocations();
std::size_t copies();

}  // namespace fake_cuda
