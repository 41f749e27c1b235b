// SPDX-License-Identifier: Apache-2.0
// Emulated engines under the interfaces of a GPU, so that whatever asks a device can be tried on a machine without one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"

namespace ulpscope::gpu {

/// The engines of emu::engine_modes() that stand for a GPU, as emulated devices are named after them: `sm_90`, `sm_90/mma`.
std::vector<std::string> emulated_names();

/// A device named after an engine: one instruction for each mode and each pair of operand formats, by the scalar reference, and
/// for NVIDIA's the element operations of that architecture, by gpu/element_model.hpp, and a library,
/// gpu/emulated/emulated_library.hpp. `sm_90` has those of `sm_90/mma` too. Precondition: `name` is one of emulated_names().
Device emulated_device(std::string_view name);

}  // namespace ulpscope::gpu
