// SPDX-License-Identifier: Apache-2.0
// erf and gelu of emu/special_functions.hpp and emu/quick_functions.hpp in vectors, step by step: the same bits where
// operations are fused, which gives what a product is off by. Compiled once for each instruction set.
#if defined(ULPSCOPE_ERF_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_ERF_INL
#undef ULPSCOPE_ERF_INL
#else
#define ULPSCOPE_ERF_INL
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>

#include "emu/exp-inl.hpp"
#include "emu/simd_targets-inl.hpp"
#include "emu/special_functions.hpp"
#include "emu/tanh-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

/// sum c[n] x^n
template <class D, std::size_t count, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V polynomials(D d, const std::array<double, count>& c, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  V sum = hn::Set(d, c[count - 1]);
  for (std::size_t n = count - 1; n-- > 0;) sum = hn::Add(hn::Mul(sum, x), hn::Set(d, c[n]));
  return sum;
}

/// The sum of the expansion in row `step` of a table at h from its middle. Rows are a pair and coefficients.
template <class Expansion, class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V expanded(D d, const Expansion* table, V step, V h) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr std::size_t terms = Expansion::terms;
  static_assert(sizeof(Expansion) == (2 + terms) * sizeof(double));
  const hn::RebindToSigned<D> di;
  // The first element of the row, a small integer: the bits of its sum with 2^52 end in it.
  const V begin = hn::Mul(step, hn::Set(d, static_cast<double>(2 + terms)));
  const auto at_begin = hn::And(hn::BitCast(di, hn::Add(begin, hn::Set(d, 0x1p52))), hn::Set(di, 0xffff));
  const auto* const numbers = reinterpret_cast<const double*>(table);
  const auto at = [&](std::size_t n) HWY_ATTR { return hn::GatherIndex(d, numbers + n, at_begin); };
  V sum = at(1 + terms);
  for (std::size_t n = terms - 1; n-- > 0;) sum = hn::Add(hn::Mul(sum, h), at(2 + n));
  return hn::Add(at(0), hn::Add(at(1), hn::Mul(h, sum)));
}

/// emu::erf() of finite numbers.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V error_functions(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const ErfSeries& series = erf_series_near_zero();
  const V end = hn::Set(d, erf_series_end), most = hn::Set(d, erf_is_one), size = hn::Abs(x);
  const V within = hn::Max(hn::IfThenElse(hn::Lt(size, most), size, most), end), width = hn::Set(d, erf_table_step);
  const V step = nearest_integers(d, hn::Div(hn::Sub(within, end), width));
  const V far = expanded(d, erf_table().data(), step, hn::Sub(within, hn::Add(end, hn::Mul(step, width))));
  const V square = hn::Mul(x, x), cube = hn::Mul(square, x);
  const Pairs<V> head = products(x, hn::Set(d, series.first.high));
  const V rest = hn::Add(hn::Mul(x, hn::Set(d, series.first.low)), hn::Mul(cube, polynomials(d, series.coefficient, square)));
  const V near = hn::IfThenElse(hn::Lt(size, hn::Set(d, 0x1p-500)), head.high, hn::Add(head.high, hn::Add(head.low, rest)));
  const V beyond = hn::IfThenElse(hn::Lt(size, most), far, hn::Set(d, 1.0));
  return hn::IfThenElse(hn::Lt(size, end), near, hn::CopySign(beyond, x));
}

/// emu::gelu() of numbers below normal_tail_end.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V gelus(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V most = hn::Set(d, normal_tail_end), size = hn::Abs(x), width = hn::Set(d, normal_tail_step), one = hn::Set(d, 1.0);
  const V t = hn::IfThenElse(hn::Lt(size, most), size, most), step = nearest_integers(d, hn::Div(t, width));
  const V factor = expanded(d, normal_tails().data(), step, hn::Sub(t, hn::Mul(step, width)));
  const Pairs<V> square = products(t, t);
  const V e = exponentials(d, hn::Mul(hn::Set(d, -0.5), square.high));
  const V tail = hn::Mul(hn::Mul(e, hn::Add(one, hn::Mul(hn::Set(d, -0.5), square.low))), factor);
  return hn::Mul(x, hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Sub(one, tail), tail));
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
