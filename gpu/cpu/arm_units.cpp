// SPDX-License-Identifier: Apache-2.0
// Dot products, matrix products and fused multiply-adds of Advanced SIMD, in vectors of 128 bits (Arm Architecture Reference
// Manual for A-profile, DDI 0487). The instructions are spelled out for the reason given in gpu/cpu/avx512_units.cpp.
#include "gpu/cpu/arm_features.hpp"
#include "gpu/cpu/cpu_units.hpp"

#if defined(__aarch64__) && defined(__linux__)

#include <arm_neon.h>

#include <cstdint>
#include <utility>

#include "emu/catalogue.hpp"
#include "gpu/cpu/control_word.hpp"
#include "gpu/cpu/vector_unit.hpp"

namespace ulpscope::gpu {
namespace {

using detail::Lanes, detail::VectorOperation, detail::fused, detail::multiply_by_vectors;
using Vector = uint8x16_t;

/// d += products of n and m.
using Step = void (*)(Vector& d, Vector n, Vector m);

#define ULPSCOPE_STEP(name, extensions, text)                                    \
  __attribute__((target(extensions))) void name(Vector& d, Vector n, Vector m) { \
    __asm__ volatile(text : "+w"(d) : "w"(n), "w"(m));                           \
  }
ULPSCOPE_STEP(bfdot, "+bf16", "bfdot %0.4s, %1.8h, %2.8h")
ULPSCOPE_STEP(bfmmla, "+bf16", "bfmmla %0.4s, %1.8h, %2.8h")
ULPSCOPE_STEP(bfmlalb, "+bf16", "bfmlalb %0.4s, %1.8h, %2.8h")
ULPSCOPE_STEP(bfmlalt, "+bf16", "bfmlalt %0.4s, %1.8h, %2.8h")
ULPSCOPE_STEP(fmlal, "arch=armv8.2-a+fp16fml", "fmlal %0.4s, %1.4h, %2.4h")
ULPSCOPE_STEP(fmlal2, "arch=armv8.2-a+fp16fml", "fmlal2 %0.4s, %1.4h, %2.4h")
ULPSCOPE_STEP(fmla_8h, "+fp16", "fmla %0.8h, %1.8h, %2.8h")
ULPSCOPE_STEP(fmla_4s, "+simd", "fmla %0.4s, %1.4s, %2.4s")
ULPSCOPE_STEP(fmla_2d, "+simd", "fmla %0.2d, %1.2d, %2.2d")
#undef ULPSCOPE_STEP

/// Operands as they lie in their words.
Vector as_they_are(Vector x) { return x; }
/// The lower halves of words, in the upper ones: what BFMLALT takes.
Vector raised(Vector x) { return vreinterpretq_u8_u32(vshlq_n_u32(vreinterpretq_u32_u8(x), 16)); }
/// The lower halves of words, next to each other in one half of the vector: what FMLAL and FMLAL2 take.
Vector in_lower_half(Vector x) { return vreinterpretq_u8_u16(vcombine_u16(vmovn_u32(vreinterpretq_u32_u8(x)), vdup_n_u16(0))); }
Vector in_upper_half(Vector x) { return vreinterpretq_u8_u16(vcombine_u16(vdup_n_u16(0), vmovn_u32(vreinterpretq_u32_u8(x)))); }

template <class Word>
Vector load(const Word* words) {
  return vld1q_u8(reinterpret_cast<const std::uint8_t*>(words));
}
template <class Word>
void store(Word* words, Vector vector) {
  vst1q_u8(reinterpret_cast<std::uint8_t*>(words), vector);
}

/// A vector of lanes at a time.
template <class Word, Step step, Vector (*placed)(Vector) = as_they_are>
void chain(Lanes<Word>& lanes) {
  const detail::ControlWord control;
  for (std::size_t first = 0; first < lanes.count; first += sizeof(Vector) / sizeof(Word)) {
    Vector sum = load(&lanes.c[first]);
    for (std::size_t s = 0; s < lanes.steps(); ++s)
      step(sum, placed(load(&lanes.a[s * lanes.count + first])), placed(load(&lanes.b[s * lanes.count + first])));
    store(&lanes.c[first], sum);
  }
}

/// BFMMLA multiplies two rows of four by two columns of four, both as they lie in a vector; two inner products are the diagonal
/// of the result. A word is a row or a column, and has a sum in its lower half.
void matrix_products(Lanes<std::uint64_t>& lanes) {
  const detail::ControlWord control;
  for (std::size_t first = 0; first < lanes.count; first += 2) {
    std::uint64_t square[] = {lanes.c[first], lanes.c[first + 1] << 32};
    Vector sum = load(square);
    for (std::size_t s = 0; s < lanes.steps(); ++s)
      bfmmla(sum, load(&lanes.a[s * lanes.count + first]), load(&lanes.b[s * lanes.count + first]));
    store(square, sum);
    lanes.c[first] = square[0] & 0xffffffff;
    lanes.c[first + 1] = square[1] >> 32;
  }
}

VectorOperation pairs(std::string instruction, std::size_t products,
                      void (*multiply)(const InnerProducts&, std::span<emu::Code>)) {
  VectorOperation dot = fused(std::move(instruction), emu::bfloat16, emu::float32, "arm_bf16", multiply);
  dot.operation.products = products;
  return dot;
}

using Word16 = std::uint16_t;
using Word32 = std::uint32_t;
using Word64 = std::uint64_t;

}  // namespace

std::unique_ptr<Unit> detail::arm_bf16_unit() {
  if (!has_arm_bf16()) return nullptr;
  using emu::bfloat16, emu::float32;
  return std::make_unique<VectorUnit>(
      "cpu:arm_bf16",
      std::vector{
          pairs("BFDOT", 2, multiply_by_vectors<Word32, 2, chain<Word32, bfdot>>),
          pairs("BFMMLA", 4, multiply_by_vectors<Word64, 4, matrix_products>),
          fused("BFMLALB", bfloat16, float32, "arm_fma", multiply_by_vectors<Word32, 1, chain<Word32, bfmlalb>>),
          fused("BFMLALT", bfloat16, float32, "arm_fma", multiply_by_vectors<Word32, 1, chain<Word32, bfmlalt, raised>>)});
}

std::unique_ptr<Unit> detail::arm_fp16_unit() {
  if (!has_arm_fp16()) return nullptr;
  using emu::float16, emu::float32;
  std::vector all{fused("FMLA 8H", float16, float16, "arm_fma", multiply_by_vectors<Word16, 1, chain<Word16, fmla_8h>>)};
  if (has_arm_fhm()) {
    all.push_back(
        fused("FMLAL", float16, float32, "arm_fma", multiply_by_vectors<Word32, 1, chain<Word32, fmlal, in_lower_half>>));
    all.push_back(
        fused("FMLAL2", float16, float32, "arm_fma", multiply_by_vectors<Word32, 1, chain<Word32, fmlal2, in_upper_half>>));
  }
  return std::make_unique<VectorUnit>("cpu:arm_fp16", std::move(all));
}

std::unique_ptr<Unit> detail::neon_unit() {
  if (!has_neon()) return nullptr;
  using emu::float32, emu::float64;
  return std::make_unique<VectorUnit>(
      "cpu:neon",
      std::vector{fused("FMLA 4S", float32, float32, "arm_fma", multiply_by_vectors<Word32, 1, chain<Word32, fmla_4s>>),
                  fused("FMLA 2D", float64, float64, "arm_fma", multiply_by_vectors<Word64, 1, chain<Word64, fmla_2d>>)});
}

}  // namespace ulpscope::gpu

#else

namespace ulpscope::gpu::detail {

std::unique_ptr<Unit> arm_bf16_unit() { return nullptr; }
std::unique_ptr<Unit> arm_fp16_unit() { return nullptr; }
std::unique_ptr<Unit> neon_unit() { return nullptr; }

}  // namespace ulpscope::gpu::detail

#endif
