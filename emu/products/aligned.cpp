// SPDX-License-Identifier: Apache-2.0
// The truncating block FMA over vectors of outputs. For each step of an engine the greatest exponent of the terms is found
// first, for 64 outputs at once in bytes; then every product is multiplied by 2^(fraction bits - greatest exponent) and
// truncated to an integer, which is the cut wanted; the integers are added up, and the sum is rounded once.
#include "emu/products/panels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/aligned.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "emu/bulk/vectors-inl.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/float_environment.hpp"

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
    return from_halves(halves<to_nearest_even>(hn::Mul(to_odd, unit)));
  } else {
    return hn::BitCast(df, hn::And(hn::BitCast(di, hn::Mul(short_sum, unit)), fraction_mask));
  }
}

// Exponents outside of these bounds are left to aligned_step(): floats would round, underflow or overflow.
constexpr int greatest_usual = 120;
HWY_INLINE int least_usual(const AlignedPlan& plan) { return plan.fraction_bits - 124; }

/// Redoes one by one the outputs that vectors cannot do. Sums of nothing but zeros and infinite addends are fine as they are.
template <class Exponent, std::size_t vectors>
HWY_NOINLINE void redo_unusual(const AlignedPlan& plan, const float* a, const float* b, const VI (&exponent)[vectors],
                               const VI (&overflowed)[vectors], const VF (&c)[vectors], VF (&result)[vectors]) {
  const DF df;
  const DI di;
  constexpr int fictitious =
      sizeof(Exponent) == 1 ? -64 : -1024;  // products that are zero have lower exponents, others have not
  for (std::size_t v = 0; v < vectors; ++v) {
    const VI magnitude_of_c = hn::And(hn::BitCast(di, c[v]), int_set(0x7fffffff));
    const auto stays = hn::Gt(magnitude_of_c, int_set(static_cast<int>(float_infinity) - 1));
    const auto counts = hn::Or(hn::Gt(exponent[v], int_set(fictitious)), hn::RebindMask(di, hn::Ne(c[v], hn::Zero(df))));
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
      if (flags[lane] != 0) to[lane] = aligned_step(plan, a, b + v * hn::Lanes(df) + lane, from[lane]);
    result[v] = hn::Load(df, to);
  }
}

/// One step of one row for as many columns as a vector of exponents has.
template <class Exponent, bool half, int fixed>
HWY_INLINE void step(const AlignedPlan& plan, const float* HWY_RESTRICT a, const std::uint32_t* HWY_RESTRICT a_exponents,
                     const float* HWY_RESTRICT b, const Exponent* HWY_RESTRICT b_exponents, float* HWY_RESTRICT accumulators) {
  const VectorTag<Exponent> de;
  const DF df;
  const DI di;
  constexpr std::size_t vectors = hn::MaxLanes(de) / hn::MaxLanes(df);
  const std::size_t lanes = hn::Lanes(df);
  const auto products = static_cast<std::size_t>(fixed > 0 ? fixed : plan.products);

  auto greatest = hn::Set(de, hwy::LimitsMin<Exponent>());
  for (std::size_t k = 0; k < products; ++k) {
    const auto from_a = hn::BitCast(de, hn::Set(DU(), a_exponents[k]));
    greatest = hn::Max(greatest, hn::SaturatedAdd(from_a, hn::LoadU(de, b_exponents + k * panel_columns)));
  }
  HWY_ALIGN Exponent of_products[HWY_MAX_BYTES / sizeof(Exponent)] = {};
  hn::Store(greatest, de, of_products);

  const VI none = int_set(hwy::LimitsMin<Exponent>());
  const VI least = int_set(plan.least_exponent >= least_usual(plan) ? plan.least_exponent : hwy::LimitsMin<Exponent>());
  VF c[vectors], scale[vectors];
  VI exponent[vectors], low[vectors], high[vectors];
  VI lowest = int_set(0), highest = int_set(0);
  for (std::size_t v = 0; v < vectors; ++v) {
    c[v] = hn::LoadU(df, accumulators + v * lanes);
    const VI magnitude = hn::And(hn::BitCast(di, c[v]), int_set(0x7fffffff));
    const VI of_c = hn::Sub(hn::Max(hn::ShiftRight<23>(magnitude), int_set(plan.c_least + 127)), int_set(127));
    const VI of_terms = hn::PromoteTo(di, hn::LoadU(hn::Rebind<Exponent, DI>(), of_products + v * lanes));
    const VI with_c = hn::IfThenElse(hn::Eq(magnitude, hn::Zero(di)), none, of_c);
    exponent[v] = hn::Max(hn::Max(of_terms, with_c), least);
    lowest = hn::Min(lowest, exponent[v]);
    highest = hn::Max(highest, exponent[v]);
    const VI field = hn::Min(hn::Sub(int_set(plan.fraction_bits + 127), exponent[v]), int_set(254));
    scale[v] = hn::BitCast(df, hn::ShiftLeft<23>(field));
    low[v] = truncated(hn::Mul(c[v], scale[v]));
    high[v] = hn::Zero(di);
  }

  // Two sums of half the products: each fits 32 bits; the sum of both may just exceed them.
  const auto accumulate = [&](std::size_t begin, std::size_t end, VI(&sum)[vectors]) ULPSCOPE_INLINE_LAMBDA {
    for (std::size_t k = begin; k < end; ++k)
      for (std::size_t v = 0; v < vectors; ++v) {
        const VF product = hn::Mul(hn::Set(df, a[k]), hn::LoadU(df, b + k * panel_columns + v * lanes));
        sum[v] = hn::Add(sum[v], truncated(hn::Mul(product, scale[v])));
      }
  };
  accumulate(0, products / 2, low);
  accumulate(products / 2, products, high);

  VF result[vectors];
  VI overflowed[vectors], any_overflowed = hn::Zero(di);
  const VI mask = int_set(-1 << (23 - plan.result_fraction_bits));
  for (std::size_t v = 0; v < vectors; ++v) {
    const VI sum = hn::Add(low[v], high[v]);
    overflowed[v] = hn::AndNot(hn::Xor(low[v], high[v]), hn::Xor(low[v], sum));
    any_overflowed = hn::Or(any_overflowed, overflowed[v]);
    const VI unit = hn::Sub(int_set(254 << 23), hn::BitCast(di, scale[v]));
    result[v] = rounded<half>(sum, hn::BitCast(df, unit), mask);
  }
  const auto unusual = hn::Or(hn::Or(hn::Lt(lowest, int_set(least_usual(plan))), hn::Gt(highest, int_set(greatest_usual))),
                              hn::Lt(any_overflowed, hn::Zero(di)));
  if (HWY_UNLIKELY((half && !has_half) || !hn::AllFalse(di, unusual)))
    redo_unusual<Exponent>(plan, a, b, exponent, overflowed, c, result);
  for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(result[v], df, accumulators + v * lanes);
}

