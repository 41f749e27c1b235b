// SPDX-License-Identifier: Apache-2.0
// One vector of floats rounded by a plan. Compiled once for each instruction set.
#if defined(ULPSCOPE_BULK_ROUNDING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_BULK_ROUNDING_INL
#undef ULPSCOPE_BULK_ROUNDING_INL
#else
#define ULPSCOPE_BULK_ROUNDING_INL
#endif

#include <hwy/highway.h>

#include "emu/bulk/plan.hpp"
#include "emu/bulk/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

/// The rounding of |x| as a result without sign, and what is unusual about it. Codes if `code`, else float bits.
template <Way way, Special special, bool code>
class Rounder {
 public:
  static constexpr bool is_stochastic = way == Way::sum_stochastic || way == Way::bits_stochastic;
  /// Whether codes of 8 bits are finished by store_units() from units().
  static constexpr bool has_units = code && way <= Way::sum_stochastic && special >= Special::nan;
  static constexpr Special of_specials = special;

  explicit Rounder(const BulkPlan& plan)
      : plan_(plan),
        dropped_(set(plan.dropped)),
        least_(set(plan.least_exponent)),
        most_(set(plan.most_exponent)),
        power_(set(plan.dropped << 23)),
        scale_(floats(set((127 + plan.dropped) << 23))),
        bias_(set(plan.code_bias)),
        largest_(set(plan.largest)),
        overflow_(set(plan.overflow_positive)),
        infinity_(set(plan.infinity_positive)),
        nan_(set(plan.nan)),
        sign_shift_(set(plan.sign_shift)),
        sign_(set(plan.sign_bit)) {}

  HWY_INLINE VU operator()(VF input, VU random) const {
    const VF x = taken(input);
    if constexpr (way == Way::half)
      return from_half(x);
    else if constexpr (way == Way::exponent && special == Special::nan)
      return exponent_or_nan(x);
    else if constexpr (way == Way::exponent)
      return specials(x, exponent_of_code(exponent_code(x)));
    else if constexpr (way >= Way::bits_even)
      return from_bits(x, random);
    else
      return specials(x, from_sum(x, random));
  }

  /// The code's magnitude of a result and, above it, the bias: below 2^31, and far beyond all codes for infinities and NaN.
  HWY_INLINE VU units(VF x, VU random) const { return sum(taken(x), random); }
  const BulkPlan& plan() const { return plan_; }

 private:
  /// Subnormal inputs may count as zeros of their sign.
  HWY_INLINE VF taken(VF x) const {
    if (special != Special::any || plan_.zero_input_below == 0) return x;
    const VU word = bits(x), magnitude = hn::AndNot(set(sign_bit), word);
    const auto is_zero = below(magnitude, set(plan_.zero_input_below));
    return floats(hn::And(word, hn::IfThenElse(is_zero, set(sign_bit), set(~std::uint32_t{0}))));
  }
  /// Magnitude of the result.
  HWY_INLINE VU from_sum(VF x, VU random) const {
    if constexpr (code) return hn::Sub(sum(x, random), bias_);
    return sum(x, random);
  }
  /// The same, of a code with its bias: t = x + 2^k of the sign of x, whose unit is that of the format at x.
  HWY_INLINE VU sum(VF x, VU random) const {
    const VU word = bits(x);
    VU exponent = hn::BitCast(DU(), hn::Max(ints(hn::And(word, set(float_infinity))), ints(least_)));
    VU magnitude;
    if constexpr (way == Way::sum_nearest) {
      magnitude = bits(hn::Mul(floats(exponent), scale_));  // infinite for what is far beyond the format's range
    } else {
      exponent = hn::BitCast(DU(), hn::Min(ints(exponent), ints(most_)));
      magnitude = hn::Add(exponent, power_);
    }
    const VU power = hn::OrAnd(magnitude, word, set(sign_bit));
    VF t = hn::Add(x, floats(power));
    if constexpr (way == Way::sum_away) {
      // Half a unit is 2^-24 of the power. What the sum with x loses lies below the half that is cut off next.
      const VU half = hn::Sub(power, set(24u << 23));
      t = hn::Add(hn::Add(x, floats(half)), floats(power));
    } else if constexpr (way == Way::sum_odd) {
      const auto lost = hn::Ne(hn::Sub(t, floats(power)), x);
      t = hn::Or(t, hn::IfThenElseZero(lost, floats(set(1))));
    } else if constexpr (way == Way::sum_stochastic) {
      t = floats(hn::Add(bits(t), up(x, exponent, random)));
    }
    if constexpr (!code) return hn::AndNot(set(sign_bit), bits(hn::Sub(t, floats(power))));
    // The units of t above the power, the leading bit among them, and the exponent.
    const VU kept = hn::Sub(bits(t), power);
    return hn::Add(kept, hn::Shr(exponent, dropped_));
  }

