// SPDX-License-Identifier: Apache-2.0
// Truncating steps whose products share two scales that are powers of two: their exponents join those of the products.
#include "emu/products/stages.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/scaled_steps.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "emu/float_environment.hpp"
#include "emu/products/aligned-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

/// log2 of a power of two within the normal numbers.
HWY_INLINE std::int32_t log2_of(double scale) {
  return static_cast<std::int32_t>(bit_cast<std::uint64_t>(scale) >> 52 & 0x7ff) - 1023;
}

template <class Exponent, bool half, int products>
void all_scaled(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, const Exponent* b_exponents, std::size_t steps,
                float* accumulators) {
  constexpr StepKind kind{.half = half, .products = products, .scaled = true};
  const std::size_t columns = hn::Lanes(VectorTag<Exponent>());
  HWY_ALIGN std::int32_t of_columns[panel_columns];
  for (std::size_t s = 0; s < steps; ++s) {
    for (std::size_t j = 0; j < panel_columns; ++j) of_columns[j] = log2_of(b.scales.data()[s * panel_columns + j]);
    const std::size_t step_of_b = s * plan.products * panel_columns;
    for (std::size_t i = 0; i < a.rows; ++i) {
      const std::size_t line = s * panel_rows + i, at = line * plan.products;
      const int of_row = log2_of(a.scales.data()[line]);
      for (std::size_t j = 0; j < panel_columns; j += columns)
        step<Exponent, kind>(plan.aligned, a.values.data() + at, a.exponents.data() + at, b.values.data() + step_of_b + j,
                             b_exponents + step_of_b + j, accumulators + i * panel_columns + j, {of_row, of_columns + j});
    }
  }
}

void run_scaled(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  const FloatEnvironment toward_zero(Direction::zero);
  const auto run = [&](const auto* exponents) {
    using Exponent = std::remove_const_t<std::remove_pointer_t<decltype(exponents)>>;
    if (plan.aligned.half_results) return all_scaled<Exponent, true, 0>(plan, a, b, exponents, steps, accumulators);
    plan.products == 32 ? all_scaled<Exponent, false, 32>(plan, a, b, exponents, steps, accumulators)
                        : all_scaled<Exponent, false, 0>(plan, a, b, exponents, steps, accumulators);
  };
  plan.aligned.wide ? run(b.exponents16.data()) : run(b.exponents8.data());
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(run_scaled);

void scaled_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run_scaled)(plan, a, b, steps, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
