// SPDX-License-Identifier: Apache-2.0
// Adds up what each stage of a step loses, then what steps and parts add to that.
#include "emu/engine_bound.hpp"

#include <algorithm>
#include <bit>

#include "emu/error_losses.hpp"
#include "emu/products/scaled_operands.hpp"

namespace ulpscope::emu {
namespace {

using detail::bounded_power_of_two;
using detail::Losses;

/// What is known of the terms of a sum, c not among them. The exponent e that an alignment judges a term by has
/// 2^e <= exponent_factor * magnitude + exponent_floor.
struct Terms {
  std::size_t count;
  int bits;  ///< no bits further than this below the exponent
  double exponent_factor, exponent_floor;
  bool fits;  ///< the accumulator's format has the significand: a rounding changes nothing but what is subnormal
};

/// What one step loses: of the magnitude of its own products, and of that of the running sum.
struct StepLosses {
  Losses own, running;
  bool joins_result = false;  ///< what is lost of the running sum is one rounding of it and a rounded sum
};

/// The fraction bits of a result, which is the next step's addend.
int result_bits(const Engine& engine, const Stage& stage) {
  const bool fewer = stage.summing == Summing::aligned && engine.result_fraction_bits >= 0;
  return fewer ? engine.result_fraction_bits : engine.accumulator.fraction_bits;
}

bool rounds(const Stage& stage) {
  return stage.rounded || stage.summing == Summing::sequential || stage.summing == Summing::pairwise;
}

Losses one_rounding(const Engine& engine, const Stage& stage) {
  Losses losses = detail::rounding_losses(engine.accumulator, result_bits(engine, stage), stage.rounding);
  if (engine.subnormal_results_are_zero) losses.absolute = bounded_power_of_two(engine.accumulator.min_exponent());
  return losses;
}

/// The bits by which a subnormal number falls short of its exponent.
int subnormal_bits(Format f) { return f.has_subnormals() ? f.fraction_bits : 0; }

Terms products_of(const Engine& engine, Format a, Format b, std::size_t count, const Chain& chain) {
  Terms terms{.count = count,
              .bits = a.fraction_bits + b.fraction_bits,
              .exponent_factor = 1,
              .exponent_floor = 0,
              .fits = a.precision() + b.precision() <= engine.accumulator.precision()};
  const bool as_they_are = chain.magnitudes == Magnitudes::as_they_are && !engine.subnormal_inputs_are_zero;
  if (engine.scales == EngineScales::none) {
    if (as_they_are) terms.exponent_floor = detail::subnormal_product(a, b, chain);
    return terms;
  }
  // A magnitude that is multiplied by a scale has no bound of its own: what subnormals fall short of is a factor.
  const int short_of = subnormal_bits(a) + subnormal_bits(b);
  if (as_they_are) terms.exponent_factor = bounded_power_of_two(short_of);
  return terms;
}

/// What multiplying by two scales does to the terms.
void multiply_by_scales(Terms& terms, const Chain& chain) {
  const Format scales = chain.scale_format;
  terms.bits += 2 * scales.fraction_bits;
  terms.fits = false;
  if (chain.magnitudes == Magnitudes::as_they_are) terms.exponent_factor *= bounded_power_of_two(2 * subnormal_bits(scales));
}

/// Exact sums of a group, which all have the exponent 0: a sum that is not zero has a product of the least magnitude at least.
void take_exponent_zero(Terms& terms, Format a, Format b, const Chain& chain) {
  const int least = a.min_exponent() + b.min_exponent(), last = a.min_spacing_exponent() + b.min_spacing_exponent();
  terms.bits = -last;
  terms.exponent_factor = std::max(1.0, bounded_power_of_two(chain.magnitudes == Magnitudes::floored ? -least : -last));
  terms.exponent_floor = 0;
}

/// Least magnitude that the exponents of c and of an alignment that c takes part in stand for.
double addend_floor(const Engine& engine) {
  const int least = engine.subnormal_results_are_zero ? engine.least_exponent
                                                      : std::max(engine.least_exponent, engine.accumulator.min_exponent());
  return least == Engine::no_least_exponent ? 0 : bounded_power_of_two(least);
}

/// What an alignment of `each` terms and perhaps an addend cuts off.
Losses cut_losses(const Engine& engine, const Stage& stage, std::size_t each, const Terms& terms, bool has_addend) {
  const auto n = static_cast<double>(each);
  const int addend_kept = stage.addend_fraction_bits < 0 ? stage.fraction_bits : stage.addend_fraction_bits;
  const int addend_bits = rounds(stage) || !stage.carried ? result_bits(engine, engine.last_stage()) : addend_kept;
  // An addend beyond the window is below twice 2^(its exponent), hence below 2^(greatest - window).
  const double unit = bounded_power_of_two(-stage.fraction_bits);
  const double of_addend =
      has_addend ? std::max(bounded_power_of_two(-addend_kept),
                            stage.addend_window == Stage::unlimited ? 0 : bounded_power_of_two(-stage.addend_window))
                 : 0;
  // The greatest term, one of the products or the addend, loses nothing where it has no bits so far down.
  const double losing_if_product = n - (terms.bits <= stage.fraction_bits ? 1 : 0);
  const double if_product = losing_if_product * unit + of_addend;
  const double if_addend = has_addend ? n * unit + (addend_bits <= addend_kept ? 0 : of_addend) : 0;
  const bool product = if_product >= if_addend;
  const double losing = product ? losing_if_product : n, addend = product || addend_bits > addend_kept ? of_addend : 0;

  Losses losses;
  losses.relative = std::max(if_product, if_addend) * terms.exponent_factor;
  losses.mean = losses.relative / 2;
  losses.variance = (losing * unit * unit + addend * addend) / 4 * terms.exponent_factor * terms.exponent_factor;
  losses.absolute = (n * unit + of_addend) * (terms.exponent_floor + (has_addend ? addend_floor(engine) : 0));
  if (stage.cut == Cut::downward) losses.directed_growth = losses.relative;
  return losses;
}

/// A number of roundings in a row, in which `sums` numbers are rounded.
Losses in_a_row(const Losses& rounding, std::size_t roundings, std::size_t sums) {
  Losses losses = static_cast<double>(roundings) * rounding;
  losses.absolute = static_cast<double>(sums) * rounding.absolute;
  return losses;
}

/// What a sum of `each` terms loses, with an addend or without: all of it of the running sum where the addend is a term like
/// the others, else but for the last rounding.
StepLosses sum_losses(const Engine& engine, const Stage& stage, std::size_t each, const Terms& terms, bool has_addend) {
  const Losses rounding = one_rounding(engine, stage);
  const std::size_t leaf = terms.fits ? 0 : 1, all = 2 * each;  // numbers rounded: terms and sums
  StepLosses losses;
  switch (stage.summing) {
    case Summing::aligned: {
      losses.own = cut_losses(engine, stage, each, terms, has_addend);
      if (stage.rounded) losses.own += rounding;
      break;
    }
    case Summing::exact:
      if (stage.rounded) losses.own = rounding;
      break;
    case Summing::sequential:
      if (has_addend && stage.addend != Addend::last) {
        losses.own = in_a_row(rounding, each, each);
        break;
      }
      losses.own = in_a_row(rounding, each - 1 + leaf, each);
      if (has_addend) losses.running = rounding;
      losses.joins_result = has_addend;
      return losses;
    case Summing::pairwise:
      losses.own = in_a_row(rounding, static_cast<std::size_t>(std::bit_width(each - 1)) + leaf, all);
      if (has_addend) losses.running = rounding;
      losses.joins_result = has_addend;
      return losses;
  }
  if (has_addend) std::swap(losses.own, losses.running);
  return losses;
}

/// The terms that the sums of a stage are.
bool become_sums(Terms& terms, const Engine& engine, const Stage& stage, std::size_t sums, bool has_addend) {
  terms.count = stage.carried ? 1 : sums;
  if (rounds(stage)) {
    const double floor = bounded_power_of_two(engine.accumulator.min_exponent());
    terms.bits = result_bits(engine, stage);
    terms.exponent_factor = 1;
    terms.exponent_floor = engine.subnormal_results_are_zero ? 0 : floor;
    terms.fits = true;
    return true;
  }
  terms.fits = false;
  if (stage.summing != Summing::aligned) return !has_addend && !stage.carried;
  terms.bits = std::max(stage.fraction_bits, stage.addend_fraction_bits);
  if (has_addend) terms.exponent_floor = std::max(terms.exponent_floor, addend_floor(engine));
  return !stage.carried || stage.addend_window == Stage::unlimited;
}

/// A stage as a link of a step; nothing where it has no bound.
class Steps {
 public:
  Steps(const Engine& engine, Format a, Format b, std::size_t products, const Chain& chain)
      : engine_(engine), a_(a), b_(b), chain_(chain), terms_(products_of(engine, a, b, products, chain)) {
    if (engine.subnormal_inputs_are_zero)
      step_.own.absolute = static_cast<double>(products) * detail::subnormal_product(a, b, chain);
    if (engine.scales == EngineScales::products) multiply_by_scales(terms_, chain);
  }

