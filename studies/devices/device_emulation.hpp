// SPDX-License-Identifier: Apache-2.0
// Emulated products on a device: how fast it makes them, and whether it makes the bits that the interpreter makes here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "reports/table.hpp"
#include "studies/devices/device_work.hpp"
#include "studies/devices/product_operands.hpp"

namespace ulpscope::studies {

/// What is multiplied.
struct DeviceEmulationConfig {
  std::vector<ProductShape> shapes = {{1024, 1024, 1024}, {4096, 4096, 4096}};  ///< extents of the products
  std::uint64_t seed = 0;             ///< the key of the operands, which are near N(0, 1), and of the outputs that are compared
  std::size_t outputs = 64;           ///< of each product that the interpreter makes here
  int repetitions = 3;                ///< of each product, of which the fastest counts
  std::string instruction = {};       ///< only engines that have this in their name
  Deadline deadline = {};             ///< products that have not begun by then are not made
  std::function<bool()> usable = {};  ///< of the device (gpu::Device)
  WorkLog* log = nullptr;             ///< of products
  std::function<void(const reports::Table&)> so_far = {};  ///< each time that a product was made
};

/// A row for each shape and each mode of an engine named after a GPU, and of `fma`, with operands of one format and without
/// block scales; `device.emulator` is there.
///
///   engine, format, accumulator
///   m, n, k
///   least_us               of one product, transfers apart; nan where the device does not say
///   tflops                 2 m n k / that time, in 10^12 a second
///   outputs, mismatches    compared with the interpreter of this processor, and of them different
///   remark                 what went wrong, or why a product was not made
reports::Table device_emulation(const gpu::Device& device, const DeviceEmulationConfig& config);

}  // namespace ulpscope::studies
