// SPDX-License-Identifier: Apache-2.0
// Steps that add a few exact products exactly and round once, to nearest even: two chains of doubles bound the sum from below
// and above, and where both are the same that is the sum. c is one of the terms, or joins the rounded sum by an addition.
#include "emu/products/stages.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/exact_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "emu/float_environment.hpp"
#include "emu/products/fused-inl.hpp"
#include "emu/products/rounding-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

constexpr std::size_t block_vectors = is_portable ? 1 : 4;  // side by side, to hide the latency of additions

/// Whether doubles are rounded to nearest while the environment rounds down. If not, sums wait until it does not.
constexpr bool can_round_at_once = ULPSCOPE_X86_BITS == 512;

/// A double rounded to a float, to nearest even. Elsewhere than with AVX-512, where the environment rounds so.
HWY_INLINE void store_nearest(V x, float* to) {
#if ULPSCOPE_X86_BITS == 512
  _mm256_storeu_ps(to, _mm512_cvt_roundpd_ps(x.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  hn::StoreU(exact_floats(D(), x), hn::Rebind<float, D>(), to);
#endif
}

/// A result that the reference gave, of the output at this place of the panel.
using Known = std::pair<std::size_t, float>;

/// What of an engine the steps ask for.
struct ExactKind {
  bool has_c;             ///< among the terms
  bool keeps_minus_zero;  ///< of sums of nothing but -0
  bool half;              ///< results are rounded to float16
  bool flushes;           ///< subnormal c and results, where c joins the rounded sum

  explicit ExactKind(const Engine& engine)
      : has_c(engine.stages[0].addend == Addend::first),
        keeps_minus_zero(engine.stages[0].keeps_minus_zero),
        half(engine.accumulator == float16),
        flushes(engine.subnormal_results_are_zero) {}

  /// Whether sums are rounded to float32, and are results then.
  bool rounds_at_once() const { return can_round_at_once && has_c && !half; }
};

/// The sum from its bounds, equal as numbers. Rounding down, x - x is -0 in both chains, and a sum of nothing but -0 is -0 in
/// the lower one and +0 in the negated one.
HWY_INLINE V decided(const ExactKind& kind, V low, V negated_high) {
  if (kind.keeps_minus_zero) return hn::Neg(negated_high);
  return hn::IfThenZeroElse(hn::Eq(low, hn::Zero(D())), low);
}

/// One step of one row for all columns; the environment rounds down. Sums go to `sums` where they are not rounded at once.
/// Where doubles do not hold a sum the reference gives the result: at once, or to `known`, as that of output `first` + column.
HWY_INLINE void exact_step(const StagesPlan& plan, const ExactKind& kind, const float* a, const float* b,
                           const double* HWY_RESTRICT wide_a, const double* HWY_RESTRICT wide_b, float* c,
                           double* HWY_RESTRICT sums, std::size_t first, std::vector<Known>& known) {
  const hn::Rebind<float, D> df;
  const std::size_t lanes = hn::Lanes(D());
  const bool at_once = kind.rounds_at_once();
  for (std::size_t j = 0; j < panel_columns; j += block_vectors * lanes) {
    V low[block_vectors], negated_high[block_vectors];
    if (kind.has_c) {
      for (std::size_t v = 0; v < block_vectors; ++v) {
        low[v] = hn::PromoteTo(D(), hn::LoadU(df, c + j + v * lanes));
        negated_high[v] = hn::Neg(low[v]);
      }
    } else {  // products of two floats are exact
      for (std::size_t v = 0; v < block_vectors; ++v) {
        low[v] = hn::Mul(set(wide_a[0]), hn::LoadU(D(), wide_b + j + v * lanes));
        negated_high[v] = hn::Neg(low[v]);
      }
    }
    for (std::size_t k = kind.has_c ? 0 : 1; k < plan.products; ++k) {
      const V x = set(wide_a[k]), minus_x = hn::Neg(x);
      for (std::size_t v = 0; v < block_vectors; ++v) {
        const V y = hn::LoadU(D(), wide_b + k * panel_columns + j + v * lanes);
        low[v] = fused(D(), x, y, low[v]);
        negated_high[v] = fused(D(), minus_x, y, negated_high[v]);
      }
    }
    // Differences of infinities are NaN, which is no more unequal than 0: their bits must not join those of others.
    const auto unequal = [&](std::size_t v) HWY_ATTR { return hn::Ne(hn::Add(low[v], negated_high[v]), hn::Zero(D())); };
    auto any = unequal(0);
    for (std::size_t v = 1; v < block_vectors; ++v) any = hn::Or(any, unequal(v));
    const bool all_exact = hn::AllFalse(D(), any);
    if (HWY_LIKELY(all_exact)) {
      for (std::size_t v = 0; v < block_vectors; ++v) {
        const V sum = decided(kind, low[v], negated_high[v]);
        if (at_once)
          store_nearest(sum, c + j + v * lanes);
        else
          hn::StoreU(sum, D(), sums + j + v * lanes);
      }
      continue;
    }
    for (std::size_t v = 0; v < block_vectors; ++v) {
      HWY_ALIGN double below[hn::MaxLanes(D())], above[hn::MaxLanes(D())];
      hn::Store(decided(kind, low[v], negated_high[v]), D(), below);
      hn::Store(hn::Neg(negated_high[v]), D(), above);
      const V lower = low[v];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        if (hn::ExtractLane(lower, lane) == above[lane]) continue;
        const std::size_t column = j + v * lanes + lane;
        const float result = stages_step(plan, a, b + column, nullptr, nullptr, c[column]);
        below[lane] = static_cast<double>(result);
        if (!at_once) known.emplace_back(first + column, result);
      }
      if (at_once)
        store_nearest(hn::Load(D(), below), c + j + v * lanes);
      else
        hn::StoreU(hn::Load(D(), below), D(), sums + j + v * lanes);
    }
  }
}

/// A vector of floats with zeros in the places of subnormal numbers.
template <class DF, class VF>
HWY_INLINE VF without_subnormals(DF df, VF x) {
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(df, 0x1p-126F)), hn::CopySign(hn::Zero(df), x), x);
}

