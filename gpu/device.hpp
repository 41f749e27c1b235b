// SPDX-License-Identifier: Apache-2.0
// The devices that can be asked: GPUs through a plugin that is opened on demand, the units of this processor, and emulated
// devices that stand in for GPUs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device_emulator.hpp"
#include "gpu/elementwise.hpp"
#include "gpu/library.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::gpu {

/// What `ulpscope devices` says of a device.
struct DeviceDescription {
  std::string id;               ///< `cuda:0`, `cpu:amx_bf16`, `emulated:sm_90`
  std::string name;             ///< as its driver or its processor gives it
  std::string architecture;     ///< `sm_90`, `x86-64`, `aarch64`
  std::string driver, toolkit;  ///< versions; empty where there are none
};

/// What a device offers; what it does not is null.
struct Device {
  DeviceDescription description;                   ///< its id and what it is
  std::shared_ptr<const Unit> unit;                ///< inner products, instruction by instruction
  std::shared_ptr<const Elementwise> elementwise;  ///< operations on single numbers
  std::shared_ptr<const DeviceEmulator> emulator;  ///< the emulator, run on the device
  /// Opens the libraries of matrix products, which may take a while; throws NoDevice where they are missing.
  std::function<std::vector<std::shared_ptr<const Library>>()> libraries;
  /// Whether its context takes calls: a kernel that faults takes the context of its process with it. Null: always.
  std::function<bool()> usable;
};

/// What was looked for and what was found.
struct DeviceSearch {
  std::vector<Device> devices;       ///< what can be used, in the order of their kinds
  std::vector<std::string> remarks;  ///< one line for each kind that is not there, and why
};

/// The real devices of this machine: those of the processor, then the GPUs.
DeviceSearch find_devices();

/// A device by its id; `emulated:E` for any E of `emu::engine_names()` that names a GPU.
/// @throws NoDevice naming those that there are and why others are not.
Device open_device(std::string_view id);

/// The operations on single numbers that a device of this id has, as far as it takes no GPU to tell: emulated ones, and those
/// of processors, of this machine or not. None of others.
std::vector<ElementOperation> known_elements(std::string_view id);

}  // namespace ulpscope::gpu
