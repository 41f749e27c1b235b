// SPDX-License-Identifier: Apache-2.0
// mma.sync of float16 and bfloat16.
#include "gpu/cuda/mma_instruction.cuh"

namespace ulpscope::gpu::cuda {
namespace {

ULPSCOPE_MMA_INSTRUCTION(75, 8, 8, 4, f16, f16, f16, 2_2_4)
ULPSCOPE_MMA_INSTRUCTION(75, 8, 8, 4, f32, f16, f16, 2_2_8)
ULPSCOPE_MMA_INSTRUCTION(75, 16, 8, 8, f16, f16, f16, 2_1_2)
ULPSCOPE_MMA_INSTRUCTION(75, 16, 8, 8, f32, f16, f16, 2_1_4)
ULPSCOPE_MMA_INSTRUCTION(80, 16, 8, 16, f16, f16, f16, 4_2_2)
ULPSCOPE_MMA_INSTRUCTION(80, 16, 8, 16, f32, f16, f16, 4_2_4)
ULPSCOPE_MMA_INSTRUCTION(80, 16, 8, 8, f32, bf16, bf16, 2_1_4)
ULPSCOPE_MMA_INSTRUCTION(80, 16, 8, 16, f32, bf16, bf16, 4_2_4)

}  // namespace

void add_float16_mma(const Target& target, std::vector<Instruction>& to) {
  // Later architectures do not have m8n8k4: ptxas makes shuffles and float32 arithmetic of it.
  if (target.architecture == 75) {
    add<Mma_8_4_f16_f16_f16>(target, target.engine, to);
    add<Mma_8_4_f32_f16_f16>(target, target.engine, to);
  }
  add<Mma_16_8_f16_f16_f16>(target, target.engine, to);
  add<Mma_16_8_f32_f16_f16>(target, target.engine, to);
  add<Mma_16_16_f16_f16_f16>(target, target.engine, to);
  add<Mma_16_16_f32_f16_f16>(target, target.engine, to);
  add<Mma_16_8_f32_bf16_bf16>(target, target.engine, to);
  add<Mma_16_16_f32_bf16_bf16>(target, target.engine, to);
}

}  // namespace ulpscope::gpu::cuda