/// Results of the sums of a panel's rows, to which c is added where it was none of the terms. The environment rounds to
/// nearest.
HWY_INLINE void finish(const ExactKind& kind, const double* HWY_RESTRICT sums, std::size_t count, float* HWY_RESTRICT results) {
  const hn::Rebind<float, D> df;
  const Grid halves(float16, false);
  for (std::size_t at = 0; at < count; at += hn::Lanes(D())) {
    V sum = hn::LoadU(D(), sums + at);
    if (kind.half) sum = halves.round(sum, Rounding::nearest_even, true);
    auto c = hn::LoadU(df, results + at);
    store_nearest(sum, results + at);
    if (kind.has_c) continue;
    if (kind.flushes) c = without_subnormals(df, c);
    const auto total = hn::Add(hn::LoadU(df, results + at), c);
    hn::StoreU(kind.flushes ? without_subnormals(df, total) : total, df, results + at);
  }
}

void run_exact(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  Lines<double> sums, wide_b, wide_a;
  sums.resize(panel_rows * panel_columns);
  wide_b.resize(plan.products * panel_columns);
  wide_a.resize(plan.products * panel_rows);
  const ExactKind kind(plan.engine);
  std::vector<Known> known;
  for (std::size_t s = 0; s < steps; ++s) {
    const float* const columns = b.values.data() + s * plan.products * panel_columns;
    const float* const rows = a.values.data() + s * plan.products * panel_rows;
    std::copy_n(columns, plan.products * panel_columns, wide_b.data());
    std::copy_n(rows, plan.products * a.rows, wide_a.data());
    {
      const FloatEnvironment down(Direction::down);
      for (std::size_t i = 0; i < a.rows; ++i)
        exact_step(plan, kind, rows + i * plan.products, columns, wide_a.data() + i * plan.products, wide_b.data(),
                   accumulators + i * panel_columns, sums.data() + i * panel_columns, i * panel_columns, known);
    }
    if (kind.rounds_at_once()) continue;
    const FloatEnvironment nearest(Direction::nearest);
    finish(kind, sums.data(), a.rows * panel_columns, accumulators);
    for (const auto& [at, result] : known) accumulators[at] = result;
    known.clear();
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
