// SPDX-License-Identifier: Apache-2.0
// Which emulated engine stands for a GPU.
#pragma once

#include <string>
#include <string_view>

namespace ulpscope::gpu {

/// The engine of emu::engine_names() for an architecture as devices name it (`sm_90`): that of the same name, else for a GPU of
/// NVIDIA the nearest below in the same generation: sm_86 for sm_87, sm_100 for sm_103. Empty where there is none.
std::string engine_of(std::string_view architecture);

}  // namespace ulpscope::gpu
