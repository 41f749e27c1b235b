// SPDX-License-Identifier: Apache-2.0
// Outer products of SME (Arm Architecture Reference Manual for A-profile, DDI 0487, C9). Every instruction adds the products of
// all rows of one vector with all columns of another to a square of sums; the inner products that are asked for are its
// diagonal. The instructions are spelled out for the reason given in gpu/cpu/avx512_units.cpp.
#include "gpu/cpu/arm_features.hpp"
#include "gpu/cpu/cpu_units.hpp"

#if defined(__aarch64__) && defined(__linux__)

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "emu/catalogue.hpp"
#include "gpu/cpu/control_word.hpp"
#include "gpu/cpu/vector_unit.hpp"

namespace ulpscope::gpu {
namespace {

using detail::fused, detail::Lanes, detail::multiply_by_vectors, detail::VectorOperation;

constexpr std::size_t most_row_bytes = 256;  // 2048 bits, the longest vectors

/// Words of a row of the square. In bytes a row is as long as a vector of the streaming mode.
std::size_t row_words(std::size_t word_bytes) {
  std::uint64_t bytes;
  __asm__(".arch_extension sme\n\trdsvl %0, #1" : "=r"(bytes));
  return bytes / word_bytes;
}

/// Continues `lanes` chains, as many as a row has words or fewer, by `steps` instructions: operands of a step lie `distance`
/// bytes behind those of the step before. `square` has a row for each lane.
using Outer = void (*)(void* square, const void* a, const void* b, std::size_t lanes, std::size_t steps, std::size_t distance);

// Vector registers, all of the square and the predicates are lost when the streaming mode begins and when it ends. All elements
// take part, those beyond the lanes as zeros.
#define ULPSCOPE_OUTER(name, suffix, instruction)                                                                              \
  void name(void* square, const void* a, const void* b, std::size_t lanes, std::size_t steps, std::size_t distance) {          \
    __asm__ volatile(                                                                                                          \
        ".arch_extension sme\n\t"                                                                                              \
        "smstart\n\t"                                                                                                          \
        "zero {za}\n\t"                                                                                                        \
        "whilelt p0." suffix                                                                                                   \
        ", xzr, %[lanes]\n\tptrue p1.b\n\t"                                                                                    \
        "rdsvl x9, #1\n\t"                                                                                                     \
        "mov x10, %[square]\n\t"                                                                                               \
        "mov w12, #0\n"                                                                                                        \
        "1:\n\t"                                                                                                               \
        "ld1" ULPSCOPE_WIDTH_##name " {za0h." suffix                                                                           \
                                    "[w12, 0]}, p0/z, [x10]\n\t"                                                               \
                                    "add x10, x10, x9\n\t"                                                                     \
                                    "add w12, w12, #1\n\t"                                                                     \
                                    "cmp w12, %w[lanes]\n\t"                                                                   \
                                    "b.ne 1b\n"                                                                                \
                                    "2:\n\t"                                                                                   \
                                    "ld1" ULPSCOPE_WIDTH_##name " {z0." suffix                                                 \
                                                                "}, p0/z, [%[a]]\n\t"                                          \
                                                                "ld1" ULPSCOPE_WIDTH_##name                                    \
        " {z1." suffix "}, p0/z, [%[b]]\n\t" instruction                                                                       \
        "\n\t"                                                                                                                 \
        "add %[a], %[a], %[distance]\n\t"                                                                                      \
        "add %[b], %[b], %[distance]\n\t"                                                                                      \
        "subs %[steps], %[steps], #1\n\t"                                                                                      \
        "b.ne 2b\n\t"                                                                                                          \
        "mov x10, %[square]\n\t"                                                                                               \
        "mov w12, #0\n"                                                                                                        \
        "3:\n\t"                                                                                                               \
        "st1" ULPSCOPE_WIDTH_##name " {za0h." suffix                                                                           \
                                    "[w12, 0]}, p0, [x10]\n\t"                                                                 \
                                    "add x10, x10, x9\n\t"                                                                     \
                                    "add w12, w12, #1\n\t"                                                                     \
                                    "cmp w12, %w[lanes]\n\t"                                                                   \
                                    "b.ne 3b\n\t"                                                                              \
                                    "smstop"                                                                                   \
        : [a] "+r"(a), [b] "+r"(b), [steps] "+r"(steps)                                                                        \
        : [square] "r"(square), [lanes] "r"(lanes), [distance] "r"(distance)                                                   \
        : "x9", "x10", "x12", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", \
          "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",      \
          "v29", "v30", "v31");                                                                                                \
  }
#define ULPSCOPE_WIDTH_bfmopa "w"
#define ULPSCOPE_WIDTH_fmopa_halves "w"
#define ULPSCOPE_WIDTH_fmopa_singles "w"
#define ULPSCOPE_WIDTH_fmopa_doubles "d"
ULPSCOPE_OUTER(bfmopa, "s", "bfmopa za0.s, p1/m, p1/m, z0.h, z1.h")
ULPSCOPE_OUTER(fmopa_halves, "s", "fmopa za0.s, p1/m, p1/m, z0.h, z1.h")
ULPSCOPE_OUTER(fmopa_singles, "s", "fmopa za0.s, p1/m, p1/m, z0.s, z1.s")
ULPSCOPE_OUTER(fmopa_doubles, "d",
               ".inst 0x80c12400")  // fmopa za0.d, p1/m, p1/m, z0.d, z1.d, whose extension assemblers name differently
#undef ULPSCOPE_OUTER

/// A row of lanes at a time.
template <class Word, Outer outer>
void diagonal(Lanes<Word>& lanes) {
  const detail::ControlWord control;
  const std::size_t row = row_words(sizeof(Word));
  alignas(64) std::array<Word, most_row_bytes / sizeof(Word) * (most_row_bytes / sizeof(Word))> square;
  for (std::size_t first = 0; first < lanes.count && lanes.steps() > 0; first += row) {
    const std::size_t count = std::min(row, lanes.count - first);
    std::fill_n(square.begin(), count * row, Word{0});
    for (std::size_t i = 0; i < count; ++i) square[i * row + i] = lanes.c[first + i];
    outer(square.data(), &lanes.a[first], &lanes.b[first], count, lanes.steps(), lanes.count * sizeof(Word));
    for (std::size_t i = 0; i < count; ++i) lanes.c[first + i] = square[i * row + i];
  }
}

VectorOperation pairs(const char* instruction, emu::Format operands, const char* engine,
                      void (*multiply)(const InnerProducts&, std::span<emu::Code>)) {
  VectorOperation operation = fused(instruction, operands, emu::float32, engine, multiply);
  operation.operation.products = 2;
  return operation;
}

using Word32 = std::uint32_t;
using Word64 = std::uint64_t;

}  // namespace

std::unique_ptr<Unit> detail::arm_sme_unit() {
  if (!has_arm_sme()) return nullptr;
  using emu::float16, emu::float32, emu::float64;
  std::vector all{
      pairs("BFMOPA", emu::bfloat16, "arm_bf16", multiply_by_vectors<Word32, 2, diagonal<Word32, bfmopa>>),
      pairs("FMOPA of halves", float16, "arm_fmopa", multiply_by_vectors<Word32, 2, diagonal<Word32, fmopa_halves>>),
      fused("FMOPA of singles", float32, float32, "arm_fmopa",
            multiply_by_vectors<Word32, 1, diagonal<Word32, fmopa_singles>>)};
  if (has_arm_sme_doubles())
    all.push_back(fused("FMOPA of doubles", float64, float64, "arm_fmopa",
                        multiply_by_vectors<Word64, 1, diagonal<Word64, fmopa_doubles>>));
  return std::make_unique<VectorUnit>("cpu:arm_sme", std::move(all));
}

}  // namespace ulpscope::gpu

#else

namespace ulpscope::gpu::detail {

std::unique_ptr<Unit> arm_sme_unit() { return nullptr; }

}  // namespace ulpscope::gpu::detail

#endif
