// SPDX-License-Identifier: Apache-2.0
// One step of an engine, exactly as its description says; host and device code. For an inner product include
// emu/engine_step.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "emu/encode.hpp"
#include "emu/engine.hpp"
#include "emu/engine_step.hpp"
#include "emu/engine_term.hpp"
#include "emu/engine_terms.hpp"
#include "emu/exact_sum.hpp"
#include "emu/real.hpp"

namespace ulpscope::emu::detail {

__extension__ using Int128 = __int128;

/// An operand, or c, as the engine takes it in: `flushes` says whether subnormal numbers count as zeros.
ULPSCOPE_HD inline EngineTerm taken_in(const Engine& engine, Format format, Code code, bool flushes) {
  code &= format.code_mask();
  if (flushes && format.is_subnormal(code)) code &= format.sign_mask();
  EngineTerm term = term_of(format, code);
  if (engine.input_zeros_are_positive && term.is_zero()) term.negative = false;
  return term;
}

/// An operand of a product.
ULPSCOPE_HD inline EngineTerm operand_of(const Engine& engine, Format format, Code code) {
  EngineTerm term = taken_in(engine, format, code, engine.subnormal_inputs_are_zero);
  if (engine.operands_become_float16 && term.significand != 0) {
    const int leading = 127 - leading_zeros(term.significand) + term.last;
    term.exponent = std::max(leading, least_operand_exponent(format, true));
  }
  return term;
}

ULPSCOPE_HD inline EngineTerm product_of(const Engine& engine, const EngineTerm& x, const EngineTerm& y) {
  if (engine.nan_result == NanResult::signaling_operand && y.signaling && !x.signaling) return y;
  EngineTerm product = multiply(x, y);
  if (engine.nan_result == NanResult::second_operand && y.kind == EngineTerm::nan) {
    product = y;
    product.of_second = true;
  }
  if (product.significand != 0) {
    product.last += engine.product_exponent;
    product.exponent += engine.product_exponent;
  }
  if (engine.products_overflow && product.kind == EngineTerm::number && product.significand != 0) {
    const int exponent = 127 - leading_zeros(product.significand) + product.last;
    if (exponent > engine.accumulator.max_exponent()) product.kind = EngineTerm::infinite;
  }
  return product;
}

template <class Terms>
class EngineStep {
 public:
  ULPSCOPE_HD explicit EngineStep(const Engine& engine) : engine_(engine) {}

  /// One step: products, already scaled where the engine scales those, and the scales of the first stage's sums. What is left
  /// in `terms` is unspecified.
  ULPSCOPE_HD Code run(Terms& terms, const Terms& group_scales, Code c) {
    const EngineTerm addend = taken_in(engine_, engine_.accumulator, c, engine_.subnormal_addend_is_zero);
    for (int i = 0; i < engine_.stage_count; ++i) {
      stage(engine_.stages[static_cast<std::size_t>(i)], terms, addend);
      if (i == 0 && !group_scales.empty())
        for (std::size_t g = 0; g < terms.size(); ++g) terms[g] = multiply(terms[g], group_scales[g]);
    }
    return code_of(terms.front());
  }

 private:
  /// The sums of a stage in the place of its terms.
  ULPSCOPE_HD void stage(const Stage& stage, Terms& terms, const EngineTerm& c) {
    const std::size_t each = stage.terms == Stage::all ? terms.size() : static_cast<std::size_t>(stage.terms);
    const std::size_t sums = (terms.size() + each - 1) / each;
    if (sums == 1) {
      const EngineTerm total = sum(stage, terms, stage.addend != Addend::none ? &c : nullptr);
      terms.clear();
      terms.push_back(total);
      return;
    }
    const std::size_t run = stage.run > 0 ? static_cast<std::size_t>(stage.run) : each;
    sums_.clear();
    for (std::size_t s = 0; s < sums; ++s) {
      group_.clear();
      for (std::size_t t = 0; t < terms.size(); ++t)
        if (t / run % sums == s) group_.push_back(terms[t]);
      const bool follows = stage.carried && !sums_.empty();
      const EngineTerm* const addend = follows ? &sums_.back() : (stage.addend != Addend::none ? &c : nullptr);
      const EngineTerm total = sum(stage, group_, addend);
      if (stage.carried) sums_.clear();
      sums_.push_back(total);
    }
    replace_terms(terms, sums_);
  }

