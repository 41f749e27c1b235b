// SPDX-License-Identifier: Apache-2.0
// Conversions and arithmetic of Advanced SIMD (Arm Architecture Reference Manual for A-profile, DDI 0487), spelled out for the
// reason given in gpu/cpu/vector_elements.cpp.
#include "gpu/cpu/arm_features.hpp"
#include "gpu/cpu/cpu_elements.hpp"
#include "gpu/cpu/element_lanes.hpp"

#if defined(__aarch64__) && defined(__linux__)

#include <arm_neon.h>

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
  return cpu_elementwise("cpu:arm_bf16", {{"BFCVTN", in_lanes<Word32, Word16, bfcvtn>}});
}

std::shared_ptr<const Elementwise> arm_fp16_elements() {
  if (!has_arm_fp16()) return nullptr;
  return cpu_elementwise("cpu:arm_fp16", {{"FADD 8H", in_lanes<Word16, Word16, fadd_8h>},
                                          {"FSUB 8H", in_lanes<Word16, Word16, fsub_8h>},
                                          {"FMUL 8H", in_lanes<Word16, Word16, fmul_8h>},
                                          {"FMLA 8H", in_lanes<Word16, Word16, fmla_8h>}});
}

std::shared_ptr<const Elementwise> neon_elements() {
  if (!has_neon()) return nullptr;
  return cpu_elementwise("cpu:neon", {{"FADD 4S", in_lanes<Word32, Word32, fadd_4s>},
                                      {"FSUB 4S", in_lanes<Word32, Word32, fsub_4s>},
                                      {"FMUL 4S", in_lanes<Word32, Word32, fmul_4s>},
                                      {"FMLA 4S", in_lanes<Word32, Word32, fmla_4s>},
                                      {"FADD 2D", in_lanes<Word64, Word64, fadd_2d>},
                                      {"FSUB 2D", in_lanes<Word64, Word64, fsub_2d>},
                                      {"FMUL 2D", in_lanes<Word64, Word64, fmul_2d>},
                                      {"FMLA 2D", in_lanes<Word64, Word64, fmla_2d>},
                                      {"FCVTN 4H", in_lanes<Word32, Word16, fcvtn_4h>},
                                      {"FCVTN 2S", in_lanes<Word64, Word32, fcvtn_2s>},
                                      {"FCVT Hd,Dn", one_by_one<Word64, Word16, fcvt_h_d>},
                                      {"FCVTXN 2S", in_lanes<Word64, Word32, fcvtxn_2s>},
                                      {"FCVTL 4S", in_lanes<Word16, Word32, fcvtl_4s>},
                                      {"FCVTL 2D", in_lanes<Word32, Word64, fcvtl_2d>},
                                      {"FCVT Dd,Hn", one_by_one<Word16, Word64, fcvt_d_h>}});
}

}  // namespace ulpscope::gpu::detail

#else

namespace ulpscope::gpu::detail {

std::shared_ptr<const Elementwise> arm_bf16_elements() { return nullptr; }
std::shared_ptr<const Elementwise> arm_fp16_elements() { return nullptr; }
std::shared_ptr<const Elementwise> neon_elements() { return nullptr; }

}  // namespace ulpscope::gpu::detail

#endif
