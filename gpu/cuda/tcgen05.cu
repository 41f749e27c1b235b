// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma of float16, bfloat16, tf32, and of formats of eight bits and fewer without scales.
#include "gpu/cuda/tcgen05_instruction.cuh"

namespace ulpscope::gpu::cuda {
namespace {

ULPSCOPE_TCGEN05_INSTRUCTION(f16, 16, f16, f16, f16)
ULPSCOPE_TCGEN05_INSTRUCTION(f16, 16, f32, f16, f16)
ULPSCOPE_TCGEN05_INSTRUCTION(f16, 16, f32, bf16, bf16)
ULPSCOPE_TCGEN05_INSTRUCTION(tf32, 8, f32, tf32, tf32)

#define ULPSCOPE_TCGEN05_NARROW(A, B)                                                         \
  ULPSCOPE_TCGEN05_INSTRUCTION(f8f6f4, 32, f16, A, B)                                         \
  ULPSCOPE_TCGEN05_INSTRUCTION(f8f6f4, 32, f32, A, B)                                         \
  void add_##A##_##B(const std::string& engine, std::vector<Instruction>& to) {               \
    add_instructions<Tcgen05_f8f6f4_f16_##A##_##B, Tcgen05_f8f6f4_f32_##A##_##B>(engine, to); \
  }
ULPSCOPE_TCGEN05_PAIRS(ULPSCOPE_TCGEN05_NARROW)

#define ULPSCOPE_TCGEN05_ADD(A, B) add_##A##_##B(target.engine, to);

}  // namespace

void add_tcgen05(const Target& target, std::vector<Instruction>& to) {
  if (!target.has_tcgen05()) return;
  add_instructions<Tcgen05_f16_f16_f16_f16, Tcgen05_f16_f32_f16_f16, Tcgen05_f16_f32_bf16_bf16, Tcgen05_tf32_f32_tf32_tf32>(
      target.engine, to);
  ULPSCOPE_TCGEN05_PAIRS(ULPSCOPE_TCGEN05_ADD)
}

}  // namespace ulpscope::gpu::cuda
