// SPDX-License-Identifier: Apache-2.0
#include "studies/binade_kernels.hpp"

#include <algorithm>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "studies/binade_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first
#include <hwy/highway.h>

#include "studies/binade_loops.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::studies::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using F = hn::Vec<DF>;
using U = hn::Vec<DU>;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

using loops::add_reciprocals;
using loops::add_variant;
using loops::take_significands;

#else
static_assert(HWY_NATIVE_FMA, "a remainder is rounded once");

using DI = hn::RebindToSigned<DF>;
using DU64 = hn::RepartitionToWide<DU>;
using I = hn::Vec<DI>;
using U64 = hn::Vec<DU64>;
using Mask = hn::Mask<DU>;

constexpr std::uint32_t implicit = Variant::end / 2;
constexpr std::uint32_t fraction_mask = implicit - 1;

/// The upper 32 bits of each pair of lanes, or the lower.
HWY_INLINE U64 upper(U v) { return hn::ShiftRight<32>(hn::BitCast(DU64(), v)); }
HWY_INLINE U64 lower(U v) { return hn::And(hn::BitCast(DU64(), v), hn::Set(DU64(), 0xffffffffU)); }

HWY_INLINE void gather(U64 v, LaneSums& into) {
  const DU64 d;
  hn::Store(hn::Add(hn::Load(d, into.lanes.data()), v), d, into.lanes.data());
}
HWY_INLINE void gather(U v, LaneSums& into) { gather(hn::Add(upper(v), lower(v)), into); }
HWY_INLINE void gather_squares(U64 v, SquareLanes& into) {
  gather(lower(hn::BitCast(DU(), v)), into.low);
  gather(upper(hn::BitCast(DU(), v)), into.high);
}

HWY_INLINE U64 add_squares(U64 sum, U v) {
  const U odd = hn::BitCast(DU(), upper(v));
  return hn::Add(hn::Add(sum, hn::MulEven(v, v)), hn::MulEven(odd, odd));
}

/// Sums quotients in fixed point. The quotient to the nearest multiple of its grid 2^(exponent - 22) comes first; what remains of
/// the numerator then gives 22 more bits. Adding to a number whose last bit is the grid's rounds to the grid:
///
///   2^(exponent + 1)   1.0000000000000000000000|     the sum's last 23 bits are the quotient in units of the grid
class Quotients {
 public:
  explicit HWY_INLINE Quotients(int exponent)
      : high_magic_(hn::Set(DF(), power(exponent + 1))),
        low_magic_(hn::Set(DF(), 1.5F * power(exponent + 1 - QuotientLanes::part_bits))),
        high_sum_(hn::Zero(DU())),
        low_sum_(hn::Zero(DU())) {}

  /// Returns an approximation, less than 1.5 in its 24th bit from the quotient.
  HWY_INLINE F add(F numerator, F denominator, F reciprocal) {
    const DU d;
    const F near = hn::Mul(numerator, reciprocal);
    const F high = hn::Add(near, high_magic_);
    const F rest = hn::NegMulAdd(hn::Sub(high, high_magic_), denominator, numerator);  // exact
    const F low = hn::Add(hn::Mul(rest, reciprocal), low_magic_);
    high_sum_ = hn::Add(high_sum_, hn::BitCast(d, high));
    low_sum_ = hn::Add(low_sum_, hn::BitCast(d, low));
    return near;
  }

  /// After `steps` calls of add().
  HWY_INLINE void finish(std::size_t steps, QuotientLanes& into) const {
    const DU d;
    const auto n = static_cast<std::uint32_t>(steps);
    const std::uint32_t zero_high = hn::GetLane(hn::BitCast(d, high_magic_)), zero_low = hn::GetLane(hn::BitCast(d, low_magic_));
    gather(hn::Sub(high_sum_, hn::Set(d, n * zero_high)), into.high);
    gather(hn::Sub(low_sum_, hn::Set(d, n * (zero_low - QuotientLanes::bias))), into.low);
  }

