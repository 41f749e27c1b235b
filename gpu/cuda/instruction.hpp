// SPDX-License-Identifier: Apache-2.0
// What the CUDA device can be asked for, as functions over memory of the device. All codes are 64 bits wide there, whatever
// their format (tf32: the 19 bits of its code).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/elementwise.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::gpu::cuda {

/// Inner products in memory of the device; as gpu::InnerProducts.
struct DeviceInnerProducts {
  std::size_t products = 0;  ///< a multiple of the operation's
  std::size_t count = 0;
  const emu::Code *a = nullptr, *b = nullptr, *c = nullptr;
  emu::Code *d = nullptr;
  const emu::Code *a_scales = nullptr, *b_scales = nullptr;  ///< count times scales_each; null where there are none
  std::size_t scales_each = 0;                               ///< products / Operation::scale_products
};

/// A stored matrix product in memory of the device; as gpu::MatrixProduct, b as it is (k by n, row-major), c null for zeros.
struct DeviceMatrices {
  std::size_t m = 0, n = 0, k = 0;
  const std::byte *a = nullptr, *b = nullptr, *c = nullptr;
  std::byte *d = nullptr;
};

/// One matrix instruction. Both functions start kernels on the current device and return without waiting. Those with scales
/// have no `matrices`.
struct Instruction {
  Operation operation;
  void (*inner_products)(const DeviceInnerProducts &) = nullptr;
  void (*matrices)(const DeviceMatrices &) = nullptr;
};

/// Codes of `count` operands in memory of the device; b and c null where the operation does not take them.
struct DeviceElements {
  std::size_t count = 0;
  const emu::Code *a = nullptr, *b = nullptr, *c = nullptr;
  emu::Code *d = nullptr;
};

/// One element operation.
struct ElementInstruction {
  ElementOperation operation;
  void (*run)(const DeviceElements &) = nullptr;
};

/// An engine whose steps take no more than `step` products, in words: `sm_90:n=8` for mma.sync.m16n8k8 of
/// float16. Nothing where `engine` is empty.
std::string engine_of_steps(const std::string &engine, const Operation &operation, std::size_t step);

/// Those that a device of this compute capability (90 for 9.0) has and this plugin was compiled for.
std::vector<Instruction> instructions(int capability);
std::vector<ElementInstruction> element_instructions(int capability);

}  // namespace ulpscope::gpu::cuda
