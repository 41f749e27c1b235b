// SPDX-License-Identifier: Apache-2.0
// Conversions of F16C and arithmetic of SSE2. The instructions are spelled out: the order of their operands decides which NaN
// survives, and compilers feel free to change it.
#include "gpu/cpu/cpu_elements.hpp"
#include "gpu/cpu/element_lanes.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

namespace ulpscope::gpu::detail {
namespace {

using Xmm = ElementVectors<16>;
using Ymm = ElementVectors<32>;

template <class Vector>
__m128i load_128(const Vector& vector) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(vector.data()));
}
template <class Vector>
void store_128(Vector& vector, __m128i words) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(vector.data()), words);
}

// Of two operands: the first one is destination and first source.
#define ULPSCOPE_TWO_OPERANDS(instruction)                                   \
  void instruction(Xmm& v) {                                                 \
    __m128i d = load_128(v.a);                                               \
    __asm__ volatile(#instruction " %1, %0" : "+x"(d) : "x"(load_128(v.b))); \
    store_128(v.d, d);                                                       \
  }
ULPSCOPE_TWO_OPERANDS(addps)
ULPSCOPE_TWO_OPERANDS(subps)
ULPSCOPE_TWO_OPERANDS(mulps)
ULPSCOPE_TWO_OPERANDS(addpd)
ULPSCOPE_TWO_OPERANDS(subpd)
ULPSCOPE_TWO_OPERANDS(mulpd)
#undef ULPSCOPE_TWO_OPERANDS

#define ULPSCOPE_CONVERSION(instruction)                                     \
  void instruction(Xmm& v) {                                                 \
    __m128i d;                                                               \
    __asm__ volatile(#instruction " %1, %0" : "=x"(d) : "x"(load_128(v.a))); \
    store_128(v.d, d);                                                       \
  }
ULPSCOPE_CONVERSION(cvtpd2ps)
ULPSCOPE_CONVERSION(cvtps2pd)
#undef ULPSCOPE_CONVERSION

/// imm8: bits 1:0 round as MXCSR.RC would, bit 2 clear keeps MXCSR out of it (SDM volume 2, VCVTPS2PH).
template <int imm8>
__attribute__((target("avx,f16c"))) void vcvtps2ph(Ymm& v) {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(v.a.data()));
  __m128i d;
  __asm__ volatile("vcvtps2ph %2, %1, %0" : "=x"(d) : "x"(a), "i"(imm8));
  store_128(v.d, d);
}
__attribute__((target("avx,f16c"))) void vcvtph2ps(Ymm& v) {
  __m256i d;
  __asm__ volatile("vcvtph2ps %1, %0" : "=x"(d) : "x"(load_128(v.a)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(v.d.data()), d);
}

using Word16 = std::uint16_t;
using Word32 = std::uint32_t;
using Word64 = std::uint64_t;

template <class Word, VectorInstruction<16> instruction>
constexpr auto arithmetic = apply_in_lanes<Word, Word, 16, instruction>;

}  // namespace

std::shared_ptr<const Elementwise> f16c_elements() {
  if (!__builtin_cpu_supports("f16c")) return nullptr;
  return cpu_elementwise("cpu:f16c", {{"VCVTPS2PH imm8=0", apply_in_lanes<Word32, Word16, 32, vcvtps2ph<0>>},
                                      {"VCVTPS2PH imm8=1", apply_in_lanes<Word32, Word16, 32, vcvtps2ph<1>>},
                                      {"VCVTPS2PH imm8=2", apply_in_lanes<Word32, Word16, 32, vcvtps2ph<2>>},
                                      {"VCVTPS2PH imm8=3", apply_in_lanes<Word32, Word16, 32, vcvtps2ph<3>>},
                                      {"VCVTPH2PS", apply_in_lanes<Word16, Word32, 32, vcvtph2ps>}});
}

std::shared_ptr<const Elementwise> sse2_elements() {
  return cpu_elementwise("cpu:sse2", {{"ADDPS", arithmetic<Word32, addps>},
                                      {"SUBPS", arithmetic<Word32, subps>},
                                      {"MULPS", arithmetic<Word32, mulps>},
                                      {"ADDPD", arithmetic<Word64, addpd>},
                                      {"SUBPD", arithmetic<Word64, subpd>},
                                      {"MULPD", arithmetic<Word64, mulpd>},
                                      {"CVTPD2PS", apply_in_lanes<Word64, Word32, 16, cvtpd2ps>},
                                      {"CVTPS2PD", apply_in_lanes<Word32, Word64, 16, cvtps2pd>}});
}

}  // namespace ulpscope::gpu::detail

#else

namespace ulpscope::gpu::detail {

std::shared_ptr<const Elementwise> f16c_elements() { return nullptr; }
std::shared_ptr<const Elementwise> sse2_elements() { return nullptr; }

}  // namespace ulpscope::gpu::detail

#endif
