// SPDX-License-Identifier: Apache-2.0
// The emulator on a CUDA device: what gpu/device_emulator.hpp asks for.
#pragma once

#include <memory>

#include "gpu/device_emulator.hpp"

namespace ulpscope::gpu::cuda {

/// For CUDA device `ordinal` of that compute capability (90 for 9.0). Its functions may be called from any thread.
std::shared_ptr<const DeviceEmulator> make_device_emulator(int ordinal, int capability);

}  // namespace ulpscope::gpu::cuda