  /// One where the random bits are below the discarded fraction of x, whose grid has this exponent.
  HWY_INLINE VU up(VF x, VU exponent, VU random) const {
    const VU word = bits(x), own = hn::And(word, set(float_infinity));
    // Where all are normal, what stands above the discarded bits is shifted out.
    if (HWY_LIKELY(hn::AllFalse(DI(), hn::Lt(ints(own), ints(least_)))))
      return chance(hn::Shl(word, hn::Sub(set(32), dropped_)), random);
    const VU fraction = hn::And(word, set((1u << 23) - 1));
    const auto normal = hn::Ne(own, hn::Zero(DU()));
    const VU significand = hn::Or(fraction, hn::IfThenElseZero(normal, set(1u << 23)));
    const VU own_normal = hn::BitCast(DU(), hn::Max(ints(own), ints(set(1u << 23))));
    // A number beyond the range of the format may be above its capped exponent: nothing depends on it.
    const VU lower =
        hn::ShiftRight<23>(hn::BitCast(DU(), hn::Max(hn::Sub(ints(exponent), ints(own_normal)), ints(hn::Zero(DU())))));
    const VI spare = hn::Sub(hn::Set(DI(), 32), ints(hn::Add(dropped_, lower)));
    // The discarded bits left-aligned in 32; where there are more, what is left of them.
    const VI zero = hn::Zero(DI());
    const VU left = hn::BitCast(DU(), hn::Max(spare, zero));
    const VU right = hn::BitCast(DU(), hn::Min(hn::Max(hn::Neg(spare), zero), hn::Set(DI(), 31)));
    const VU aligned = hn::Shr(hn::Shl(significand, left), right);
    return chance(aligned, random);
  }
  HWY_INLINE VU chance(VU aligned, VU random) const {
    const VU odds = hn::Shr(aligned, set(static_cast<std::uint32_t>(32 - plan_.random_bits)));
    const VU drawn = hn::And(random, set(~std::uint32_t{0} >> (32 - plan_.random_bits)));
    return hn::IfThenElseZero(hn::Lt(drawn, odds), set(1));
  }

  /// The result, by cutting the bits of x.
  HWY_INLINE VU from_bits(VF x, VU random) const {
    const VU word = bits(x);
    const std::uint32_t mask = (std::uint32_t{1} << plan_.dropped) - 1;
    VU sum = word;
    if constexpr (way == Way::bits_even) {
      const VU odd = hn::And(hn::Shr(word, dropped_), set(1));
      sum = hn::Add(hn::Add(word, set(mask >> 1)), odd);
    } else if constexpr (way == Way::bits_offset) {
      sum = hn::Add(word, offset(word));
    } else if constexpr (way == Way::bits_odd) {
      sum = hn::Or(word, hn::Add(hn::And(word, set(mask)), set(mask)));
    } else {
      const VU aligned = hn::Shl(word, hn::Sub(set(32), dropped_));
      sum = hn::Add(word, hn::Shl(chance(aligned, random), dropped_));
    }
    if constexpr (special == Special::natural) {
      const VU result = code ? hn::Shr(sum, dropped_) : hn::AndNot(set(mask), sum);
      return hn::IfThenElse(hn::RebindMask(DU(), hn::IsNaN(x)), nan_, result);
    }
    const VU cut = hn::AndNot(set(mask | sign_bit), sum);
    return specials(x, code ? hn::Shr(cut, dropped_) : cut);
  }
  HWY_INLINE VU offset(VU word) const {
    const VU negative = hn::BitCast(DU(), hn::BroadcastSignBit(ints(word)));
    return hn::Xor(set(plan_.offset_positive), hn::And(negative, set(plan_.offset_positive ^ plan_.offset_negative)));
  }

  HWY_INLINE VU from_half(VF x) const {
    const VH h = halves<in_force>(x);
    VU result;
    if constexpr (code)
      result = hn::PromoteTo(DU(), h);
    else
      result = bits(from_halves(h));
    return hn::IfThenElse(hn::RebindMask(DU(), hn::IsNaN(x)), nan_, result);
  }