 private:
  static HWY_INLINE float power(int exponent) { return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23); }

  F high_magic_, low_magic_;
  U high_sum_, low_sum_;
};

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

HWY_INLINE void take_significands(const std::uint32_t* HWY_RESTRICT codes, std::size_t count, Significands& out, SignificandSums& sums) {
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

/// Significands rounded to multiples of 2^dropped.
template <Direction direction>
class Rounder {
 public:
  explicit HWY_INLINE Rounder(int dropped)
      : dropped_(hn::Set(DU(), static_cast<std::uint32_t>(dropped))),
        mask_(hn::Set(DU(), (std::uint32_t{1} << dropped) - 1)),
        below_half_(hn::Set(DU(), dropped == 0 ? 0 : (std::uint32_t{1} << dropped) / 2 - 1)) {}

  HWY_INLINE U operator()(U m) const {
    const DU d;
    const U one = hn::Set(d, 1);
    U added = hn::Zero(d);  // Direction::down
    if constexpr (direction == Direction::nearest_even) added = hn::Add(below_half_, hn::And(hn::Shr(m, dropped_), one));
    if constexpr (direction == Direction::nearest_away) added = hn::Add(below_half_, one);
    if constexpr (direction == Direction::up) added = mask_;
    const U kept = hn::AndNot(mask_, hn::Add(m, added));
    if constexpr (direction == Direction::to_odd) {
      const U last = hn::Add(mask_, one);
      return hn::IfThenElse(hn::Eq(kept, m), kept, hn::Or(kept, last));
    }
    return kept;
  }

 private:
  U dropped_, mask_, below_half_;
};

/// Whether a quotient above `threshold` is of another significand than `known`.
template <Direction direction>
bool any_above(const Significands& of, const Variant& variant, float threshold, std::uint32_t known) {
  const DU d;
  const DF df;
  const Rounder<direction> round(variant.dropped);
  Mask found = hn::FirstN(d, 0);
  for_each_vector(of.count, [&](std::size_t i, auto valid) HWY_ATTR {
    const U m = hn::Load(d, of.integers.data() + i);
    U r = round(m);
    if (variant.flushes) r = hn::IfThenElseZero(hn::Gt(r, hn::Set(d, Variant::end - 1)), r);
    const I error = hn::IfThenZeroElse(hn::RebindMask(DI(), hn::Gt(m, hn::Set(d, variant.most))), hn::BitCast(DI(), hn::Sub(r, m)));
    const F near = hn::Mul(hn::ConvertTo(df, valid(hn::Abs(error))), hn::Load(df, of.reciprocals.data() + i));
    found = hn::Or(found, hn::And(hn::Ne(m, hn::Set(d, known)), hn::RebindMask(d, hn::Gt(near, hn::Set(df, threshold)))));
  });
  return !hn::AllFalse(d, found);
}

/// Finds the largest quotient exactly where the approximations say that it may be new.
template <Direction direction>
HWY_NOINLINE void update_largest_quotient(const Significands& of, const Variant& variant, float threshold, VariantSums& sums) {
  if (!any_above<direction>(of, variant, threshold, sums.at_largest_quotient)) return;
  for (std::size_t i = 0; i < of.count; ++i) {
    const std::uint32_t m = of.integers[i];
    if (m > variant.most) continue;
    U rounded = Rounder<direction>(variant.dropped)(hn::Set(DU(), m));
    std::uint32_t r = hn::GetLane(rounded);
    if (variant.flushes && r < Variant::end) r = 0;
    const double quotient = static_cast<double>(r > m ? r - m : m - r) / static_cast<double>(m);
    if (quotient <= sums.largest_quotient) continue;
    sums.largest_quotient = quotient;
    sums.at_largest_quotient = m;
  }
}

/// What overflows, apart.
struct Over {
  U count, sum;
  U64 squares;
  Quotients reciprocals;

  HWY_INLINE Over() : count(hn::Zero(DU())), sum(hn::Zero(DU())), squares(hn::Zero(DU64())), reciprocals(0) {}
  HWY_INLINE void add(Mask over, U m, F m_float, F reciprocal) {
    const DU d;
    const DF df;
    const U counted = hn::IfThenElseZero(over, m);
    count = hn::Add(count, hn::IfThenElseZero(over, hn::Set(d, 1)));
    sum = hn::Add(sum, counted);
    squares = add_squares(squares, counted);
    const F numerator = hn::IfThenElseZero(hn::RebindMask(df, over), hn::Set(df, static_cast<float>(implicit)));
    reciprocals.add(numerator, m_float, reciprocal);
  }
  HWY_INLINE void finish(std::size_t steps, SignificandSums& into) const {
    LaneSums counts;
    gather(count, counts);
    into.count += static_cast<std::uint64_t>(counts.total());
    gather(sum, into.significands);
    gather_squares(squares, into.squares);
    reciprocals.finish(steps, into.reciprocals);
    into.reciprocal_count += steps * hn::Lanes(DU());
  }
};

/// plain: nothing overflows, is flushed, or is counted when carried.
template <Direction direction, bool plain>
HWY_INLINE void add_errors(const Significands& of, const Variant& variant, VariantSums& sums) {
  const DU d;
  const DI di;
  const DF df;
  const Rounder<direction> round(variant.dropped);
  Quotients quotients(variant.quotient_exponent());
  U ups = hn::Zero(d), sizes = hn::Zero(d), inexact = hn::Zero(d), carried = hn::Zero(d);
  U largest = hn::Load(d, sums.largest.data());
  U64 squares = hn::Zero(DU64());
  F largest_near = hn::Zero(df);
  Over out;

  const std::size_t steps = for_each_vector(of.count, [&](std::size_t i, auto valid) HWY_ATTR {
    const U m = hn::Load(d, of.integers.data() + i);
    const F m_float = hn::Load(df, of.floats.data() + i), reciprocal = hn::Load(df, of.reciprocals.data() + i);
    U r = round(m);
    I error = hn::BitCast(di, valid(hn::Sub(r, m)));
    if constexpr (!plain) {
      const Mask carries = hn::Gt(valid(r), hn::Set(d, Variant::end - 1));
      if (variant.flushes) error = hn::IfThenElse(hn::RebindMask(di, carries), error, valid(hn::Neg(hn::BitCast(di, m))));
      const Mask over = hn::Gt(valid(m), hn::Set(d, variant.most));
      out.add(over, m, m_float, reciprocal);
      error = hn::IfThenZeroElse(hn::RebindMask(di, over), error);
      carried = hn::Add(carried, hn::IfThenElseZero(carries, hn::Set(d, 1)));
    }
    const U size = hn::BitCast(d, hn::Abs(error));
    ups = hn::Add(ups, hn::BitCast(d, hn::Max(error, hn::Zero(di))));
    sizes = hn::Add(sizes, size);
    inexact = hn::Add(inexact, hn::Min(size, hn::Set(d, 1)));
    largest = hn::Max(largest, size);
    squares = add_squares(squares, size);
    largest_near = hn::Max(largest_near, quotients.add(hn::ConvertTo(df, hn::BitCast(di, size)), m_float, reciprocal));
  });

  gather(ups, sums.ups);
  gather(sizes, sums.sizes);
  gather(inexact, sums.inexact);
  gather_squares(squares, sums.squares);
  hn::Store(largest, d, sums.largest.data());
  quotients.finish(steps, sums.quotients);
  sums.quotient_count += steps * hn::Lanes(d);
  if constexpr (!plain) {
    gather(carried, sums.carried);
    out.finish(steps, sums.over);
  }
  // An approximation is off by less than 2^-22, the threshold by less than 2^-21 of the known quotient.
  const float threshold = static_cast<float>(sums.largest_quotient * (1 - 0x1p-21));
  if (hn::GetLane(hn::MaxOfLanes(df, largest_near)) > threshold)
    update_largest_quotient<direction>(of, variant, threshold, sums);
}

template <Direction direction>
void add_errors(const Significands& of, const Variant& variant, bool count_carried, VariantSums& sums) {
  if (variant.overflows() || variant.flushes || count_carried)
    add_errors<direction, false>(of, variant, sums);
  else
    add_errors<direction, true>(of, variant, sums);
}

HWY_INLINE void add_variant(const Significands& of, const Variant& variant, bool count_carried, VariantSums& sums) {
  switch (variant.direction) {
    case Direction::nearest_even: return add_errors<Direction::nearest_even>(of, variant, count_carried, sums);
    case Direction::nearest_away: return add_errors<Direction::nearest_away>(of, variant, count_carried, sums);
    case Direction::down: return add_errors<Direction::down>(of, variant, count_carried, sums);
    case Direction::up: return add_errors<Direction::up>(of, variant, count_carried, sums);
    case Direction::to_odd: return add_errors<Direction::to_odd>(of, variant, count_carried, sums);
  }
}

#endif  // vectors

void TakeSignificands(const std::uint32_t* codes, std::size_t count, Significands& out, SignificandSums& sums) {
  HWY_NAMESPACE::take_significands(codes, count, out, sums);
}
void AddReciprocals(const Significands& of, SignificandSums& sums) { HWY_NAMESPACE::add_reciprocals(of, sums); }
void AddVariant(const Significands& of, const Variant& variant, bool count_carried, VariantSums& sums) {
  HWY_NAMESPACE::add_variant(of, variant, count_carried, sums);
}

void Range(const float* values, std::size_t count, MagnitudeRange& range) {
  const DU d;
  const U infinity = hn::Set(d, 0x7f800000), one = hn::Set(d, 1), no_sign = hn::Set(d, 0x7fffffff);
  U most = hn::Set(d, range.most), least_below = hn::Set(d, range.least - 1);
  const auto add = [&](U code) HWY_ATTR {
    const U magnitude = hn::And(code, no_sign);
    most = hn::Max(most, hn::IfThenElseZero(hn::Lt(magnitude, infinity), magnitude));
    least_below = hn::Min(least_below, hn::Sub(magnitude, one));  // zero wraps around to the largest
  };
  const std::size_t lanes = hn::Lanes(d), whole = count - count % lanes;
  for (std::size_t i = 0; i < whole; i += lanes) add(hn::BitCast(d, hn::LoadU(DF(), values + i)));
  alignas(64) std::uint32_t rest[HWY_MAX_BYTES / sizeof(std::uint32_t)] = {};  // zeros change nothing
  for (std::size_t i = whole; i < count; ++i) rest[i - whole] = std::bit_cast<std::uint32_t>(values[i]);
  add(hn::Load(d, rest));
  range = {hn::GetLane(hn::MaxOfLanes(d, most)), hn::GetLane(hn::MinOfLanes(d, least_below)) + 1};
}

}  // namespace ulpscope::studies::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::studies {
namespace {

HWY_EXPORT(TakeSignificands);
HWY_EXPORT(AddReciprocals);
HWY_EXPORT(AddVariant);
HWY_EXPORT(Range);

}  // namespace

void take_significands(const std::uint32_t* codes, std::size_t count, Significands& out, SignificandSums& sums) {
  HWY_DYNAMIC_DISPATCH(TakeSignificands)(codes, count, out, sums);
}
void add_reciprocals(const Significands& of, SignificandSums& sums) { HWY_DYNAMIC_DISPATCH(AddReciprocals)(of, sums); }
void add_variant(const Significands& of, const Variant& variant, bool count_carried, VariantSums& sums) {
  HWY_DYNAMIC_DISPATCH(AddVariant)(of, variant, count_carried, sums);
}

MagnitudeRange magnitude_range(std::span<const float> values) {
  MagnitudeRange range;
  HWY_DYNAMIC_DISPATCH(Range)(values.data(), values.size(), range);
  return range;
}

}  // namespace ulpscope::studies
#endif
