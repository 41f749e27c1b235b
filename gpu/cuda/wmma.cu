// SPDX-License-Identifier: Apache-2.0
// wmma: the operands go through shared memory, since the layout of its fragments is not documented.
#include "gpu/cuda/fragments.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/matrix_kernels.cuh"
#include "gpu/cuda/wmma.cuh"

namespace ulpscope::gpu::cuda {
namespace {

constexpr int load_alignment = 32;  // bytes, of the pointers that load_matrix_sync takes

template <class Word, std::size_t words>
__device__ void to_tile(const Word (&registers)[words], Word* tile) {
  ULPSCOPE_UNROLL
  for (std::size_t i = 0; i < words; ++i) tile[i * 32 + threadIdx.x] = registers[i];
}
template <class Word, std::size_t words>
__device__ void from_tile(const Word* tile, Word (&registers)[words]) {
  ULPSCOPE_UNROLL
  for (std::size_t i = 0; i < words; ++i) registers[i] = tile[i * 32 + threadIdx.x];
}

// The instruction of float16 is named by the types of D and C, the others by all four.
#define ULPSCOPE_WMMA_HALF_TEXT(M, N, K, D, A) "wmma.mma.sync.aligned.row.col.m" #M "n" #N "k" #K "." #D "." #D
#define ULPSCOPE_WMMA_FULL_TEXT(M, N, K, D, A) "wmma.mma.sync.aligned.row.col.m" #M "n" #N "k" #K "." #D "." #A "." #A "." #D
#define ULPSCOPE_WMMA_INSTRUCTION(LEAST, TEXT, M, N, K, D, A)                                                 \
  struct Wmma_##M##_##D##_##A : WmmaFragments<M, N, K, register_bits(ptx::A), register_bits(ptx::D)> {        \
    static constexpr const char* spelled = TEXT(M, N, K, D, A);                                               \
    static constexpr int least_architecture = LEAST;                                                          \
    static constexpr emu::Format a_format = ptx::A, b_format = ptx::A, accumulator_format = ptx::D;           \
    template <std::size_t x, std::size_t y, std::size_t z>                                                    \
    static __device__ void multiply(const Word (&a_words)[x], const Word (&b_words)[y], Word (&c_words)[z]) { \
      if constexpr (target_architecture >= 10 * LEAST) {                                                      \
        alignas(load_alignment) __shared__ Word a_tile[x * 32];                                               \
        alignas(load_alignment) __shared__ Word b_tile[y * 32];                                               \
        alignas(load_alignment) __shared__ Word c_tile[z * 32];                                               \
        to_tile(a_words, a_tile);                                                                             \
        to_tile(b_words, b_tile);                                                                             \
        to_tile(c_words, c_tile);                                                                             \
        __syncthreads();                                                                                      \
        ULPSCOPE_WMMA(TEXT(M, N, K, D, A), M, N, K, D, A, a_tile, b_tile, c_tile);                            \
        __syncthreads();                                                                                      \
        from_tile(c_tile, c_words);                                                                           \
      } else {                                                                                                \
        unreachable_instruction();                                                                            \
      }                                                                                                       \
    }                                                                                                         \
  };

ULPSCOPE_WMMA_INSTRUCTION(75, ULPSCOPE_WMMA_HALF_TEXT, 16, 16, 16, f16, f16)
ULPSCOPE_WMMA_INSTRUCTION(75, ULPSCOPE_WMMA_HALF_TEXT, 16, 16, 16, f32, f16)
ULPSCOPE_WMMA_INSTRUCTION(75, ULPSCOPE_WMMA_HALF_TEXT, 32, 8, 16, f16, f16)
ULPSCOPE_WMMA_INSTRUCTION(75, ULPSCOPE_WMMA_HALF_TEXT, 32, 8, 16, f32, f16)
ULPSCOPE_WMMA_INSTRUCTION(75, ULPSCOPE_WMMA_HALF_TEXT, 8, 32, 16, f16, f16)
ULPSCOPE_WMMA_INSTRUCTION(75, ULPSCOPE_WMMA_HALF_TEXT, 8, 32, 16, f32, f16)
ULPSCOPE_WMMA_INSTRUCTION(80, ULPSCOPE_WMMA_FULL_TEXT, 16, 16, 16, f32, bf16)
ULPSCOPE_WMMA_INSTRUCTION(80, ULPSCOPE_WMMA_FULL_TEXT, 32, 8, 16, f32, bf16)
ULPSCOPE_WMMA_INSTRUCTION(80, ULPSCOPE_WMMA_FULL_TEXT, 8, 32, 16, f32, bf16)
ULPSCOPE_WMMA_INSTRUCTION(80, ULPSCOPE_WMMA_FULL_TEXT, 16, 16, 8, f32, tf32)
ULPSCOPE_WMMA_INSTRUCTION(80, ULPSCOPE_WMMA_FULL_TEXT, 8, 8, 4, f64, f64)

template <class... I>
void add(const Target& target, const std::string& engine, std::vector<Instruction>& to) {
  const auto add_one = [&](int least, const Instruction& entry) {
    if (target.architecture >= least) to.push_back(entry);
  };
  (add_one(I::least_architecture, instruction<I>(engine)), ...);
}

}  // namespace

void add_wmma(const Target& target, std::vector<Instruction>& to) {
  add<Wmma_16_f16_f16, Wmma_16_f32_f16, Wmma_32_f16_f16, Wmma_32_f32_f16, Wmma_8_f16_f16, Wmma_8_f32_f16>(target, target.engine,
                                                                                                          to);
  add<Wmma_16_f32_bf16, Wmma_32_f32_bf16, Wmma_8_f32_bf16>(target, target.engine, to);
  // Of every wmma of tf32 ptxas makes two HMMA.1684 over ascending k, also where mma.sync has steps of 8 products.
  const std::size_t before = to.size();
  add<Wmma_16_f32_tf32>(target, target.engine, to);
  constexpr std::size_t step = 4;
  if (to.size() > before) to.back().operation.engine = engine_of_steps(target.engine, to.back().operation, step);
  add<Wmma_8_f64_f64>(target, target.engine, to);
}

}  // namespace ulpscope::gpu::cuda
