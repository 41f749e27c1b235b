// SPDX-License-Identifier: Apache-2.0
// From values to codes: one rounding of the exact input, then the format's range, then the overflow policy.
// IEEE 754-2019 clauses 4.3, 7.4, 7.5; OFP8 1.0 section 5.
#pragma once

#include <cstdint>

#include "emu/bits.hpp"
#include "emu/config.hpp"
#include "emu/decode.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

namespace detail {

/// Significands are shifted left by this many bits first, so that at least two bits are always dropped.
inline constexpr int spare_bits = 2;

/// A host float taken apart: |x| = significand * 2^(exponent - leading_bit).
template <class Float>
struct Unpacked {
  using Host = Interchange<Float>;
  using Word = typename Host::Word;
  static constexpr int leading_bit = Host::fraction_bits + spare_bits;  ///< of the significands of normal numbers
  static constexpr int sign_position = static_cast<int>(8 * sizeof(Word)) - 1;
  static constexpr Word implicit = Word{1} << Host::fraction_bits;
  static constexpr Word infinity = ((Word{1} << (sign_position - Host::fraction_bits)) - 1) << Host::fraction_bits;

  Word magnitude;    ///< all bits but the sign
  Word significand;  ///< zero for zeros and for subnormals that count as zero
  int exponent;      ///< of the leading bit of normals; subnormals keep the least exponent
  bool negative;
  bool normal;

