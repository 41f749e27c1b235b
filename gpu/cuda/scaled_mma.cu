// SPDX-License-Identifier: Apache-2.0
// mma.sync with block scales: .kind::mxf8f6f4, .kind::mxf4 and .kind::mxf4nvf4.
#include "gpu/cuda/fragments.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/matrix_kernels.cuh"
#include "gpu/cuda/mma.cuh"
#include "gpu/cuda/narrow_mma.cuh"

namespace ulpscope::gpu::cuda {
namespace {

// BLOCKS: scales in a row of A. BITS: of an operand in its register. SCALES: what the engine makes of scales.
#define ULPSCOPE_SCALED_MMA_TEXT(KIND, K, BLOCKS, A, B, S) \
  "mma.sync.aligned.m16n8k" #K ".row.col.kind::" #KIND ".block_scale.scale_vec::" #BLOCKS "X.f32." #A "." #B ".f32." #S
#define ULPSCOPE_SCALED_MMA_INSTRUCTION(KIND, K, BLOCKS, A, B, S, BITS, SCALES)                                          \
  struct ScaledMma_##KIND##_##BLOCKS##_##A##_##B : ScaledMmaFragments<K, BITS, BLOCKS> {                                 \
    static constexpr const char* spelled = ULPSCOPE_SCALED_MMA_TEXT(KIND, K, BLOCKS, A, B, S);                           \
    static constexpr bool in_target = target_has_narrow_mma;                                                             \
    static constexpr emu::Format a_format = ptx::A, b_format = ptx::B, accumulator_format = ptx::f32;                    \
    static constexpr emu::Format scale_format = ptx::S;                                                                  \
    static constexpr emu::EngineScales scales = emu::EngineScales::SCALES;                                               \
    template <std::size_t x, std::size_t y, std::size_t z>                                                               \
    static __device__ void multiply(const Word (&a_words)[x], const Word (&b_words)[y], Word (&c_words)[z],              \
                                    const Word (&a_scales)[1], const Word (&b_scales)[1]) {                              \
      ULPSCOPE_MMA_SCALED_4_2_4(ULPSCOPE_SCALED_MMA_TEXT(KIND, K, BLOCKS, A, B, S), a_words, b_words, c_words, a_scales, \
                                b_scales, byte_id, thread_id);                                                           \
    }                                                                                                                    \
  };

#define ULPSCOPE_SCALED_MMA(A, B) ULPSCOPE_SCALED_MMA_INSTRUCTION(mxf8f6f4, 32, 1, A, B, ue8m0, 8, products)
ULPSCOPE_EVERY_NARROW_PAIR(ULPSCOPE_SCALED_MMA)
// ptxas makes the same OMMA.SF of the first two.
ULPSCOPE_SCALED_MMA_INSTRUCTION(mxf4, 64, 2, e2m1, e2m1, ue8m0, 4, group_sums)
ULPSCOPE_SCALED_MMA_INSTRUCTION(mxf4nvf4, 64, 2, e2m1, e2m1, ue8m0, 4, group_sums)
ULPSCOPE_SCALED_MMA_INSTRUCTION(mxf4nvf4, 64, 4, e2m1, e2m1, ue4m3, 4, group_sums)

}  // namespace

void add_scaled_mma(const Target& target, std::vector<Instruction>& to) {
  if (!target.has_narrow_mma()) return;
#define ULPSCOPE_ADD(A, B) to.push_back(instruction<ScaledMma_mxf8f6f4_1_##A##_##B>(target.engine));
  ULPSCOPE_EVERY_NARROW_PAIR(ULPSCOPE_ADD)
#undef ULPSCOPE_ADD
  to.push_back(instruction<ScaledMma_mxf4_2_e2m1_e2m1>(target.engine));
  to.push_back(instruction<ScaledMma_mxf4nvf4_2_e2m1_e2m1>(target.engine));
  to.push_back(instruction<ScaledMma_mxf4nvf4_4_e2m1_e2m1>(target.engine));
}

}  // namespace ulpscope::gpu::cuda
