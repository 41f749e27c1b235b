// SPDX-License-Identifier: Apache-2.0
#include "studies/accumulation_bound.hpp"

#include <algorithm>
#include <bit>

#include "emu/bits.hpp"
#include "emu/catalogue.hpp"

namespace ulpscope::studies {
namespace {

using emu::Stage;
using emu::Summing;
using emu::detail::power_of_two;

/// What one step can lose: relative to the largest sum, and whatever the sums are.
struct StepLoss {
  double cut = 0, rounding = 0, absolute = 0;
};

std::size_t rounded_up(std::size_t size, std::size_t step) { return (size + step - 1) / step; }

/// T u / (1 - T u), or nothing where that has no meaning.
std::optional<double> gamma(double roundings, double unit) {
  const double product = roundings * unit;
  if (product >= 1) return std::nullopt;
  return product / (1 - product);
}

bool is_plain(const emu::Engine& engine) {
  const Stage& stage = engine.stages[0];
  return engine.stage_count == 1 && engine.scales == emu::EngineScales::none && !engine.subnormal_inputs_are_zero &&
         !engine.subnormal_results_are_zero && stage.addend == emu::Addend::first && stage.rounded &&
         (stage.terms == engine.products || stage.terms == Stage::all);
}

/// Whether the term with the greatest exponent keeps all its bits.
bool keeps_greatest(const emu::Engine& engine, emu::Format in, int result_bits) {
  const Stage& stage = engine.stages[0];
  return stage.cut == emu::Cut::toward_zero && stage.addend_fraction_bits < 0 && stage.addend_window == Stage::unlimited &&
         2 * in.fraction_bits <= stage.fraction_bits && result_bits <= stage.fraction_bits;
}

/// Of one chain from zero.
std::optional<SumBound> chain_bound(const emu::Engine& engine, emu::Format in, std::size_t length) {
  const Stage& stage = engine.stages[0];
  const emu::Format result = engine.accumulator;
  const int bits = engine.result_fraction_bits >= 0 ? engine.result_fraction_bits : result.fraction_bits;
  const bool nearest = stage.rounding == emu::Rounding::nearest_even;
  if (!nearest && stage.rounding != emu::Rounding::toward_zero) return std::nullopt;
  const double unit = power_of_two(nearest ? -bits - 1 : -bits);

  const std::size_t step = engine.products == Stage::all ? length : static_cast<std::size_t>(engine.products);
  StepLoss loss{.rounding = unit, .absolute = power_of_two(result.min_exponent() - bits)};
  double steps = static_cast<double>(rounded_up(length, step));
  if (stage.summing == Summing::aligned) {
    if (!keeps_greatest(engine, in, bits)) return std::nullopt;
    const int least = std::max(engine.least_exponent, result.min_exponent());
    loss.cut = static_cast<double>(step) * power_of_two(-stage.fraction_bits);
    loss.absolute += static_cast<double>(step + 1) * power_of_two(least - stage.fraction_bits);
  } else if (stage.summing == Summing::sequential) {
    steps = static_cast<double>(length);
  } else if (stage.summing == Summing::pairwise) {
    if (engine.products != Stage::all) return std::nullopt;
    // Roundings below the least normal number: of every product; sums are exact there.
    const auto height = static_cast<double>(std::bit_width(length - 1) + 1);
    const auto relative = gamma(height, unit);
    if (!relative) return std::nullopt;
    return SumBound{*relative, static_cast<double>(length) * loss.absolute * (1 + *relative)};
  }
  // Toward zero no magnitude grows: the bound holds for any number of steps.
  if (!nearest) return SumBound{steps * (loss.cut + loss.rounding), steps * loss.absolute};
  const double grown = steps * unit;
  if (grown >= 1) return std::nullopt;
  const double relative = steps * (loss.cut + loss.rounding) / (1 - grown);
  return SumBound{relative, steps * loss.absolute * (1 + relative) / (1 - grown)};
}

}  // namespace

std::optional<SumBound> sum_bound(const emu::Engine& engine, emu::Format in, std::size_t length, std::size_t promote) {
  if (length == 0 || !is_plain(engine)) return std::nullopt;
  const std::size_t part = promote == 0 ? length : std::min(promote, length);
  const auto chain = chain_bound(engine, in, part);
  const std::size_t parts = rounded_up(length, part);
  if (!chain || parts == 1) return chain;
  const auto joining = gamma(static_cast<double>(parts - 1), power_of_two(-emu::float32.fraction_bits - 1));
  if (!joining) return std::nullopt;
  return SumBound{chain->relative + *joining * (1 + chain->relative),
                  static_cast<double>(parts) * chain->absolute * (1 + *joining)};
}

}  // namespace ulpscope::studies
