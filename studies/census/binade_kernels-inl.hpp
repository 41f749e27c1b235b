// SPDX-License-Identifier: Apache-2.0
// The loops of binade_kernels.hpp for one SIMD target. To be included by what foreach_target.h includes again and again.
#if defined(ULPSCOPE_STUDIES_BINADE_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_STUDIES_BINADE_VECTORS
#undef ULPSCOPE_STUDIES_BINADE_VECTORS
#else
#define ULPSCOPE_STUDIES_BINADE_VECTORS
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "studies/census/binade_kernels.hpp"
#include "studies/census/lanes-inl.hpp"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace ulpscope::studies::HWY_NAMESPACE {

static_assert(hn::MaxLanes(DF()) >= Significands::fewest_lanes && hn::MaxLanes(DF()) <= Significands::most_lanes);

/// Calls step(i, mask) for every vector of `count` elements.
template <class Step>
HWY_INLINE std::size_t for_each_vector(std::size_t count, Step step) {
  const DU d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) step(i, [](auto v) HWY_ATTR { return v; });
  if (i == count) return i / lanes;
  const Mask valid = hn::FirstN(d, count - i);
  step(i, [valid](auto v) HWY_ATTR {
    const hn::DFromV<decltype(v)> dv;
    return hn::IfThenElseZero(hn::RebindMask(dv, valid), v);
  });
  return i / lanes + 1;
}

HWY_INLINE void take_significands(const std::uint32_t* HWY_RESTRICT codes, std::size_t count, Significands& out,
                                  SignificandSums& sums) {
  const DU d;
  const DF df;
  U sum = hn::Zero(d), most = hn::Zero(d), most_below = hn::Zero(d);
  U64 squares = hn::Zero(DU64());
  out.count = count;
  for_each_vector(count, [&](std::size_t i, auto valid) HWY_ATTR {
    const U fraction = hn::And(hn::LoadU(d, codes + i), hn::Set(d, fraction_mask));
    const U m = hn::Or(fraction, hn::Set(d, implicit));
    const F m_float = hn::BitCast(df, hn::Or(fraction, hn::Set(d, std::uint32_t{127 + 23} << 23)));
    hn::Store(m, d, out.integers.data() + i);
    hn::Store(m_float, df, out.floats.data() + i);
    hn::Store(hn::Div(hn::Set(df, 1.0F), m_float), df, out.reciprocals.data() + i);
    const U counted = valid(m);
    sum = hn::Add(sum, counted);
    squares = add_squares(squares, counted);
    most = hn::Max(most, counted);
    most_below = hn::Max(most_below, valid(hn::Sub(hn::Set(d, Variant::end), m)));
  });
  gather(sum, sums.significands);
  gather_squares(squares, sums.squares);
  sums.count += count;
  sums.most = std::max(sums.most, hn::GetLane(hn::MaxOfLanes(d, most)));
  sums.least = std::min(sums.least, Variant::end - hn::GetLane(hn::MaxOfLanes(d, most_below)));
}

HWY_INLINE void add_reciprocals(const Significands& of, SignificandSums& sums) {
  const DF d;
  Quotients quotients(0);
  const std::size_t steps = for_each_vector(of.count, [&](std::size_t i, auto valid) HWY_ATTR {
    quotients.add(valid(hn::Set(d, static_cast<float>(implicit))), hn::Load(d, of.floats.data() + i),
                  hn::Load(d, of.reciprocals.data() + i));
  });
  quotients.finish(steps, sums.reciprocals);
  sums.reciprocal_count += steps * hn::Lanes(d);
}

/// How significands are rounded to multiples of 2^dropped.
enum class Way { nearest_even_by_sum, nearest_even, nearest_away, down, up, to_odd };

constexpr int least_dropped_by_sum = 32 - Binade::fraction_bits;

template <Way way>
class Rounder {
 public:
  explicit HWY_INLINE Rounder(int dropped)
      : dropped_(hn::Set(DU(), static_cast<std::uint32_t>(dropped))),
        mask_(hn::Set(DU(), (std::uint32_t{1} << dropped) - 1)),
        grid_(hn::BitCast(
            DF(), hn::Set(DU(), static_cast<std::uint32_t>(127 + Binade::fraction_bits + dropped) << Binade::fraction_bits))) {}

  HWY_INLINE U operator()(U m, F m_float) const {
    const DU d;
    // The last bit of this sum is 2^dropped, so that it is rounded to that:
    //
    //   2^(23 + dropped) + m    EEEEEEEE RRRRRRRRRRRRRRRRRRRRRRR|     R: the rounded significand, in units of 2^dropped
    //
    // The shift drops the sum's exponent, except a carry from R into it.
    if constexpr (way == Way::nearest_even_by_sum) return hn::Shl(hn::BitCast(d, hn::Add(m_float, grid_)), dropped_);
    const U one = hn::Set(d, 1);
    U added = hn::Zero(d);
    if constexpr (way == Way::nearest_even)
      added = hn::Add(hn::Sub(hn::ShiftRight<1>(hn::Add(mask_, one)), one), hn::And(hn::Shr(m, dropped_), one));
    if constexpr (way == Way::nearest_away) added = hn::ShiftRight<1>(hn::Add(mask_, one));
    if constexpr (way == Way::up) added = mask_;
    const U kept = hn::AndNot(mask_, hn::Add(m, added));
    if constexpr (way == Way::to_odd) return hn::IfThenElse(hn::Eq(kept, m), kept, hn::Or(kept, hn::Add(mask_, one)));
    return kept;
  }

