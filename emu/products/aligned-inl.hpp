// SPDX-License-Identifier: Apache-2.0
// One step of the truncating block FMA over vectors of outputs. The greatest exponent of the terms is found first, for 64
// outputs at once in bytes; then every product is multiplied by 2^(fraction bits - greatest exponent) and truncated to an
// integer, which is the cut wanted; the integers are added up, and the sum is rounded once. Compiled once for each instruction
// set.
#if defined(ULPSCOPE_PRODUCTS_ALIGNED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_PRODUCTS_ALIGNED_INL
#undef ULPSCOPE_PRODUCTS_ALIGNED_INL
#else
#define ULPSCOPE_PRODUCTS_ALIGNED_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "emu/bulk/vectors-inl.hpp"
#include "emu/products/panels.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

/// x truncated to an integer; |x| < 2^31, or NaN, of which anything is made.
HWY_INLINE VI truncated(VF x) {
#if ULPSCOPE_X86_BITS == 512
  return VI{_mm512_cvttps_epi32(x.raw)};
#elif ULPSCOPE_X86_BITS == 256
  return VI{_mm256_cvttps_epi32(x.raw)};
#else
  // Highway's portable conversion of NaN is undefined.
  if constexpr (is_portable) x = hn::IfThenZeroElse(hn::IsNaN(x), x);
  return hn::ConvertTo(DI(), x);  // Highway's mends what is beyond 2^31, which costs three instructions
#endif
}

HWY_INLINE VI int_set(int x) { return hn::Set(DI(), x); }

/// The rounded sum of a step as a float, given 2^(greatest exponent - fraction bits). The environment rounds toward zero.
template <bool half>
HWY_INLINE VF rounded(VI sum, VF unit, VI fraction_mask) {
  const DF df;
  const DI di;
  const VF short_sum = hn::ConvertTo(df, sum);
  if constexpr (half && has_half) {
    // To odd, so that the second rounding is as good as the first.
    const VI odd = hn::IfThenElseZero(hn::Ne(truncated(short_sum), sum), int_set(1));
    const VF to_odd = hn::BitCast(df, hn::Or(hn::BitCast(di, short_sum), odd));
    // Zeros have no sign: toward zero -0 + 0 is +0.
    return hn::Add(from_halves(halves<to_nearest_even>(hn::Mul(to_odd, unit))), hn::Zero(df));
  } else {
    return hn::BitCast(df, hn::And(hn::BitCast(di, hn::Mul(short_sum, unit)), fraction_mask));
  }
}

// Exponents outside of these bounds are left to aligned_step(): floats would round, underflow or overflow.
constexpr int greatest_usual = 120;
HWY_INLINE int least_usual(const AlignedPlan& plan) { return plan.fraction_bits - 124; }

/// Products that are zero have lower exponents, others have not.
template <class Exponent>
constexpr int fictitious_exponent = sizeof(Exponent) == 1 ? -64 : -1024;
/// Below those of scaled products.
constexpr int no_exponent = -(1 << 20);

/// What is known of a step when it is compiled.
struct StepKind {
  bool half;         ///< results of float16
  int products = 0;  ///< 0: as many as the plan says
  /// Products 0, 1, 4, 5, ... of those that follow: every other pair of neighbours.
  bool every_other_pair = false;
  bool scaled = false;  ///< all products are multiplied by one power of two
  bool fits = false;    ///< 31 bits hold the sum of all terms: AlignedPlan::fits

  /// Where product k is.
  constexpr std::size_t at(std::size_t k) const { return every_other_pair ? k / 2 * 4 + k % 2 : k; }
};

/// log2 of what a step's products are multiplied by: one for its row, and one for each of its columns.
struct StepScale {
  int of_row = 0;
  const std::int32_t* of_columns = nullptr;
};

