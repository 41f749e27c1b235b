// SPDX-License-Identifier: Apache-2.0
// Compares an engine with the two shapes that the fast kernels know.
#include "gpu/cuda/aligned_rule.hpp"

#include <algorithm>
#include <cmath>

#include "emu/catalogue.hpp"
#include "gpu/cuda/aligned_chain.hpp"
#include "gpu/cuda/aligned_levels.hpp"

namespace ulpscope::gpu::cuda {
namespace {

using emu::Engine, emu::Format, emu::Stage;

/// What a fast engine may differ in.
Engine with_the_freedom_of(Engine like, const Engine& engine) {
  like.result_fraction_bits = engine.result_fraction_bits;
  like.least_exponent = engine.least_exponent;
  like.nan_code = engine.nan_code;
  like.overflow_is_infinity = engine.overflow_is_infinity;
  like.operands_become_float16 = engine.operands_become_float16;
  return like;
}

Engine without_scales(Engine engine) {
  if (engine.scales != emu::EngineScales::products) return engine;
  engine.scales = emu::EngineScales::none;
  engine.scale_products = 0;
  return engine;
}

bool is_one_sum(const Engine& engine) {
  const Stage& stage = engine.stages[0];
  return engine ==
         with_the_freedom_of(emu::block_fma(engine.products, stage.fraction_bits, engine.accumulator, stage.rounding), engine);
}

/// Two sums of 16 products, the second with the result of the first, then c: the fp8 mma.sync of sm_90 and sm_100.
bool is_two_sums(const Engine& engine) {
  const Stage& stage = engine.stages[0];
  Engine like = with_the_freedom_of(emu::block_fma(32, stage.fraction_bits, engine.accumulator, stage.rounding), engine);
  like.stages[0].terms = 16;
  like.stages[0].run = 2;
  like.stages[0].addend = emu::Addend::none;
  like.stages[0].carried = true;
  like.stages[1].summing = emu::Summing::sequential;
  like.stages[1].addend = emu::Addend::last;
  like.stages[1].starts_at_zero = false;
  like.stage_count = 2;
  return engine == like;
}

/// Fraction bits with which tensor cores can add the products of most steps: fewer cut too many products.
constexpr int least_summed_bits = 23;

/// Levels where they tell apart what matters: no product has bits below the unit of the lowest one, or of the least exponent.
void add_levels(AlignedPlan& plan, Format a, Format b) {
  AlignedRule& rule = plan.rule;
  const int lowest_alignment = a.max_exponent() + b.max_exponent() - levels;
  const int lowest_bit = a.min_spacing_exponent() + b.min_spacing_exponent();
  rule.coarsest_unit = std::max(lowest_alignment, rule.least_exponent) - rule.fraction_bits;
  rule.lowest_level = detail::power(lowest_alignment);
  rule.out_of_reach = detail::power(24) + detail::binades(levels + lowest_bit);
  const bool possible = has_levels(a) && has_levels(b) && plan.block >= level_products && rule.coarsest_unit <= lowest_bit;
  rule.kind.chained = rule.kind.chained && possible;
  rule.kind.summed = !rule.kind.chained && possible && !rule.kind.half && plan.block == 2 * level_products &&
                     rule.fraction_bits >= least_summed_bits;
}

}  // namespace

std::optional<AlignedPlan> aligned_plan(const Engine& scaled_engine, Format a, Format b, int capability) {
  const Engine engine = without_scales(scaled_engine);
  const Stage& stage = engine.stages[0];
  AlignedPlan plan;
  plan.paired = is_two_sums(engine);
  plan.as_float16 = engine.operands_become_float16;
  if (!plan.paired && (!is_one_sum(engine) || plan.as_float16)) return std::nullopt;
  plan.block = plan.paired ? 16 : engine.products;
  if (plan.block != 4 && plan.block != 8 && plan.block != 16 && plan.block != 32) return std::nullopt;

  const bool half =
      engine.accumulator == emu::float16 && stage.rounding == emu::Rounding::nearest_even && engine.result_fraction_bits < 0;
  const bool single = engine.accumulator == emu::float32 && stage.rounding == emu::Rounding::toward_zero;
  if (!half && !single) return std::nullopt;

  // The sum of 16 cut products fits 31 bits, and float32 holds every product.
  const int bits = stage.fraction_bits;
  const auto greatest_significand = [](Format f) { return 2 - std::ldexp(1.0, 1 - f.precision()); };
  const double greatest_term = greatest_significand(a) * greatest_significand(b) * std::ldexp(1.0, bits);
  const auto is_float32_or_narrower = [](Format f) {
    return f.max_exponent() <= emu::float32.max_exponent() && f.min_exponent() >= emu::float32.min_exponent() && f.has_zero();
  };
  const bool exact = a.precision() + b.precision() <= 24 && is_float32_or_narrower(a) && is_float32_or_narrower(b);
  if (bits < 2 || bits > 28 || std::min(plan.block, 16) * greatest_term >= std::ldexp(1.0, 31) || !exact) return std::nullopt;

  constexpr int fraction = emu::float32.fraction_bits;
  const int kept = engine.result_fraction_bits < 0 ? fraction : engine.result_fraction_bits;
  const int least = std::max(engine.least_exponent, least_alignment);
  if (kept > fraction || least > greatest_alignment) return std::nullopt;

  AlignedKind& kind = plan.rule.kind;
  kind.half = half;
  kind.wide = a.max_exponent() + b.max_exponent() > narrow_exponent || a.min_exponent() + b.min_exponent() < -narrow_exponent;
  kind.chained = plan.block * greatest_term + std::ldexp(2.0, bits) < std::ldexp(1.0, chain_bits);
  if (kind.wide && (kind.half || plan.paired)) return std::nullopt;
  plan.rule.fraction_bits = bits;
  plan.rule.least_exponent = least;
  plan.rule.result_mask = ~((1u << (fraction - kept)) - 1);
  if (capability >= bfloat16_capability && !plan.paired && !kind.wide) {
    add_levels(plan, a, b);
  } else {
    kind.chained = false;
  }
  return plan;
}

}  // namespace ulpscope::gpu::cuda
