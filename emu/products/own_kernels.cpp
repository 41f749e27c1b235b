// SPDX-License-Identifier: Apache-2.0
// Which engines have a kernel of their own: each is written out as its kernel computes it, and compared.
#include <algorithm>
#include <cstddef>
#include <optional>

#include "emu/products/plan.hpp"
#include "emu/products/stages.hpp"

namespace ulpscope::emu::detail {
namespace {

double greatest_magnitude(Format format) { return 2 * power_of_two(format.max_exponent()); }

bool are_narrow(const StagesPlan& plan) {
  constexpr int narrow = 24;  // as for AlignedPlan::wide
  const auto fits = [](Format f) { return f.max_exponent() <= narrow && f.min_exponent() >= -narrow; };
  return fits(plan.a) && fits(plan.b);
}

/// The engine that the kernels assume beside its stages: everything of the given one that none of them changes.
Engine plain(const Engine& engine) {
  Engine out = block_fma(engine.products, engine.stages[0].fraction_bits, engine.accumulator, engine.stages[0].rounding);
  out.nan_code = engine.nan_code;
  out.least_exponent = engine.least_exponent;
  out.operands_become_float16 = engine.operands_become_float16;
  return out;
}

bool takes_half_steps(StagesPlan& plan) {
  const Engine& engine = plan.engine;
  if (engine.products % 4 != 0) return false;
  Engine expected = plain(engine), half = expected;
  half.products = half.stages[0].terms = engine.products / 2;
  Stage& halves = expected.stages[0];
  halves.terms = engine.products / 2;
  halves.run = 2;
  halves.addend = Addend::none;
  halves.carried = true;
  expected.stages[1].summing = Summing::sequential;
  expected.stages[1].addend = Addend::last;
  expected.stages[1].starts_at_zero = false;
  expected.stage_count = 2;
  const auto aligned = aligned_plan(half, plan.a, plan.b);
  if (engine != expected || !aligned) return false;
  plan.aligned = *aligned;
  plan.exponents = true;
  plan.wide = aligned->wide;
  return true;
}

bool takes_scaled_steps(StagesPlan& plan) {
  const Engine& engine = plan.engine;
  if (engine.scales != EngineScales::products || engine.scale_products != engine.products) return false;
  const Format scales = plan.scale_format;
  if (scales.fraction_bits != 0 || scales.has_zero() || scales.max_exponent() > 127 || scales.min_exponent() < -127)
    return false;
  Engine unscaled = engine;
  unscaled.scales = EngineScales::none;
  unscaled.scale_products = 0;
  const auto aligned = aligned_plan(unscaled, plan.a, plan.b);
  if (!aligned) return false;
  plan.aligned = *aligned;
  plan.exponents = true;
  plan.wide = aligned->wide;
  return true;
}

bool takes_group_scaled_steps(const StagesPlan& plan) {
  const Engine& engine = plan.engine;
  Engine expected = plain(engine);
  expected.scales = EngineScales::group_sums;
  expected.scale_products = engine.scale_products;
  expected.stages[0] = {};
  expected.stages[0].summing = Summing::exact;
  expected.stages[0].terms = engine.stages[0].terms;
  expected.stages[0].rounded = false;
  expected.stages[1].addend = Addend::first;
  expected.stages[1].fraction_bits = engine.stages[1].fraction_bits;
  expected.stages[1].rounding = Rounding::toward_zero;
  expected.stage_count = 2;
  if (engine != expected || engine.accumulator != float32 || engine.products < 1 || engine.stages[0].terms < 1) return false;
  // Every group sum is an integer of 24 bits times the least product, every scaled one a double, and so is their sum.
  const auto group = static_cast<std::size_t>(engine.stages[0].terms);
  const double least = power_of_two(plan.a.min_spacing_exponent()) * power_of_two(plan.b.min_spacing_exponent());
  const double most = static_cast<double>(group) * greatest_magnitude(plan.a) * greatest_magnitude(plan.b);
  const bool exact = most <= least * power_of_two(24) && 24 + 2 * plan.scale_format.precision() <= 53;
  const std::size_t groups = plan.products / group;
  const double units = static_cast<double>(groups) * most * 4;
  return exact && plan.products % group == 0 && groups <= most_sums && plan.scale_products % group == 0 &&
         plan.scale_format.max_exponent() <= 127 && plan.scale_format.min_exponent() >= -127 &&
         (units + 2) * power_of_two(engine.stages[1].fraction_bits) < power_of_two(53);
}

bool takes_late_addends(StagesPlan& plan) {
  const Engine& engine = plan.engine;
  const Stage& last = engine.last_stage();
  Engine expected = block_fma(engine.products, engine.stages[0].fraction_bits, float32, Rounding::nearest_even);
  expected.nan_code = engine.nan_code;
  expected.least_exponent = float32.min_exponent();
  expected.products_overflow = true;
  Stage& sum = expected.stages[0];
  sum.addend = Addend::none;
  sum.rounded = false;
  Stage join;
  join.addend = Addend::first;
  join.fraction_bits = last.fraction_bits;
  join.addend_fraction_bits = last.addend_fraction_bits;
  join.addend_window = last.addend_window;
  join.cut = Cut::downward;
  join.keeps_minus_zero = last.keeps_minus_zero;
  expected.stage_count = engine.stage_count;
  if (engine.stage_count == 3) {
    sum.terms = engine.products / 2;
    sum.run = 1;
    expected.stages[1].fraction_bits = sum.fraction_bits;
    expected.stages[1].cut = Cut::downward;
    expected.stages[1].rounded = false;
  }
  expected.stages[static_cast<std::size_t>(engine.stage_count) - 1] = join;
  if (engine.products < 2 || engine.stage_count < 2 || engine != expected) return false;
  if (engine.stage_count == 2 && last.addend_window != Stage::unlimited) return false;
  // Cut sums are integers of 31 bits, c one of as many fraction bits, and seven bits of the last sum lie below them.
  const int bits = sum.fraction_bits, lower = last.fraction_bits - bits;
  const double greatest = 4.0 * engine.products * power_of_two(bits);
  const bool fits = bits >= 23 && bits <= 28 && greatest <= power_of_two(30) && lower >= 0 && lower <= 7 &&
                    last.addend_fraction_bits == bits && engine.products % 2 == 0;
  if (!fits || !(plan.exact_products || plan.a.precision() + plan.b.precision() <= 24)) return false;
  if (std::max(plan.a.max_exponent(), plan.b.max_exponent()) > 127) return false;
  plan.exponents = true;
  plan.wide = !are_narrow(plan);
  return engine.stage_count == 2 || !plan.wide;
}

bool takes_exact_blocks(const StagesPlan& plan) {
  const Engine& engine = plan.engine;
  constexpr int most_products = 64;
  if (engine.products == Stage::all || engine.products > most_products) return false;
  Engine expected = block_fma(engine.products, 0, engine.accumulator, Rounding::nearest_even);
  Stage& sum = expected.stages[0];
  sum.summing = Summing::exact;
  sum.fraction_bits = engine.stages[0].fraction_bits;
  sum.keeps_minus_zero = engine.stages[0].keeps_minus_zero;
  expected.nan_code = engine.nan_code;
  expected.least_exponent = engine.least_exponent;
  if (engine == expected) return true;
  // c joins the rounded sum, which is not so small that it would be flushed.
  sum.addend = Addend::none;
  expected.stages[1].summing = Summing::sequential;
  expected.stages[1].addend = Addend::last;
  expected.stages[1].starts_at_zero = false;
  expected.stage_count = 2;
  expected.subnormal_inputs_are_zero = engine.subnormal_inputs_are_zero;
  expected.subnormal_addend_is_zero = expected.subnormal_results_are_zero = engine.subnormal_results_are_zero;
  const bool normal = plan.a.min_spacing_exponent() + plan.b.min_spacing_exponent() >= float32.min_exponent();
  return engine == expected && engine.accumulator == float32 && (normal || !engine.subnormal_results_are_zero);
}

bool takes_short_steps(const StagesPlan& plan) {
  const Engine& engine = plan.engine;
  const Stage& stage = engine.stages[0];
  if (engine.products != 2 && engine.products != 4) return false;
  if (stage.summing == Summing::pairwise || stage.summing == Summing::sequential) {
    Engine pairs = fma_chain(float32);
    pairs.products = pairs.stages[0].terms = engine.products;
    pairs.stages[0].summing = stage.summing;
    pairs.stages[0].descending = stage.summing == Summing::sequential;
    pairs.stages[0].rounding = stage.rounding;
    pairs.subnormal_inputs_are_zero = engine.subnormal_inputs_are_zero;
    pairs.subnormal_addend_is_zero = engine.subnormal_addend_is_zero;
    pairs.subnormal_results_are_zero = engine.subnormal_results_are_zero;
    pairs.input_zeros_are_positive = engine.input_zeros_are_positive;
    pairs.nan_result = engine.nan_result;
    pairs.nan_code = engine.nan_code;
    // Products that are rounded to odd are exact, or flushed.
    const bool odd = stage.rounding == Rounding::to_odd && !engine.input_zeros_are_positive &&
                     engine.subnormal_results_are_zero && plan.a.precision() + plan.b.precision() <= float32.precision();
    const bool nearest = stage.rounding == Rounding::nearest_even;
    const bool known = stage.summing == Summing::pairwise ? odd || nearest : nearest && !engine.input_zeros_are_positive;
    return engine == pairs && known && flushes_as_processors(plan);
  }
  // Sums that are exact, of which floats hold many.
  const bool pair_and_addend = engine.stage_count == 2 && engine.products == 2 && !engine.subnormal_results_are_zero;
  return takes_exact_blocks(plan) && stage.keeps_minus_zero && (pair_and_addend || engine.accumulator == float16);
}

}  // namespace

StagesRun* own_kernel(StagesPlan& plan) {
  if (takes_half_steps(plan)) return half_steps;
  if (takes_scaled_steps(plan)) return scaled_steps;
  if (takes_group_scaled_steps(plan)) return group_scaled_steps;
  if (takes_late_addends(plan)) return late_addend_steps;
  if (takes_short_steps(plan)) return short_steps;
  if (takes_exact_blocks(plan)) return exact_block_steps;
  return nullptr;
}

}  // namespace ulpscope::emu::detail