/// Redoes one by one the outputs that vectors cannot do. Sums of nothing but zeros and infinite addends are fine as they are.
template <class Exponent, StepKind kind, std::size_t vectors>
HWY_NOINLINE void redo_unusual(const AlignedPlan& plan, const float* a, const float* b, const StepScale& step_scale,
                               const Exponent* of_products, const VI (&exponent)[vectors], const VI (&overflowed)[vectors],
                               const VF (&c)[vectors], VF (&result)[vectors]) {
  const DF df;
  const DI di;
  for (std::size_t v = 0; v < vectors; ++v) {
    const VI magnitude_of_c = hn::And(hn::BitCast(di, c[v]), int_set(0x7fffffff));
    const auto stays = hn::Gt(magnitude_of_c, int_set(static_cast<int>(float_infinity) - 1));
    const VI of_terms = hn::PromoteTo(di, hn::LoadU(hn::Rebind<Exponent, DI>(), of_products + v * hn::Lanes(df)));
    const auto counts =
        hn::Or(hn::Gt(of_terms, int_set(fictitious_exponent<Exponent>)), hn::RebindMask(di, hn::Ne(c[v], hn::Zero(df))));
    const auto low = hn::And(counts, hn::Lt(exponent[v], int_set(least_usual(plan))));
    const auto high = hn::Or(hn::Gt(exponent[v], int_set(greatest_usual)), hn::Lt(overflowed[v], hn::Zero(di)));
    auto unusual = hn::AndNot(stays, hn::Or(low, high));
    if constexpr (!has_half) {
      if (plan.half_results) unusual = hn::Not(stays);
    }
    result[v] = hn::IfThenElse(hn::RebindMask(df, stays), c[v], result[v]);

    HWY_ALIGN std::int32_t flags[hn::MaxLanes(di)];
    HWY_ALIGN float from[hn::MaxLanes(df)], to[hn::MaxLanes(df)];
    hn::Store(hn::VecFromMask(di, unusual), di, flags);
    hn::Store(c[v], df, from);
    hn::Store(result[v], df, to);
    for (std::size_t lane = 0; lane < hn::Lanes(df); ++lane)
      if (flags[lane] != 0) {
        const std::size_t column = v * hn::Lanes(df) + lane;
        AlignedTerms terms{.every_other_pair = kind.every_other_pair};
        if constexpr (kind.scaled) terms.scale = step_scale.of_row + step_scale.of_columns[column];
        to[lane] = aligned_step(plan, a, b + column, from[lane], terms);
      }
    result[v] = hn::Load(df, to);
  }
}