  /// e8m0: the exponent field after rounding; nothing below its least number, which float has as a subnormal.
  HWY_INLINE VU exponent_code(VF x) const {
    const VU magnitude = hn::AndNot(set(sign_bit), bits(x));
    return hn::IfThenZeroElse(below(magnitude, set(plan_.raise_from)),
                              hn::ShiftRight<23>(hn::Add(magnitude, set(plan_.offset_positive))));
  }
  HWY_INLINE VU exponent_of_code(VU field) const {
    if constexpr (code) return field;
    const auto is_zero = hn::Eq(field, hn::Zero(DU()));
    return hn::IfThenElse(is_zero, set(std::uint32_t{1} << 22), hn::ShiftLeft<23>(field));
  }
  /// Where all that e8m0 has no number for becomes its NaN, the code of all ones, which infinity and NaN reach by themselves.
  HWY_INLINE VU exponent_or_nan(VF x) const {
    const VU nan_code = set(0xff);
    const VU field = hn::BitCast(DU(), hn::Min(ints(exponent_code(x)), ints(nan_code)));
    const auto negative = hn::RebindMask(DU(), hn::Lt(x, hn::Zero(DF())));
    if constexpr (code) return hn::IfThenElse(negative, nan_code, field);
    return hn::IfThenElse(hn::Or(negative, hn::Eq(field, nan_code)), nan_, exponent_of_code(field));
  }

  HWY_INLINE VU sign_of(VU word) const { return code ? hn::Shr(word, sign_shift_) : word; }

  /// Sign, overflow, infinities and NaN.
  HWY_INLINE VU specials(VF x, VU magnitude) const {
    const VU word = bits(x);
    const auto beyond = below(largest_, magnitude);
    if constexpr (special <= Special::fnuz) {
      VU result = hn::OrAnd(magnitude, sign_of(word), sign_);
      if constexpr (special == Special::fnuz) result = hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(DU())), result);
      return hn::IfThenElse(beyond, nan_, result);
    }
    const auto is_nan = hn::RebindMask(DU(), hn::IsNaN(x));
    if constexpr (special < Special::directed) {
      VU result = hn::IfThenElse(beyond, overflow_, magnitude);
      if constexpr (special == Special::truncated)
        result = hn::IfThenElse(hn::RebindMask(DU(), hn::IsInf(x)), infinity_, result);
      return hn::IfThenElse(is_nan, nan_, hn::OrAnd(result, sign_of(word), sign_));
    }
    if constexpr (special == Special::directed) {
      const VU limit = hn::IfThenElse(is_negative(word), set(plan_.overflow_negative & ~plan_.sign_bit), overflow_);
      const VU finite = hn::IfThenElse(beyond, limit, magnitude);
      const VU result = hn::IfThenElse(hn::RebindMask(DU(), hn::IsInf(x)), infinity_, finite);
      return hn::IfThenElse(is_nan, nan_, hn::OrAnd(result, sign_of(word), sign_));
    }
    const auto negative = is_negative(word);
    const VU signed_bit = hn::And(sign_of(word), sign_);
    const auto vanishes = below(magnitude, set(plan_.zero_below));
    const auto outside = below(hn::IfThenElse(negative, set(plan_.largest_negative), largest_), magnitude);
    VU result = hn::IfThenElse(vanishes, hn::And(signed_bit, set(plan_.zero_sign)), hn::Or(magnitude, signed_bit));
    result =
        hn::IfThenElse(outside, hn::IfThenElse(negative, set(plan_.overflow_negative), set(plan_.overflow_positive)), result);
    const VU input = hn::AndNot(set(sign_bit), word);
    const auto infinite = hn::Eq(input, set(float_infinity));
    result =
        hn::IfThenElse(infinite, hn::IfThenElse(negative, set(plan_.infinity_negative), set(plan_.infinity_positive)), result);
    if constexpr (way == Way::exponent) result = hn::IfThenElse(hn::And(negative, below(hn::Zero(DU()), input)), nan_, result);
    return hn::IfThenElse(is_nan, nan_, result);
  }

  BulkPlan plan_;
  VU dropped_, least_, most_, power_;
  VF scale_;
  VU bias_, largest_, overflow_, infinity_, nan_, sign_shift_, sign_;
};

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
