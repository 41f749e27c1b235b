// SPDX-License-Identifier: Apache-2.0
// Conversions and arithmetic of AVX-512, spelled out for the reason given in gpu/cpu/vector_elements.cpp.
#include <algorithm>

#include "gpu/cpu/avx512_fp16.hpp"
#include "gpu/cpu/cpu_elements.hpp"
#include "gpu/cpu/element_lanes.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

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

}  // namespace

std::shared_ptr<const Elementwise> avx512_bf16_elements() {
  if (!__builtin_cpu_supports("avx512bf16")) return nullptr;
  return cpu_elementwise("cpu:avx512_bf16", {{"VCVTNEPS2BF16", in_lanes<Word32, Word16, vcvtneps2bf16>}});
}

std::shared_ptr<const Elementwise> avx512_fp16_elements() {
  if (!has_avx512_fp16()) return nullptr;
  return cpu_elementwise("cpu:avx512_fp16", {{"VADDPH", in_lanes<Word16, Word16, vaddph>},
                                             {"VSUBPH", in_lanes<Word16, Word16, vsubph>},
                                             {"VMULPH", in_lanes<Word16, Word16, vmulph>},
                                             {"VFMADD231PH", in_lanes<Word16, Word16, vfmadd231ph>},
                                             {"VCVTPS2PHX", in_lanes<Word32, Word16, vcvtps2phx>},
                                             {"VCVTPD2PH", in_lanes<Word64, Word16, vcvtpd2ph>},
                                             {"VCVTPH2PSX", in_lanes<Word16, Word32, vcvtph2psx>},
                                             {"VCVTPH2PD", in_lanes<Word16, Word64, vcvtph2pd>}});
}

std::shared_ptr<const Elementwise> avx512f_elements() {
  if (!__builtin_cpu_supports("avx512f")) return nullptr;
  return cpu_elementwise("cpu:avx512f", {{"VADDPS", in_lanes<Word32, Word32, vaddps>},
                                         {"VSUBPS", in_lanes<Word32, Word32, vsubps>},
                                         {"VMULPS", in_lanes<Word32, Word32, vmulps>},
                                         {"VFMADD231PS", in_lanes<Word32, Word32, vfmadd231ps>},
                                         {"VADDPD", in_lanes<Word64, Word64, vaddpd>},
                                         {"VSUBPD", in_lanes<Word64, Word64, vsubpd>},
                                         {"VMULPD", in_lanes<Word64, Word64, vmulpd>},
                                         {"VFMADD231PD", in_lanes<Word64, Word64, vfmadd231pd>},
                                         {"VCVTPD2PS", in_lanes<Word64, Word32, vcvtpd2ps>},
                                         {"VCVTPS2PD", in_lanes<Word32, Word64, vcvtps2pd>}});
}

}  // namespace ulpscope::gpu::detail

#else

namespace ulpscope::gpu::detail {

std::shared_ptr<const Elementwise> avx512_bf16_elements() { return nullptr; }
std::shared_ptr<const Elementwise> avx512_fp16_elements() { return nullptr; }
std::shared_ptr<const Elementwise> avx512f_elements() { return nullptr; }

}  // namespace ulpscope::gpu::detail

#endif
