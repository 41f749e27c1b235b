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

/// Every plugin exports under this name the text ULPSCOPE_PLUGIN_BUILD of its own build. Nothing else of it is looked at before
/// the text is compared: objects of C++ pass between program and plugin, which another version or compiler lays out otherwise.
inline constexpr const char* build_symbol = "ulpscope_plugin_build";

/// The symbol of a plugin, looked for beside the program and in its ../lib/ulpscope; the folder named by the environment
/// variable ULPSCOPE_PLUGINS comes first. A plugin stays open. One that somebody else could have written is not opened: file
/// and folder belong to root or to the user who runs the program, and nobody else may write to them.
/// @throws NoDevice where there is none, or it is not opened.
void* plugin_symbol(const std::string& plugin, const char* symbol);

}  // namespace ulpscope::gpu

/// The compiler and its version.
///@{
#if defined(__clang__)
#define ULPSCOPE_PLUGIN_COMPILER "Clang " __clang_version__
#else
#define ULPSCOPE_PLUGIN_COMPILER "GCC " __VERSION__
#endif
///@}
/// What must be the same. The version is known to files named to ulpscope_plugin_source() (cmake/UlpscopePlugins.cmake).
#define ULPSCOPE_PLUGIN_BUILD "ulpscope " ULPSCOPE_PLUGIN_VERSION ", " ULPSCOPE_PLUGIN_COMPILER

/// A plugin says this once, outside of namespaces.
#define ULPSCOPE_EXPORT_PLUGIN_BUILD                                                \
  extern "C" {                                                                      \
  __attribute__((visibility("default"))) extern const char ulpscope_plugin_build[]; \
  const char ulpscope_plugin_build[] = ULPSCOPE_PLUGIN_BUILD;                       \
  }                                                                                 \
  static_assert(true, "so that a semicolon follows")
