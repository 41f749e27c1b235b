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
  bool sanitized = false;  ///< whether compute-sanitizer watches it, where there is one
};

/// In the order of `all`: what cannot be had again comes first, what takes long comes last.
std::span<const Phase> phases();

/// The phases of studies/devices/all_products.hpp and studies/devices/device_cost.hpp.
int products_phase(const DevicesOptions& options);
int cost_phase(const DevicesOptions& options);

/// Every phase in a process of its own, or in several where one loses the device's context; summary.txt; and all that was
/// written in one archive beside the folder, FOLDER.tar.gz. The worst exit code of them all: 1 where a number was not as the
/// models say, 4 where there is no such device, 5 where a phase failed or ran out of time.
int run_all(const DevicesOptions& options);

}  // namespace ulpscope::cli
