// SPDX-License-Identifier: Apache-2.0
// Emulated products of engines that are chains of IEEE 754's fma: float64 on tensor cores, and the reference order.
#pragma once

#include "gpu/cuda/interpreter.hpp"

namespace ulpscope::gpu::cuda {

/// Whether the device's own fma computes the engine's step, NaNs apart.
bool is_plain_chain(const emu::Engine& engine, emu::Format a, emu::Format b);

/// All outputs of such an engine's product. A NaN is the engine's nan_code, whatever operands were.
void start_chains(const InterpretedMatrices& product);

}  // namespace ulpscope::gpu::cuda