  ULPSCOPE_INLINE constexpr Unpacked(Float x, bool subnormals_are_zero) noexcept
      : magnitude(bit_cast<Word>(x) & ((Word{1} << sign_position) - 1)),
        significand(0),
        exponent(0),
        negative((bit_cast<Word>(x) >> sign_position) != 0),
        normal(magnitude >= implicit) {
    const Word fraction = magnitude & (implicit - 1);
    const Word kept = normal ? fraction | implicit : (subnormals_are_zero ? Word{0} : fraction);
    significand = kept << spare_bits;
    exponent = (normal ? static_cast<int>(magnitude >> Host::fraction_bits) : 1) - Host::bias;
  }
  ULPSCOPE_INLINE constexpr bool is_nan() const noexcept { return magnitude > infinity; }
  ULPSCOPE_INLINE constexpr bool is_signaling_nan() const noexcept { return is_nan() && (magnitude & (implicit >> 1)) == 0; }
  ULPSCOPE_INLINE constexpr bool is_infinite() const noexcept { return magnitude == infinity; }
  ULPSCOPE_INLINE constexpr bool is_zero() const noexcept { return magnitude == 0; }
};

/// `significand` / 2^dropped rounded to an integer.
///
///   significand   1FFFFFFFFFF|RSSSSSSSSSSSS     R: first bit dropped, S: the rest, L: last bit kept (left of |)
///
/// Adding half - 1 + L carries into L exactly when R = 1 and (some S = 1 or L = 1): nearest, ties to even.
/// The codes of a format without fraction bits count its binades: `binade` is that of the significand, the least being 0.
/// Precondition: 1 <= dropped < the bits of Word. `true_dropped` >= dropped is the number before it was capped: the cap
/// leaves zero in front of |, so only the odds of stochastic rounding depend on it. `random` holds random_bits bits.
template <class Word>
ULPSCOPE_INLINE constexpr Word round_significand(Format format, Word significand, int dropped, int true_dropped, int binade,
                                                 bool negative, const RoundingOptions& options, std::uint32_t random) noexcept {
  const Word half = Word{1} << (dropped - 1);
  const Word mask = half + (half - 1);
  const Word kept = significand >> dropped;
  const Word position = format.fraction_bits > 0 ? kept : kept + static_cast<Word>(binade);
  const Word odd = format.has_even_codes() ? position & 1 : Word{1};
  switch (options.rounding) {
    case Rounding::nearest_even: return (significand + half - 1 + odd) >> dropped;
    case Rounding::nearest_away: return (significand + half) >> dropped;
    case Rounding::toward_zero: return kept;
    case Rounding::upward: return (significand + (negative ? Word{0} : mask)) >> dropped;
    case Rounding::downward: return (significand + (negative ? mask : Word{0})) >> dropped;
    case Rounding::to_odd: return kept + ((significand & mask) != 0 && (odd == 0 || kept == 0) ? Word{1} : Word{0});
    case Rounding::stochastic: {
      // odds = floor(f 2^r), where the discarded fraction f is rest / 2^true_dropped
      using Wide = Larger<Word, std::uint64_t>;
      constexpr int most = static_cast<int>(8 * sizeof(Wide)) - 1;
      const Wide rest = significand & mask;
      const int excess = true_dropped - options.random_bits;
      const Wide odds = excess < 0 ? rest << -excess : rest >> (excess < most ? excess : most);
      return kept + (random < odds ? Word{1} : Word{0});
    }
  }
  return kept;
}

/// Whether overflow in this direction is delivered as infinity (IEEE 754-2019, 7.4).
ULPSCOPE_INLINE constexpr bool overflows_to_infinity(Rounding rounding, bool negative) noexcept {
  return !(rounding == Rounding::toward_zero || rounding == Rounding::to_odd || (rounding == Rounding::upward && negative) ||
           (rounding == Rounding::downward && !negative));
}

/// The magnitude bits that a value beyond the largest finite number, or an infinite input, becomes; in a format without sign
/// all that is negative.
ULPSCOPE_INLINE constexpr Code out_of_range_code(Format format, const RoundingOptions& options, bool negative,
                                                 bool infinite_input) noexcept {
  if (negative && !format.is_signed()) {
    const bool inward = options.rounding == Rounding::toward_zero || options.rounding == Rounding::upward;
    const bool clamped = options.policy == Policy::saturating || (inward && !infinite_input);
    return format.has_zero() && clamped ? Code{0} : format.nan_code();
  }
  if (options.policy == Policy::saturating) return format.max_finite_code();
  if (format.has_infinity())
    return infinite_input || overflows_to_infinity(options.rounding, negative) ? format.infinity_code()
                                                                               : format.max_finite_code();
  return format.has_nan() ? format.nan_code() : format.max_finite_code();
}

/// Rounds a number taken apart (an Unpacked or a Real), which may be anything. Its significand has at least two bits more than
/// the format's; where it is not normalised below its least normal exponent, that of `format` is no less.
template <class Number>
ULPSCOPE_INLINE constexpr Rounded round_unpacked(Format format, const Number& in, const RoundingOptions& options,
                                                 std::uint32_t random_word) noexcept {
  using Word = typename Number::Word;

  // Below the least normal exponent the grid stands still and more bits are dropped, in the end all: |0...01FFF.
  constexpr int all_dropped = Number::leading_bit + 2;
  const int least = format.min_exponent();
  const int below = in.exponent < least ? least - in.exponent : 0;
  const int binade = in.exponent > least ? in.exponent - least : 0;
  const int true_dropped = Number::leading_bit - format.fraction_bits + below;
  const int dropped = true_dropped < all_dropped ? true_dropped : all_dropped;
  const std::uint32_t random = random_word & (0xffffffffu >> ((32 - options.random_bits) & 31));
  const Word kept =
      round_significand<Word>(format, in.significand, dropped, true_dropped, binade, in.negative, options, random);
  const bool lossy = (in.significand & ((Word{1} << dropped) - 1)) != 0;

  // The implicit bit in `kept` adds one to the exponent field of normals, and so does a carry out of the fraction.
  // A format without zero has its least normal at field zero.
  const Word field_offset = format.has_zero() || kept == 0 ? Word{0} : Word{1};
  const Word magnitude = (static_cast<Word>(binade) << format.fraction_bits) + kept - field_offset;

  const bool beyond = magnitude > static_cast<Word>(format.max_finite_code()) && !in.is_nan() && !in.is_infinite();
  const bool subnormal = magnitude < static_cast<Word>(format.min_normal_code()) && magnitude != 0;
  const bool flushed = options.flush_subnormals && subnormal;
  const bool raised_to_least = !format.has_zero() && kept == 0;
  const bool negative_result = in.negative && (format.has_zero() ? magnitude != 0 && !flushed : in.significand != 0);
  const bool has_no_sign = !format.is_signed() && negative_result && !in.is_nan();

  Code code = flushed ? Code{0} : static_cast<Code>(magnitude);
  if (beyond || in.is_infinite() || has_no_sign) code = out_of_range_code(format, options, in.negative, in.is_infinite());
  if (in.is_nan()) code = format.has_nan() ? format.nan_code() : format.max_finite_code();
  const bool unsigned_result = in.is_nan() || (format.has_nan() && code == format.nan_code());
  const bool signed_result = in.negative && !unsigned_result && (code != 0 || format.has_negative_zero());
  code |= signed_result ? format.sign_mask() : Code{0};

  Outcome outcome = lossy || raised_to_least ? Outcome::rounded : Outcome::exact;
  if (subnormal) outcome = Outcome::subnormal;
  if (format.has_zero() && (code & format.magnitude_mask()) == 0) outcome = Outcome::to_zero;
  if (beyond || has_no_sign) outcome = Outcome::overflow;
  if (in.is_zero()) outcome = Outcome::zero;
  if (in.is_infinite()) outcome = Outcome::infinite;
  if (in.is_nan()) outcome = Outcome::nan;

  // Tiny after rounding: still below the least normal when rounded to full precision, a grid one bit finer than that of
  // the subnormals where it matters.
  bool tiny = in.exponent < least || !in.normal;
  if (options.tininess == Tininess::after_rounding && tiny && in.exponent >= least - 1) {
    const Word finer =
        round_significand<Word>(format, in.significand, dropped - 1, true_dropped - 1, -1, in.negative, options, random);
    tiny = finer < Word{2} << format.fraction_bits;
  }
  const bool changed = lossy || flushed || raised_to_least;
  Flags flags = changed ? (tiny ? underflow | inexact : inexact) : no_flags;
  if (beyond) flags = overflow | inexact;
  if (in.is_nan() || in.is_infinite()) flags = no_flags;
  const bool unrepresentable = has_no_sign || (in.is_nan() && !format.has_nan()) ||
                               (in.is_infinite() && !(format.has_infinity() && options.policy == Policy::nonsaturating));
  if (unrepresentable || in.is_signaling_nan()) flags = invalid;

  return {code, decode(format, code), outcome, flags};
}

/// Rounds x; the least normal exponent of `format` is not below that of Float, nor is its precision above that of Float.
template <class Float>
ULPSCOPE_INLINE constexpr Rounded round_host(Format format, Float x, const RoundingOptions& options,
                                             std::uint32_t random_word) noexcept {
  return round_unpacked(format, Unpacked<Float>(x, options.subnormals_are_zero), options, random_word);
}

/// float to double with a signaling NaN kept signaling.
ULPSCOPE_INLINE constexpr double widen(float x) noexcept {
  const Unpacked<float> in(x, false);
  if (!in.is_signaling_nan()) return static_cast<double>(x);
  constexpr int shift = Interchange<double>::fraction_bits - Interchange<float>::fraction_bits;
  return bit_cast<double>(Unpacked<double>::infinity | std::uint64_t{in.magnitude & (in.implicit - 1)} << shift);
}

/// What `subnormals_are_zero` makes of a subnormal input of a type narrower than double.
ULPSCOPE_INLINE constexpr Rounded round_flushed_input(Format format, double signed_zero, const RoundingOptions& options,
                                                      std::uint32_t random) noexcept {
  Rounded result = round_host(format, signed_zero, options, random);
  result.outcome = format.has_zero() ? Outcome::to_zero : Outcome::rounded;
  return result;
}

}  // namespace detail

