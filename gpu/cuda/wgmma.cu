// SPDX-License-Identifier: Apache-2.0
// wgmma, 64 by 8: A in registers, B in shared memory.
#include "gpu/cuda/fragments.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/matrix_kernels.cuh"
#include "gpu/cuda/mma.cuh"

namespace ulpscope::gpu::cuda {
namespace {

// B without swizzle, "K-major": core matrices of 8 columns of B by 16 bytes along K, each 128 bytes in one piece, a column's 16
// bytes side by side. There are two, neighbours along K. One of the descriptor's two offsets is the distance of neighbours
// along K, the other that along N, where there are none: both are set to 128 bytes (PTX ISA 9.0, "Matrix Descriptor Format").
constexpr int core_bytes = 128, column_bytes = 16;

/// The word of a thread's four bytes of B in shared memory, counted in words.
__device__ int word_in_shared(int thread) {
  const int column = thread / 8, word = thread % 8, words = column_bytes / 4;
  return word / words * (core_bytes / 4) + column * words + word % words;
}

__device__ std::uint64_t descriptor(std::uint32_t address) {
  const auto field = [](std::uint32_t bytes, int bit) { return std::uint64_t{(bytes & 0x3ffff) >> 4} << bit; };
  return field(address, 0) | field(core_bytes, 16) | field(core_bytes, 32);
}

/// Puts B where wgmma finds it and waits for all threads.
__device__ std::uint64_t share(std::uint32_t b) {
  alignas(core_bytes) __shared__ std::uint32_t words[64];
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();  // the instruction before has read its B
  if (thread < 64) words[word_in_shared(thread)] = b;
  publish_shared();
  __syncthreads();
  return descriptor(shared_address(words));
}

#define ULPSCOPE_WGMMA_TEXT(K, D, A, B) "wgmma.mma_async.sync.aligned.m64n8k" #K "." #D "." #A "." #B
#define ULPSCOPE_WGMMA_INSTRUCTION(K, D, A, B, FLAGS, C_REGISTERS)                                            \
  struct Wgmma_##D##_##A##_##B : WgmmaFragments<K, register_bits(ptx::A), register_bits(ptx::D)> {            \
    static constexpr const char* spelled = ULPSCOPE_WGMMA_TEXT(K, D, A, B);                                   \
    static constexpr emu::Format a_format = ptx::A, b_format = ptx::B, accumulator_format = ptx::D;           \
    template <std::size_t x, std::size_t z>                                                                   \
    static __device__ void multiply(const Word (&a_words)[x], const Word (&b_words)[1], Word (&c_words)[z]) { \
      if constexpr (target_has_wgmma) {                                                                       \
        const std::uint64_t b_descriptor = share(b_words[0]);                                                 \
        ULPSCOPE_WGMMA_##C_REGISTERS(ULPSCOPE_WGMMA_TEXT(K, D, A, B), FLAGS, a_words, b_descriptor, c_words); \
      } else {                                                                                                \
        unreachable_instruction();                                                                            \
      }                                                                                                       \
    }                                                                                                         \
  };

ULPSCOPE_WGMMA_INSTRUCTION(16, f16, f16, f16, "1, 1, 0", 2)
ULPSCOPE_WGMMA_INSTRUCTION(16, f32, f16, f16, "1, 1, 0", 4)
ULPSCOPE_WGMMA_INSTRUCTION(16, f32, bf16, bf16, "1, 1, 0", 4)
ULPSCOPE_WGMMA_INSTRUCTION(8, f32, tf32, tf32, "1, 1", 4)
ULPSCOPE_WGMMA_INSTRUCTION(32, f16, e4m3, e4m3, "1, 1", 2)
ULPSCOPE_WGMMA_INSTRUCTION(32, f32, e4m3, e4m3, "1, 1", 4)
ULPSCOPE_WGMMA_INSTRUCTION(32, f16, e4m3, e5m2, "1, 1", 2)
ULPSCOPE_WGMMA_INSTRUCTION(32, f32, e4m3, e5m2, "1, 1", 4)
ULPSCOPE_WGMMA_INSTRUCTION(32, f16, e5m2, e4m3, "1, 1", 2)
ULPSCOPE_WGMMA_INSTRUCTION(32, f32, e5m2, e4m3, "1, 1", 4)
ULPSCOPE_WGMMA_INSTRUCTION(32, f16, e5m2, e5m2, "1, 1", 2)
ULPSCOPE_WGMMA_INSTRUCTION(32, f32, e5m2, e5m2, "1, 1", 4)

template <class... I>
void add(const Target& target, std::vector<Instruction>& to) {
  (to.push_back(instruction<I>(target.engine)), ...);
}

}  // namespace

void add_wgmma(const Target& target, std::vector<Instruction>& to) {
  if (!target.has_wgmma()) return;
  add<Wgmma_f16_f16_f16, Wgmma_f32_f16_f16, Wgmma_f32_bf16_bf16, Wgmma_f32_tf32_tf32>(target, to);
  add<Wgmma_f16_e4m3_e4m3, Wgmma_f32_e4m3_e4m3, Wgmma_f16_e4m3_e5m2, Wgmma_f32_e4m3_e5m2>(target, to);
  add<Wgmma_f16_e5m2_e4m3, Wgmma_f32_e5m2_e4m3, Wgmma_f16_e5m2_e5m2, Wgmma_f32_e5m2_e5m2>(target, to);
}

}  // namespace ulpscope::gpu::cuda
