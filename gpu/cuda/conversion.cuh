// SPDX-License-Identifier: Apache-2.0
// A cvt instruction from the words of its name.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/cuda/convert.cuh"
#include "gpu/cuda/element_kernel.cuh"
#include "gpu/matrix.hpp"

namespace ulpscope::gpu::cuda {

/// The types of cvt: how many elements a register holds, and where in it a code begins.
template <int bits>
using RegisterOf = std::conditional_t<bits == 16, std::uint16_t, std::conditional_t<bits == 32, std::uint32_t, std::uint64_t>>;
template <emu::Format element_format, int elements>
struct CvtType {
  static constexpr emu::Format format = element_format;
  static constexpr int lanes = elements, bits = 8 * static_cast<int>(bytes_per_code(format)), shift = storage_shift(format);
  using Register = RegisterOf<bits * elements>;

  __device__ static Register pack(const emu::Code* codes) {
    Register packed = static_cast<Register>(codes[0] << shift);
    if constexpr (elements == 2) packed = static_cast<Register>(packed | codes[1] << bits);
    return packed;
  }
  __device__ static void unpack(Register packed, emu::Code* codes) {
    codes[0] = static_cast<emu::Code>(packed) >> shift & format.code_mask();
    if constexpr (elements == 2) codes[1] = static_cast<emu::Code>(packed) >> bits & format.code_mask();
  }
};
namespace cvt_type {
using f16 = CvtType<emu::float16, 1>;
using bf16 = CvtType<emu::bfloat16, 1>;
using tf32 = CvtType<emu::tf32, 1>;
using f32 = CvtType<emu::float32, 1>;
using f64 = CvtType<emu::float64, 1>;
using f16x2 = CvtType<emu::float16, 2>;
using bf16x2 = CvtType<emu::bfloat16, 2>;
using e4m3x2 = CvtType<emu::float8_e4m3fn, 2>;
using e5m2x2 = CvtType<emu::float8_e5m2, 2>;
}  // namespace cvt_type

/// What the modifiers of cvt ask for.
struct Modifiers {
  emu::RoundingOptions options = {};
  bool relu = false;
  bool nans_are_cut = false;
};
namespace modifiers {
inline constexpr emu::Policy saturating = emu::Policy::saturating;
// ptxas 13.0 makes integer code of cvt.rna.tf32.f32: what is no NaN and no infinity plus 0x1000, then the upper 19 bits; and of
// cvt.f32.bf16 a shift.
inline constexpr Modifiers exact{}, shift{.nans_are_cut = true}, rn{}, rz{{.rounding = emu::Rounding::toward_zero}},
    rm{{.rounding = emu::Rounding::downward}}, rp{{.rounding = emu::Rounding::upward}},
    rna{{.rounding = emu::Rounding::nearest_away}, false, true}, rn_relu{{}, true}, rz_relu{rz.options, true},
    rn_satfinite{{.policy = saturating}}, rn_satfinite_relu{{.policy = saturating}, true},
    rn_relu_satfinite = rn_satfinite_relu, rz_satfinite{{.rounding = emu::Rounding::toward_zero, .policy = saturating}};
}  // namespace modifiers

/// Single precision and narrower: every NaN result is the canonical one. Double precision keeps the payload of an operand, and
/// makes CUDART_NAN of <math_constants.h> where there is none (PTX ISA 9.0, "Floating-Point Instructions").
constexpr ElementModel element_model(ElementKind kind, emu::Format from, emu::Format to, const Modifiers& modifiers) {
  ElementModel model{.kind = kind, .from = from, .to = to, .options = modifiers.options, .relu = modifiers.relu};
  model.nans_are_cut = modifiers.nans_are_cut;
  if (to == emu::float64) {
    model.nan_result = emu::NanResult::operand;
    model.nan_code = 0xfff8'0000'0000'0000;
  }
  return model;
}

}  // namespace ulpscope::gpu::cuda

