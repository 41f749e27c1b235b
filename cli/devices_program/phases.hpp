// SPDX-License-Identifier: Apache-2.0
// What the program does with a device, one file of results each.
#pragma once

#include <span>
#include <string>

#include "cli/devices_program/options.hpp"

namespace ulpscope::cli {

struct Phase {
  const char* name;
  const char* file;   ///< of its results, in the folder of `all`
  double share;       ///< of the time of `all`
  const char* words;  ///< what it does
  /// Writes the results to options.output (standard output where that is empty) and prints one sentence.
  /// Returns an exit code. @throws ulpscope::Error, gpu::NoDevice
  int (*run)(const DevicesOptions& options);
};

std::span<const Phase> phases();

/// Every phase in a process of its own, and summary.txt. The worst exit code of them all: 1 where a number was not as the
/// models say, 4 where there is no such device, 5 where a phase failed or ran out of time.
int run_all(const DevicesOptions& options);

}  // namespace ulpscope::cli
