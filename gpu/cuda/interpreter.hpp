// SPDX-License-Identifier: Apache-2.0
// The interpreter of emu/engine_interpreter.hpp as kernels: inner products, and the outputs of products one by one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/engine.hpp"
#include "gpu/cuda/instruction.hpp"
#include "gpu/emulated_product.hpp"

namespace ulpscope::gpu::cuda {

/// Inner products and their scales in memory of the device; d is what the engine makes of them.
struct InterpretedProducts {
  emu::Engine engine;
  emu::Format a_format, b_format;
  DeviceInnerProducts problem;
  emu::Format scale_format;
};

/// Starts a kernel. @throws ulpscope::Error where a step of the engine has more products than the device's interpreter holds.
void start(const InterpretedProducts& products);

/// Counts the inner products whose d, given already, is not what the engine makes of them, and marks each: wrong[i] is 1 or 0.
void start_comparison(const InterpretedProducts& products, unsigned long long* mismatches, std::uint8_t* wrong);

/// A whole product, of which `only` marks the outputs to compute (null: all).
struct InterpretedMatrices {
  emu::Engine engine;
  ProductParts parts;
  emu::Format a_format, b_format, result;
  DeviceMatrices matrices;
  const std::uint8_t* only = nullptr;
};
void start(const InterpretedMatrices& product);

}  // namespace ulpscope::gpu::cuda