  std::optional<StepLosses> losses() {
    for (int i = 0; i < engine_.stage_count; ++i)
      if (!pass(engine_.stages[static_cast<std::size_t>(i)], i == 0)) return std::nullopt;
    if (terms_.count != 1 || !joined_) return std::nullopt;
    if (!rounds(engine_.last_stage()))
      step_.running += detail::rounding_losses(engine_.accumulator, engine_.accumulator.fraction_bits, Rounding::nearest_even);
    return step_;
  }

 private:
  bool pass(const Stage& stage, bool first) {
    const std::size_t each =
        std::min(stage.terms == Stage::all ? terms_.count : static_cast<std::size_t>(stage.terms), terms_.count);
    const std::size_t sums = (terms_.count + each - 1) / each;
    const bool takes_c = stage.addend != Addend::none;
    if (takes_c && (joined_ || (sums > 1 && !stage.carried))) return false;
    add(sum_losses(engine_, stage, each, terms_, takes_c || (stage.carried && sums > 1)), stage, sums, takes_c);
    if (!become_sums(terms_, engine_, stage, sums, takes_c)) return false;
    if (!rounds(stage) && stage.summing == Summing::exact) {
      if (!first) return false;
      take_exponent_zero(terms_, a_, b_, chain_);
    }
    if (!first || engine_.scales != EngineScales::group_sums) return true;
    if (terms_.exponent_floor > 0 || step_.own.absolute > 0) return false;
    multiply_by_scales(terms_, chain_);
    return true;
  }

