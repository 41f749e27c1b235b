// SPDX-License-Identifier: Apache-2.0
// The steps of mxf4 and nvf4: small groups of products are summed exactly, in floats; the group sums, each times two scales,
// and c are aligned, cut and added in doubles.
#include "emu/products/stages.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/group_scaled.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "emu/float_environment.hpp"
#include "emu/products/rounding-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

using FloatTag = VectorTag<float>;
constexpr double below_all = -1e6;
constexpr std::size_t most_groups = 8;  // of a step

/// The scales of a step's groups as the terms of their sums need them: values, and exponents that subnormal scales share.
struct GroupScales {
  double rows[most_groups], row_exponents[most_groups];
  const double* columns;            ///< of the step: block * panel_columns + j
  Lines<double>& column_exponents;  ///< likewise
};

/// Sums of the groups of one row for all columns: products and sums are floats.
HWY_INLINE void group_sums(const StagesPlan& plan, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                           float* HWY_RESTRICT sums) {
  constexpr std::size_t vectors = is_portable ? 1 : 4;
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t g = 0; g * plan.group_products < plan.products; ++g)
    for (std::size_t j = 0; j < panel_columns; j += vectors * lanes) {
      hn::Vec<FloatTag> sum[vectors];
      for (std::size_t v = 0; v < vectors; ++v) sum[v] = hn::Zero(d);
      for (std::size_t k = g * plan.group_products; k < (g + 1) * plan.group_products; ++k) {
        const auto x = hn::Set(d, a[k]);
        for (std::size_t v = 0; v < vectors; ++v)
          sum[v] = hn::MulAdd(x, hn::LoadU(d, b + k * panel_columns + j + v * lanes), sum[v]);
      }
      for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(sum[v], d, sums + g * panel_columns + j + v * lanes);
    }
}

/// The aligned sum of the scaled group sums and c for a vector of columns from j on; the environment rounds toward zero.
HWY_INLINE V aligned_sum(const StagesPlan& plan, const GroupScales& scales, const float* sums, std::size_t j, V c) {
  const hn::Rebind<float, D> df;
  const std::size_t groups = plan.products / plan.group_products;
  const V none = set(below_all), zero = hn::Zero(D());
  const V of_c = hn::Max(exponent_of(c), set(plan.engine.accumulator.min_exponent()));
  V greatest = hn::IfThenElse(hn::Eq(c, zero), none, of_c);
  V terms[most_groups];
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t at = g * plan.group_products / plan.scale_products * panel_columns + j;
    const V scale = hn::Mul(set(scales.rows[g]), hn::LoadU(D(), scales.columns + at));
    terms[g] = hn::Mul(hn::PromoteTo(D(), hn::LoadU(df, sums + g * panel_columns + j)), scale);
    const V exponent = hn::Add(set(scales.row_exponents[g]), hn::LoadU(D(), scales.column_exponents.data() + at));
    greatest = hn::Max(greatest, hn::IfThenElse(hn::Eq(terms[g], zero), none, exponent));
  }
  greatest = hn::Max(greatest, set(plan.engine.least_exponent));
  const V unit = clamped(hn::Sub(greatest, set(plan.engine.stages[1].fraction_bits))), to_units = power(hn::Neg(unit));
  V total = hn::Add(zero, hn::Trunc(hn::Mul(c, to_units)));
  for (std::size_t g = 0; g < groups; ++g) total = hn::Add(total, hn::Trunc(hn::Mul(terms[g], to_units)));
  return hn::Mul(total, power(unit));
}

void run_group_scaled(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  const FloatEnvironment toward_zero(Direction::zero);
  const hn::Rebind<float, D> df;
  const std::size_t lanes = hn::Lanes(D()), groups = plan.products / plan.group_products;
  HWY_ALIGN float sums[most_groups * panel_columns];
  Lines<double> column_exponents;
  column_exponents.resize(plan.blocks * panel_columns);
  const auto exponent = [&](double scale) {
    const auto field = static_cast<int>(bit_cast<std::uint64_t>(scale) >> 52 & 0x7ff);
    return std::max(static_cast<double>(field - 1023), plan.scale_least);
  };
  GroupScales scales{{}, {}, nullptr, column_exponents};
  for (std::size_t s = 0; s < steps; ++s) {
    scales.columns = b.scales.data() + s * plan.blocks * panel_columns;
    for (std::size_t x = 0; x < plan.blocks * panel_columns; ++x) column_exponents[x] = exponent(scales.columns[x]);
    const float* const columns = b.values.data() + s * plan.products * panel_columns;
    for (std::size_t i = 0; i < a.rows; ++i) {
      const float* const row = a.values.data() + (s * panel_rows + i) * plan.products;
      const double* const row_scales = a.scales.data() + (s * panel_rows + i) * plan.blocks;
      for (std::size_t g = 0; g < groups; ++g) {
        scales.rows[g] = row_scales[g * plan.group_products / plan.scale_products];
        scales.row_exponents[g] = exponent(scales.rows[g]);
      }
      group_sums(plan, row, columns, sums);
      for (std::size_t j = 0; j < panel_columns; j += lanes) {
        float* const at = accumulators + i * panel_columns + j;
        const V c = hn::PromoteTo(D(), hn::LoadU(df, at));
        const auto stays = hn::Not(hn::Lt(hn::Abs(c), set(__builtin_huge_val())));
        const V result = aligned_sum(plan, scales, sums, j, hn::IfThenZeroElse(stays, c));
        // What has grown to 2^128 is infinite, although it is cut.
        const auto beyond = hn::Ge(hn::Abs(result), set(0x1p128));
        const V kept = hn::IfThenElse(beyond, hn::CopySign(set(__builtin_huge_val()), result), result);
        // Zeros have no sign: toward zero -0 + 0 is +0.
        hn::StoreU(hn::Add(exact_floats(D(), hn::IfThenElse(stays, c, kept)), hn::Zero(df)), df, at);
      }
    }
  }
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(run_group_scaled);

void group_scaled_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps,
                        float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run_group_scaled)(plan, a, b, steps, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
