// SPDX-License-Identifier: Apache-2.0
// Steps of two or four products whose sums are those of float32 additions: in pairs, rounded to nearest even or to odd, one
// product after the other by fused multiply-adds, and exact sums where floats hold them. The chains of a block of outputs stay
// in registers for all steps.
#include "emu/products/stages.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/short_steps.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "emu/float_environment.hpp"
#include "emu/products/bounds-inl.hpp"
#include "emu/products/odd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

/// What runs a step that floats do not hold, and on processors that do not round and flush as they are told.
void run_elsewhere(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  plan.engine.stages[0].summing == Summing::exact ? exact_block_steps(plan, a, b, steps, accumulators)
                                                  : stages_steps(plan, a, b, steps, accumulators);
}

#if ULPSCOPE_X86_BITS != 0

// How the products of a step are added, and how their sum joins c.

struct ToNearest {
  static constexpr Direction direction = Direction::nearest;
  HWY_INLINE static VF add(VF x, VF y) { return hn::Add(x, y); }
  HWY_INLINE static VF join(VF c, VF sum) { return hn::Add(c, sum); }
};
/// c is +0 where it is -0: so is c + sum where the sum is.
struct WithoutSigns : ToNearest {
  HWY_INLINE static VF join(VF c, VF sum) { return hn::Add(c, hn::Add(sum, hn::Zero(DF()))); }
};
struct ToOdd {
  static constexpr Direction direction = Direction::up;
  HWY_INLINE static VF add(VF x, VF y) { return add_floats_to_odd(x, y); }
  HWY_INLINE static VF join(VF c, VF sum) { return add_floats_to_odd(c, sum); }
};
/// Sums of products are exact, and c is a float16: see Half in fused.cpp, which is told why one may round to odd first.
struct ToHalf {
  static constexpr Direction direction = Direction::up;
  HWY_INLINE static VF add(VF x, VF y) { return hn::Add(x, y); }
  HWY_INLINE static VF join(VF c, VF sum) { return from_halves(halves<to_nearest_even>(add_floats_to_odd(c, sum))); }
};

/// The sum of `count` products by halves. Where products are exact, the second of two may join by a fused multiply-add.
template <class Sum, bool exact_products, std::size_t count>
HWY_INLINE VF sum_of(const float* a, const float* b) {
  const auto b_of = [&](std::size_t k) HWY_ATTR { return hn::LoadU(DF(), b + k * panel_columns); };
  if constexpr (count == 1) {
    return hn::Mul(hn::Set(DF(), *a), b_of(0));
  } else if constexpr (count == 2 && exact_products) {
    return hn::MulAdd(hn::Set(DF(), a[1]), b_of(1), hn::Mul(hn::Set(DF(), a[0]), b_of(0)));
  } else {
    constexpr std::size_t half = count / 2;
    return Sum::add(sum_of<Sum, exact_products, half>(a, b),
                    sum_of<Sum, exact_products, half>(a + half, b + half * panel_columns));
  }
}

/// Products join c one after the other by fused multiply-adds, the last one first.
struct InTurn {
  static constexpr Direction direction = Direction::nearest;
};

/// c after a step.
template <class Sum, bool exact_products, std::size_t products>
HWY_INLINE VF after_step(VF c, const float* a, const float* b) {
  if constexpr (std::is_same_v<Sum, InTurn>) {
    for (std::size_t k = products; k-- > 0;) c = hn::MulAdd(hn::Set(DF(), a[k]), hn::LoadU(DF(), b + k * panel_columns), c);
    return c;
  } else {
    return Sum::join(c, sum_of<Sum, exact_products, products>(a, b));
  }
}

/// All steps of `rows` rows and `vectors` vectors of columns.
template <class Sum, bool exact_products, std::size_t products, std::size_t rows, std::size_t vectors>
HWY_INLINE void short_block(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::size_t steps,
                            float* HWY_RESTRICT accumulators) {
  const std::size_t lanes = hn::Lanes(DF());
  VF c[rows][vectors];
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t v = 0; v < vectors; ++v) c[r][v] = hn::LoadU(DF(), accumulators + r * panel_columns + v * lanes);
  for (std::size_t s = 0; s < steps; ++s, a += panel_rows * products, b += products * panel_columns)
    for (std::size_t v = 0; v < vectors; ++v)
      for (std::size_t r = 0; r < rows; ++r)
        c[r][v] = after_step<Sum, exact_products, products>(c[r][v], a + r * products, b + v * lanes);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(c[r][v], DF(), accumulators + r * panel_columns + v * lanes);
}

