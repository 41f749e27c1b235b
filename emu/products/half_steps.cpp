// SPDX-License-Identifier: Apache-2.0
// The fp8 mma.sync of sm_90 and sm_100: a truncating step over half of the products, one over the others with its result for an
// addend, and an addition of c, to nearest even.
#include "emu/products/stages.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/half_steps.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "emu/float_environment.hpp"
#include "emu/products/aligned-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

/// Both steps of one engine step, for all rows and columns, from +0.
template <class Exponent, StepKind kind>
void both(const AlignedPlan& plan, const RowPanel& a, const float* b, const Exponent* b_exponents, std::size_t step_number,
          float* sums) {
  AlignedPlan alone = plan;  // without an addend nothing bounds the alignment
  alone.least_exponent = Engine::no_least_exponent;
  const std::size_t products = 2 * static_cast<std::size_t>(plan.products), columns = hn::Lanes(VectorTag<Exponent>());
  constexpr std::size_t other_rows = 2, other_columns = 2 * panel_columns;  // where the other pairs begin
  std::fill_n(sums, a.rows * panel_columns, 0.0F);
  b += step_number * products * panel_columns;
  b_exponents += step_number * products * panel_columns;
  for (std::size_t i = 0; i < a.rows; ++i) {
    const float* const values = a.values.data() + (step_number * panel_rows + i) * products;
    const std::uint32_t* const exponents = a.exponents.data() + (step_number * panel_rows + i) * products;
    for (std::size_t j = 0; j < panel_columns; j += columns) {
      float* const at = sums + i * panel_columns + j;
      step<Exponent, kind>(alone, values, exponents, b + j, b_exponents + j, at);
      step<Exponent, kind>(plan, values + other_rows, exponents + other_rows, b + other_columns + j,
                           b_exponents + other_columns + j, at);
    }
  }
}

/// accumulators + sums, rounded to the accumulator's format; NaNs are canonical.
template <bool half>
void add(const float* sums, std::size_t count, float* accumulators) {
  const FloatEnvironment nearest(Direction::nearest);
  const DF df;
  for (std::size_t at = 0; at < count; at += hn::Lanes(df)) {
    VF sum = hn::Add(hn::LoadU(df, sums + at), hn::LoadU(df, accumulators + at));
    // The sum of two float16 in float32 is rounded once more without harm: see plan.cpp.
    if constexpr (half && has_half) sum = from_halves(halves<to_nearest_even>(sum));
    hn::StoreU(hn::IfThenElse(hn::IsNaN(sum), hn::Set(df, __builtin_nanf("")), sum), df, accumulators + at);
  }
}

template <class Exponent, bool half>
void all_steps(const AlignedPlan& plan, const RowPanel& a, const float* b, const Exponent* b_exponents, std::size_t steps,
               float* accumulators) {
  constexpr StepKind sixteen{.half = half, .products = 16, .every_other_pair = true};
  constexpr StepKind any{.half = half, .every_other_pair = true};
  HWY_ALIGN float sums[panel_rows * panel_columns];
  for (std::size_t s = 0; s < steps; ++s) {
    {
      const FloatEnvironment toward_zero(Direction::zero);
      plan.products == 16 ? both<Exponent, sixteen>(plan, a, b, b_exponents, s, sums)
                          : both<Exponent, any>(plan, a, b, b_exponents, s, sums);
    }
    add<half>(sums, a.rows * panel_columns, accumulators);
  }
}

void run_half_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  const AlignedPlan& aligned = plan.aligned;
  const auto run = [&](const auto* exponents) {
    using Exponent = std::remove_const_t<std::remove_pointer_t<decltype(exponents)>>;
    aligned.half_results ? all_steps<Exponent, true>(aligned, a, b.values.data(), exponents, steps, accumulators)
                         : all_steps<Exponent, false>(aligned, a, b.values.data(), exponents, steps, accumulators);
  };
  if (aligned.half_results && !has_half) return stages_steps(plan, a, b, steps, accumulators);
  aligned.wide ? run(b.exponents16.data()) : run(b.exponents8.data());
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(run_half_steps);

void half_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run_half_steps)(plan, a, b, steps, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
