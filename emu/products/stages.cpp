// SPDX-License-Identifier: Apache-2.0
// Any engine with a float16 or float32 accumulator over vectors of outputs, stage by stage as emu/engine_step.cpp reads them.
// Terms are doubles, in which products and aligned sums are exact; a rounded addition goes through a double rounded to odd.
#include "emu/products/panels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/stages.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <vector>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/float_environment.hpp"
#include "emu/products/rounding-inl.hpp"
#include "emu/products/stages.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

constexpr double exponent_of_zero_term = -1e6;

struct Term {
  V value;
  V exponent;  ///< by which alignments judge it

  // Written out: what the compiler adds itself is not compiled for the target, and NEON's vectors have constructors to call.
  HWY_INLINE Term() {}
  HWY_INLINE Term(V v, V e) : value(v), exponent(e) {}
};

HWY_INLINE void store_floats(V x, float* to) { hn::StoreU(exact_floats(D(), x), hn::Rebind<float, D>(), to); }

class StepOf {
 public:
  StepOf(const StagesPlan& plan, const float* a, const float* b, const double* a_scales, const double* b_scales)
      : plan_(plan),
        a_(a),
        b_(b),
        a_scales_(a_scales),
        b_scales_(b_scales),
        full_(plan.engine.accumulator, plan.engine.subnormal_results_are_zero),
        aligned_(narrowed(plan.engine), plan.engine.subnormal_results_are_zero) {}

  /// The result of one step for a vector of columns whose addends are finite.
  HWY_INLINE V run(V c) const {
    const Engine& engine = plan_.engine;
    if (engine.subnormal_addend_is_zero)
      c = hn::IfThenElse(hn::Lt(hn::Abs(c), set(decode(engine.accumulator, engine.accumulator.min_normal_code()))),
                         hn::CopySign(hn::Zero(D()), c), c);
    if (engine.input_zeros_are_positive) c = hn::Add(c, hn::Zero(D()));
    const Term addend = judged(c, engine.accumulator.min_exponent());
    Term terms[most_sums];
    std::size_t count = first_stage(addend, terms);
    for (int i = 1; i < engine.stage_count; ++i) {
      Term sums[most_sums];
      count = stage(
          engine.stages[static_cast<std::size_t>(i)], addend, count, [&](std::size_t t) { return terms[t]; }, sums);
      std::copy(sums, sums + count, terms);
    }
    return terms[0].value;
  }

 private:
  static Format narrowed(const Engine& engine) {
    Format format = engine.accumulator;
    if (engine.result_fraction_bits >= 0) format.fraction_bits = engine.result_fraction_bits;
    return format;
  }

  HWY_INLINE static Term judged(V value, double least) {
    const V exponent = hn::Max(exponent_of(value), set(least));
    return {value, hn::IfThenElse(hn::Eq(value, hn::Zero(D())), set(exponent_of_zero_term), exponent)};
  }

  HWY_INLINE Term product(std::size_t k) const {
    const hn::Rebind<float, D> df;
    const V x = set(static_cast<double>(a_[k])), y = hn::PromoteTo(D(), hn::LoadU(df, b_ + k * panel_columns));
    V value = hn::Mul(x, y);
    if (plan_.engine.products_overflow) {
      const V beyond = power(set(plan_.engine.accumulator.max_exponent() + 1.0));
      value = hn::IfThenElse(hn::Ge(hn::Abs(value), beyond), set(__builtin_huge_val()), value);  // the reference sees to it
    }
    const V exponent = hn::Add(hn::Max(exponent_of(x), set(plan_.a_least)), hn::Max(exponent_of(y), set(plan_.b_least)));
    const Term term{value, hn::IfThenElse(hn::Eq(value, hn::Zero(D())), set(exponent_of_zero_term), exponent)};
    return plan_.engine.scales == EngineScales::products ? scaled(term, k / plan_.scale_products) : term;
  }

  /// Times the scales of a block, whose exponents join.
  HWY_INLINE Term scaled(const Term& term, std::size_t block) const {
    const V x = set(a_scales_[block]), y = hn::LoadU(D(), b_scales_ + block * panel_columns);
    const V value = hn::Mul(term.value, hn::Mul(x, y));
    const V exponent =
        hn::Add(hn::Max(exponent_of(x), set(plan_.scale_least)), hn::Max(exponent_of(y), set(plan_.scale_least)));
    return {value, hn::IfThenElse(hn::Eq(value, hn::Zero(D())), set(exponent_of_zero_term), hn::Add(term.exponent, exponent))};
  }