 private:
  U dropped_, mask_;
  F grid_;
};

/// Rounds as a Variant does: what overflows stays as it is.
template <Way way>
class Errors {
 public:
  explicit HWY_INLINE Errors(const Variant& variant)
      : round_(variant.dropped), most_(hn::Set(DU(), variant.most)), flushes_(variant.flushes) {}

  HWY_INLINE U operator()(U m, F m_float) const {
    const DU d;
    U r = round_(m, m_float);
    if (flushes_) r = hn::IfThenElseZero(hn::Gt(r, hn::Set(d, Variant::end - 1)), r);
    return hn::IfThenElse(hn::Gt(m, most_), m, r);
  }

 private:
  Rounder<way> round_;
  U most_;
  bool flushes_;
};

/// Whether a quotient above `threshold` is of another significand than `known`.
template <Way way>
bool any_above(const Significands& of, const Variant& variant, float threshold, std::uint32_t known) {
  const DU d;
  const DF df;
  const Errors<way> round(variant);
  Mask found = hn::FirstN(d, 0);
  for_each_vector(of.count, [&](std::size_t i, auto valid) HWY_ATTR {
    const U m = hn::Load(d, of.integers.data() + i);
    const I error = hn::BitCast(DI(), valid(hn::Sub(round(m, hn::Load(df, of.floats.data() + i)), m)));
    const F near = hn::Mul(hn::ConvertTo(df, hn::Abs(error)), hn::Load(df, of.reciprocals.data() + i));
    found = hn::Or(found, hn::And(hn::Ne(m, hn::Set(d, known)), hn::RebindMask(d, hn::Gt(near, hn::Set(df, threshold)))));
  });
  return !hn::AllFalse(d, found);
}

/// Finds the largest quotient exactly where the approximations say that it may be new.
template <Way way>
HWY_NOINLINE void update_largest_quotient(const Significands& of, const Variant& variant, VariantSums& sums) {
  // The product with a reciprocal is off by less than 2^-22, the threshold by less than 2^-21 of the known quotient.
  const auto threshold = static_cast<float>(sums.largest_quotient * (1 - 0x1p-21));
  if (!any_above<way>(of, variant, threshold, sums.at_largest_quotient)) return;
  const Errors<way> round(variant);
  for (std::size_t i = 0; i < of.count; ++i) {
    const std::uint32_t m = of.integers[i], r = hn::GetLane(round(hn::Set(DU(), m), hn::Set(DF(), of.floats[i])));
    const double quotient = static_cast<double>(r > m ? r - m : m - r) / static_cast<double>(m);
    if (quotient <= sums.largest_quotient) continue;
    sums.largest_quotient = quotient;
    sums.at_largest_quotient = m;
  }
}

/// What overflows, apart.
class Over {
 public:
  HWY_INLINE Over() : count_(hn::Zero(DU())), sum_(hn::Zero(DU())), squares_(hn::Zero(DU64())), reciprocals_(0) {}

  HWY_INLINE void add(Mask over, U m, F m_float, F reciprocal) {
    const DU d;
    const DF df;
    const U counted = hn::IfThenElseZero(over, m);
    count_ = hn::Add(count_, hn::IfThenElseZero(over, hn::Set(d, 1)));
    sum_ = hn::Add(sum_, counted);
    squares_ = add_squares(squares_, counted);
    const F numerator = hn::IfThenElseZero(hn::RebindMask(df, over), hn::Set(df, static_cast<float>(implicit)));
    reciprocals_.add(numerator, m_float, reciprocal);
  }
  HWY_INLINE void finish(std::size_t steps, SignificandSums& into) const {
    LaneSums counts;
    gather(count_, counts);
    into.count += static_cast<std::uint64_t>(counts.total());
    gather(sum_, into.significands);
    gather_squares(squares_, into.squares);
    reciprocals_.finish(steps, into.reciprocals);
    into.reciprocal_count += steps * hn::Lanes(DU());
  }

 private:
  U count_, sum_;
  U64 squares_;
  Quotients reciprocals_;
};

/// What add_errors() does beside the sums; each includes those before.
enum class Extent { sums, inexact, carried, over_and_flushed };

