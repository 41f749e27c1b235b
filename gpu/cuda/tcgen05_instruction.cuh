// SPDX-License-Identifier: Apache-2.0
// A tcgen05.mma instruction from the words of its name. PTX names the kind alone: shape and formats, which are in the
// instruction descriptor, follow it here as they do in the names of wgmma.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "gpu/cuda/fragments.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/matrix_kernels.cuh"
#include "gpu/cuda/tcgen05_block.cuh"

namespace ulpscope::gpu::cuda {

namespace tcgen05 {
inline constexpr int block16 = 16, block32 = 32;
}

/// 16 bytes along K of an operand. Of the kinds f8f6f4 and mxf8f6f4, elements of fewer than 8 bits are followed by padding
/// (PTX ISA 9.0, "Packing format used for matrix A and B by .kind::mxf8f6f4 in Shared Memory", which CUTLASS has for
/// .kind::f8f6f4, too. That they begin at the lowest bit rests on reading of what a tensor map of 16U4_ALIGN16B and
/// 16U6_ALIGN16B copies). Of mxf4 and mxf4nvf4, whose K is 64, they fill all 16 bytes.
template <emu::Format format, int K>
using Tcgen05Packing = std::conditional_t<
    K == 64, tcgen05::Packing<4, 32>,
    tcgen05::Packing<format.bits() < 8 ? format.bits() : register_bits(format), 128 / register_bits(format)>>;

/// What instructions of all kinds have in common. `I::start(places)` is what one thread does; it is a template for the
/// architectures where nobody calls it.
template <class I, int K, emu::Format A, emu::Format B, emu::Format D>
struct Tcgen05Instruction : Tcgen05Fragments<K, register_bits(A), register_bits(D)> {
  using Shape = Tcgen05Fragments<K, register_bits(A), register_bits(D)>;
  using typename Shape::Word;
  static constexpr emu::Format a_format = A, b_format = B, accumulator_format = D;

  static __device__ void begin() {
    if constexpr (target_has_tcgen05) tcgen05::begin_block();
  }
  static __device__ void end() {
    if constexpr (target_has_tcgen05) tcgen05::end_block();
  }

  template <std::size_t x, std::size_t y, std::size_t z>
  static __device__ void multiply(const Word (&a_words)[x], const Word (&b_words)[y], Word (&c_words)[z]) {
    if constexpr (target_has_tcgen05)
      multiply_with(a_words, b_words, c_words, [] {});
    else
      unreachable_instruction();
  }

 protected:
  /// put_more() puts what else the instruction reads.
  template <std::size_t x, std::size_t y, std::size_t z, class F>
  static __device__ void multiply_with(const Word (&a_words)[x], const Word (&b_words)[y], Word (&c_words)[z], F put_more) {
    const int thread = static_cast<int>(threadIdx.x);
    tcgen05::begin_operands();
    tcgen05::put_row<Tcgen05Packing<A, K>, Shape::operands_in_word>(a_words, tcgen05::workspace().a, thread);
    if (thread < Shape::n)
      tcgen05::put_row<Tcgen05Packing<B, K>, Shape::operands_in_word>(b_words, tcgen05::workspace().b, thread);
    tcgen05::put_accumulators(c_words);
    put_more();
    tcgen05::end_operands();
    if (thread == 0) {
      tcgen05::fence_after_meeting();
      I::start(tcgen05::places());
      tcgen05::commit_instruction();
    }
    tcgen05::wait_for_instruction();
    tcgen05::take_accumulators(c_words);
  }
};

/// With block scales: of the row of A that a thread brings, and of the column of B, where the others have zeros.
template <class I, int K, emu::Format A, emu::Format B, int ScaleProducts, emu::Format ScaleFormat, emu::EngineScales Scales>
struct ScaledTcgen05Instruction : Tcgen05Instruction<I, K, A, B, ptx::f32> {
  using Unscaled = Tcgen05Instruction<I, K, A, B, ptx::f32>;
  using typename Unscaled::Word;
  static constexpr emu::EngineScales scales = Scales;
  static constexpr emu::Format scale_format = ScaleFormat;
  static constexpr int scale_products = ScaleProducts, scale_elements = K / ScaleProducts;

  ULPSCOPE_HD static constexpr Place a_scale(int thread, int element) { return {thread, element}; }
  ULPSCOPE_HD static constexpr Place b_scale(int thread, int element) { return {element, thread < Unscaled::n ? thread : -1}; }

