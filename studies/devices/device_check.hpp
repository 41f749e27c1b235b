// SPDX-License-Identifier: Apache-2.0
// Does a device compute what the emulator says? Each of its instructions is asked for adversarial inner products, alone and in
// chains, and each of its element operations for every operand where those can be visited; all answers are compared bit by bit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "studies/devices/device_rows.hpp"
#include "studies/devices/device_work.hpp"

namespace ulpscope::studies {

/// How much is compared.
struct DeviceCheckOptions {
  std::uint64_t tests = 100'000;            ///< of each operation, compared by the host
  std::uint64_t device_tests = 10'000'000;  ///< of each instruction, compared by the device where it can
  std::uint64_t seed = 0;                   ///< the key of all operands
  std::string instruction = {};             ///< only those that have this in their name
  int most_swept_bits = 32;  ///< single operands up to this width are all visited by a device that compares by itself
  std::string engine = {};   ///< to compare inner products with, instead of the one that claims to be the same
  int threads = 0;           ///< 0: all
  Deadline deadline = {};    ///< operations that have not begun by then are rows that were not checked
  WorkLog* log = nullptr;    ///< of operations, for a process that goes on where the device's context is lost
  std::function<void(const DeviceRow&)> on_row = nullptr;                           ///< as they come
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = nullptr;  ///< operations
};

inline constexpr std::uint64_t instructions_in_chain = 3;  ///< whose results are compared, one after the other
inline constexpr std::uint64_t tests_per_chain = 4;        ///< a chain is tested for every fourth test of one instruction
inline constexpr int most_visited_bits = 16;               ///< single operands up to this width are all visited by the host

/// A row for each operation and class of operands. An operation that fails, or that nothing claims to emulate, is a row too;
/// so are those that are not checked because an earlier one took the device's context with it, unless there is a log.
std::vector<DeviceRow> check_device(const gpu::Device& device, const DeviceCheckOptions& options);

}  // namespace ulpscope::studies
