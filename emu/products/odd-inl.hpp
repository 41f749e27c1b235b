// SPDX-License-Identifier: Apache-2.0
// Sums of floats rounded to odd, on processors that round in the direction they are told. Compiled once for each instruction
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

/// x + y rounded to odd. Results that are tiny are flushed where the environment flushes.
HWY_INLINE VF add_floats_to_odd(VF x, VF y) {
  constexpr int exceptions = _MM_FROUND_NO_EXC;
  return odd_one(_mm512_add_round_ps(x.raw, y.raw, _MM_FROUND_TO_POS_INF | exceptions),
                 _mm512_add_round_ps(x.raw, y.raw, _MM_FROUND_TO_NEG_INF | exceptions));
}

#elif ULPSCOPE_X86_BITS == 256

/// The same. Rounding is toward zero. Then s - x is exact where |x| >= |y|, and s - y where |y| >= |x|, so that the sum is
/// exact if and only if both differences give the other operand back. Proof for |x| >= |y|, x > 0, u the spacing of y: x and y
/// are multiples of u. Let s be inexact. For y > 0: x <= s <= x + y, and s - x is a multiple of u and at most y, a float. For y
/// < 0: s and x are multiples of the spacing v >= 2 u of s, and x - s < |y| + v < 2^24 u + v <= (2^23 + 1) v, so that it has at
/// most 24 bits. Where results are flushed, operands are normal or zero: an exact difference is not flushed as it is an
/// operand, and an s that is flushed was exact, as all sums below 2^-125 are.
HWY_INLINE VF add_floats_to_odd(VF x, VF y) {
  const VF cut = hn::Add(x, y);
  const auto inexact = hn::Or(hn::Ne(hn::Sub(cut, x), y), hn::Ne(hn::Sub(cut, y), x));
  const VF magnitude = hn::Abs(cut);
  const auto usual = hn::And(hn::Lt(magnitude, hn::Set(DF(), __builtin_inff())), hn::Gt(magnitude, hn::Zero(DF())));
  const VU odd = hn::IfThenElseZero(hn::RebindMask(DU(), hn::And(inexact, usual)), set(1));
  return floats(hn::Or(bits(cut), odd));
}

#endif

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
