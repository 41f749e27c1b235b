// SPDX-License-Identifier: Apache-2.0
// Conversions and arithmetic of AVX-512, spelled out for the reason given in gpu/cpu/vector_elements.cpp.
#include <algorithm>

#include "gpu/cpu/avx512_fp16.hpp"
#include "gpu/cpu/cpu_elements.hpp"
#include "gpu/cpu/element_lanes.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include "emu/catalogue.hpp"

namespace ulpscope::gpu::detail {
namespace {

using Zmm = ElementVectors<64>;

#define ULPSCOPE_AVX512 __attribute__((target(ULPSCOPE_AVX512_FP16 ",avx512bf16")))

template <class Vector>
ULPSCOPE_AVX512 __m512i load_512(const Vector& vector) {
  return _mm512_loadu_si512(vector.data());
}

// The second of AT&T's operands is the first source.
#define ULPSCOPE_TWO_OPERANDS(instruction)                                                           \
  ULPSCOPE_AVX512 void instruction(Zmm& v) {                                                         \
    __m512i d;                                                                                       \
    __asm__ volatile(#instruction " %2, %1, %0" : "=v"(d) : "v"(load_512(v.a)), "v"(load_512(v.b))); \
    _mm512_storeu_si512(v.d.data(), d);                                                              \
  }
ULPSCOPE_TWO_OPERANDS(vaddph)
ULPSCOPE_TWO_OPERANDS(vsubph)
ULPSCOPE_TWO_OPERANDS(vmulph)
ULPSCOPE_TWO_OPERANDS(vaddps)
ULPSCOPE_TWO_OPERANDS(vsubps)
ULPSCOPE_TWO_OPERANDS(vmulps)
ULPSCOPE_TWO_OPERANDS(vaddpd)
ULPSCOPE_TWO_OPERANDS(vsubpd)
ULPSCOPE_TWO_OPERANDS(vmulpd)
#undef ULPSCOPE_TWO_OPERANDS

#define ULPSCOPE_FMA(instruction)                                                                    \
  ULPSCOPE_AVX512 void instruction(Zmm& v) {                                                         \
    __m512i d = load_512(v.c);                                                                       \
    __asm__ volatile(#instruction " %2, %1, %0" : "+v"(d) : "v"(load_512(v.a)), "v"(load_512(v.b))); \
    _mm512_storeu_si512(v.d.data(), d);                                                              \
  }
ULPSCOPE_FMA(vfmadd231ph)
ULPSCOPE_FMA(vfmadd231ps)
ULPSCOPE_FMA(vfmadd231pd)
#undef ULPSCOPE_FMA

// From is the register that holds the operands, To the one that holds the results.
#define ULPSCOPE_CONVERSION(instruction, From, To)                             \
  ULPSCOPE_AVX512 void instruction(Zmm& v) {                                   \
    From a;                                                                    \
    std::copy_n(v.a.data(), sizeof a, reinterpret_cast<std::byte*>(&a));       \
    To d;                                                                      \
    __asm__ volatile(#instruction " %1, %0" : "=v"(d) : "v"(a));               \
    std::copy_n(reinterpret_cast<const std::byte*>(&d), sizeof d, v.d.data()); \
  }
ULPSCOPE_CONVERSION(vcvtneps2bf16, __m512i, __m256i)
ULPSCOPE_CONVERSION(vcvtps2phx, __m512i, __m256i)
ULPSCOPE_CONVERSION(vcvtpd2ph, __m512i, __m128i)
ULPSCOPE_CONVERSION(vcvtph2psx, __m256i, __m512i)
ULPSCOPE_CONVERSION(vcvtph2pd, __m128i, __m512i)
ULPSCOPE_CONVERSION(vcvtpd2ps, __m512i, __m256i)
ULPSCOPE_CONVERSION(vcvtps2pd, __m256i, __m512i)
#undef ULPSCOPE_CONVERSION
#undef ULPSCOPE_AVX512

using Word16 = std::uint16_t;
using Word32 = std::uint32_t;
using Word64 = std::uint64_t;

template <class From, class To, VectorInstruction<64> instruction>
constexpr auto in_lanes = apply_in_lanes<From, To, 64, instruction>;

constexpr auto nearest_even = emu::Rounding::nearest_even;

}  // namespace

std::shared_ptr<const Elementwise> avx512_bf16_elements() {
  if (!__builtin_cpu_supports("avx512bf16")) return nullptr;
  ElementModel model = x86_model(ElementKind::convert, emu::float32, emu::bfloat16, nearest_even);
  model.options.subnormals_are_zero = true;  // SDM volume 2, VCVTNEPS2BF16: DAZ, FTZ and nearest_even whatever MXCSR says
  return cpu_elementwise("cpu:avx512_bf16", {{{"VCVTNEPS2BF16", model}, in_lanes<Word32, Word16, vcvtneps2bf16>}});
}

std::shared_ptr<const Elementwise> avx512_fp16_elements() {
  using emu::float16, emu::float32, emu::float64;
  if (!has_avx512_fp16()) return nullptr;
  std::vector<CpuElementInstruction> all;
  add_rounded(all, "VADDPH", ElementKind::add, float16, float16, in_lanes<Word16, Word16, vaddph>);
  add_rounded(all, "VSUBPH", ElementKind::subtract, float16, float16, in_lanes<Word16, Word16, vsubph>);
  add_rounded(all, "VMULPH", ElementKind::multiply, float16, float16, in_lanes<Word16, Word16, vmulph>);
  add_rounded(all, "VFMADD231PH", ElementKind::fma, float16, float16, in_lanes<Word16, Word16, vfmadd231ph>);
  add_rounded(all, "VCVTPS2PHX", ElementKind::convert, float32, float16, in_lanes<Word32, Word16, vcvtps2phx>);
  add_rounded(all, "VCVTPD2PH", ElementKind::convert, float64, float16, in_lanes<Word64, Word16, vcvtpd2ph>);
  all.push_back(
      {{"VCVTPH2PSX", x86_model(ElementKind::convert, float16, float32, nearest_even)}, in_lanes<Word16, Word32, vcvtph2psx>});
  all.push_back(
      {{"VCVTPH2PD", x86_model(ElementKind::convert, float16, float64, nearest_even)}, in_lanes<Word16, Word64, vcvtph2pd>});
  return cpu_elementwise("cpu:avx512_fp16", std::move(all));
}

std::shared_ptr<const Elementwise> avx512f_elements() {
  using emu::float32, emu::float64;
  if (!__builtin_cpu_supports("avx512f")) return nullptr;
  std::vector<CpuElementInstruction> all;
  add_rounded(all, "VADDPS", ElementKind::add, float32, float32, in_lanes<Word32, Word32, vaddps>);
  add_rounded(all, "VSUBPS", ElementKind::subtract, float32, float32, in_lanes<Word32, Word32, vsubps>);
  add_rounded(all, "VMULPS", ElementKind::multiply, float32, float32, in_lanes<Word32, Word32, vmulps>);
  add_rounded(all, "VFMADD231PS", ElementKind::fma, float32, float32, in_lanes<Word32, Word32, vfmadd231ps>);
  add_rounded(all, "VADDPD", ElementKind::add, float64, float64, in_lanes<Word64, Word64, vaddpd>);
  add_rounded(all, "VSUBPD", ElementKind::subtract, float64, float64, in_lanes<Word64, Word64, vsubpd>);
  add_rounded(all, "VMULPD", ElementKind::multiply, float64, float64, in_lanes<Word64, Word64, vmulpd>);
  add_rounded(all, "VFMADD231PD", ElementKind::fma, float64, float64, in_lanes<Word64, Word64, vfmadd231pd>);
  add_rounded(all, "VCVTPD2PS", ElementKind::convert, float64, float32, in_lanes<Word64, Word32, vcvtpd2ps>);
  all.push_back(
      {{"VCVTPS2PD", x86_model(ElementKind::convert, float32, float64, nearest_even)}, in_lanes<Word32, Word64, vcvtps2pd>});
  return cpu_elementwise("cpu:avx512f", std::move(all));
}

}  // namespace ulpscope::gpu::detail

#else

namespace ulpscope::gpu::detail {

std::shared_ptr<const Elementwise> avx512_bf16_elements() { return nullptr; }
std::shared_ptr<const Elementwise> avx512_fp16_elements() { return nullptr; }
std::shared_ptr<const Elementwise> avx512f_elements() { return nullptr; }

}  // namespace ulpscope::gpu::detail

#endif
