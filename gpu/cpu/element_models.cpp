// SPDX-License-Identifier: Apache-2.0
// The instructions of each device, and the models that they share.
#include "gpu/cpu/element_models.hpp"

#include <array>

#include "emu/catalogue.hpp"

namespace ulpscope::gpu {
namespace {

/// Rounding as two bits of a control word have it, and as the names of operations end.
struct RoundingControl {
  emu::Rounding rounding;
  const char* words;
  unsigned bits;
};
/// MXCSR.RC (SDM volume 1, table 4-8).
constexpr std::array mxcsr_roundings{
    RoundingControl{emu::Rounding::nearest_even, " RC=nearest", 0}, RoundingControl{emu::Rounding::downward, " RC=down", 1},
    RoundingControl{emu::Rounding::upward, " RC=up", 2}, RoundingControl{emu::Rounding::toward_zero, " RC=zero", 3}};
/// FPCR.RMode.
constexpr std::array fpcr_roundings{
    RoundingControl{emu::Rounding::nearest_even, " RMode=RN", 0}, RoundingControl{emu::Rounding::upward, " RMode=RP", 1},
    RoundingControl{emu::Rounding::downward, " RMode=RM", 2}, RoundingControl{emu::Rounding::toward_zero, " RMode=RZ", 3}};

/// NaNs as on x86: those of operands survive, quieted; new ones are negative and have no payload (SDM volume 1, 4.8.3.5 and
/// table 4-3).
ElementModel x86_model(ElementKind kind, emu::Format from, emu::Format to, emu::Rounding rounding) {
  ElementModel model{.kind = kind, .from = from, .to = to};
  model.options.rounding = rounding;
  model.nan_result = emu::NanResult::operand;
  model.nan_code = to.sign_mask() | to.infinity_code() | to.infinity_code() >> 1;
  return model;
}

/// NaNs as on Arm: those of operands survive, quieted, signaling ones first; new ones are positive and have no payload.
ElementModel arm_model(ElementKind kind, emu::Format from, emu::Format to, emu::Rounding rounding) {
  ElementModel model{.kind = kind, .from = from, .to = to};
  model.options.rounding = rounding;
  model.nan_result = emu::NanResult::signaling_operand;
  model.nan_code = to.infinity_code() | to.infinity_code() >> 1;
  return model;
}

/// Of one processor.
struct Processor {
  ElementModel (*model)(ElementKind, emu::Format, emu::Format, emu::Rounding);
  std::array<RoundingControl, 4> controls;
};
constexpr Processor on_x86{x86_model, mxcsr_roundings}, on_arm{arm_model, fpcr_roundings};

using Models = std::vector<CpuElementModel>;

/// An instruction once for each rounding of the control word.
void add_rounded(Models& all, const Processor& on, const std::string& mnemonic, ElementKind kind, emu::Format from,
                 emu::Format to) {
  for (const RoundingControl& control : on.controls)
    all.push_back({{mnemonic + control.words, on.model(kind, from, to, control.rounding)}, mnemonic, control.bits});
}
/// A conversion that is exact, or rounds in its own way.
void add_conversion(Models& all, const Processor& on, const std::string& name, emu::Format from, emu::Format to,
                    emu::Rounding rounding = emu::Rounding::nearest_even) {
  all.push_back({{name, on.model(ElementKind::convert, from, to, rounding)}, name});
}
/// Sum, difference and product.
void add_arithmetic(Models& all, const Processor& on, const std::array<std::string, 3>& names, emu::Format format) {
  add_rounded(all, on, names[0], ElementKind::add, format, format);
  add_rounded(all, on, names[1], ElementKind::subtract, format, format);
  add_rounded(all, on, names[2], ElementKind::multiply, format, format);
}
void add_sse_arithmetic(Models& all, const std::string& before, const std::string& behind, emu::Format format) {
  add_arithmetic(all, on_x86, {before + "ADD" + behind, before + "SUB" + behind, before + "MUL" + behind}, format);
}
void add_avx512_arithmetic(Models& all, const std::string& behind, emu::Format format) {
  add_sse_arithmetic(all, "V", behind, format);
  add_rounded(all, on_x86, "VFMADD231" + behind, ElementKind::fma, format, format);
}
void add_simd_arithmetic(Models& all, const std::string& lanes, emu::Format format) {
  add_arithmetic(all, on_arm, {"FADD " + lanes, "FSUB " + lanes, "FMUL " + lanes}, format);
  add_rounded(all, on_arm, "FMLA " + lanes, ElementKind::fma, format, format);
}

Models f16c_models() {
  Models all;
  for (const RoundingControl& control : mxcsr_roundings)  // imm8 has the bits of MXCSR.RC (SDM volume 2, VCVTPS2PH)
    add_conversion(all, on_x86, "VCVTPS2PH imm8=" + std::to_string(control.bits), emu::float32, emu::float16, control.rounding);
  add_conversion(all, on_x86, "VCVTPH2PS", emu::float16, emu::float32);
  return all;
}

Models sse2_models() {
  Models all;
  add_sse_arithmetic(all, "", "PS", emu::float32);
  add_sse_arithmetic(all, "", "PD", emu::float64);
  add_rounded(all, on_x86, "CVTPD2PS", ElementKind::convert, emu::float64, emu::float32);
  add_conversion(all, on_x86, "CVTPS2PD", emu::float32, emu::float64);
  return all;
}

Models avx512_bf16_models() {
  Models all;
  add_conversion(all, on_x86, "VCVTNEPS2BF16", emu::float32, emu::bfloat16);
  all[0].operation.model.options.subnormals_are_zero = true;  // SDM volume 2, VCVTNEPS2BF16: DAZ, FTZ and nearest_even always
  return all;
}

Models avx512_fp16_models() {
  Models all;
  add_avx512_arithmetic(all, "PH", emu::float16);
  add_rounded(all, on_x86, "VCVTPS2PHX", ElementKind::convert, emu::float32, emu::float16);
  add_rounded(all, on_x86, "VCVTPD2PH", ElementKind::convert, emu::float64, emu::float16);
  add_conversion(all, on_x86, "VCVTPH2PSX", emu::float16, emu::float32);
  add_conversion(all, on_x86, "VCVTPH2PD", emu::float16, emu::float64);
  return all;
}

Models avx512f_models() {
  Models all;
  add_avx512_arithmetic(all, "PS", emu::float32);
  add_avx512_arithmetic(all, "PD", emu::float64);
  add_rounded(all, on_x86, "VCVTPD2PS", ElementKind::convert, emu::float64, emu::float32);
  add_conversion(all, on_x86, "VCVTPS2PD", emu::float32, emu::float64);
  return all;
}

Models arm_bf16_models() {
  Models all;
  add_rounded(all, on_arm, "BFCVTN", ElementKind::convert, emu::float32, emu::bfloat16);
  return all;
}

Models arm_fp16_models() {
  Models all;
  add_simd_arithmetic(all, "8H", emu::float16);
  return all;
}

Models neon_models() {
  Models all;
  add_simd_arithmetic(all, "4S", emu::float32);
  add_simd_arithmetic(all, "2D", emu::float64);
  add_rounded(all, on_arm, "FCVTN 4H", ElementKind::convert, emu::float32, emu::float16);
  add_rounded(all, on_arm, "FCVTN 2S", ElementKind::convert, emu::float64, emu::float32);
  add_rounded(all, on_arm, "FCVT Hd,Dn", ElementKind::convert, emu::float64, emu::float16);
  add_conversion(all, on_arm, "FCVTXN 2S", emu::float64, emu::float32, emu::Rounding::to_odd);
  add_conversion(all, on_arm, "FCVTL 4S", emu::float16, emu::float32);
  add_conversion(all, on_arm, "FCVTL 2D", emu::float32, emu::float64);
  add_conversion(all, on_arm, "FCVT Dd,Hn", emu::float16, emu::float64);
  return all;
}

struct NamedModels {
  std::string_view device;
  Models (*models)();
};
constexpr std::array models_of_devices{NamedModels{"cpu:f16c", f16c_models},
                                       NamedModels{"cpu:avx512_bf16", avx512_bf16_models},
                                       NamedModels{"cpu:avx512_fp16", avx512_fp16_models},
                                       NamedModels{"cpu:avx512f", avx512f_models},
                                       NamedModels{"cpu:sse2", sse2_models},
                                       NamedModels{"cpu:arm_bf16", arm_bf16_models},
                                       NamedModels{"cpu:arm_fp16", arm_fp16_models},
                                       NamedModels{"cpu:neon", neon_models}};

}  // namespace

std::vector<CpuElementModel> cpu_element_models(std::string_view device) {
  for (const NamedModels& of : models_of_devices)
    if (of.device == device) return of.models();
  return {};
}

}  // namespace ulpscope::gpu
