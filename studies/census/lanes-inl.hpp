// SPDX-License-Identifier: Apache-2.0
// How vectors gather exact sums, for one SIMD target. To be included by what foreach_target.h includes again and again.
#if defined(ULPSCOPE_STUDIES_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_STUDIES_LANES
#undef ULPSCOPE_STUDIES_LANES
#else
#define ULPSCOPE_STUDIES_LANES
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "emu/simd_targets-inl.hpp"
#include "studies/census/binade_sums.hpp"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace ulpscope::studies::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = emu::detail::HWY_NAMESPACE::VectorTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using F = hn::Vec<DF>;
using U = hn::Vec<DU>;
using DI = hn::RebindToSigned<DF>;
using DU64 = hn::RepartitionToWide<DU>;
using I = hn::Vec<DI>;
using U64 = hn::Vec<DU64>;
using Mask = hn::Mask<DU>;

static_assert(HWY_NATIVE_FMA, "quotients are rounded as by a fused multiplication and addition");

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

/// Sums quotients in fixed point. The quotient to the nearest multiple of its grid 2^(exponent - 22) comes first; what remains
/// of the numerator then gives 22 more bits. Adding to a number whose last bit is the grid's rounds to the grid:
///
///   2^(exponent + 1)   1.0000000000000000000000|     the sum's last 23 bits are the quotient in units of the grid
class Quotients {
 public:
  explicit HWY_INLINE Quotients(int exponent)
      : high_zero_(hn::Set(DF(), QuotientLanes::high_zero(exponent))),
        low_zero_(hn::Set(DF(), QuotientLanes::low_zero(exponent))),
        largest_(high_zero_),
        high_sum_(hn::Zero(DU())),
        low_sum_(hn::Zero(DU())) {}

  HWY_INLINE void add(F numerator, F denominator, F reciprocal) {
    const DU d;
    const F high = hn::MulAdd(numerator, reciprocal, high_zero_);
    const F rest = hn::NegMulAdd(hn::Sub(high, high_zero_), denominator, numerator);  // exact
    largest_ = hn::Max(largest_, high);
    high_sum_ = hn::Add(high_sum_, hn::BitCast(d, high));
    low_sum_ = hn::Add(low_sum_, hn::BitCast(d, hn::MulAdd(rest, reciprocal, low_zero_)));
  }

  /// The largest of them, on the grid.
  HWY_INLINE double largest() const {
    const DF d;
    return static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, largest_))) - static_cast<double>(hn::GetLane(high_zero_));
  }

  /// After `steps` calls of add().
  HWY_INLINE void finish(std::size_t steps, QuotientLanes& into) const {
    const DU d;
    const auto n = static_cast<std::uint32_t>(steps);
    const std::uint32_t zero_high = hn::GetLane(hn::BitCast(d, high_zero_)), zero_low = hn::GetLane(hn::BitCast(d, low_zero_));
    gather(hn::Sub(high_sum_, hn::Set(d, n * zero_high)), into.high);
    gather(hn::Sub(low_sum_, hn::Set(d, n * (zero_low - QuotientLanes::bias))), into.low);
  }

 private:
  F high_zero_, low_zero_, largest_;
  U high_sum_, low_sum_;
};

}  // namespace ulpscope::studies::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // vectors

#endif