/// The code that a number beyond the largest, or an infinity, becomes; its sign is for the caller.
using detail::out_of_range_code;

/// Rounds x once to `format`. `random` feeds stochastic rounding (its low random_bits bits; rounding_bits() makes them).
///
/// Flags: inexact and underflow as in IEEE 754-2019 7.5 and 7.6; overflow (with inexact) whenever the outcome is
/// `overflow` by size; invalid for a signaling NaN and for inputs that the format cannot express (NaN without NaN; infinity
/// without infinity or under `saturating`; negative values in an unsigned format). A format without zero rounds zero to its
/// least number: inexact and underflow. Inputs that count as zero raise nothing for it, as on x86.
ULPSCOPE_INLINE constexpr Rounded round_to(Format format, double x, const RoundingOptions& options = {},
                                           std::uint32_t random = 0) noexcept {
  return detail::round_host(format, x, options, random);
}

/// The same for float; the value is never rounded on the way.
ULPSCOPE_INLINE constexpr Rounded round_to(Format format, float x, const RoundingOptions& options = {},
                                           std::uint32_t random = 0) noexcept {
  using Host = detail::Interchange<float>;
  if (format.fraction_bits <= Host::fraction_bits && format.min_exponent() >= 1 - Host::bias)
    return detail::round_host(format, x, options, random);
  const detail::Unpacked<float> in(x, options.subnormals_are_zero);
  if (in.significand == 0 && in.magnitude != 0 && !in.normal)
    return detail::round_flushed_input(format, in.negative ? -0.0 : 0.0, options, random);
  return detail::round_host(format, detail::widen(x), options, random);
}

/// The code alone.
template <class Float>
ULPSCOPE_INLINE constexpr Code encode(Format format, Float x, const RoundingOptions& options = {},
                                      std::uint32_t random = 0) noexcept {
  return round_to(format, x, options, random).code;
}

/// Converts a code of `from` to `to`: one rounding.
ULPSCOPE_INLINE constexpr Rounded convert(Format from, Code code, Format to, const RoundingOptions& options = {},
                                          std::uint32_t random = 0) noexcept {
  if (options.subnormals_are_zero && from.is_subnormal(code))
    return detail::round_flushed_input(to, from.is_negative(code) && from.has_negative_zero() ? -0.0 : 0.0, options, random);
  Rounded result = detail::round_host(to, decode(from, code), options, random);
  if (from.is_signaling_nan(code)) result.flags = invalid;
  return result;
}

}  // namespace ulpscope::emu