#define ULPSCOPE_REGISTER_f16 "h"
#define ULPSCOPE_REGISTER_bf16 "h"
#define ULPSCOPE_REGISTER_e4m3x2 "h"
#define ULPSCOPE_REGISTER_e5m2x2 "h"
#define ULPSCOPE_REGISTER_tf32 "r"
#define ULPSCOPE_REGISTER_f32 "r"
#define ULPSCOPE_REGISTER_f16x2 "r"
#define ULPSCOPE_REGISTER_bf16x2 "r"
#define ULPSCOPE_REGISTER_f64 "l"

#define ULPSCOPE_MODIFIERS_exact ""
#define ULPSCOPE_MODIFIERS_shift ""
#define ULPSCOPE_MODIFIERS_rn ".rn"
#define ULPSCOPE_MODIFIERS_rz ".rz"
#define ULPSCOPE_MODIFIERS_rm ".rm"
#define ULPSCOPE_MODIFIERS_rp ".rp"
#define ULPSCOPE_MODIFIERS_rna ".rna"
#define ULPSCOPE_MODIFIERS_rn_relu ".rn.relu"
#define ULPSCOPE_MODIFIERS_rz_relu ".rz.relu"
#define ULPSCOPE_MODIFIERS_rn_satfinite ".rn.satfinite"
#define ULPSCOPE_MODIFIERS_rz_satfinite ".rz.satfinite"
#define ULPSCOPE_MODIFIERS_rn_satfinite_relu ".rn.satfinite.relu"
#define ULPSCOPE_MODIFIERS_rn_relu_satfinite ".rn.relu.satfinite"

#define ULPSCOPE_CVT_TEXT(MODIFIERS, D, A) "cvt" ULPSCOPE_MODIFIERS_##MODIFIERS "." #D "." #A

/// The type Cvt_<modifiers>_<D>_<A>; two elements come from two registers where one of type A holds only one. In
/// `cvt.f16x2.f32 d, a, b` the upper half of d is that of a.
#define ULPSCOPE_CVT(LEAST, MODIFIERS, D, A)                                                                                   \
  struct Cvt_##MODIFIERS##_##D##_##A {                                                                                         \
    using To = cvt_type::D;                                                                                                    \
    using From = cvt_type::A;                                                                                                  \
    static constexpr const char* spelled = ULPSCOPE_CVT_TEXT(MODIFIERS, D, A);                                                 \
    static constexpr int least_architecture = LEAST, lanes = To::lanes;                                                        \
    static constexpr ElementModel model = element_model(ElementKind::convert, From::format, To::format, modifiers::MODIFIERS); \
    template <int count>                                                                                                       \
    static __device__ void run(const emu::Code (&a)[count], const emu::Code*, const emu::Code*, emu::Code (&d)[count]) {       \
      if constexpr (target_architecture >= 10 * LEAST) {                                                                       \
        To::Register result;                                                                                                   \
        if constexpr (From::lanes == lanes) {                                                                                  \
          const From::Register source = From::pack(a);                                                                         \
          ULPSCOPE_CVT_1(ULPSCOPE_CVT_TEXT(MODIFIERS, D, A), ULPSCOPE_REGISTER_##D, ULPSCOPE_REGISTER_##A, result, source);    \
        } else {                                                                                                               \
          const From::Register upper = From::pack(a + 1), lower = From::pack(a);                                               \
          ULPSCOPE_CVT_2(ULPSCOPE_CVT_TEXT(MODIFIERS, D, A), ULPSCOPE_REGISTER_##D, ULPSCOPE_REGISTER_##A, result, upper,      \
                         lower);                                                                                               \
        }                                                                                                                      \
        To::unpack(result, d);                                                                                                 \
      } else {                                                                                                                 \
        unreachable_instruction();                                                                                             \
      }                                                                                                                        \
    }                                                                                                                          \
  };

// The operands of an arithmetic function, from the codes a, b and c of run().
#define ULPSCOPE_OPERANDS_add(number) (number(a), number(b))
#define ULPSCOPE_OPERANDS_subtract(number) (number(a), number(b))
#define ULPSCOPE_OPERANDS_multiply(number) (number(a), number(b))
#define ULPSCOPE_OPERANDS_fma(number) (number(a), number(b), number(c))