template <class Sum, bool exact_products, std::size_t products>
void run_blocks(const RowPanel& a, const ColumnPanel& b, std::size_t steps, FloatEnvironment::Subnormals small,
                float* accumulators) {
  // Rows: as many as hide the latency of fused multiply-adds where nothing else is in a chain.
  constexpr std::size_t vectors = 2, together = ULPSCOPE_X86_BITS == 512 || std::is_same_v<Sum, InTurn> ? 4 : 2;
  const FloatEnvironment environment(Sum::direction, small);
  std::size_t i = 0;
  const auto block_of = [&](auto rows) HWY_ATTR {
    for (std::size_t j = 0; j < b.columns; j += vectors * hn::Lanes(DF()))
      short_block<Sum, exact_products, products, rows(), vectors>(a.values.data() + i * products, b.values.data() + j, steps,
                                                                  accumulators + i * panel_columns + j);
  };
  for (; i + together <= a.rows; i += together) block_of(std::integral_constant<std::size_t, together>());
  for (; i < a.rows; ++i) block_of(std::integral_constant<std::size_t, 1>());
}

/// The greatest sum of magnitudes in a column of a step, but for its rounding.
double greatest_column(const float* b, std::size_t products, std::size_t steps) {
  VF greatest = hn::Zero(DF());
  for (std::size_t s = 0; s < steps; ++s, b += products * panel_columns)
    for (std::size_t j = 0; j < panel_columns; j += hn::Lanes(DF())) {
      VF sum = hn::Zero(DF());
      for (std::size_t k = 0; k < products; ++k) sum = hn::Add(sum, hn::Abs(hn::LoadU(DF(), b + k * panel_columns + j)));
      greatest = hn::Max(greatest, sum);
    }
  HWY_ALIGN float lanes[hn::MaxLanes(DF())];
  hn::Store(greatest, DF(), lanes);
  return static_cast<double>(*std::max_element(lanes, lanes + hn::Lanes(DF())));
}

/// Whether floats hold what the kernel takes them for.
bool are_floats(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, const float* accumulators) {
  const Engine& engine = plan.engine;
  const Bounds of_a = bounds_of(a.values.data(), steps, a.rows * plan.products, panel_rows * plan.products);
  // Twice what sums of products are at most: enough for all roundings, to odd ones among them.
  const double twice = 2 * of_a.greatest * greatest_column(b.values.data(), plan.products, steps);
  if (engine.stages[0].summing != Summing::exact) {
    // To odd, as toward zero, the greatest finite number stands for more: no sum may come there.
    const double c = bounds_of(accumulators, a.rows, panel_columns, panel_columns).greatest;
    return c + static_cast<double>(steps) * twice < power_of_two(float32.max_exponent() - 1);
  }
  const Bounds of_b = bounds_of(b.values.data(), steps * plan.products, panel_columns, panel_columns);
  const double unit = of_a.unit * of_b.unit;
  if (unit < power_of_two(float32.min_spacing_exponent())) return false;
  // Products are floats, and an addition rounds the exact sum of two. Into float16 all sums of a step's products are floats.
  return engine.accumulator == float32 ? twice < power_of_two(float32.max_exponent())
                                       : twice < unit * power_of_two(float32.precision() + 1);
}

template <std::size_t products>
void run_short(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  const Engine& engine = plan.engine;
  const auto small = !engine.subnormal_results_are_zero ? FloatEnvironment::subnormals
                     : engine.subnormal_addend_is_zero  ? FloatEnvironment::flush
                                                        : FloatEnvironment::flush_results;
  if (engine.stages[0].summing == Summing::sequential)
    return run_blocks<InTurn, false, products>(a, b, steps, small, accumulators);
  if (engine.accumulator == float16) return run_blocks<ToHalf, true, products>(a, b, steps, small, accumulators);
  if (engine.stages[0].rounding == Rounding::to_odd)
    return run_blocks<ToOdd, false, products>(a, b, steps, small, accumulators);
  // What a fused multiply-add adds is neither rounded nor flushed.
  const bool never_tiny = plan.a.min_spacing_exponent() + plan.b.min_spacing_exponent() >= float32.min_exponent();
  const bool exact =
      engine.stages[0].summing == Summing::exact || (plan.exact_products && (never_tiny || !engine.subnormal_results_are_zero));
  if (engine.input_zeros_are_positive)
    return exact ? run_blocks<WithoutSigns, true, products>(a, b, steps, small, accumulators)
                 : run_blocks<WithoutSigns, false, products>(a, b, steps, small, accumulators);
  exact ? run_blocks<ToNearest, true, products>(a, b, steps, small, accumulators)
        : run_blocks<ToNearest, false, products>(a, b, steps, small, accumulators);
}

void run(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  const bool always = plan.engine.stages[0].summing != Summing::exact && plan.engine.stages[0].rounding != Rounding::to_odd;
  if (!always && !are_floats(plan, a, b, steps, accumulators)) return run_elsewhere(plan, a, b, steps, accumulators);
  plan.products == 2 ? run_short<2>(plan, a, b, steps, accumulators) : run_short<4>(plan, a, b, steps, accumulators);
}

#else

void run(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  run_elsewhere(plan, a, b, steps, accumulators);
}

#endif

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(run);

void short_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run)(plan, a, b, steps, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
