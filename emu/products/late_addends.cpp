// SPDX-License-Identifier: Apache-2.0
// The steps of CDNA3: products are cut and added as integers, in one sum or in one of even and one of odd products; their sum
// and c are aligned once more, floored, and added as integers with some bits of the sum below them. What comes of that is
// rounded once, by a fused multiply-add of its upper and its lower bits.
#include "emu/products/stages.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/late_addends.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "emu/float_environment.hpp"
#include "emu/products/aligned-inl.hpp"
#include "emu/products/fused-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

// Steps with greater or lesser exponents are left to the reference: sums would overflow or be subnormal, and so may products.
constexpr int greatest_late = 97, least_late = -90, least_product = -100;
/// The exponent of sums without products, no greater than any that counts: those of floats begin here.
constexpr int least_of_all = float32.min_exponent();

/// What of an engine the steps ask for.
struct LateKind {
  std::size_t products;
  int bits;    ///< fraction bits of cut products, and of c as it meets their sum
  int window;  ///< binades
  /// Of the seven bits below these, which that sum has.
  std::uint32_t lower;

  explicit LateKind(const StagesPlan& plan)
      : products(plan.products),
        bits(plan.engine.stages[0].fraction_bits),
        window(plan.engine.last_stage().addend_window),
        lower(0x7f & ~(0x7fU >> (plan.engine.last_stage().fraction_bits - bits))) {}
};

/// A sum of products: an integer times 2^(exponent - fraction bits).
struct CutSum {
  VI sum, exponent;

  HWY_INLINE CutSum() {}  // written out: what the compiler adds itself is not compiled for the target
  HWY_INLINE CutSum(VI x, VI greatest) : sum(x), exponent(greatest) {}
};

/// 2^(fraction bits - exponent), 2^127 for sums without products.
HWY_INLINE VI scale_bits(const LateKind& kind, VI exponent) {
  return hn::ShiftLeft<23>(hn::Min(hn::Sub(int_set(kind.bits + 127), exponent), int_set(254)));
}

/// Cut sums of every `sums`-th product from `first` on, for as many columns as a vector of exponents has. Returns whether a
/// product is too small.
template <class Exponent, std::size_t products, std::size_t sums, std::size_t vectors>
HWY_INLINE bool cut_sums(const LateKind& kind, std::size_t first, const float* HWY_RESTRICT a,
                         const std::uint32_t* HWY_RESTRICT a_exponents, const float* HWY_RESTRICT b,
                         const Exponent* HWY_RESTRICT b_exponents, CutSum (&out)[vectors]) {
  const VectorTag<Exponent> de;
  const DF df;
  const DI di;
  const std::size_t lanes = hn::Lanes(df), count = products > 0 ? products : kind.products;
  auto greatest = hn::Set(de, hwy::LimitsMin<Exponent>());
  for (std::size_t k = first; k < count; k += sums) {
    const auto from_a = hn::BitCast(de, hn::Set(DU(), a_exponents[k]));
    greatest = hn::Max(greatest, hn::SaturatedAdd(from_a, hn::LoadU(de, b_exponents + k * panel_columns)));
  }
  HWY_ALIGN Exponent of_products[HWY_MAX_BYTES / sizeof(Exponent)] = {};
  hn::Store(hn::Max(greatest, hn::Set(de, least_of_all)), de, of_products);
  VF scale[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    out[v].exponent = hn::PromoteTo(di, hn::LoadU(hn::Rebind<Exponent, DI>(), of_products + v * lanes));
    scale[v] = hn::BitCast(df, scale_bits(kind, out[v].exponent));
    out[v].sum = hn::Zero(di);
  }
  for (std::size_t k = first; k < count; k += sums) {
    const VF x = hn::Set(df, a[k]);
    for (std::size_t v = 0; v < vectors; ++v) {
      const VF product = hn::Mul(x, hn::LoadU(df, b + k * panel_columns + v * lanes));
      out[v].sum = hn::Add(out[v].sum, truncated(hn::Mul(product, scale[v])));
    }
  }
  if constexpr (sizeof(Exponent) == 1) return false;  // narrow formats have none so small
  const auto some = hn::Gt(greatest, hn::Set(de, fictitious_exponent<Exponent>));
  return !hn::AllFalse(de, hn::And(some, hn::Lt(greatest, hn::Set(de, least_product))));
}

