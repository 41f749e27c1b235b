// SPDX-License-Identifier: Apache-2.0
// Conversions and arithmetic of Advanced SIMD (Arm Architecture Reference Manual for A-profile, DDI 0487), spelled out for the
// reason given in gpu/cpu/vector_elements.cpp.
#include "gpu/cpu/arm_features.hpp"
#include "gpu/cpu/cpu_elements.hpp"
#include "gpu/cpu/element_lanes.hpp"

#if defined(__aarch64__) && defined(__linux__)

#include <arm_neon.h>

#include "emu/catalogue.hpp"

namespace ulpscope::gpu::detail {
namespace {

using Vector = ElementVectors<16>;

uint8x16_t load(const std::array<std::byte, 16>& vector) {
  return vld1q_u8(reinterpret_cast<const std::uint8_t*>(vector.data()));
}
void store(std::array<std::byte, 16>& vector, uint8x16_t words) {
  vst1q_u8(reinterpret_cast<std::uint8_t*>(vector.data()), words);
}

#define ULPSCOPE_TWO_OPERANDS(instruction, lanes, extension)                                                               \
  __attribute__((target(extension))) void instruction##_##lanes(Vector& v) {                                               \
    uint8x16_t d;                                                                                                          \
    __asm__ volatile(#instruction " %0." #lanes ", %1." #lanes ", %2." #lanes : "=w"(d) : "w"(load(v.a)), "w"(load(v.b))); \
    store(v.d, d);                                                                                                         \
  }
// The addend is the destination.
#define ULPSCOPE_FMLA(lanes, extension)                                                                           \
  __attribute__((target(extension))) void fmla_##lanes(Vector& v) {                                               \
    uint8x16_t d = load(v.c);                                                                                     \
    __asm__ volatile("fmla %0." #lanes ", %1." #lanes ", %2." #lanes : "+w"(d) : "w"(load(v.a)), "w"(load(v.b))); \
    store(v.d, d);                                                                                                \
  }
#define ULPSCOPE_ARITHMETIC(lanes, extension)   \
  ULPSCOPE_TWO_OPERANDS(fadd, lanes, extension) \
  ULPSCOPE_TWO_OPERANDS(fsub, lanes, extension) \
  ULPSCOPE_TWO_OPERANDS(fmul, lanes, extension) \
  ULPSCOPE_FMLA(lanes, extension)
ULPSCOPE_ARITHMETIC(8h, "+fp16")
ULPSCOPE_ARITHMETIC(4s, "+simd")
ULPSCOPE_ARITHMETIC(2d, "+simd")
#undef ULPSCOPE_ARITHMETIC
#undef ULPSCOPE_FMLA
#undef ULPSCOPE_TWO_OPERANDS

#define ULPSCOPE_CONVERSION(name, extension, text)          \
  __attribute__((target(extension))) void name(Vector& v) { \
    uint8x16_t d;                                           \
    __asm__ volatile(text : "=w"(d) : "w"(load(v.a)));      \
    store(v.d, d);                                          \
  }
ULPSCOPE_CONVERSION(bfcvtn, "+bf16", "bfcvtn %0.4h, %1.4s")
ULPSCOPE_CONVERSION(fcvtn_4h, "+simd", "fcvtn %0.4h, %1.4s")
ULPSCOPE_CONVERSION(fcvtn_2s, "+simd", "fcvtn %0.2s, %1.2d")
ULPSCOPE_CONVERSION(fcvtxn_2s, "+simd", "fcvtxn %0.2s, %1.2d")
ULPSCOPE_CONVERSION(fcvtl_4s, "+simd", "fcvtl %0.4s, %1.4h")
ULPSCOPE_CONVERSION(fcvtl_2d, "+simd", "fcvtl %0.2d, %1.2s")
ULPSCOPE_CONVERSION(fcvt_h_d, "+simd", "fcvt %h0, %d1")
ULPSCOPE_CONVERSION(fcvt_d_h, "+simd", "fcvt %d0, %h1")
#undef ULPSCOPE_CONVERSION

/// NaNs as on Arm: those of operands survive, quieted, signaling ones first; new ones are positive and have no payload.
ElementModel arm_model(ElementKind kind, emu::Format from, emu::Format to, emu::Rounding rounding) {
  ElementModel model{.kind = kind, .from = from, .to = to};
  model.options.rounding = rounding;
  model.nan_result = emu::NanResult::signaling_operand;
  model.nan_code = to.infinity_code() | to.infinity_code() >> 1;
  return model;
}

/// FPCR.RMode.
constexpr std::array rounding_modes{
    RoundingControl{emu::Rounding::nearest_even, " RMode=RN", 0}, RoundingControl{emu::Rounding::upward, " RMode=RP", 1},
    RoundingControl{emu::Rounding::downward, " RMode=RM", 2}, RoundingControl{emu::Rounding::toward_zero, " RMode=RZ", 3}};

using Apply = void (*)(const ElementOperands&, std::span<emu::Code>);

void add_all_modes(std::vector<CpuElementInstruction>& all, const std::string& mnemonic, ElementKind kind, emu::Format from,
                   emu::Format to, Apply apply) {
  add_rounded(all, rounding_modes, mnemonic, arm_model, kind, from, to, apply);
}
/// One that is exact, or rounds in its own way.
void add_conversion(std::vector<CpuElementInstruction>& all, const std::string& mnemonic, emu::Format from, emu::Format to,
                    emu::Rounding rounding, Apply apply) {
  all.push_back({{mnemonic, arm_model(ElementKind::convert, from, to, rounding)}, apply});
}

struct Arithmetic {
  Apply add, subtract, multiply, fma;
};
void add_arithmetic(std::vector<CpuElementInstruction>& all, const std::string& lanes, emu::Format format,
                    const Arithmetic& instructions) {
  add_all_modes(all, "FADD " + lanes, ElementKind::add, format, format, instructions.add);
  add_all_modes(all, "FSUB " + lanes, ElementKind::subtract, format, format, instructions.subtract);
  add_all_modes(all, "FMUL " + lanes, ElementKind::multiply, format, format, instructions.multiply);
  add_all_modes(all, "FMLA " + lanes, ElementKind::fma, format, format, instructions.fma);
}

using Word16 = std::uint16_t;
using Word32 = std::uint32_t;
using Word64 = std::uint64_t;

template <class From, class To, VectorInstruction<16> instruction>
constexpr auto in_lanes = apply_in_lanes<From, To, 16, instruction>;

/// One element, in the first lane.
template <class From, class To, VectorInstruction<16> instruction>
void one_by_one(const ElementOperands& operands, std::span<emu::Code> d) {
  for (std::size_t i = 0; i < d.size(); ++i) in_lanes<From, To, instruction>({operands.a.subspan(i, 1)}, d.subspan(i, 1));
}

}  // namespace

std::shared_ptr<const Elementwise> arm_bf16_elements() {
  if (!has_arm_bf16()) return nullptr;
  std::vector<CpuElementInstruction> all;
  add_all_modes(all, "BFCVTN", ElementKind::convert, emu::float32, emu::bfloat16, in_lanes<Word32, Word16, bfcvtn>);
  return cpu_elementwise("cpu:arm_bf16", std::move(all));
}

std::shared_ptr<const Elementwise> arm_fp16_elements() {
  if (!has_arm_fp16()) return nullptr;
  std::vector<CpuElementInstruction> all;
  add_arithmetic(all, "8H", emu::float16,
                 {in_lanes<Word16, Word16, fadd_8h>, in_lanes<Word16, Word16, fsub_8h>, in_lanes<Word16, Word16, fmul_8h>,
                  in_lanes<Word16, Word16, fmla_8h>});
  return cpu_elementwise("cpu:arm_fp16", std::move(all));
}

std::shared_ptr<const Elementwise> neon_elements() {
  using emu::float16, emu::float32, emu::float64;
  if (!has_neon()) return nullptr;
  constexpr auto exact = emu::Rounding::nearest_even;
  std::vector<CpuElementInstruction> all;
  add_arithmetic(all, "4S", float32,
                 {in_lanes<Word32, Word32, fadd_4s>, in_lanes<Word32, Word32, fsub_4s>, in_lanes<Word32, Word32, fmul_4s>,
                  in_lanes<Word32, Word32, fmla_4s>});
  add_arithmetic(all, "2D", float64,
                 {in_lanes<Word64, Word64, fadd_2d>, in_lanes<Word64, Word64, fsub_2d>, in_lanes<Word64, Word64, fmul_2d>,
                  in_lanes<Word64, Word64, fmla_2d>});
  add_all_modes(all, "FCVTN 4H", ElementKind::convert, float32, float16, in_lanes<Word32, Word16, fcvtn_4h>);
  add_all_modes(all, "FCVTN 2S", ElementKind::convert, float64, float32, in_lanes<Word64, Word32, fcvtn_2s>);
  add_all_modes(all, "FCVT Hd,Dn", ElementKind::convert, float64, float16, one_by_one<Word64, Word16, fcvt_h_d>);
  add_conversion(all, "FCVTXN 2S", float64, float32, emu::Rounding::to_odd, in_lanes<Word64, Word32, fcvtxn_2s>);
  add_conversion(all, "FCVTL 4S", float16, float32, exact, in_lanes<Word16, Word32, fcvtl_4s>);
  add_conversion(all, "FCVTL 2D", float32, float64, exact, in_lanes<Word32, Word64, fcvtl_2d>);
  add_conversion(all, "FCVT Dd,Hn", float16, float64, exact, one_by_one<Word16, Word64, fcvt_d_h>);
  return cpu_elementwise("cpu:neon", std::move(all));
}

}  // namespace ulpscope::gpu::detail

#else

namespace ulpscope::gpu::detail {

std::shared_ptr<const Elementwise> arm_bf16_elements() { return nullptr; }
std::shared_ptr<const Elementwise> arm_fp16_elements() { return nullptr; }
std::shared_ptr<const Elementwise> neon_elements() { return nullptr; }

}  // namespace ulpscope::gpu::detail

#endif
