// SPDX-License-Identifier: Apache-2.0
// An mma.sync instruction from the words of its name.
#pragma once

#include <string>
#include <vector>

#include "gpu/cuda/fragments.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/matrix_kernels.cuh"
#include "gpu/cuda/mma.cuh"

#define ULPSCOPE_MMA_TEXT(M, N, K, D, A, B) "mma.sync.aligned.m" #M "n" #N "k" #K ".row.col." #D "." #A "." #B "." #D

/// The type Mma_<M>_<K>_<D>_<A>_<B>: `REGISTERS` names the macro of gpu/cuda/mma.cuh, `LEAST` the first architecture that has
/// it.
#define ULPSCOPE_MMA_INSTRUCTION(LEAST, M, N, K, D, A, B, REGISTERS)                                            \
  struct Mma_##M##_##K##_##D##_##A##_##B : FragmentsOfMma<M, K, register_bits(ptx::A), register_bits(ptx::D)> { \
    static constexpr const char* spelled = ULPSCOPE_MMA_TEXT(M, N, K, D, A, B);                                 \
    static constexpr int least_architecture = LEAST;                                                            \
    static constexpr emu::Format a_format = ptx::A, b_format = ptx::B, accumulator_format = ptx::D;             \
    template <std::size_t x, std::size_t y, std::size_t z>                                                      \
    static __device__ void multiply(const Word (&a_words)[x], const Word (&b_words)[y], Word (&c_words)[z]) {   \
      if constexpr (target_architecture >= 10 * LEAST)                                                          \
        ULPSCOPE_MMA_##REGISTERS(ULPSCOPE_MMA_TEXT(M, N, K, D, A, B), a_words, b_words, c_words);               \
      else                                                                                                      \
        unreachable_instruction();                                                                              \
    }                                                                                                           \
  };

namespace ulpscope::gpu::cuda {

template <int M, int K, int operand_bits, int accumulator_bits>
using FragmentsOfMma = std::conditional_t<M == 8 && operand_bits == 16, QuadPairFragments<accumulator_bits>,
                                          MmaFragments<M, K, operand_bits, accumulator_bits>>;

/// Appends an instruction where the target has it.
template <class I>
void add(const Target& target, const std::string& engine, std::vector<Instruction>& to) {
  if (target.architecture >= I::least_architecture) to.push_back(instruction<I>(engine));
}

}  // namespace ulpscope::gpu::cuda
