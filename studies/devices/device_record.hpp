// SPDX-License-Identifier: Apache-2.0
// Answers of a device for a recording, and a recording beside the emulator, with no device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/recording.hpp"
#include "studies/devices/device_rows.hpp"
#include "studies/devices/device_work.hpp"

namespace ulpscope::studies {

/// How much is recorded.
struct DeviceRecordOptions {
  std::uint64_t tests = 100;               ///< inner products of each instruction and class of operands
  static constexpr int element_tests = 5;  ///< elements of each operation, for each of `tests`
  std::uint64_t seed = 0;                  ///< the key of all operands
  std::string instruction = {};            ///< only those that have this in their name
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = nullptr;  ///< operations
  Deadline deadline = {};  ///< operations that have not begun by then are left out
  WorkLog* log = nullptr;  ///< of operations, for a process that goes on where the device's context is lost
  std::function<void(const gpu::Recording&)> so_far = nullptr;  ///< each time that an operation is recorded
};

/// What was recorded, and what was not.
struct RecordedDevice {
  gpu::Recording recording;           ///< to be written to a file
  std::vector<std::string> remarks;   ///< operations that failed, and how; they are not in the recording
  std::vector<std::string> left_out;  ///< operations that were not asked for, and why
};

/// For each instruction inner products of random numbers, adversarial ones, and chains of instructions; for each element
/// operation every operand where there are no more than the elements asked for, else random and adversarial ones.
RecordedDevice record_device(const gpu::Device& device, const DeviceRecordOptions& options);

/// Compares a recording with the engines that it names, or with another one for its inner products.
std::vector<DeviceRow> replay(const gpu::Recording& recording, const std::string& engine, int threads = 0);

}  // namespace ulpscope::studies
