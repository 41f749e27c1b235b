// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding: cvt.rs, which takes its random bits from a register (PTX ISA 9.0, cvt). Elements share that register, so
// that an operation is the conversion of one element, and the others are zeros: `cvt.rs.satfinite.e4m3x4.f32/a` is that of `a`
// in `d, {a, b, e, f}, rbits`.
#include "gpu/cuda/conversion.cuh"

namespace ulpscope::gpu::cuda {
namespace {

/// The random bits of element number `position`, of {a, b} or {a, b, e, f}. The documentation has 13 and 16 bits of each half
/// of rbits for two elements; for four, it gives a half (of e2m1 a byte of each half) to a and b and one to e and f, and leaves
/// to a figure how two elements use the same bits. That the first of them has the bits in reverse rests on what others have
/// published of a B200.
constexpr RandomBits random_bits_of(emu::Format to, int position) {
  const bool upper = position == 0, first = position % 2 == 0, ab = position < 2;
  if (to == emu::float16) return {1, {upper ? BitRange{28, 16} : BitRange{12, 0}}};
  if (to == emu::bfloat16) return {1, {upper ? BitRange{31, 16} : BitRange{15, 0}}};
  if (to == emu::float4_e2m1fn) {
    if (first) return ab ? RandomBits{2, {{8, 15}, {24, 31}}} : RandomBits{2, {{0, 7}, {16, 23}}};
    return ab ? RandomBits{2, {{31, 24}, {15, 8}}} : RandomBits{2, {{23, 16}, {7, 0}}};
  }
  if (first) return {1, {ab ? BitRange{16, 31} : BitRange{0, 15}}};
  return {1, {ab ? BitRange{31, 16} : BitRange{15, 0}}};
}

constexpr ElementModel random_model(emu::Format to, const Modifiers& modifiers, int position) {
  ElementModel model = element_model(ElementKind::convert_randomly, emu::float32, to, modifiers);
  model.random = random_bits_of(to, position);
  model.options.random_bits = model.random.count();
  return model;
}

#define ULPSCOPE_RANDOM_CVT_OF(COUNT, MODIFIERS, D, NAME, POSITION)                                                           \
  struct Cvt_##MODIFIERS##_##D##_##NAME {                                                                                     \
    using To = cvt_type::D;                                                                                                   \
    static constexpr const char* spelled = ULPSCOPE_CVT_TEXT(MODIFIERS, D, f32) "/" #NAME;                                    \
    static constexpr int least_architecture = 100, lanes = 1;                                                                 \
    static constexpr ElementModel model = random_model(To::format, modifiers::MODIFIERS, POSITION);                           \
    static __device__ void run(const emu::Code (&a)[1], const emu::Code* b, const emu::Code*, emu::Code (&d)[1]) {            \
      if constexpr (target_has_random_cvt) {                                                                                  \
        To::Register result;                                                                                                  \
        std::uint32_t source[To::lanes] = {};                                                                                 \
        source[POSITION] = static_cast<std::uint32_t>(a[0]);                                                                  \
        const auto rbits = static_cast<std::uint32_t>(b[0]);                                                                  \
        ULPSCOPE_CVT_RANDOM_##COUNT(ULPSCOPE_CVT_TEXT(MODIFIERS, D, f32), ULPSCOPE_REGISTER_##D, "r", result, source, rbits); \
        emu::Code codes[To::lanes];                                                                                           \
        To::unpack(result, codes);                                                                                            \
        d[0] = codes[To::lanes - 1 - POSITION];                                                                               \
      } else {                                                                                                                \
        unreachable_instruction();                                                                                            \
      }                                                                                                                       \
    }                                                                                                                         \
  };
#define ULPSCOPE_RANDOM_CVT_AB(COUNT, MODIFIERS, D) \
  ULPSCOPE_RANDOM_CVT_OF(COUNT, MODIFIERS, D, a, 0) ULPSCOPE_RANDOM_CVT_OF(COUNT, MODIFIERS, D, b, 1)
#define ULPSCOPE_RANDOM_CVT_2(MODIFIERS, D) ULPSCOPE_RANDOM_CVT_AB(2, MODIFIERS, D)
#define ULPSCOPE_RANDOM_CVT_4(MODIFIERS, D) \
  ULPSCOPE_RANDOM_CVT_AB(4, MODIFIERS, D)   \
  ULPSCOPE_RANDOM_CVT_OF(4, MODIFIERS, D, e, 2) ULPSCOPE_RANDOM_CVT_OF(4, MODIFIERS, D, f, 3)
#define ULPSCOPE_ADD_2(MODIFIERS, D) add_elements<Cvt_##MODIFIERS##_##D##_a, Cvt_##MODIFIERS##_##D##_b>(target, to)
#define ULPSCOPE_ADD_4(MODIFIERS, D) \
  ULPSCOPE_ADD_2(MODIFIERS, D), add_elements<Cvt_##MODIFIERS##_##D##_e, Cvt_##MODIFIERS##_##D##_f>(target, to)

ULPSCOPE_RANDOM_CVT_2(rs, f16x2)
ULPSCOPE_RANDOM_CVT_2(rs_relu, f16x2)
ULPSCOPE_RANDOM_CVT_2(rs_satfinite, f16x2)
ULPSCOPE_RANDOM_CVT_2(rs_relu_satfinite, f16x2)
ULPSCOPE_RANDOM_CVT_2(rs, bf16x2)
ULPSCOPE_RANDOM_CVT_2(rs_relu, bf16x2)
ULPSCOPE_RANDOM_CVT_2(rs_satfinite, bf16x2)
ULPSCOPE_RANDOM_CVT_2(rs_relu_satfinite, bf16x2)
ULPSCOPE_RANDOM_CVT_4(rs_satfinite, e4m3x4)
ULPSCOPE_RANDOM_CVT_4(rs_relu_satfinite, e4m3x4)
ULPSCOPE_RANDOM_CVT_4(rs_satfinite, e5m2x4)
ULPSCOPE_RANDOM_CVT_4(rs_relu_satfinite, e5m2x4)
ULPSCOPE_RANDOM_CVT_4(rs_satfinite, e2m3x4)
ULPSCOPE_RANDOM_CVT_4(rs_relu_satfinite, e2m3x4)
ULPSCOPE_RANDOM_CVT_4(rs_satfinite, e3m2x4)
ULPSCOPE_RANDOM_CVT_4(rs_relu_satfinite, e3m2x4)
ULPSCOPE_RANDOM_CVT_4(rs_satfinite, e2m1x4)
ULPSCOPE_RANDOM_CVT_4(rs_relu_satfinite, e2m1x4)

}  // namespace

