// SPDX-License-Identifier: Apache-2.0
// The truncating block FMA over panels: one step after the other, each for all rows and columns.
#include "emu/products/panels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/aligned.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/float_environment.hpp"
#include "emu/products/aligned-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

template <class Exponent, StepKind kind>
void steps(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, const Exponent* b_exponents, std::size_t count,
           float* accumulators) {
  const auto products = static_cast<std::size_t>(plan.products);
  const std::size_t at_once = hn::Lanes(VectorTag<Exponent>()), columns = b.columns;
  const float* const b_values = b.values.data();
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t i = 0; i < a.rows; ++i) {
      const std::size_t at = (s * panel_rows + i) * products, step_of_b = s * products * panel_columns;
      for (std::size_t j = 0; j < columns; j += at_once)
        step<Exponent, kind>(plan, a.values.data() + at, a.exponents.data() + at, b_values + step_of_b + j,
                             b_exponents + step_of_b + j, accumulators + i * panel_columns + j);
    }
}

/// The steps that hardware has are loops of known length.
template <class Exponent, bool half>
void steps(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, const Exponent* exponents, std::size_t count,
           float* out) {
  switch (plan.products) {
    case 4:
      if (!plan.fits) break;
      return steps<Exponent, {.half = half, .products = 4, .fits = true}>(plan, a, b, exponents, count, out);
    case 8:
      if (!plan.fits) break;
      return steps<Exponent, {.half = half, .products = 8, .fits = true}>(plan, a, b, exponents, count, out);
    case 16: return steps<Exponent, {half, 16}>(plan, a, b, exponents, count, out);
    case 32: return steps<Exponent, {half, 32}>(plan, a, b, exponents, count, out);
    default: break;
  }
  steps<Exponent, {half, 0}>(plan, a, b, exponents, count, out);
}
template <class Exponent>
void steps(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, const Exponent* exponents, std::size_t count,
           float* out) {
  plan.half_results ? steps<Exponent, true>(plan, a, b, exponents, count, out)
                    : steps<Exponent, false>(plan, a, b, exponents, count, out);
}

void run(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t count, float* accumulators) {
  const FloatEnvironment toward_zero(Direction::zero);
  plan.wide ? steps(plan, a, b, b.exponents16.data(), count, accumulators)
            : steps(plan, a, b, b.exponents8.data(), count, accumulators);
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

float aligned_step(const AlignedPlan& plan, const float* a, const float* b, float c, AlignedTerms terms) noexcept {
  const auto at = [&](std::size_t k) { return terms.every_other_pair ? k / 2 * 4 + k % 2 : k; };
  constexpr int none = -(1 << 20);
  const auto exponent_of = [](float x, int least) { return x == 0 ? none : nominal_exponent(x, least); };
  int greatest = exponent_of(c, plan.c_least);
  if (greatest > float32.max_exponent()) return c;
  for (std::size_t k = 0; k < static_cast<std::size_t>(plan.products); ++k) {
    const float x = a[at(k)], y = b[at(k) * panel_columns];
    if (x != 0 && y != 0)
      greatest = std::max(greatest, nominal_exponent(x, plan.a_least) + nominal_exponent(y, plan.b_least) + terms.scale);
  }
  if (greatest == none) return 0;
  greatest = std::max(greatest, plan.least_exponent);

  const double scale = power_of_two(plan.fraction_bits - greatest);
  const double product_scale = power_of_two(plan.fraction_bits - greatest + terms.scale);
  auto sum = static_cast<std::int64_t>(static_cast<double>(c) * scale);
  for (std::size_t k = 0; k < static_cast<std::size_t>(plan.products); ++k)
    sum += static_cast<std::int64_t>(static_cast<double>(a[at(k)]) * static_cast<double>(b[at(k) * panel_columns]) *
                                     product_scale);
  const double exact = static_cast<double>(sum) * power_of_two(greatest - plan.fraction_bits);

  const auto without_sign = [](double result) { return result == 0 ? 0.0F : static_cast<float>(result); };
  if (plan.half_results) return without_sign(round_to(float16, exact).value);
  Format format = float32;
  format.fraction_bits = plan.result_fraction_bits;
  const Rounded rounded = round_to(format, exact, {.rounding = emu::Rounding::toward_zero});
  const float infinity = __builtin_inff();
  if (rounded.outcome == Outcome::overflow) return sum < 0 ? -infinity : infinity;
  return without_sign(rounded.value);
}

HWY_EXPORT(run);

void aligned_steps(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t count, float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run)(plan, a, b, count, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