  HWY_INLINE std::size_t first_stage(const Term& addend, Term* sums) const {
    const Engine& engine = plan_.engine;
    const std::size_t count = stage(
        engine.stages[0], addend, plan_.products, [&](std::size_t k) { return product(k); }, sums);
    if (engine.scales == EngineScales::group_sums)
      for (std::size_t g = 0; g < count; ++g) sums[g] = scaled(sums[g], g * plan_.group_products / plan_.scale_products);
    return count;
  }

  template <class Get>
  HWY_INLINE std::size_t stage(const Stage& stage, const Term& addend, std::size_t count, const Get& term, Term* sums) const {
    const std::size_t each = stage.terms == Stage::all ? count : static_cast<std::size_t>(stage.terms);
    const std::size_t number = count / each, run = stage.run > 0 ? static_cast<std::size_t>(stage.run) : each;
    for (std::size_t s = 0; s < number; ++s) {
      const auto of_sum = [&](std::size_t m) {
        const std::size_t at = stage.descending ? each - 1 - m : m;
        return term((at / run * number + s) * run + at % run);
      };
      const bool follows = stage.carried && s > 0;
      const Term* const joins = follows ? &sums[s - 1] : (stage.addend != Addend::none ? &addend : nullptr);
      sums[s] = sum(stage, each, of_sum, joins);
    }
    if (!stage.carried) return number;
    sums[0] = sums[number - 1];
    return 1;
  }

  template <class Get>
  HWY_INLINE Term sum(const Stage& stage, std::size_t count, const Get& term, const Term* addend) const {
    switch (stage.summing) {
      case Summing::aligned: return aligned(stage, count, term, addend);
      case Summing::exact: return fixed_point(count, term);
      case Summing::sequential: {
        const bool first = addend != nullptr && stage.addend != Addend::last;
        const bool from_term = !first && !stage.starts_at_zero;
        V total = first ? addend->value : hn::Zero(D());
        if (from_term) total = full_.round(term(0).value, stage.rounding, false);
        for (std::size_t m = from_term ? 1 : 0; m < count; ++m) total = add(stage, total, term(m).value);
        return accumulated(addend != nullptr && !first ? add(stage, total, addend->value) : total);
      }
      case Summing::pairwise: break;
    }
    const V total = pairwise(stage, term, 0, count);
    return accumulated(addend == nullptr ? total : add(stage, addend->value, total));
  }

  template <class Get>
  HWY_INLINE Term aligned(const Stage& stage, std::size_t count, const Get& term, const Term* addend) const {
    const Engine& engine = plan_.engine;
    V greatest = set(exponent_of_zero_term);
    for (std::size_t m = 0; m < count; ++m) greatest = hn::Max(greatest, term(m).exponent);
    if (addend != nullptr) greatest = hn::Max(greatest, addend->exponent);
    const auto nothing = hn::Eq(greatest, set(exponent_of_zero_term));
    if (addend != nullptr) greatest = hn::Max(greatest, set(engine.least_exponent));

    const auto cut = [&](V value, int fraction_bits) HWY_ATTR {
      const V unit = clamped(hn::Sub(greatest, set(fraction_bits)));
      const V scaled = hn::Mul(value, power(hn::Neg(unit)));
      return hn::Mul(stage.cut == Cut::downward ? hn::Floor(scaled) : hn::Trunc(scaled), power(unit));
    };
    V total = hn::Zero(D());
    for (std::size_t m = 0; m < count; ++m) total = hn::Add(total, cut(term(m).value, stage.fraction_bits));
    if (addend != nullptr) {
      const int bits = stage.addend_fraction_bits < 0 ? stage.fraction_bits : stage.addend_fraction_bits;
      const auto counts = hn::Ge(addend->exponent, hn::Sub(greatest, set(stage.addend_window)));
      total = hn::Add(total, hn::IfThenElseZero(counts, cut(addend->value, bits)));
    }
    total = hn::IfThenElse(hn::Or(nothing, hn::Eq(total, hn::Zero(D()))), hn::Zero(D()), total);
    if (stage.rounded) {
      const V result = aligned_.round(total, stage.rounding, engine.overflow_is_infinity);
      return accumulated(stage.keeps_minus_zero ? result : hn::Add(result, hn::Zero(D())));
    }
    return {total, hn::IfThenElse(nothing, set(exponent_of_zero_term), greatest)};
  }