  /// The sum of terms, which are unspecified afterwards.
  ULPSCOPE_HD EngineTerm sum(const Stage& stage, Terms& terms, const EngineTerm* addend) const {
    switch (stage.summing) {
      case Summing::aligned: return rounded(stage, aligned(stage, terms, addend));
      case Summing::exact: return exact(stage, terms, addend);
      case Summing::sequential: return sequential(stage, terms, addend);
      case Summing::pairwise: break;
    }
    const EngineTerm total = pairwise(stage, terms);
    return addend == nullptr ? total : joined(stage, *addend, total);
  }

  ULPSCOPE_HD EngineTerm aligned(const Stage& stage, Terms& terms, const EngineTerm* addend) const {
    const std::size_t own = terms.size();
    if (addend != nullptr) terms.push_back(*addend);
    if (const auto special = special_sum(terms)) return *special;

    int greatest = EngineTerm::exponent_of_zero;
    for (const EngineTerm& term : terms) greatest = std::max(greatest, term.exponent);
    if (greatest == EngineTerm::exponent_of_zero) return {};
    if (addend != nullptr) greatest = std::max(greatest, engine_.least_exponent);

    const int bits = stage.fraction_bits, addend_bits = stage.addend_fraction_bits < 0 ? bits : stage.addend_fraction_bits;
    const int finest = std::max(bits, addend_bits);
    Int128 total = 0;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const EngineTerm& term = terms[t];
      if (t == own && term.exponent < greatest - stage.addend_window) continue;
      const int kept = t == own ? addend_bits : bits;
      const bool away = stage.cut == Cut::downward && term.negative;
      const auto magnitude =
          static_cast<Int128>(shifted(term.significand, term.last - (greatest - kept), away) << (finest - kept));
      total += term.negative ? -magnitude : magnitude;
    }
    EngineTerm sum;
    sum.negative = total < 0;
    sum.significand = static_cast<Word128>(sum.negative ? -total : total);
    sum.last = greatest - finest;
    sum.exponent = greatest;
    return sum;
  }

  ULPSCOPE_HD ULPSCOPE_APART EngineTerm exact(const Stage& stage, Terms& terms, const EngineTerm* addend) const {
    if (addend != nullptr) terms.push_back(*addend);
    if (const auto special = special_sum(terms)) return *special;
    if (!stage.rounded) return fixed_point(terms);
    ExactSum total;
    for (const EngineTerm& term : terms) {
      if (term.significand == 0) {
        total.add(term.negative && stage.keeps_minus_zero ? -0.0 : 0.0);
        continue;
      }
      // Two halves, each with its sign; a significand has at most 106 bits.
      constexpr int half = 60;
      const auto low = static_cast<std::int64_t>(term.significand & ((Word128{1} << half) - 1));
      const auto high = static_cast<std::int64_t>(term.significand >> half);
      if (low != 0) total.add_scaled(term.negative ? -low : low, term.last);
      if (high != 0) total.add_scaled(term.negative ? -high : high, term.last + half);
    }
    const Rounded result = total.rounded(engine_.accumulator, options(stage));
    return term_of(engine_.accumulator, result.code);
  }

