// SPDX-License-Identifier: Apache-2.0
// tanh and gelu_tanh of emu/special_functions.hpp and emu/quick_functions.hpp in vectors, step by step: the same bits where
// operations are fused, which gives what a product is off by. Compiled once for each instruction set.
#if defined(ULPSCOPE_TANH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_TANH_INL
#undef ULPSCOPE_TANH_INL
#else
#define ULPSCOPE_TANH_INL
#endif

#include <hwy/highway.h>

#include "emu/exp-inl.hpp"
#include "emu/math.hpp"
#include "emu/quick_functions.hpp"
#include "emu/simd_targets-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

/// high + low, as Pair, and its operations.
template <class V>
struct Pairs {
  V high, low;
};
template <class V>
HWY_INLINE Pairs<V> fast_sums(V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V s = hn::Add(a, b);
  return {s, hn::Sub(b, hn::Sub(s, a))};
}
template <class V>
HWY_INLINE Pairs<V> products(V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V p = hn::Mul(a, b);
  return {p, hn::MulSub(a, b, p)};
}
template <class V>
HWY_INLINE Pairs<V> add(const Pairs<V>& a, const Pairs<V>& b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V s = hn::Add(a.high, b.high), t = hn::Sub(s, a.high);
  const V low = hn::Add(hn::Sub(a.high, hn::Sub(s, t)), hn::Sub(b.high, t));
  return fast_sums(s, hn::Add(low, hn::Add(a.low, b.low)));
}
template <class V>
HWY_INLINE Pairs<V> multiply(const Pairs<V>& a, const Pairs<V>& b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const Pairs<V> p = products(a.high, b.high);
  return fast_sums(p.high, hn::Add(p.low, hn::Add(hn::Mul(a.high, b.low), hn::Mul(a.low, b.high))));
}
template <class V>
HWY_INLINE Pairs<V> divide(const Pairs<V>& a, const Pairs<V>& b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V q = hn::Div(a.high, b.high);
  const Pairs<V> back = products(q, b.high);
  const V rest = hn::Sub(hn::Add(hn::Sub(hn::Sub(a.high, back.high), back.low), a.low), hn::Mul(q, b.low));
  return fast_sums(q, hn::Div(rest, b.high));
}

/// emu::tanh() of numbers that are not NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V hyperbolic_tangents(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V size = hn::Abs(x), most = hn::Set(d, 20.0), one = hn::Set(d, 1.0), none = hn::Zero(d);
  const ExponentialParts<V> e = exponential_parts(d, hn::Mul(hn::Set(d, 2.0), hn::Min(size, most)));
  const V scale = normal_powers_of_two(d, e.k);
  const Pairs<V> growth{hn::Mul(scale, e.head), hn::Mul(scale, e.tail)};
  const Pairs<V> less{hn::Sub(scale, one), none}, more{hn::Add(scale, one), none};
  const V quotient = divide(add(less, growth), add(more, growth)).high;
  const V result = hn::IfThenElse(hn::Gt(size, most), one, quotient);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0x1p-28)), x, hn::CopySign(result, x));
}

/// emu::gelu_tanh() of numbers below 15.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V gelus_of_tanh(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto constant = [&](Pair of) HWY_ATTR { return Pairs<V>{hn::Set(d, of.high), hn::Set(d, of.low)}; };
  const V one = hn::Set(d, 1.0);
  const Pairs<V> sum = add(constant({1, 0}), multiply(products(x, x), constant(gelu_tanh_cubic)));
  const Pairs<V> w = multiply(multiply(Pairs<V>{x, hn::Zero(d)}, constant(gelu_tanh_factor())), sum);
  const auto is_positive = hn::Gt(w.high, hn::Zero(d));
  const V high = hn::IfThenElse(is_positive, hn::Neg(w.high), w.high);
  const V low = hn::IfThenElse(is_positive, hn::Neg(w.low), w.low);
  const V e = hn::Mul(exponentials(d, high), hn::Add(one, low));
  return hn::Mul(x, hn::Div(hn::IfThenElse(is_positive, one, e), hn::Add(one, e)));
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
