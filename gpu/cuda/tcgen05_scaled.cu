// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma of formats of eight bits and fewer with block scales.
#include "gpu/cuda/tcgen05_instruction.cuh"

namespace ulpscope::gpu::cuda {
namespace {

#define ULPSCOPE_TCGEN05_MX(A, B)                                                   \
  ULPSCOPE_TCGEN05_SCALED_INSTRUCTION(mxf8f6f4, block32, 32, products, A, B, ue8m0) \
  void add_##A##_##B(const std::string& engine, std::vector<Instruction>& to) {     \
    add_instructions<Tcgen05_mxf8f6f4_block32_##A##_##B##_ue8m0>(engine, to);       \
  }
ULPSCOPE_TCGEN05_PAIRS(ULPSCOPE_TCGEN05_MX)

ULPSCOPE_TCGEN05_SCALED_INSTRUCTION(mxf4, block32, 64, group_sums, e2m1, e2m1, ue8m0)
ULPSCOPE_TCGEN05_SCALED_INSTRUCTION(mxf4nvf4, block32, 64, group_sums, e2m1, e2m1, ue8m0)
ULPSCOPE_TCGEN05_SCALED_INSTRUCTION(mxf4nvf4, block16, 64, group_sums, e2m1, e2m1, ue4m3)

#define ULPSCOPE_TCGEN05_ADD(A, B) add_##A##_##B(target.engine, to);

}  // namespace

void add_scaled_tcgen05(const Target& target, std::vector<Instruction>& to) {
  if (!target.has_tcgen05()) return;
  ULPSCOPE_TCGEN05_PAIRS(ULPSCOPE_TCGEN05_ADD)
  add_instructions<Tcgen05_mxf4_block32_e2m1_e2m1_ue8m0, Tcgen05_mxf4nvf4_block32_e2m1_e2m1_ue8m0,
                   Tcgen05_mxf4nvf4_block16_e2m1_e2m1_ue4m3>(target.engine, to);
}

}  // namespace ulpscope::gpu::cuda
