// SPDX-License-Identifier: Apache-2.0
// mma.sync of tf32 and float64.
#include "gpu/cuda/mma_instruction.cuh"

namespace ulpscope::gpu::cuda {
namespace {

ULPSCOPE_MMA_INSTRUCTION(80, 16, 8, 4, f32, tf32, tf32, 2_1_4)
ULPSCOPE_MMA_INSTRUCTION(80, 16, 8, 8, f32, tf32, tf32, 4_2_4)
ULPSCOPE_MMA_INSTRUCTION(80, 8, 8, 4, f64, f64, f64, WIDE_1_1_2)
ULPSCOPE_MMA_INSTRUCTION(90, 16, 8, 4, f64, f64, f64, WIDE_2_1_4)
ULPSCOPE_MMA_INSTRUCTION(90, 16, 8, 8, f64, f64, f64, WIDE_4_2_4)
ULPSCOPE_MMA_INSTRUCTION(90, 16, 8, 16, f64, f64, f64, WIDE_8_4_4)

}  // namespace

void add_wide_mma(const Target& target, std::vector<Instruction>& to) {
  add<Mma_16_4_f32_tf32_tf32>(target, target.engine, to);
  add<Mma_16_8_f32_tf32_tf32>(target, target.engine, to);
  add<Mma_8_4_f64_f64_f64>(target, target.engine, to);
  add<Mma_16_4_f64_f64_f64>(target, target.engine, to);
  add<Mma_16_8_f64_f64_f64>(target, target.engine, to);
  add<Mma_16_16_f64_f64_f64>(target, target.engine, to);
}

}  // namespace ulpscope::gpu::cuda