  /// The exact sum of terms of one small format, whose exponent counts as 0: the group sums of NVFP4 and MXFP4.
  ULPSCOPE_HD static EngineTerm fixed_point(const Terms& terms) {
    EngineTerm sum;
    sum.exponent = 0;
    for (const EngineTerm& term : terms)
      if (term.significand != 0) sum.last = std::min(sum.last, term.last);
    Int128 total = 0;
    for (const EngineTerm& term : terms) {
      if (term.significand == 0) continue;
      const auto magnitude = static_cast<Int128>(term.significand << (term.last - sum.last));
      total += term.negative ? -magnitude : magnitude;
    }
    sum.negative = total < 0;
    sum.significand = static_cast<Word128>(sum.negative ? -total : total);
    return sum;
  }

  ULPSCOPE_HD ULPSCOPE_APART EngineTerm sequential(const Stage& stage, Terms& terms, const EngineTerm* addend) const {
    if (stage.descending) std::reverse(terms.begin(), terms.end());
    const bool starts_with_addend = addend != nullptr && stage.addend != Addend::last;
    const bool starts_with_term = !starts_with_addend && !stage.starts_at_zero;
    EngineTerm total = starts_with_addend ? *addend : (starts_with_term ? rounded(stage, terms.front()) : EngineTerm{});
    for (std::size_t t = starts_with_term ? 1 : 0; t < terms.size(); ++t) total = joined(stage, total, terms[t]);
    return addend != nullptr && !starts_with_addend ? joined(stage, total, *addend) : total;
  }

  /// By halves, of which the first may be the longer one: each range's sum in the place of its first term, the shortest ranges
  /// first. A loop, as the stack that a recursion takes is not known when a kernel is launched.
  ULPSCOPE_HD EngineTerm pairwise(const Stage& stage, Terms& terms) const {
    for (EngineTerm& term : terms) term = rounded(stage, term);
    for (int level = static_cast<int>(std::bit_width(terms.size() - 1)) - 1; level >= 0; --level)
      for (std::size_t node = 0; node >> level == 0; ++node) {
        std::size_t begin = 0, size = terms.size();
        for (int below = level - 1; below >= 0; --below) {
          const bool second = (node >> below & 1) != 0;
          if (second) begin += size - size / 2;
          size = second ? size / 2 : size - size / 2;
        }
        if (size > 1) terms[begin] = joined(stage, terms[begin], terms[begin + size - size / 2]);
      }
    return terms.front();
  }

  /// One rounded addition; infinities as in IEEE 754, NaNs as in NanResult.
  ULPSCOPE_HD ULPSCOPE_APART EngineTerm joined(const Stage& stage, const EngineTerm& sum, const EngineTerm& joining) const {
    if (sum.kind == EngineTerm::number && joining.kind == EngineTerm::number)
      return round_real(stage, engine_.accumulator, add(real_of(sum), real_of(joining)));
    EngineTerm special = *special_sum(std::array{sum, joining});
    if (engine_.nan_result == NanResult::signaling_operand && sum.kind == EngineTerm::nan) {
      const bool invalid = joining.kind == EngineTerm::nan && joining.payload == 0;  // 0 * infinity
      const bool joining_counts = !sum.signaling && (joining.signaling || invalid);
      special = joining_counts ? joining : sum;
    }
    if (engine_.nan_result == NanResult::second_operand && sum.kind == EngineTerm::nan) {
      special = joining.of_second ? joining : sum;
      special.of_second = false;
    }
    special.signaling = false;
    const bool new_nan = special.kind == EngineTerm::nan && special.payload == 0;
    return new_nan ? term_of(engine_.accumulator, engine_.nan_code) : special;
  }

  ULPSCOPE_HD static RoundingOptions options(const Stage& stage) {
    RoundingOptions options;
    options.rounding = stage.rounding;
    return options;
  }

