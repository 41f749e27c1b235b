// SPDX-License-Identifier: Apache-2.0
// The exponential of emu/math.hpp in vectors, step by step: the same bits. Compiled once for each instruction set.
#if defined(ULPSCOPE_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_EXP_INL
#undef ULPSCOPE_EXP_INL
#else
#define ULPSCOPE_EXP_INL
#endif

#include <hwy/highway.h>

#include "emu/math.hpp"
#include "emu/simd_targets-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V nearest_integers(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V shift = hn::Set(d, 0x1.8p52);
  return hn::Sub(hn::Add(x, shift), shift);
}

template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V normal_powers_of_two(D d, V k) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, hn::Add(k, hn::Set(d, 0x1p52 + 1023)))));
}

/// ExpParts of emu/math.hpp.
template <class V>
struct ExponentialParts {
  V k, head, tail;
};
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE ExponentialParts<V> exponential_parts(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V k = nearest_integers(d, hn::Mul(x, hn::Set(d, one_over_ln2.high)));
  const V high = hn::Sub(x, hn::Mul(k, hn::Set(d, ln2_short))), low = hn::Neg(hn::Mul(k, hn::Set(d, ln2_rest)));
  const V head = hn::Add(high, low), rest = hn::Sub(low, hn::Sub(head, high));
  V sum = hn::Zero(d);
  for (int n = 14; n >= 3; --n) sum = hn::Mul(hn::Add(sum, hn::Set(d, inverse_factorials.of[n])), head);
  const V terms = hn::Mul(hn::Mul(head, head), hn::Add(hn::Set(d, 0.5), sum));
  return {k, head, hn::Add(hn::Add(rest, hn::Mul(head, rest)), terms)};
}

/// emu::exp() of numbers that are not NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V exponentials(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0);
  const ExponentialParts<V> e = exponential_parts(d, hn::Min(hn::Max(x, hn::Set(d, -750.0)), hn::Set(d, 750.0)));
  const V whole = hn::Add(one, e.head), below = hn::Sub(e.head, hn::Sub(whole, one));
  const V value = hn::Add(whole, hn::Add(below, e.tail)), part = nearest_integers(d, hn::Mul(hn::Set(d, 0.5), e.k));
  return hn::Mul(hn::Mul(value, normal_powers_of_two(d, part)), normal_powers_of_two(d, hn::Sub(e.k, part)));
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
