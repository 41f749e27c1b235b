// SPDX-License-Identifier: Apache-2.0
// mma.sync of e4m3 and e5m2.
#include "gpu/cuda/mma_instruction.cuh"

namespace ulpscope::gpu::cuda {
namespace {

#define ULPSCOPE_FLOAT8_MMA(A, B)                                                                     \
  ULPSCOPE_MMA_INSTRUCTION(89, 16, 8, 16, f16, A, B, 2_1_2)                                           \
  ULPSCOPE_MMA_INSTRUCTION(89, 16, 8, 16, f32, A, B, 2_1_4)                                           \
  ULPSCOPE_MMA_INSTRUCTION(89, 16, 8, 32, f16, A, B, 4_2_2)                                           \
  ULPSCOPE_MMA_INSTRUCTION(89, 16, 8, 32, f32, A, B, 4_2_4)                                           \
  void add_##A##_##B(const Target& target, const std::string& engine, std::vector<Instruction>& to) { \
    add<Mma_16_16_f16_##A##_##B>(target, engine, to);                                                 \
    add<Mma_16_16_f32_##A##_##B>(target, engine, to);                                                 \
    add<Mma_16_32_f16_##A##_##B>(target, engine, to);                                                 \
    add<Mma_16_32_f32_##A##_##B>(target, engine, to);                                                 \
  }
ULPSCOPE_FLOAT8_MMA(e4m3, e4m3)
ULPSCOPE_FLOAT8_MMA(e4m3, e5m2)
ULPSCOPE_FLOAT8_MMA(e5m2, e4m3)
ULPSCOPE_FLOAT8_MMA(e5m2, e5m2)

}  // namespace

void add_float8_mma(const Target& target, std::vector<Instruction>& to) {
  // For sm_90 and sm_100 ptxas makes two HMMA of it, of operands converted to float16: the bytes 0 and 1 of every register,
  // then 2 and 3, and one addition of C. Of m16n8k16 two HMMA.1688, which is the same with zeros for the products that are
  // missing.
  const bool has_no_float8_pipe = target.capability / 10 == 9 || target.capability / 10 == 10;
  const std::string engine = target.engine + (has_no_float8_pipe && !target.engine.empty() ? "/mma" : "");
  add_e4m3_e4m3(target, engine, to);
  add_e4m3_e5m2(target, engine, to);
  add_e5m2_e4m3(target, engine, to);
  add_e5m2_e5m2(target, engine, to);
}

}  // namespace ulpscope::gpu::cuda