/// x and y, floored to the unit of the greater exponent.
HWY_INLINE CutSum joined(const CutSum& x, const CutSum& y) {
  const VI exponent = hn::Max(x.exponent, y.exponent);
  const auto cut = [&](const CutSum& of)
                       HWY_ATTR { return hn::Shr(of.sum, hn::Min(hn::Sub(exponent, of.exponent), int_set(31))); };
  return {hn::Add(cut(x), cut(y)), exponent};
}

/// c / unit, floored; less than 2^29. The environment rounds to nearest.
HWY_INLINE VI floored(VF c, VF per_unit) {
#if ULPSCOPE_X86_BITS == 512
  constexpr int down = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
  return VI{_mm512_cvt_roundps_epi32(_mm512_mul_round_ps(c.raw, per_unit.raw, down), down)};
#else
  // A negative c so small that the quotient is zero counts as one unit below it.
  const DF df;
  const VF quotient = hn::Mul(c, per_unit), below_zero = hn::Min(quotient, hn::Set(df, -0x1p-100F));
  return truncated(hn::Floor(hn::IfThenElse(hn::Lt(c, hn::Zero(df)), below_zero, quotient)));
#endif
}

/// The products' sum and c, as integers of 2^(greatest - bits), and the sum's bits below them, rounded to nearest even.
HWY_INLINE VF rounded_join(const LateKind& kind, const CutSum& products, VF c, VI greatest) {
  const DF df;
  const DI di;
  const DU du;
  const VI scale = scale_bits(kind, greatest);
  const VI distance = hn::Min(hn::Sub(greatest, products.exponent), int_set(31));
  const VI whole = hn::Add(hn::Shr(products.sum, distance), floored(c, hn::BitCast(df, scale)));
  // The last bit of the sum that is as great as a unit, and the seven below it, are shifted to the top.
  const VU sum = hn::BitCast(du, products.sum), up = hn::BitCast(du, hn::Sub(int_set(31), distance));
  const VU below = hn::And(hn::ShiftRight<24>(hn::Shl(sum, up)), set(kind.lower));
  // Both parts are floats: 23 bits, and 15.
  const VU last = hn::Or(hn::And(hn::ShiftLeft<7>(hn::BitCast(du, whole)), set(0x7f80)), below);
  const VF upper = hn::ConvertTo(df, hn::ShiftRight<8>(whole)), lower = hn::ConvertTo(df, hn::BitCast(di, last));
  // 2^(greatest - bits - 7); 0 for nothing but zeros.
  const VI unit = hn::Max(hn::Sub(int_set(247 << 23), scale), hn::Zero(di));
  return hn::Mul(fused(df, upper, hn::Set(df, 0x1p15F), lower), hn::BitCast(df, unit));
}

/// The last stage for a vector of columns, whose greatest exponents it also gives.
template <std::size_t sums>
HWY_INLINE VF with_addend(const LateKind& kind, const CutSum& products, VF c, VI& greatest) {
  const DF df;
  const VI magnitude = hn::And(hn::BitCast(DI(), c), int_set(0x7fffffff));
  // That of zeros and subnormal numbers, least_of_all or less, is no greater than that of the products.
  const VI of_c = hn::Sub(hn::ShiftRight<23>(magnitude), int_set(127));
  greatest = hn::Max(products.exponent, of_c);
  VF addend = c;
  if constexpr (sums == 2)
    addend = hn::IfThenZeroElse(hn::RebindMask(df, hn::Lt(of_c, hn::Sub(greatest, int_set(kind.window)))), c);
  return rounded_join(kind, products, addend, greatest);
}

/// Redoes one by one what vectors cannot do: exponents too small or too great, of c or of products. Nothing but zeros is fine
/// as it is.
template <class Exponent>
HWY_NOINLINE void redo_late(const StagesPlan& plan, const float* a, const std::uint32_t* a_exponents, const float* b,
                            const Exponent* b_exponents, const float* c, float* results) {
  for (std::size_t j = 0; j < hn::Lanes(VectorTag<Exponent>()); ++j) {
    int of_products = no_exponent;
    for (std::size_t k = 0; k < plan.products; ++k)
      of_products = std::max(of_products, static_cast<Exponent>(a_exponents[k]) + b_exponents[k * panel_columns + j]);
    const bool any = of_products > fictitious_exponent<Exponent>;
    if (!any && c[j] == 0) continue;
    const int of_c = nominal_exponent(c[j], least_of_all), greatest = any ? std::max(of_products, of_c) : of_c;
    if (greatest < least_late || greatest > greatest_late || (any && of_products < least_product))
      results[j] = stages_step(plan, a, b + j, nullptr, nullptr, c[j]);
  }
}

