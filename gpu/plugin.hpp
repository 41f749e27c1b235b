// SPDX-License-Identifier: Apache-2.0
// Code that needs a vendor's libraries lies in shared objects of its own, opened when a device is asked for: a program that
// asks for none starts without them. A plugin is built together with the program that opens it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/device.hpp"

namespace ulpscope::gpu {

/// Adds the devices of a plugin, and a remark where there are none. `ulpscope_cuda` exports this under `devices_symbol`.
using DevicesOfPlugin = void (*)(DeviceSearch& found);
inline constexpr const char* devices_plugin = "ulpscope_cuda";          ///< file name without prefix and extension
inline constexpr const char* devices_symbol = "ulpscope_cuda_devices";  ///< what it exports

/// Adds the libraries for CUDA device `ordinal`. `ulpscope_cublas` exports this under `libraries_symbol`.
using LibrariesOfPlugin = void (*)(int ordinal, std::vector<std::shared_ptr<const Library>>& libraries);
inline constexpr const char* libraries_plugin = "ulpscope_cublas";            ///< file name without prefix and extension
inline constexpr const char* libraries_symbol = "ulpscope_cublas_libraries";  ///< what it exports

/// The symbol of a plugin, looked for beside the program and in its ../lib/ulpscope; the folder named by the environment
/// variable ULPSCOPE_PLUGINS comes first. A plugin stays open.
/// @throws NoDevice where there is none or it cannot be opened.
void* plugin_symbol(const std::string& plugin, const char* symbol);

}  // namespace ulpscope::gpu
