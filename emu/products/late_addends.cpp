// SPDX-License-Identifier: Apache-2.0
// The steps of CDNA3: products are cut and added as integers, in one sum or in one of even and one of odd products; their sum
// and c are aligned once more, floored, and added in doubles, which hold that sum exactly.
#include "emu/products/stages.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/late_addends.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "emu/float_environment.hpp"
#include "emu/products/aligned-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

using DW = VectorTag<double>;
using VW = hn::Vec<DW>;

// Steps with greater or lesser exponents are left to the reference: floats would overflow or underflow, and so may products.
constexpr int greatest_late = 120, least_late = -90, least_product = -100;

/// A sum of products: an integer times 2^(exponent - fraction bits).
struct CutSum {
  VI sum, exponent;

  HWY_INLINE CutSum() {}  // written out: what the compiler adds itself is not compiled for the target
  HWY_INLINE CutSum(VI x, VI greatest) : sum(x), exponent(greatest) {}
};

/// 2^exponent as floats; 2^-126 for less, which leaves nothing but signs of what it multiplies. No exponent is beyond 127.
HWY_INLINE VF float_power(VI exponent) {
  return hn::BitCast(DF(), hn::ShiftLeft<23>(hn::Max(hn::Add(exponent, int_set(127)), int_set(1))));
}

/// Cut sums of every `sums`-th product from `first` on, for as many columns as a vector of exponents has.
template <class Exponent, std::size_t sums, std::size_t vectors>
HWY_INLINE void cut_sums(const StagesPlan& plan, std::size_t first, const float* HWY_RESTRICT a,
                         const std::uint32_t* HWY_RESTRICT a_exponents, const float* HWY_RESTRICT b,
                         const Exponent* HWY_RESTRICT b_exponents, CutSum (&out)[vectors]) {
  const VectorTag<Exponent> de;
  const DF df;
  const DI di;
  const std::size_t lanes = hn::Lanes(df);
  auto greatest = hn::Set(de, hwy::LimitsMin<Exponent>());
  for (std::size_t k = first; k < plan.products; k += sums) {
    const auto from_a = hn::BitCast(de, hn::Set(DU(), a_exponents[k]));
    greatest = hn::Max(greatest, hn::SaturatedAdd(from_a, hn::LoadU(de, b_exponents + k * panel_columns)));
  }
  HWY_ALIGN Exponent of_products[HWY_MAX_BYTES / sizeof(Exponent)] = {};
  hn::Store(greatest, de, of_products);
  VF scale[vectors];
  const int bits = plan.engine.stages[0].fraction_bits;
  for (std::size_t v = 0; v < vectors; ++v) {
    const VI of_terms = hn::PromoteTo(di, hn::LoadU(hn::Rebind<Exponent, DI>(), of_products + v * lanes));
    const auto some = hn::Gt(of_terms, int_set(fictitious_exponent<Exponent>));
    out[v].exponent = hn::IfThenElse(some, of_terms, int_set(no_exponent));
    scale[v] = float_power(hn::Min(hn::Sub(int_set(bits), of_terms), int_set(127)));
    out[v].sum = hn::Zero(di);
  }
  for (std::size_t k = first; k < plan.products; k += sums) {
    const VF x = hn::Set(df, a[k]);
    for (std::size_t v = 0; v < vectors; ++v) {
      const VF product = hn::Mul(x, hn::LoadU(df, b + k * panel_columns + v * lanes));
      out[v].sum = hn::Add(out[v].sum, truncated(hn::Mul(product, scale[v])));
    }
  }
}

/// x and y, floored to the unit of the greater exponent.
HWY_INLINE CutSum joined(const CutSum& x, const CutSum& y) {
  const VI exponent = hn::Max(x.exponent, y.exponent);
  const auto floored = [&](const CutSum& of)
                           HWY_ATTR { return hn::Shr(of.sum, hn::Min(hn::Sub(exponent, of.exponent), int_set(31))); };
  return {hn::Add(floored(x), floored(y)), exponent};
}

/// The integer sum of the products' sum and c, in units of 2^(greatest - fraction bits), rounded to a float, for half the
/// lanes.
HWY_INLINE hn::Vec<hn::Rebind<float, DW>> rounded_join(hn::Vec<hn::Rebind<std::int32_t, DW>> sum,
                                                       hn::Vec<hn::Rebind<float, DW>> sum_scale,
                                                       hn::Vec<hn::Rebind<float, DW>> c, hn::Vec<hn::Rebind<float, DW>> c_scale,
                                                       double c_unit) {
  const VW of_sum = hn::Floor(hn::Mul(hn::PromoteTo(DW(), sum), hn::PromoteTo(DW(), sum_scale)));
  const VW of_c = hn::Floor(hn::Mul(hn::PromoteTo(DW(), c), hn::PromoteTo(DW(), c_scale)));
  return exact_floats(DW(), hn::Add(of_sum, hn::Mul(of_c, hn::Set(DW(), c_unit))));
}