void add_random_conversions(const Target& target, std::vector<ElementInstruction>& to) {
  if (!target.has_random_cvt()) return;
  ULPSCOPE_ADD_2(rs, f16x2), ULPSCOPE_ADD_2(rs_relu, f16x2);
  ULPSCOPE_ADD_2(rs_satfinite, f16x2), ULPSCOPE_ADD_2(rs_relu_satfinite, f16x2);
  ULPSCOPE_ADD_2(rs, bf16x2), ULPSCOPE_ADD_2(rs_relu, bf16x2);
  ULPSCOPE_ADD_2(rs_satfinite, bf16x2), ULPSCOPE_ADD_2(rs_relu_satfinite, bf16x2);
  ULPSCOPE_ADD_4(rs_satfinite, e4m3x4), ULPSCOPE_ADD_4(rs_relu_satfinite, e4m3x4);
  ULPSCOPE_ADD_4(rs_satfinite, e5m2x4), ULPSCOPE_ADD_4(rs_relu_satfinite, e5m2x4);
  ULPSCOPE_ADD_4(rs_satfinite, e2m3x4), ULPSCOPE_ADD_4(rs_relu_satfinite, e2m3x4);
  ULPSCOPE_ADD_4(rs_satfinite, e3m2x4), ULPSCOPE_ADD_4(rs_relu_satfinite, e3m2x4);
  ULPSCOPE_ADD_4(rs_satfinite, e2m1x4), ULPSCOPE_ADD_4(rs_relu_satfinite, e2m1x4);
}

}  // namespace ulpscope::gpu::cuda
