// SPDX-License-Identifier: Apache-2.0
// The emulator that runs on a device beside the one that runs here: a few inner products and a small product for each engine of
// the device's instructions. Few enough to be run under a tool that watches every access to memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "studies/devices/device_rows.hpp"
#include "studies/devices/device_work.hpp"

namespace ulpscope::studies {

/// How much the interpreter on the device is compared with that of the host.
struct DeviceInterpreterOptions {
  std::uint64_t tests = 64;      ///< inner products of each operation
  std::uint64_t seed = 0;        ///< the key of all operands
  std::string instruction = {};  ///< only those that have this in their name
  Deadline deadline = {};        ///< operations that have not begun by then are not compared
  WorkLog* log = nullptr;        ///< of operations
};

/// Two rows for each operation that an engine claims to compute: adversarial inner products, and the outputs of a product of a
/// few rows and columns, whose test i is output i. None where the device runs no emulator.
std::vector<DeviceRow> check_interpreter(const gpu::Device& device, const DeviceInterpreterOptions& options);

}  // namespace ulpscope::studies
