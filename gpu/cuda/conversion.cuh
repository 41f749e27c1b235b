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
using RegisterOf = std::conditional_t<bits <= 16, std::uint16_t, std::conditional_t<bits == 32, std::uint32_t, std::uint64_t>>;
template <emu::Format element_format, int elements>
struct CvtType {
  static constexpr emu::Format format = element_format;
  static constexpr int lanes = elements, shift = storage_shift(format);
  /// From one element to the next: fp4 is packed, fp6 has a byte.
  static constexpr int bits = format.bits() == 4 ? 4 : 8 * static_cast<int>(bytes_per_code(format));
  static constexpr bool in_byte = bits * elements == 8;
  using Register = RegisterOf<bits * elements>;

  __device__ static Register pack(const emu::Code* codes) {
    Register packed = 0;
    ULPSCOPE_UNROLL
    for (int i = 0; i < elements; ++i) packed = static_cast<Register>(packed | codes[i] << shift << (i * bits));
    return packed;
  }
  __device__ static void unpack(Register packed, emu::Code* codes) {
    ULPSCOPE_UNROLL
    for (int i = 0; i < elements; ++i) codes[i] = static_cast<emu::Code>(packed) >> (i * bits) >> shift & format.code_mask();
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
using ue8m0x2 = CvtType<emu::float8_e8m0fnu, 2>;
using e2m3x2 = CvtType<emu::float6_e2m3fn, 2>;
using e3m2x2 = CvtType<emu::float6_e3m2fn, 2>;
using e2m1x2 = CvtType<emu::float4_e2m1fn, 2>;
using e4m3x4 = CvtType<emu::float8_e4m3fn, 4>;
using e5m2x4 = CvtType<emu::float8_e5m2, 4>;
using e2m3x4 = CvtType<emu::float6_e2m3fn, 4>;
using e3m2x4 = CvtType<emu::float6_e3m2fn, 4>;
using e2m1x4 = CvtType<emu::float4_e2m1fn, 4>;
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
    rn_relu_satfinite = rn_satfinite_relu, rz_satfinite{{.rounding = emu::Rounding::toward_zero, .policy = saturating}},
    rp_satfinite{{.rounding = emu::Rounding::upward, .policy = saturating}}, rs{{.rounding = emu::Rounding::stochastic}},
    rs_relu{rs.options, true}, rs_satfinite{{.rounding = emu::Rounding::stochastic, .policy = saturating}},
    rs_relu_satfinite{rs_satfinite.options, true};
}  // namespace modifiers

/// Single precision and narrower: every NaN result is the canonical one. Double precision keeps the payload of an operand, of the
/// second one first, and makes CUDART_NAN of <math_constants.h> where there is none (PTX ISA 9.0, "Floating-Point Instructions";
/// the order was found on an H200). So do conversions from it, as far as there is room (found there too). Formats without NaN
/// have their greatest number for it (cvt, ".satfinite"). ue8m0 has no sign: what cuda_fp8.hpp does on a host drops that of
/// bfloat16 operands, and here it is taken to be dropped of float32 too, of which no document speaks.
constexpr ElementModel element_model(ElementKind kind, emu::Format from, emu::Format to, const Modifiers& modifiers) {
  ElementModel model{.kind = kind, .from = from, .to = to, .options = modifiers.options, .relu = modifiers.relu};
  model.nans_are_cut = modifiers.nans_are_cut;
  model.ignores_sign = from.is_signed() && !to.is_signed();
  if (!to.has_nan()) model.nan_code = to.max_finite_code();
  if (from == emu::float64) model.nan_result = emu::NanResult::operand;
  if (to == emu::float64) {
    model.nan_result = emu::NanResult::second_operand;
    model.nan_code = 0xfff8'0000'0000'0000;
  }
  return model;
}

}  // namespace ulpscope::gpu::cuda