  ULPSCOPE_HD ULPSCOPE_APART EngineTerm round_real(const Stage& stage, Format format, const Real<Word128>& x) const {
    const Rounded result = round_unpacked(format, x, options(stage), 0);
    const int dropped = engine_.accumulator.fraction_bits - format.fraction_bits;
    Code code = result.code << dropped;
    const Rounding finite = stage.summing == Summing::aligned ? Rounding::toward_zero : Rounding::to_odd;
    if (result.outcome == Outcome::overflow && stage.rounding == finite && engine_.overflow_is_infinity)
      code = engine_.accumulator.infinity_code() | (code & engine_.accumulator.sign_mask());
    const bool tiny = engine_.accumulator.is_subnormal(code) || (result.flags & underflow) != 0;
    if (engine_.subnormal_results_are_zero && tiny) code &= engine_.accumulator.sign_mask();
    return term_of(engine_.accumulator, code);
  }

  ULPSCOPE_HD EngineTerm rounded(const Stage& stage, const EngineTerm& sum) const {
    if (!stage.rounded || sum.kind != EngineTerm::number) return sum;
    Format format = engine_.accumulator;
    if (stage.summing == Summing::aligned && engine_.result_fraction_bits >= 0)
      format.fraction_bits = engine_.result_fraction_bits;
    EngineTerm result = round_real(stage, format, real_of(sum));
    if (stage.summing == Summing::aligned && !stage.keeps_minus_zero && result.is_zero()) result.negative = false;
    return result;
  }

  ULPSCOPE_HD Code code_of(const EngineTerm& term) const {
    const Format format = engine_.accumulator;
    const Code sign = term.negative ? format.sign_mask() : 0;
    if (term.kind == EngineTerm::nan) {
      if (engine_.nan_result == NanResult::canonical || term.payload == 0) return engine_.nan_code;
      return sign | format.infinity_code() | term.payload >> (64 - format.fraction_bits);
    }
    if (term.kind == EngineTerm::infinite) return format.infinity_code() | sign;
    return round_unpacked(format, real_of(term), {}, 0).code;
  }

  const Engine& engine_;
  Terms group_, sums_;  ///< kept for their memory
};

/// emu::inner_product with room for the terms of a step in `Terms`: those of one step, one for c, and no more.
template <class Terms>
ULPSCOPE_HD inline Code interpreted_product(const Engine& engine, Format a_format, std::span<const Code> a, Format b_format,
                                            std::span<const Code> b, Code c, const BlockScales& scales) {
  const std::size_t count = std::min(a.size(), b.size());
  const std::size_t step =
      engine.products == Stage::all ? std::max<std::size_t>(count, 1) : static_cast<std::size_t>(engine.products);
  const auto operand = [&](Format format, std::span<const Code> codes, std::size_t k) {
    if (k >= count) return EngineTerm{};
    return operand_of(engine, format, codes[k]);
  };
  const auto scale = [&](std::size_t block) {
    const auto one_of = [&](std::span<const Code> codes) {
      return term_of(scales.format,
                     block < codes.size() ? codes[block] & scales.format.magnitude_mask() : encode(scales.format, 1.0));
    };
    return multiply(one_of(scales.a), one_of(scales.b));
  };
  EngineStep<Terms> interpreter(engine);
  Terms products, group_scales;
  for (std::size_t begin = 0; begin < count; begin += step) {
    products.resize(step);
    group_scales.clear();
    for (std::size_t i = 0; i < step; ++i) {
      const std::size_t k = begin + i;
      products[i] = product_of(engine, operand(a_format, a, k), operand(b_format, b, k));
      if (engine.scales == EngineScales::products)
        products[i] = multiply(products[i], scale(k / static_cast<std::size_t>(engine.scale_products)));
    }
    if (engine.scales == EngineScales::group_sums) {
      const auto group = static_cast<std::size_t>(engine.stages[0].terms);
      for (std::size_t i = 0; i < step; i += group)
        group_scales.push_back(scale((begin + i) / static_cast<std::size_t>(engine.scale_products)));
    }
    c = interpreter.run(products, group_scales, c);
  }
  return c;
}

}  // namespace ulpscope::emu::detail

namespace ulpscope::emu {
/// inner_product() for code that cannot allocate: device code.
using detail::FixedTerms;
using detail::interpreted_product;
}  // namespace ulpscope::emu