template <class Exponent, bool half, int fixed>
void steps(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, const Exponent* b_exponents, std::size_t count,
           float* accumulators) {
  const auto products = static_cast<std::size_t>(plan.products);
  const std::size_t at_once = hn::Lanes(VectorTag<Exponent>()), columns = b.columns;
  const float* const b_values = b.values.data();
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t i = 0; i < a.rows; ++i) {
      const std::size_t at = (s * panel_rows + i) * products, step_of_b = s * products * panel_columns;
      for (std::size_t j = 0; j < columns; j += at_once)
        step<Exponent, half, fixed>(plan, a.values.data() + at, a.exponents.data() + at, b_values + step_of_b + j,
                                    b_exponents + step_of_b + j, accumulators + i * panel_columns + j);
    }
}

/// The steps that hardware has are loops of known length.
template <class Exponent, bool half>
void steps(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, const Exponent* exponents, std::size_t count,
           float* out) {
  switch (plan.products) {
    case 4: return steps<Exponent, half, 4>(plan, a, b, exponents, count, out);
    case 8: return steps<Exponent, half, 8>(plan, a, b, exponents, count, out);
    case 16: return steps<Exponent, half, 16>(plan, a, b, exponents, count, out);
    case 32: return steps<Exponent, half, 32>(plan, a, b, exponents, count, out);
    default: return steps<Exponent, half, 0>(plan, a, b, exponents, count, out);
  }
}
template <class Exponent>
void steps(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, const Exponent* exponents, std::size_t count,
           float* out) {
  plan.half_results ? steps<Exponent, true>(plan, a, b, exponents, count, out)
                    : steps<Exponent, false>(plan, a, b, exponents, count, out);
}

void run(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t count, float* accumulators) {
  const FloatEnvironment toward_zero(Direction::zero);
  plan.wide ? steps(plan, a, b, b.exponents16.data(), count, accumulators)
            : steps(plan, a, b, b.exponents8.data(), count, accumulators);
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

float aligned_step(const AlignedPlan& plan, const float* a, const float* b, float c) noexcept {
  constexpr int none = -(1 << 20);
  const auto exponent_of = [](float x, int least) { return x == 0 ? none : nominal_exponent(x, least); };
  int greatest = exponent_of(c, plan.c_least);
  if (greatest > float32.max_exponent()) return c;
  for (std::size_t k = 0; k < static_cast<std::size_t>(plan.products); ++k) {
    const float x = a[k], y = b[k * panel_columns];
    if (x != 0 && y != 0) greatest = std::max(greatest, nominal_exponent(x, plan.a_least) + nominal_exponent(y, plan.b_least));
  }
  if (greatest == none) return 0;
  greatest = std::max(greatest, plan.least_exponent);

  const double scale = power_of_two(plan.fraction_bits - greatest);
  auto sum = static_cast<std::int64_t>(static_cast<double>(c) * scale);
  for (std::size_t k = 0; k < static_cast<std::size_t>(plan.products); ++k)
    sum += static_cast<std::int64_t>(static_cast<double>(a[k]) * static_cast<double>(b[k * panel_columns]) * scale);
  const double exact = static_cast<double>(sum) * power_of_two(greatest - plan.fraction_bits);

  if (plan.half_results) return static_cast<float>(round_to(float16, exact).value);
  Format format = float32;
  format.fraction_bits = plan.result_fraction_bits;
  const Rounded rounded = round_to(format, exact, {.rounding = emu::Rounding::toward_zero});
  const float infinity = __builtin_inff();
  if (rounded.outcome == Outcome::overflow) return sum < 0 ? -infinity : infinity;
  return static_cast<float>(rounded.value);
}

HWY_EXPORT(run);

void aligned_steps(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t count, float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run)(plan, a, b, count, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