#define ULPSCOPE_REGISTER_f16 "h"
#define ULPSCOPE_REGISTER_bf16 "h"
#define ULPSCOPE_REGISTER_e4m3x2 "h"
#define ULPSCOPE_REGISTER_e5m2x2 "h"
#define ULPSCOPE_REGISTER_ue8m0x2 "h"
#define ULPSCOPE_REGISTER_e2m3x2 "h"
#define ULPSCOPE_REGISTER_e3m2x2 "h"
#define ULPSCOPE_REGISTER_e2m1x2 "h"
#define ULPSCOPE_REGISTER_e2m1x4 "h"
#define ULPSCOPE_REGISTER_e4m3x4 "r"
#define ULPSCOPE_REGISTER_e5m2x4 "r"
#define ULPSCOPE_REGISTER_e2m3x4 "r"
#define ULPSCOPE_REGISTER_e3m2x4 "r"
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
#define ULPSCOPE_MODIFIERS_rp_satfinite ".rp.satfinite"
#define ULPSCOPE_MODIFIERS_rs ".rs"
#define ULPSCOPE_MODIFIERS_rs_relu ".rs.relu"
#define ULPSCOPE_MODIFIERS_rs_satfinite ".rs.satfinite"
#define ULPSCOPE_MODIFIERS_rs_relu_satfinite ".rs.relu.satfinite"
#define ULPSCOPE_MODIFIERS_rn_satfinite_relu ".rn.satfinite.relu"
#define ULPSCOPE_MODIFIERS_rn_relu_satfinite ".rn.relu.satfinite"

#define ULPSCOPE_CVT_TEXT(MODIFIERS, D, A) "cvt" ULPSCOPE_MODIFIERS_##MODIFIERS "." #D "." #A

/// The type Cvt_<modifiers>_<D>_<A>; two elements come from two registers where one of type A holds only one. In
/// `cvt.f16x2.f32 d, a, b` the upper half of d is that of a.
#define ULPSCOPE_CVT(LEAST, MODIFIERS, D, A) ULPSCOPE_CVT_WHERE(target_architecture >= 10 * LEAST, LEAST, MODIFIERS, D, A)
#define ULPSCOPE_CVT_WHERE(AVAILABLE, LEAST, MODIFIERS, D, A)                                                                  \
  struct Cvt_##MODIFIERS##_##D##_##A {                                                                                         \
    using To = cvt_type::D;                                                                                                    \
    using From = cvt_type::A;                                                                                                  \
    static constexpr const char* spelled = ULPSCOPE_CVT_TEXT(MODIFIERS, D, A);                                                 \
    static constexpr int least_architecture = LEAST, lanes = To::lanes;                                                        \
    static constexpr ElementModel model = element_model(ElementKind::convert, From::format, To::format, modifiers::MODIFIERS); \
    template <int count>                                                                                                       \
    static __device__ void run(const emu::Code (&a)[count], const emu::Code*, const emu::Code*, emu::Code (&d)[count]) {       \
      if constexpr (AVAILABLE) {                                                                                               \
        To::Register result;                                                                                                   \
        if constexpr (From::in_byte) {                                                                                         \
          const From::Register source = From::pack(a);                                                                         \
          ULPSCOPE_CVT_FROM_BYTE(ULPSCOPE_CVT_TEXT(MODIFIERS, D, A), ULPSCOPE_REGISTER_##D, ULPSCOPE_REGISTER_##A, result,     \
                                 source);                                                                                      \
        } else if constexpr (To::in_byte) {                                                                                    \
          const From::Register upper = From::pack(a + 1), lower = From::pack(a);                                               \
          ULPSCOPE_CVT_TO_BYTE(ULPSCOPE_CVT_TEXT(MODIFIERS, D, A), ULPSCOPE_REGISTER_##D, ULPSCOPE_REGISTER_##A, result,       \
                               upper, lower);                                                                                  \
        } else if constexpr (From::lanes == lanes) {                                                                           \
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