template <Way way, Extent extent>
HWY_INLINE void add_errors(const Significands& of, const Variant& variant, VariantSums& sums) {
  const DU d;
  const DI di;
  const DF df;
  const Rounder<way> round(variant.dropped);
  const Errors<way> round_as_variant(variant);
  Quotients quotients(variant.quotient_exponent());
  U rounded = hn::Zero(d), sizes = hn::Zero(d), inexact = hn::Zero(d), carried = hn::Zero(d);
  U largest = hn::Load(d, sums.largest.data());
  U64 squares = hn::Zero(DU64());
  Over out;

  const std::size_t steps = for_each_vector(of.count, [&](std::size_t i, auto valid) HWY_ATTR {
    const U m = hn::Load(d, of.integers.data() + i);
    const F m_float = hn::Load(df, of.floats.data() + i), reciprocal = hn::Load(df, of.reciprocals.data() + i);
    U r = round(m, m_float);
    if constexpr (extent >= Extent::carried) carried = hn::Add(carried, hn::ShiftRight<Binade::fraction_bits + 1>(valid(r)));
    if constexpr (extent >= Extent::over_and_flushed) {
      out.add(hn::Gt(valid(m), hn::Set(d, variant.most)), m, m_float, reciprocal);
      r = round_as_variant(m, m_float);
    }
    const U size = hn::BitCast(d, hn::Abs(hn::BitCast(di, valid(hn::Sub(r, m)))));
    rounded = hn::Add(rounded, valid(r));
    sizes = hn::Add(sizes, size);
    if constexpr (extent >= Extent::inexact) inexact = hn::Add(inexact, hn::Min(size, hn::Set(d, 1)));
    largest = hn::Max(largest, size);
    squares = add_squares(squares, size);
    quotients.add(hn::ConvertTo(df, hn::BitCast(di, size)), m_float, reciprocal);
  });

  gather(rounded, sums.rounded);
  gather(sizes, sums.sizes);
  if constexpr (extent >= Extent::inexact) gather(inexact, sums.inexact);
  gather_squares(squares, sums.squares);
  hn::Store(largest, d, sums.largest.data());
  quotients.finish(steps, sums.quotients);
  sums.quotient_count += steps * hn::Lanes(d);
  if constexpr (extent >= Extent::carried) gather(carried, sums.carried);
  if constexpr (extent >= Extent::over_and_flushed) out.finish(steps, sums.over);
  if (quotients.largest() > sums.largest_quotient - QuotientLanes::grid(variant.quotient_exponent()) &&
      hn::GetLane(hn::MaxOfLanes(d, largest)) != 0)
    update_largest_quotient<way>(of, variant, sums);
}

template <Way way>
void add_errors(const Significands& of, const Variant& variant, Counted counted, VariantSums& sums) {
  if (variant.overflows() || variant.flushes) return add_errors<way, Extent::over_and_flushed>(of, variant, sums);
  if (counted.carried) return add_errors<way, Extent::carried>(of, variant, sums);
  if (counted.inexact) return add_errors<way, Extent::inexact>(of, variant, sums);
  add_errors<way, Extent::sums>(of, variant, sums);
}

HWY_INLINE void add_variant(const Significands& of, const Variant& variant, Counted counted, VariantSums& sums) {
  switch (variant.direction) {
    case Direction::nearest_even:
      if (variant.dropped >= least_dropped_by_sum) return add_errors<Way::nearest_even_by_sum>(of, variant, counted, sums);
      return add_errors<Way::nearest_even>(of, variant, counted, sums);
    case Direction::nearest_away: return add_errors<Way::nearest_away>(of, variant, counted, sums);
    case Direction::down: return add_errors<Way::down>(of, variant, counted, sums);
    case Direction::up: return add_errors<Way::up>(of, variant, counted, sums);
    case Direction::to_odd: return add_errors<Way::to_odd>(of, variant, counted, sums);
  }
}

HWY_INLINE MagnitudeRange magnitude_range(std::span<const float> values) {
  const DU d;
  const U infinity = hn::Set(d, 0x7f800000), one = hn::Set(d, 1), no_sign = hn::Set(d, 0x7fffffff);
  U most = hn::Zero(d), least_below = hn::Set(d, MagnitudeRange{}.least - 1);
  const auto add = [&](U code) HWY_ATTR {
    const U magnitude = hn::And(code, no_sign);
    most = hn::Max(most, hn::IfThenElseZero(hn::Lt(magnitude, infinity), magnitude));
    least_below = hn::Min(least_below, hn::Sub(magnitude, one));  // zero wraps around to the largest
  };
  const std::size_t count = values.size(), whole = count - count % hn::Lanes(d);
  for (std::size_t i = 0; i < whole; i += hn::Lanes(d)) add(hn::BitCast(d, hn::LoadU(DF(), values.data() + i)));
  alignas(64) std::uint32_t rest[HWY_MAX_BYTES / sizeof(std::uint32_t)] = {};  // zeros change nothing
  for (std::size_t i = whole; i < count; ++i) rest[i - whole] = std::bit_cast<std::uint32_t>(values[i]);
  add(hn::Load(d, rest));
  return {hn::GetLane(hn::MaxOfLanes(d, most)), hn::GetLane(hn::MinOfLanes(d, least_below)) + 1};
}

}  // namespace ulpscope::studies::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // vectors

#endif