  /// Sums of a few small numbers are exact; their exponent counts as 0.
  template <class Get>
  HWY_INLINE static Term fixed_point(std::size_t count, const Get& term) {
    V total = hn::Zero(D());
    for (std::size_t m = 0; m < count; ++m) total = hn::Add(total, term(m).value);
    return {total, hn::Zero(D())};
  }

  template <class Get>
  V pairwise(const Stage& stage, const Get& term, std::size_t begin, std::size_t end) const {
    if (end - begin == 1) return full_.round(term(begin).value, stage.rounding, true);
    const std::size_t middle = end - (end - begin) / 2;
    const V left = pairwise(stage, term, begin, middle);
    return add(stage, left, pairwise(stage, term, middle, end));
  }

  HWY_INLINE V add(const Stage& stage, V x, V y) const { return full_.round(add_to_odd(x, y), stage.rounding, false); }
  HWY_INLINE Term accumulated(V value) const { return judged(value, plan_.engine.accumulator.min_exponent()); }

  const StagesPlan& plan_;
  const float *a_, *b_;
  const double *a_scales_, *b_scales_;
  Grid full_, aligned_;
};

void run(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  const FloatEnvironment environment(Direction::nearest);
  const hn::Rebind<float, D> df;
  const std::size_t lanes = hn::Lanes(D());
  for (std::size_t s = 0; s < steps; ++s)
    for (std::size_t i = 0; i < a.rows; ++i) {
      const float* const row = a.values.data() + (s * panel_rows + i) * plan.products;
      const double* const row_scales = plan.blocks == 0 ? nullptr : a.scales.data() + (s * panel_rows + i) * plan.blocks;
      for (std::size_t j = 0; j < b.columns; j += lanes) {
        const float* const columns = b.values.data() + s * plan.products * panel_columns + j;
        const double* const column_scales = plan.blocks == 0 ? nullptr : b.scales.data() + s * plan.blocks * panel_columns + j;
        float* const at = accumulators + i * panel_columns + j;
        const V c = hn::PromoteTo(D(), hn::LoadU(df, at));
        const auto infinite = hn::Eq(hn::Abs(c), set(__builtin_huge_val()));
        const auto nan = hn::Ne(c, c);
        const auto stays = hn::Or(infinite, nan);
        const StepOf step(plan, row, columns, row_scales, column_scales);
        const V result = step.run(hn::IfThenZeroElse(stays, c));
        // Operands are finite: an addend that is not stays what it is, unless the step overflows by itself.
        const auto overflowed = hn::Not(hn::Lt(hn::Abs(result), set(__builtin_huge_val())));
        if (HWY_UNLIKELY(!hn::AllFalse(D(), overflowed))) {
          for (std::size_t lane = 0; lane < lanes; ++lane)
            at[lane] =
                stages_step(plan, row, columns + lane, row_scales, column_scales + (plan.blocks == 0 ? 0 : lane), at[lane]);
          continue;
        }
        store_floats(hn::IfThenElse(stays, c, result), at);
      }
    }
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

float stages_step(const StagesPlan& plan, const float* a, const float* b, const double* a_scales, const double* b_scales,
                  float c) {
  std::vector<Code> of_a(plan.products), of_b(plan.products), scales_a(plan.blocks), scales_b(plan.blocks);
  for (std::size_t k = 0; k < plan.products; ++k) {
    of_a[k] = encode(plan.a, a[k]);
    of_b[k] = encode(plan.b, b[k * panel_columns]);
  }
  for (std::size_t s = 0; s < plan.blocks; ++s) {
    scales_a[s] = encode(plan.scale_format, a_scales[s]);
    scales_b[s] = encode(plan.scale_format, b_scales[s * panel_columns]);
  }
  const Format accumulator = plan.engine.accumulator;
  const Code result =
      inner_product(plan.engine, plan.a, of_a, plan.b, of_b, encode(accumulator, c), {plan.scale_format, scales_a, scales_b});
  return static_cast<float>(decode(accumulator, result));
}

HWY_EXPORT(run);

void stages_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run)(plan, a, b, steps, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
