// SPDX-License-Identifier: Apache-2.0
// Matches an engine with a kernel that gives its bits, or with none.
#include "emu/products/plan.hpp"

#include <algorithm>
#include <string>

#include "emu/error.hpp"
#include "emu/products/fused.hpp"

namespace ulpscope::emu::detail {

std::optional<AlignedPlan> aligned_plan(const Engine& engine, Format a, Format b) {
  const Stage& stage = engine.stages[0];
  Engine simple = block_fma(engine.products, stage.fraction_bits, engine.accumulator, stage.rounding);
  simple.result_fraction_bits = engine.result_fraction_bits;
  simple.least_exponent = engine.least_exponent;
  simple.nan_code = engine.nan_code;
  simple.operands_become_float16 = engine.operands_become_float16;
  const bool half =
      engine.accumulator == float16 && stage.rounding == Rounding::nearest_even && engine.result_fraction_bits < 0;
  const bool single = engine.accumulator == float32 && stage.rounding == Rounding::toward_zero;
  if (engine != simple || !(half || single) || engine.products < 1) return std::nullopt;

  // Half the products of a step and c fit 31 bits; the kernel watches the sum of the halves.
  const int bits = stage.fraction_bits;
  const auto greatest_significand = [](Format f) { return 2 - power_of_two(1 - f.precision()); };
  const int half_of_products = (engine.products + 1) / 2;
  const double halved = half_of_products * greatest_significand(a) * greatest_significand(b) + 2;
  const bool fits = bits >= 2 && bits <= 28 && halved * power_of_two(bits) < power_of_two(31);
  const bool exact = a.precision() + b.precision() <= 24 && std::max(a.max_exponent(), b.max_exponent()) < 128;
  if (!fits || !exact) return std::nullopt;

  AlignedPlan plan{};
  plan.products = engine.products;
  plan.fraction_bits = bits;
  plan.fits = (engine.products * greatest_significand(a) * greatest_significand(b) + 2) * power_of_two(bits) < power_of_two(31);
  plan.result_fraction_bits = half || engine.result_fraction_bits < 0 ? float32.fraction_bits : engine.result_fraction_bits;
  plan.half_results = half;
  // Exponents of products that are not zero lie above -64, those of zeros below, and c fits between: see the kernel.
  constexpr int narrow = 24;
  const auto fits_narrow = [](Format f) { return f.max_exponent() <= narrow && f.min_exponent() >= -narrow; };
  plan.wide = !(fits_narrow(a) && fits_narrow(b));
  plan.least_exponent = engine.least_exponent;
  plan.a_least = engine.least_operand_exponent(a);
  plan.b_least = engine.least_operand_exponent(b);
  plan.c_least = engine.accumulator.min_exponent();
  return plan;
}

bool is_fused_chain(const Engine& engine, Format accumulator) {
  Engine fused = fma_chain(accumulator);
  fused.nan_result = engine.nan_result;
  fused.nan_code = engine.nan_code;
  return engine == fused;
}

namespace {

/// Whether float32 additions give an engine's sums, which are of float32, or of float16 numbers that are rounded once more:
/// float32 has twice as many significand bits and two more, so that the second rounding is innocuous (Figueroa, ACM SIGNUM
/// Newsletter 30 (1995), 21; sums that are subnormal in float16 are exact). Fused sums would need more bits.
bool adds_as_processors(const StagesPlan& plan) {
  const Engine& engine = plan.engine;
  const bool flushes = engine.subnormal_inputs_are_zero || engine.subnormal_addend_is_zero;
  return engine.accumulator == float32 ||
         (engine.stages[0].summing == Summing::pairwise && plan.exact_products && !flushes && !engine.input_zeros_are_positive);
}

}  // namespace

// It flushes both or, where c is kept, neither; operands whose subnormal numbers are normal in float32 are never concerned.
bool flushes_as_processors(const StagesPlan& plan) {
  const Engine& engine = plan.engine;
  const bool results = engine.subnormal_results_are_zero, c = engine.subnormal_addend_is_zero;
  const int least = std::min(plan.a.min_spacing_exponent(), plan.b.min_spacing_exponent());
  return (c == results || !c) && (engine.subnormal_inputs_are_zero == c || least >= float32.min_exponent());
}

std::optional<StagesPlan> stages_plan(const Engine& engine, Format a, Format b, Format scales, std::size_t length) {
  StagesPlan plan{};
  plan.engine = engine;
  plan.a = a;
  plan.b = b;
  plan.a_least = engine.least_operand_exponent(a);
  plan.b_least = engine.least_operand_exponent(b);
  plan.exact_products = a.precision() + b.precision() <= float32.precision() &&
                        a.min_spacing_exponent() + b.min_spacing_exponent() >= float32.min_spacing_exponent() &&
                        a.max_exponent() + b.max_exponent() < float32.max_exponent() - 1;
  plan.products = engine.products == Stage::all ? std::max<std::size_t>(length, 1) : static_cast<std::size_t>(engine.products);
  if (engine.accumulator != float32 && engine.accumulator != float16) return std::nullopt;
  if (engine.product_exponent != 0) return std::nullopt;  // scaled operands are what kernels take

  if (engine.scales != EngineScales::none) {
    plan.scale_products = static_cast<std::size_t>(engine.scale_products);
    plan.group_products = static_cast<std::size_t>(engine.stages[0].terms);
    plan.blocks = (plan.products + plan.scale_products - 1) / plan.scale_products;
    plan.scale_format = scales;
    plan.scale_least = scales.min_exponent();
  }
  plan.run = own_kernel(plan);
  if (plan.run != nullptr) return plan;

  bool chains = engine.scales == EngineScales::none && flushes_as_processors(plan);
  std::size_t terms = plan.products;
  for (int i = 0; i < engine.stage_count; ++i) {
    const Stage& stage = engine.stages[static_cast<std::size_t>(i)];
    const std::size_t each = stage.terms == Stage::all ? terms : static_cast<std::size_t>(stage.terms);
    if (terms % each != 0 || terms / each > most_sums) return std::nullopt;
    const bool adds_in_turn = stage.summing == Summing::sequential || stage.summing == Summing::pairwise;
    const bool direction = stage.rounding == Rounding::nearest_even || stage.rounding == Rounding::toward_zero ||
                           stage.rounding == Rounding::upward || stage.rounding == Rounding::downward ||
                           (stage.rounding == Rounding::to_odd && adds_in_turn);
    // Sums of cut terms are integers of 53 bits, sums of small groups are exact in doubles; any other exact sum is not.
    const bool group_sum =
        i == 0 && stage.summing == Summing::exact && !stage.rounded && engine.scales == EngineScales::group_sums;
    const int bits = std::max(stage.fraction_bits, stage.addend_fraction_bits);
    const bool fits = static_cast<double>(each + 1) * power_of_two(bits + 2) < power_of_two(53);
    if (!direction || (stage.summing == Summing::exact && !group_sum) || (stage.summing == Summing::aligned && !fits))
      return std::nullopt;
    const bool sums_products = i == 0 && adds_in_turn;
    const bool sums_all = i > 0 && stage.summing == Summing::sequential && each == terms;
    chains &= (sums_products || sums_all) && stage.rounding == Rounding::nearest_even && !stage.carried;
    terms = stage.carried ? 1 : terms / each;
  }
  plan.run = chains && is_fused_chain(engine, engine.accumulator) ? fused_steps
             : chains && adds_as_processors(plan)                 ? chains_steps
                                                                  : stages_steps;
  return plan;
}

namespace {

Format scale_format(const EngineMatmul<float>& problem) noexcept {
  return problem.scale_a.empty() ? problem.scale_b.format : problem.scale_a.format;
}

}  // namespace

std::optional<std::vector<Kernel>> kernels_of(const EngineMatmul<float>& problem, const std::vector<Part>& parts) {
  const auto aligned = aligned_plan(problem.engine, problem.a.format, problem.b.format);
  std::vector<Kernel> kernels;
  for (const Part& part : parts) {
    const auto stages =
        aligned ? std::nullopt
                : stages_plan(problem.engine, problem.a.format, problem.b.format, scale_format(problem), part.end - part.begin);
    if (!aligned && !stages) return std::nullopt;
    kernels.push_back(aligned ? Kernel(*aligned) : Kernel(*stages));
  }
  return kernels;
}

MatmulPlan plan_of(const EngineMatmul<float>& problem) {
  constexpr std::size_t longest = 512;  // products of a stretch
  MatmulPlan plan{parts_of(problem), {}, {}};
  plan.kernels = kernels_of(problem, plan.parts);
  for (std::size_t p = 0; p < plan.parts.size() && plan.kernels; ++p) {
    const std::size_t products = (*plan.kernels)[p].products(), end = plan.parts[p].end;
    const std::size_t distance = std::max(longest / products, std::size_t{1}) * products;
    for (std::size_t begin = plan.parts[p].begin; begin < end; begin += distance) {
      const std::size_t stop = std::min(end, begin + distance);
      plan.stretches.push_back({p, begin, stop, (stop - begin + products - 1) / products});
    }
  }
  return plan;
}

Plans::Kind Plans::kind_of(const EngineMatmul<float>& problem) noexcept {
  const std::size_t depth = problem.a.columns();
  const std::size_t block_of_a = problem.scale_a.columns > 1 ? problem.scale_a.columns_of_block(depth) : 0;
  const std::size_t block_of_b = problem.scale_b.rows > 1 ? problem.scale_b.rows_of_block(depth) : 0;
  return {problem.engine,  problem.a.format, problem.b.format, scale_format(problem), depth, problem.promote,
          problem.split_k, block_of_a,       block_of_b};
}

const MatmulPlan& Plans::of(const EngineMatmul<float>& problem) {
  constexpr std::size_t most = 32;  // kinds of products that a training step takes in turn
  const Kind kind = kind_of(problem);
  for (const auto& known : known_)
    if (known->kind == kind) return known->plan;
  if (known_.size() == most) known_.erase(known_.begin());
  known_.push_back(std::make_unique<const Known>(Known{kind, plan_of(problem)}));
  return known_.back()->plan;
}

}  // namespace ulpscope::emu::detail
