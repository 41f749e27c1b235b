// SPDX-License-Identifier: Apache-2.0
// Sums of floats rounded to odd, on processors that round in the directions they are told. Compiled once for each instruction
// set.
#if defined(ULPSCOPE_PRODUCTS_ODD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_PRODUCTS_ODD_INL
#undef ULPSCOPE_PRODUCTS_ODD_INL
#else
#define ULPSCOPE_PRODUCTS_ODD_INL
#endif

#include <hwy/highway.h>

#include "emu/bulk/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

#if ULPSCOPE_X86_BITS == 512

/// Of a number rounded up and down, the one that is odd; of equal ones the upper, which has the sign of zero that nearest
/// gives.
HWY_INLINE VF odd_one(__m512 up, __m512 down) {
  const __mmask16 odd = _mm512_test_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1));
  return VF{_mm512_mask_mov_ps(up, odd, down)};
}

/// x + y rounded to odd. The environment rounds up; results that are tiny are flushed where it flushes.
HWY_INLINE VF add_floats_to_odd(VF x, VF y) {
  constexpr int exceptions = _MM_FROUND_NO_EXC;
  return odd_one(_mm512_add_round_ps(x.raw, y.raw, _MM_FROUND_TO_POS_INF | exceptions),
                 _mm512_add_round_ps(x.raw, y.raw, _MM_FROUND_TO_NEG_INF | exceptions));
}

#elif ULPSCOPE_X86_BITS == 256

/// The same, where the environment rounds up: a negated number that is rounded up is that number rounded down.
HWY_INLINE VF odd_one_of_negated(__m256 up, __m256 negated_down) {
  const __m256 down = _mm256_xor_ps(negated_down, _mm256_set1_ps(-0.0F));
  const __m256i odd = _mm256_slli_epi32(_mm256_castps_si256(down), 31);
  return VF{_mm256_blendv_ps(up, down, _mm256_castsi256_ps(odd))};
}
HWY_INLINE VF add_floats_to_odd(VF x, VF y) {
  return odd_one_of_negated(_mm256_add_ps(x.raw, y.raw), _mm256_fnmsub_ps(x.raw, _mm256_set1_ps(1), y.raw));
}

#endif

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
