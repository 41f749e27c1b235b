// SPDX-License-Identifier: Apache-2.0
// mma.sync of operands of 8 bits and less: .kind::f8f6f4.
#include "gpu/cuda/fragments.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/matrix_kernels.cuh"
#include "gpu/cuda/mma.cuh"
#include "gpu/cuda/narrow_mma.cuh"

namespace ulpscope::gpu::cuda {
namespace {

#define ULPSCOPE_NARROW_MMA_TEXT(D, A, B) "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4." #D "." #A "." #B "." #D
#define ULPSCOPE_NARROW_MMA_INSTRUCTION(D, A, B, REGISTERS)                                                   \
  struct NarrowMma_##D##_##A##_##B : MmaFragments<16, 32, 8, register_bits(ptx::D)> {                         \
    static constexpr const char* spelled = ULPSCOPE_NARROW_MMA_TEXT(D, A, B);                                 \
    static constexpr bool in_target = target_has_narrow_mma;                                                  \
    static constexpr emu::Format a_format = ptx::A, b_format = ptx::B, accumulator_format = ptx::D;           \
    template <std::size_t x, std::size_t y, std::size_t z>                                                    \
    static __device__ void multiply(const Word (&a_words)[x], const Word (&b_words)[y], Word (&c_words)[z]) { \
      ULPSCOPE_MMA_##REGISTERS(ULPSCOPE_NARROW_MMA_TEXT(D, A, B), a_words, b_words, c_words);                 \
    }                                                                                                         \
  };

#define ULPSCOPE_NARROW_MMA(A, B)                   \
  ULPSCOPE_NARROW_MMA_INSTRUCTION(f16, A, B, 4_2_2) \
  ULPSCOPE_NARROW_MMA_INSTRUCTION(f32, A, B, 4_2_4)
ULPSCOPE_EVERY_NARROW_PAIR(ULPSCOPE_NARROW_MMA)

}  // namespace

void add_narrow_mma(const Target& target, std::vector<Instruction>& to) {
  if (!target.has_narrow_mma()) return;
#define ULPSCOPE_ADD(A, B)                                           \
  to.push_back(instruction<NarrowMma_f16_##A##_##B>(target.engine)); \
  to.push_back(instruction<NarrowMma_f32_##A##_##B>(target.engine));
  ULPSCOPE_EVERY_NARROW_PAIR(ULPSCOPE_ADD)
#undef ULPSCOPE_ADD
}

}  // namespace ulpscope::gpu::cuda