/// One step of one row for as many columns as a vector of exponents has.
template <class Exponent, StepKind kind>
HWY_INLINE void step(const AlignedPlan& plan, const float* HWY_RESTRICT a, const std::uint32_t* HWY_RESTRICT a_exponents,
                     const float* HWY_RESTRICT b, const Exponent* HWY_RESTRICT b_exponents, float* HWY_RESTRICT accumulators,
                     const StepScale& step_scale = {}) {
  const VectorTag<Exponent> de;
  const DF df;
  const DI di;
  constexpr std::size_t vectors = hn::MaxLanes(de) / hn::MaxLanes(df);
  const std::size_t lanes = hn::Lanes(df);
  const auto products = static_cast<std::size_t>(kind.products > 0 ? kind.products : plan.products);

  const auto of_product = [&](std::size_t k) HWY_ATTR {
    const auto from_a = hn::BitCast(de, hn::Set(DU(), a_exponents[kind.at(k)]));
    return hn::SaturatedAdd(from_a, hn::LoadU(de, b_exponents + kind.at(k) * panel_columns));
  };
  auto greatest = of_product(0);
  for (std::size_t k = 1; k < products; ++k) greatest = hn::Max(greatest, of_product(k));
  HWY_ALIGN Exponent of_products[HWY_MAX_BYTES / sizeof(Exponent)] = {};
  hn::Store(greatest, de, of_products);

  constexpr int lowest_exponent = kind.scaled ? no_exponent : hwy::LimitsMin<Exponent>();
  const VI none = int_set(lowest_exponent);
  const VI least = int_set(plan.least_exponent >= least_usual(plan) ? plan.least_exponent : lowest_exponent);
  VF c[vectors], scale[vectors], product_scale[vectors];
  VI exponent[vectors], low[vectors], high[vectors];
  VI lowest = int_set(0), highest = int_set(0);
  for (std::size_t v = 0; v < vectors; ++v) {
    c[v] = hn::LoadU(df, accumulators + v * lanes);
    const VI magnitude = hn::And(hn::BitCast(di, c[v]), int_set(0x7fffffff));
    // Float32: -127 for zeros and subnormal numbers, which matters only where exponents are not usual.
    VI of_c = hn::Sub(hn::ShiftRight<23>(magnitude), int_set(127));
    if constexpr (kind.half) of_c = hn::IfThenElse(hn::Eq(magnitude, hn::Zero(di)), none, hn::Max(of_c, int_set(plan.c_least)));
    VI of_terms = hn::PromoteTo(di, hn::LoadU(hn::Rebind<Exponent, DI>(), of_products + v * lanes));
    VI shift = hn::Zero(di);
    if constexpr (kind.scaled) {
      shift = hn::Add(int_set(step_scale.of_row), hn::LoadU(di, step_scale.of_columns + v * lanes));
      of_terms = hn::IfThenElse(hn::Gt(of_terms, int_set(fictitious_exponent<Exponent>)), hn::Add(of_terms, shift), none);
    }
    exponent[v] = hn::Max(hn::Max(of_terms, of_c), least);
    lowest = hn::Min(lowest, exponent[v]);
    highest = hn::Max(highest, exponent[v]);
    const VI field = hn::Min(hn::Sub(int_set(plan.fraction_bits + 127), exponent[v]), int_set(254));
    scale[v] = hn::BitCast(df, hn::ShiftLeft<23>(field));
    product_scale[v] = scale[v];
    if constexpr (kind.scaled) {
      // Products that the least scale leaves too great are cut to zero by c, beside which they are nothing.
      const VI exact = hn::Sub(hn::Add(int_set(plan.fraction_bits + 127), shift), exponent[v]);
      product_scale[v] = hn::BitCast(df, hn::ShiftLeft<23>(hn::Max(hn::Min(exact, int_set(254)), hn::Zero(di))));
    }
    low[v] = truncated(hn::Mul(c[v], scale[v]));
    high[v] = hn::Zero(di);
  }

  // Two sums of half the products: each fits 32 bits; the sum of both may just exceed them.
  const auto accumulate = [&](std::size_t begin, std::size_t end, VI(&sum)[vectors]) ULPSCOPE_INLINE_LAMBDA {
    for (std::size_t k = begin; k < end; ++k)
      for (std::size_t v = 0; v < vectors; ++v) {
        const VF product = hn::Mul(hn::Set(df, a[kind.at(k)]), hn::LoadU(df, b + kind.at(k) * panel_columns + v * lanes));
        sum[v] = hn::Add(sum[v], truncated(hn::Mul(product, product_scale[v])));
      }
  };
  accumulate(0, kind.fits ? products : products / 2, low);
  if constexpr (!kind.fits) accumulate(products / 2, products, high);

  VF result[vectors];
  VI overflowed[vectors], any_overflowed = hn::Zero(di);
  const VI mask = int_set(-1 << (23 - plan.result_fraction_bits));
  for (std::size_t v = 0; v < vectors; ++v) {
    VI sum = low[v];
    overflowed[v] = hn::Zero(di);
    if constexpr (!kind.fits) {
      sum = hn::Add(low[v], high[v]);
      overflowed[v] = hn::AndNot(hn::Xor(low[v], high[v]), hn::Xor(low[v], sum));
      any_overflowed = hn::Or(any_overflowed, overflowed[v]);
    }
    const VI unit = hn::Sub(int_set(254 << 23), hn::BitCast(di, scale[v]));
    result[v] = rounded<kind.half>(sum, hn::BitCast(df, unit), mask);
  }
  auto unusual = hn::Or(hn::Lt(lowest, int_set(least_usual(plan))), hn::Gt(highest, int_set(greatest_usual)));
  if constexpr (!kind.fits) unusual = hn::Or(unusual, hn::Lt(any_overflowed, hn::Zero(di)));
  if (HWY_UNLIKELY((kind.half && !has_half) || !hn::AllFalse(di, unusual)))
    redo_unusual<Exponent, kind>(plan, a, b, step_scale, of_products, exponent, overflowed, c, result);
  for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(result[v], df, accumulators + v * lanes);
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