  void add(StepLosses of_sum, const Stage& stage, std::size_t sums, bool takes_c) {
    const double absolute = static_cast<double>(sums) * (of_sum.own.absolute + of_sum.running.absolute);
    if (stage.carried) {
      of_sum.own = static_cast<double>(sums) * of_sum.own;
      of_sum.running = static_cast<double>(sums) * of_sum.running;
    }
    of_sum.own.absolute = absolute;
    of_sum.running.absolute = 0;
    const bool of_running = takes_c || joined_;
    (joined_ ? step_.running : step_.own) += of_sum.own;
    step_.joins_result = takes_c && of_sum.joins_result && sums == 1;
    (of_running ? step_.running : step_.own) += of_sum.running;
    joined_ = of_running;
  }

  const Engine& engine_;
  Format a_, b_;
  const Chain& chain_;
  Terms terms_;
  StepLosses step_;
  bool joined_ = false;  ///< c has been among the terms
};

/// The bound of an engine that multiplies products by a power of two: that of one that multiplies operands instead. P is
/// smaller by that power, and so is what is lost whatever P is; what the sums are multiplied back by is exact, and C joins them
/// afterwards.
std::optional<ErrorBound> bound_of_scaled(const Engine& engine, Format a, Format b, std::size_t k, Chain chain) {
  const detail::OperandExponents exponents(engine);
  const double back = bounded_power_of_two(-engine.product_exponent);
  if (chain.has_c) ++chain.epilogue;
  chain.has_c = false;
  chain.largest_a *= bounded_power_of_two(exponents.a);
  chain.largest_b *= bounded_power_of_two(exponents.b);
  // Scales in software meet the sums before they are multiplied back, the epilogue after that.
  const bool before = chain.scale_products > 0 || chain.epilogue == 0;
  if (!before) chain.largest_scale *= back;
  auto bound = engine_bound(detail::without_product_exponent(engine), detail::times_power_of_two(a, exponents.a),
                            detail::times_power_of_two(b, exponents.b), k, chain);
  if (bound && before) bound->absolute *= back;
  return bound;
}

}  // namespace

std::optional<ErrorBound> engine_bound(const Engine& engine, Format a, Format b, std::size_t k, const Chain& chain) {
  if (k == 0) return ErrorBound{};
  if (engine.product_exponent != 0) return bound_of_scaled(engine, a, b, k, chain);
  const bool whole = engine.products == Stage::all;
  const auto parts = detail::sum_parts(k, whole ? 1 : static_cast<std::size_t>(engine.products), engine.accumulator, chain);
  const std::size_t products = whole ? parts.length : static_cast<std::size_t>(engine.products);
  const auto step = Steps(engine, a, b, products, chain).losses();
  if (!step) return std::nullopt;

  const std::size_t in_a_part = (parts.length + products - 1) / products;
  const auto steps = static_cast<double>(in_a_part);
  Losses part = step->own;
  part.absolute *= steps;
  const bool from_c = chain.has_c && parts.is_single();
  part += (steps - (step->joins_result && !from_c ? 1 : 0)) * step->running;  // what joins 0 is not rounded again
  if (from_c) {
    // c may be subnormal, and have more bits than the results that follow it.
    if (engine.subnormal_addend_is_zero) part.absolute += bounded_power_of_two(engine.accumulator.min_exponent());
    if (result_bits(engine, engine.last_stage()) < engine.accumulator.fraction_bits)
      part.relative += bounded_power_of_two(-engine.last_stage().fraction_bits);
  }
  return detail::bound_of(part, steps, parts, chain);
}

}  // namespace ulpscope::emu
