// SPDX-License-Identifier: Apache-2.0
// Which engines the fast path of emulated matrix products can run.
#pragma once

#include <optional>

#include "emu/engine.hpp"
#include "gpu/cuda/aligned_step.hpp"

namespace ulpscope::gpu::cuda {

/// How K goes through the steps of a rule.
struct AlignedPlan {
  AlignedRule rule;
  int block = 16;           ///< products of one sum: 4, 8, 16 or 32
  bool paired = false;      ///< two sums a step, k mod 4 in {0, 1} and then {2, 3}, from 0; the step's result and c are added
  bool as_float16 = false;  ///< Engine::operands_become_float16
};

/// The least compute capability, 10 * major + minor, whose tensor cores multiply bfloat16.
inline constexpr int bfloat16_capability = 80;

/// For a device of that capability. Nothing where only the interpreter can run the engine. Scales of the engine are left out of
/// it: products have none.
std::optional<AlignedPlan> aligned_plan(const emu::Engine& engine, emu::Format a, emu::Format b,
                                        int capability = bfloat16_capability);

}  // namespace ulpscope::gpu::cuda