  template <std::size_t x, std::size_t y, std::size_t z>
  static __device__ void multiply(const Word (&a_words)[x], const Word (&b_words)[y], Word (&c_words)[z],
                                  const Word (&a_scales)[1], const Word (&b_scales)[1]) {
    if constexpr (target_has_tcgen05)
      Unscaled::multiply_with(a_words, b_words, c_words, [&] {
        const int thread = static_cast<int>(threadIdx.x);
        tcgen05::put_scales(a_scales[0], tcgen05::workspace().a_scales, thread);
        tcgen05::put_scales(b_scales[0], tcgen05::workspace().b_scales, thread);
      });
    else
      unreachable_instruction();
  }
};

}  // namespace ulpscope::gpu::cuda

#define ULPSCOPE_TCGEN05_TEXT(KIND) "tcgen05.mma.cta_group::1.kind::" #KIND

/// The type Tcgen05_<KIND>_<D>_<A>_<B>.
#define ULPSCOPE_TCGEN05_INSTRUCTION(KIND, K, D, A, B)                                                                        \
  struct Tcgen05_##KIND##_##D##_##A##_##B : Tcgen05Instruction<Tcgen05_##KIND##_##D##_##A##_##B, K, ptx::A, ptx::B, ptx::D> { \
    static constexpr const char* spelled = ULPSCOPE_TCGEN05_TEXT(KIND) ".m128n16k" #K "." #D "." #A "." #B;                   \
    template <class Places>                                                                                                   \
    static __device__ void start(const Places& at) {                                                                          \
      constexpr std::uint32_t descriptor = tcgen05::instruction_descriptor(m, n, ptx::A, ptx::B, ptx::D);                     \
      ULPSCOPE_TCGEN05_MMA(ULPSCOPE_TCGEN05_TEXT(KIND), at.d, at.a, at.b, descriptor);                                        \
    }                                                                                                                         \
  };

/// The type Tcgen05_<KIND>_<BLOCK>_<A>_<B>_<SCALE>: with a scale for a block of 16 or 32 products.
#define ULPSCOPE_TCGEN05_SCALED_TEXT(KIND, BLOCK) ULPSCOPE_TCGEN05_TEXT(KIND) ".block_scale." #BLOCK
#define ULPSCOPE_TCGEN05_SCALED_INSTRUCTION(KIND, BLOCK, K, SCALES, A, B, SCALE)                                        \
  struct Tcgen05_##KIND##_##BLOCK##_##A##_##B##_##SCALE                                                                 \
      : ScaledTcgen05Instruction<Tcgen05_##KIND##_##BLOCK##_##A##_##B##_##SCALE, K, ptx::A, ptx::B, tcgen05::BLOCK,     \
                                 ptx::SCALE, emu::EngineScales::SCALES> {                                               \
    static constexpr const char* spelled =                                                                              \
        ULPSCOPE_TCGEN05_SCALED_TEXT(KIND, BLOCK) ".m128n16k" #K ".f32." #A "." #B "." #SCALE;                          \
    template <class Places>                                                                                             \
    static __device__ void start(const Places& at) {                                                                    \
      constexpr std::uint32_t descriptor = tcgen05::scaled_instruction_descriptor(m, n, ptx::A, ptx::B, K, ptx::SCALE); \
      const tcgen05::PlacesOfScales scales_at = tcgen05::copy_scales();                                                 \
      ULPSCOPE_TCGEN05_SCALED_MMA(ULPSCOPE_TCGEN05_SCALED_TEXT(KIND, BLOCK), at.d, at.a, at.b, descriptor, scales_at.a, \
                                  scales_at.b);                                                                         \
    }                                                                                                                   \
  };

/// DO(A, B) for all pairs of formats of eight bits and fewer.
#define ULPSCOPE_TCGEN05_PAIRS(DO) ULPSCOPE_TCGEN05_EACH_A(ULPSCOPE_TCGEN05_EACH_B, DO)
#define ULPSCOPE_TCGEN05_EACH_A(EACH_B, DO) EACH_B(DO, e4m3) EACH_B(DO, e5m2) EACH_B(DO, e3m2) EACH_B(DO, e2m3) EACH_B(DO, e2m1)
#define ULPSCOPE_TCGEN05_EACH_B(DO, A) DO(A, e4m3) DO(A, e5m2) DO(A, e3m2) DO(A, e2m3) DO(A, e2m1)

namespace ulpscope::gpu::cuda {

template <class... I>
void add_instructions(const std::string& engine, std::vector<Instruction>& to) {
  (to.push_back(instruction<I>(engine)), ...);
}

}  // namespace ulpscope::gpu::cuda