/// One step of one row for as many columns as a vector of exponents has.
template <class Exponent, std::size_t products, std::size_t sums>
HWY_INLINE void late_step(const StagesPlan& plan, const LateKind& kind, const float* a, const std::uint32_t* a_exponents,
                          const float* b, const Exponent* b_exponents, float* accumulators) {
  const DF df;
  const DI di;
  constexpr std::size_t vectors = hn::MaxLanes(VectorTag<Exponent>()) / hn::MaxLanes(df);
  const std::size_t lanes = hn::Lanes(df);
  CutSum cut[vectors];
  const bool small = cut_sums<Exponent, products, sums>(kind, 0, a, a_exponents, b, b_exponents, cut);
  if constexpr (sums == 2) {
    CutSum odd[vectors];
    cut_sums<Exponent, products, sums>(kind, 1, a, a_exponents, b, b_exponents, odd);
    for (std::size_t v = 0; v < vectors; ++v) cut[v] = joined(cut[v], odd[v]);
  }
  VF result[vectors];
  VI least = int_set(greatest_late), most = int_set(least_late);
  for (std::size_t v = 0; v < vectors; ++v) {
    VI greatest;
    result[v] = with_addend<sums>(kind, cut[v], hn::LoadU(df, accumulators + v * lanes), greatest);
    least = hn::Min(least, greatest);
    most = hn::Max(most, greatest);
  }
  const auto outside = hn::Or(hn::Lt(least, int_set(least_late)), hn::Gt(most, int_set(greatest_late)));
  if (HWY_UNLIKELY(small || !hn::AllFalse(di, outside))) {
    HWY_ALIGN float results[vectors * hn::MaxLanes(df)];
    for (std::size_t v = 0; v < vectors; ++v) hn::Store(result[v], df, results + v * lanes);
    redo_late(plan, a, a_exponents, b, b_exponents, accumulators, results);
    std::copy_n(results, vectors * lanes, accumulators);
    return;
  }
  for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(result[v], df, accumulators + v * lanes);
}

template <class Exponent, std::size_t products, std::size_t sums>
void all_late(const StagesPlan& plan, const RowPanel& a, const float* b, const Exponent* b_exponents, std::size_t steps,
              float* accumulators) {
  const LateKind kind(plan);
  const std::size_t columns = hn::Lanes(VectorTag<Exponent>());
  for (std::size_t s = 0; s < steps; ++s)
    for (std::size_t i = 0; i < a.rows; ++i) {
      const std::size_t row = (s * panel_rows + i) * plan.products, step_of_b = s * plan.products * panel_columns;
      for (std::size_t j = 0; j < panel_columns; j += columns)
        late_step<Exponent, products, sums>(plan, kind, a.values.data() + row, a.exponents.data() + row, b + step_of_b + j,
                                            b_exponents + step_of_b + j, accumulators + i * panel_columns + j);
    }
}

void run_late(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  const FloatEnvironment environment(Direction::nearest);
  const float* const values = b.values.data();
  const auto run = [&]<std::size_t products, std::size_t sums>(const auto* exponents) {
    all_late<std::remove_const_t<std::remove_pointer_t<decltype(exponents)>>, products, sums>(plan, a, values, exponents, steps,
                                                                                              accumulators);
  };
  const bool two = plan.engine.stage_count == 3;
  if (plan.wide && plan.products == 4) return run.operator()<4, 1>(b.exponents16.data());
  if (plan.wide)
    return plan.products == 8 ? run.operator()<8, 1>(b.exponents16.data()) : run.operator()<0, 1>(b.exponents16.data());
  if (two) return plan.products == 16 ? run.operator()<16, 2>(b.exponents8.data()) : run.operator()<0, 2>(b.exponents8.data());
  plan.products == 8 ? run.operator()<8, 1>(b.exponents8.data()) : run.operator()<0, 1>(b.exponents8.data());
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
