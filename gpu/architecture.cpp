// SPDX-License-Identifier: Apache-2.0
// From compute capabilities to names of engines.
#include "gpu/architecture.hpp"

#include <charconv>
#include <optional>

#include "emu/engines.hpp"

namespace ulpscope::gpu {
namespace {

/// 90 of `sm_90`; nothing for other names.
std::optional<int> capability_of(std::string_view name) {
  constexpr std::string_view prefix = "sm_";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int capability = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), capability);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return capability;
}

/// The major version of the compute capability. sm_110 (Thor) is what CUDA 13.0 calls sm_101, of the generation of sm_100
/// (NVIDIA cuRANDDx 0.2.1, release notes).
int generation(int capability) {
  const int major = capability / 10;
  return major == 11 ? 10 : major;
}

}  // namespace

std::string engine_of(std::string_view architecture) {
  const std::optional<int> wanted = capability_of(architecture);
  std::string engine;
  int nearest = 0;
  for (const std::string& name : emu::engine_names()) {
    if (name == architecture) return name;
    const std::optional<int> capability = capability_of(name);
    if (!wanted || !capability || *capability > *wanted || generation(*capability) != generation(*wanted)) continue;
    if (*capability > nearest) engine = name;
    nearest = *capability > nearest ? *capability : nearest;
  }
  return engine;
}

}  // namespace ulpscope::gpu