/// The last stage for a vector of columns; `unusual` are the lanes that it cannot do.
HWY_INLINE VF with_addend(const StagesPlan& plan, const CutSum& products, VF c, VI& unusual) {
  const DF df;
  const DI di;
  const Engine& engine = plan.engine;
  const Stage& stage = engine.last_stage();
  const VI magnitude = hn::And(hn::BitCast(di, c), int_set(0x7fffffff));
  const VI of_c = hn::Sub(hn::Max(hn::ShiftRight<23>(magnitude), int_set(1)), int_set(127));
  const auto c_is_zero = hn::Eq(magnitude, hn::Zero(di));
  const VI any = hn::Max(products.exponent, hn::IfThenElse(c_is_zero, int_set(no_exponent), of_c));
  const VI greatest = hn::Max(any, int_set(engine.least_exponent));
  const auto less = [&](VI exponent, int least)
                        HWY_ATTR { return hn::And(hn::Gt(exponent, int_set(no_exponent)), hn::Lt(exponent, int_set(least))); };
  const auto outside =
      hn::Or(hn::Gt(greatest, int_set(greatest_late)), hn::Or(less(any, least_late), less(products.exponent, least_product)));
  unusual = hn::VecFromMask(di, outside);
  const VI usual = hn::Min(hn::Max(greatest, int_set(least_late)), int_set(greatest_late));
  const int bits = engine.stages[0].fraction_bits;
  const VF sum_scale = float_power(hn::Add(hn::Sub(products.exponent, usual), int_set(stage.fraction_bits - bits)));
  const auto below = hn::Lt(of_c, hn::Sub(usual, int_set(stage.addend_window)));
  const VF addend = hn::IfThenElseZero(hn::RebindMask(df, hn::Not(below)), c);
  const VF c_scale = float_power(hn::Sub(int_set(stage.addend_fraction_bits), usual));
  const double c_unit = power_of_two(stage.fraction_bits - stage.addend_fraction_bits);

#if HWY_TARGET == HWY_SCALAR
  const VF rounded_sum = rounded_join(products.sum, sum_scale, addend, c_scale, c_unit);
#else
  const hn::Rebind<float, DW> half_floats;
  const hn::Rebind<std::int32_t, DW> half_ints;
  const auto lower = rounded_join(hn::LowerHalf(half_ints, products.sum), hn::LowerHalf(half_floats, sum_scale),
                                  hn::LowerHalf(half_floats, addend), hn::LowerHalf(half_floats, c_scale), c_unit);
  const auto upper = rounded_join(hn::UpperHalf(half_ints, products.sum), hn::UpperHalf(half_floats, sum_scale),
                                  hn::UpperHalf(half_floats, addend), hn::UpperHalf(half_floats, c_scale), c_unit);
  const VF rounded_sum = hn::Combine(df, upper, lower);
#endif
  const VF unit = float_power(hn::Sub(usual, int_set(stage.fraction_bits)));
  return hn::Add(hn::Mul(rounded_sum, unit), hn::Zero(df));  // no -0
}

/// One step of one row for as many columns as a vector of exponents has.
template <class Exponent, std::size_t sums>
HWY_INLINE void late_step(const StagesPlan& plan, const float* a, const std::uint32_t* a_exponents, const float* b,
                          const Exponent* b_exponents, float* accumulators) {
  const DF df;
  const DI di;
  constexpr std::size_t vectors = hn::MaxLanes(VectorTag<Exponent>()) / hn::MaxLanes(df);
  const std::size_t lanes = hn::Lanes(df);
  CutSum cut[vectors];
  cut_sums<Exponent, sums>(plan, 0, a, a_exponents, b, b_exponents, cut);
  if constexpr (sums == 2) {
    CutSum odd[vectors];
    cut_sums<Exponent, sums>(plan, 1, a, a_exponents, b, b_exponents, odd);
    for (std::size_t v = 0; v < vectors; ++v) cut[v] = joined(cut[v], odd[v]);
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    float* const at = accumulators + v * lanes;
    const VF c = hn::LoadU(df, at);
    VI unusual;
    const VF result = with_addend(plan, cut[v], c, unusual);
    if (HWY_UNLIKELY(!hn::AllFalse(di, hn::Lt(unusual, hn::Zero(di))))) {
      HWY_ALIGN std::int32_t redone[hn::MaxLanes(di)];
      HWY_ALIGN float from[hn::MaxLanes(df)], to[hn::MaxLanes(df)];
      hn::Store(unusual, di, redone);
      hn::Store(c, df, from);
      hn::Store(result, df, to);
      for (std::size_t lane = 0; lane < lanes; ++lane)
        if (redone[lane] != 0) to[lane] = stages_step(plan, a, b + v * lanes + lane, nullptr, nullptr, from[lane]);
      hn::StoreU(hn::Load(df, to), df, at);
    } else {
      hn::StoreU(result, df, at);
    }
  }
}

template <class Exponent>
void all_late(const StagesPlan& plan, const RowPanel& a, const float* b, const Exponent* b_exponents, std::size_t steps,
              float* accumulators) {
  const bool two = plan.engine.stage_count == 3;
  const std::size_t columns = hn::Lanes(VectorTag<Exponent>());
  for (std::size_t s = 0; s < steps; ++s)
    for (std::size_t i = 0; i < a.rows; ++i) {
      const std::size_t row = (s * panel_rows + i) * plan.products, step_of_b = s * plan.products * panel_columns;
      for (std::size_t j = 0; j < panel_columns; j += columns) {
        const float *const values = a.values.data() + row, *const of_b = b + step_of_b + j;
        float* const at = accumulators + i * panel_columns + j;
        two ? late_step<Exponent, 2>(plan, values, a.exponents.data() + row, of_b, b_exponents + step_of_b + j, at)
            : late_step<Exponent, 1>(plan, values, a.exponents.data() + row, of_b, b_exponents + step_of_b + j, at);
      }
    }
}

void run_late(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  const FloatEnvironment environment(Direction::nearest);
  const float* const values = b.values.data();
  plan.wide ? all_late(plan, a, values, b.exponents16.data(), steps, accumulators)
            : all_late(plan, a, values, b.exponents8.data(), steps, accumulators);
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(run_late);

void late_addend_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps,
                       float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run_late)(plan, a, b, steps, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
