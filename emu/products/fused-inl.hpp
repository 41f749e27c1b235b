// SPDX-License-Identifier: Apache-2.0
// The fused multiply-add of vectors, on processors and in portable words. Compiled once for each instruction set.
#if defined(ULPSCOPE_PRODUCTS_FUSED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_PRODUCTS_FUSED_INL
#undef ULPSCOPE_PRODUCTS_FUSED_INL
#else
#define ULPSCOPE_PRODUCTS_FUSED_INL
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>

#include "emu/simd_targets-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// sum + x * y, rounded once. Highway's portable words round twice.
template <class D>
HWY_INLINE hn::Vec<D> fused(D d, hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> sum) {
  if constexpr (is_portable) {
    using T = hn::TFromD<D>;
    HWY_ALIGN T of_x[hn::MaxLanes(d)], of_y[hn::MaxLanes(d)], of_sum[hn::MaxLanes(d)];
    hn::Store(x, d, of_x);
    hn::Store(y, d, of_y);
    hn::Store(sum, d, of_sum);
    for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) of_sum[lane] = std::fma(of_x[lane], of_y[lane], of_sum[lane]);
    return hn::Load(d, of_sum);
  } else {
    return hn::MulAdd(x, y, sum);
  }
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
