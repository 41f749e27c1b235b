// SPDX-License-Identifier: Apache-2.0
// Steps that add c and a few exact products exactly and round once to float32, to nearest even: two chains of doubles bound the
// sum from below and above, and where both are the same that is the sum.
#include "emu/products/stages.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/exact_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "emu/float_environment.hpp"
#include "emu/products/fused-inl.hpp"
#include "emu/products/rounding-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

constexpr std::size_t block_vectors = is_portable ? 1 : 4;  // side by side, to hide the latency of additions

/// Whether doubles are rounded to nearest while the environment rounds down. If not, sums wait until it does not.
constexpr bool rounds_at_once = ULPSCOPE_X86_BITS == 512;

/// A double rounded to a float, to nearest even.
HWY_INLINE void store_nearest(V x, float* to) {
#if ULPSCOPE_X86_BITS == 512
  _mm256_storeu_ps(to, _mm512_cvt_roundpd_ps(x.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  hn::StoreU(exact_floats(D(), x), hn::Rebind<float, D>(), to);
#endif
}

/// Rounding down, x - x is -0, and no sum of these engines keeps -0.
HWY_INLINE V without_minus_zero(V x) { return hn::IfThenZeroElse(hn::Eq(x, hn::Zero(D())), x); }

/// One step of one row for all columns; the environment rounds down. Sums go to `sums` where they are not rounded at once, and
/// what the reference gives where doubles do not hold them.
HWY_INLINE void exact_step(const StagesPlan& plan, const float* a, const float* b, const double* HWY_RESTRICT wide_a,
                           const double* HWY_RESTRICT wide_b, float* c, double* HWY_RESTRICT sums) {
  const hn::Rebind<float, D> df;
  const std::size_t lanes = hn::Lanes(D());
  for (std::size_t j = 0; j < panel_columns; j += block_vectors * lanes) {
    V low[block_vectors], negated_high[block_vectors];
    for (std::size_t v = 0; v < block_vectors; ++v) {
      low[v] = hn::PromoteTo(D(), hn::LoadU(df, c + j + v * lanes));
      negated_high[v] = hn::Neg(low[v]);
    }
    for (std::size_t k = 0; k < plan.products; ++k) {
      const V x = set(wide_a[k]), minus_x = hn::Neg(x);
      for (std::size_t v = 0; v < block_vectors; ++v) {
        const V y = hn::LoadU(D(), wide_b + k * panel_columns + j + v * lanes);
        low[v] = fused(D(), x, y, low[v]);
        negated_high[v] = fused(D(), minus_x, y, negated_high[v]);
      }
    }
    V differ = hn::Zero(D());  // bits of differences: those of equal bounds are -0, those of infinities NaN
    for (std::size_t v = 0; v < block_vectors; ++v) differ = hn::Or(differ, hn::Add(low[v], negated_high[v]));
    const bool all_exact = hn::AllFalse(D(), hn::Ne(differ, hn::Zero(D())));
    if (HWY_LIKELY(all_exact)) {
      for (std::size_t v = 0; v < block_vectors; ++v) {
        const V sum = without_minus_zero(low[v]);
        if constexpr (rounds_at_once)
          store_nearest(sum, c + j + v * lanes);
        else
          hn::StoreU(sum, D(), sums + j + v * lanes);
      }
      continue;
    }
    for (std::size_t v = 0; v < block_vectors; ++v) {
      HWY_ALIGN double below[hn::MaxLanes(D())], above[hn::MaxLanes(D())];
      hn::Store(without_minus_zero(low[v]), D(), below);
      hn::Store(hn::Neg(negated_high[v]), D(), above);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t column = j + v * lanes + lane;
        if (below[lane] != above[lane])
          below[lane] = static_cast<double>(stages_step(plan, a, b + column, nullptr, nullptr, c[column]));
      }
      if constexpr (rounds_at_once)
        store_nearest(hn::Load(D(), below), c + j + v * lanes);
      else
        hn::StoreU(hn::Load(D(), below), D(), sums + j + v * lanes);
    }
  }
}

void run_exact(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  Lines<double> sums, wide_b, wide_a;
  sums.resize(panel_rows * panel_columns);
  wide_b.resize(plan.products * panel_columns);
  wide_a.resize(plan.products * panel_rows);
  for (std::size_t s = 0; s < steps; ++s) {
    const float* const columns = b.values.data() + s * plan.products * panel_columns;
    const float* const rows = a.values.data() + s * plan.products * panel_rows;
    std::copy_n(columns, plan.products * panel_columns, wide_b.data());
    std::copy_n(rows, plan.products * a.rows, wide_a.data());
    {
      const FloatEnvironment down(Direction::down);
      for (std::size_t i = 0; i < a.rows; ++i)
        exact_step(plan, rows + i * plan.products, columns, wide_a.data() + i * plan.products, wide_b.data(),
                   accumulators + i * panel_columns, sums.data() + i * panel_columns);
    }
    if constexpr (!rounds_at_once) {
      const FloatEnvironment nearest(Direction::nearest);
      for (std::size_t at = 0; at < a.rows * panel_columns; at += hn::Lanes(D()))
        store_nearest(hn::Load(D(), sums.data() + at), accumulators + at);
    }
  }
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(run_exact);

void exact_block_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps,
                       float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run_exact)(plan, a, b, steps, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
