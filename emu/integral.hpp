// SPDX-License-Identifier: Apache-2.0
// Whole numbers and exponents: rounding to integral, integers, neighbours, scaleB, logB. IEEE 754-2019
// clauses 5.3, 5.4, 5.8, 5.9.
#pragma once

#include <cstdint>
#include <type_traits>

#include "emu/arithmetic.hpp"
#include "emu/config.hpp"
#include "emu/format.hpp"
#include "emu/real.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

namespace detail {

/// A whole number next to x: x rounded in `rounding`'s direction; `random` as in round_to.
template <class Word>
ULPSCOPE_HD constexpr Real<Word> round_to_whole(const Real<Word>& x, const RoundingOptions& options,
                                                std::uint32_t random_word) noexcept {
  constexpr int lead = Real<Word>::leading_bit;
  if (x.is_zero() || x.exponent >= lead) return x;
  const int true_dropped = lead - x.exponent, dropped = true_dropped < lead + 2 ? true_dropped : lead + 2;
  constexpr Format whole{.exponent_bits = 11, .fraction_bits = 1, .bias = 0, .specials = Specials::finite};  // ties to even
  const std::uint32_t random = random_word & (0xffffffffu >> ((32 - options.random_bits) & 31));
  return Real<Word>::integer(
      round_significand<Word>(whole, x.significand, dropped, true_dropped, 0, x.negative, options, random), x.negative);
}

ULPSCOPE_INLINE constexpr Result round_to_integral(Format format, Code a, const RoundingOptions& options, std::uint32_t random,
                                                   Flags if_changed) noexcept {
  a = operand(format, a, options);
  if (format.is_nan(a)) return nan_result(format, signaling(format, a));
  if (format.is_infinite(a)) return infinite_result(format, format.is_negative(a), options);
  return with_word(format, [&](auto word) ULPSCOPE_INLINE_LAMBDA {
    const auto x = real_of<decltype(word)>(format, a);
    const auto whole = round_to_whole(x, options, random);
    const Rounded rounded = round_unpacked(format, whole, options, random);
    return Result{rounded.code, compare_magnitudes(x, whole) != 0 ? rounded.flags | if_changed : rounded.flags};
  });
}

}  // namespace detail

/// x rounded to a whole number in the chosen direction, which never signals inexact (roundToIntegralTiesToEven and the others;
/// IEEE 754-2019, 5.9). In a format whose largest numbers have fractions (e2m3: 7.5) the whole number may lie beyond them: that
/// is an overflow.
ULPSCOPE_INLINE constexpr Result round_to_integral(Format format, Code a, const RoundingOptions& options = {},
                                                   std::uint32_t random = 0) noexcept {
  return detail::round_to_integral(format, a, options, random, no_flags);
}
/// The same, inexact if it changed x (roundToIntegralExact; 5.9).
ULPSCOPE_INLINE constexpr Result round_to_integral_exact(Format format, Code a, const RoundingOptions& options = {},
                                                         std::uint32_t random = 0) noexcept {
  return detail::round_to_integral(format, a, options, random, inexact);
}

/// A number as an integer.
template <class Integer>
struct IntegerResult {
  Integer value;  ///< the integer nearest to it in the rounding direction, or the bound that it lies beyond; 0 of NaN
  Flags flags;    ///< `invalid` where the integers do not reach, `inexact` where something was cut off
};

/// x as an integer, rounded in the chosen direction (convertToIntegerExact...; 5.8): inexact if that changed it. Beyond the
/// integers: the nearest one, and invalid; NaN: 0, and invalid (as CUDA and ARM convert; x86 has one value for all of these).
template <class Integer>
ULPSCOPE_INLINE constexpr IntegerResult<Integer> to_integer(Format format, Code a, const RoundingOptions& options = {},
                                                            std::uint32_t random = 0) noexcept {
  static_assert(std::is_integral_v<Integer> && sizeof(Integer) <= 8);
  constexpr bool is_signed = std::is_signed_v<Integer>;
  constexpr int value_bits = static_cast<int>(8 * sizeof(Integer)) - (is_signed ? 1 : 0);
  constexpr auto greatest = static_cast<std::uint64_t>(static_cast<Integer>(~std::uint64_t{0} >> (64 - value_bits)));
  a = detail::operand(format, a, options);
  if (format.is_nan(a)) return {0, invalid};
  const bool negative = format.is_negative(a);
  const std::uint64_t limit = negative ? (is_signed ? greatest + 1 : 0) : greatest;  // of the magnitude
  const auto x = detail::real_of<detail::Word128>(format, a);
  const auto whole = detail::round_to_whole(x, options, random);
  const bool beyond = format.is_infinite(a) || whole.exponent >= 64;
  const int dropped = detail::Real<detail::Word128>::leading_bit - whole.exponent;
  const auto magnitude =
      beyond || whole.is_zero() ? std::uint64_t{0} : static_cast<std::uint64_t>(whole.significand >> dropped);
  const bool invalid_result = beyond || magnitude > limit;
  const std::uint64_t value = invalid_result ? limit : magnitude;
  const Flags flags = invalid_result ? invalid : (detail::compare_magnitudes(x, whole) != 0 ? inexact : no_flags);
  return {static_cast<Integer>(negative ? 0 - value : value), flags};
}

/// An integer as a number of `format`, rounded once (convertFromInt; 5.4.1).
template <class Integer>
ULPSCOPE_INLINE constexpr Result from_integer(Format format, Integer value, const RoundingOptions& options = {},
                                              std::uint32_t random = 0) noexcept {
  static_assert(std::is_integral_v<Integer> && sizeof(Integer) <= 8);
  const bool negative = value < 0;
  using Wide = std::conditional_t<std::is_signed_v<Integer>, std::int64_t, std::uint64_t>;
  const auto word = static_cast<std::uint64_t>(static_cast<Wide>(value));
  const std::uint64_t magnitude = negative ? 0 - word : word;
  return detail::deliver(
      detail::round_unpacked(format, detail::Real<detail::Word128>::integer(magnitude, negative), options, random));
}

/// The least number that compares greater; where there is none, the operand itself (nextUp; 5.3.1). Of +0 and -0 the least
/// positive number.
ULPSCOPE_INLINE constexpr Result next_up(Format format, Code a) noexcept {
  a &= format.code_mask();
  if (format.is_nan(a)) return detail::nan_result(format, detail::signaling(format, a));
  if (format.is_zero(a)) return {1, no_flags};
  if (!format.is_negative(a)) {
    const Code last = format.has_infinity() ? format.infinity_code() : format.max_finite_code();
    return {a == last ? a : a + 1, no_flags};
  }
  const Code up = a - 1;  // a smaller magnitude
  return {up == format.sign_mask() && !format.has_negative_zero() ? Code{0} : up, no_flags};
}

/// The greatest number that compares less; where there is none, the operand itself (nextDown; 5.3.1).
ULPSCOPE_INLINE constexpr Result next_down(Format format, Code a) noexcept {
  a &= format.code_mask();
  if (format.is_nan(a)) return detail::nan_result(format, detail::signaling(format, a));
  if (format.is_zero(a)) return {format.is_signed() ? format.sign_mask() | 1 : a, no_flags};
  if (format.is_negative(a)) {
    const Code last = format.sign_mask() | (format.has_infinity() ? format.infinity_code() : format.max_finite_code());
    return {a == last ? a : a + 1, no_flags};
  }
  return {a == 0 ? a : a - 1, no_flags};  // 0 is the least number of a format without zero
}

/// a * 2^count, rounded once (scaleB; 5.3.3).
ULPSCOPE_INLINE constexpr Result scale_b(Format format, Code a, std::int64_t count, const RoundingOptions& options = {},
                                         std::uint32_t random = 0) noexcept {
  a = detail::operand(format, a, options);
  if (format.is_nan(a)) return detail::nan_result(format, detail::signaling(format, a));
  if (format.is_infinite(a)) return detail::infinite_result(format, format.is_negative(a), options);
  constexpr std::int64_t most = 1 << 16;  // beyond every exponent there is
  const auto clamped = static_cast<int>(count > most ? most : (count < -most ? -most : count));
  return detail::with_word(format, [&](auto word) ULPSCOPE_INLINE_LAMBDA {
    const auto x = detail::real_of<decltype(word)>(format, a).scaled(clamped);
    return detail::deliver(detail::round_unpacked(format, x, options, random));
  });
}

/// The exponent of a as a number of `format`, rounded once (logB; 5.3.3): of infinity +infinity, of zero -infinity with
/// divide_by_zero.
ULPSCOPE_INLINE constexpr Result log_b(Format format, Code a, const RoundingOptions& options = {},
                                       std::uint32_t random = 0) noexcept {
  a = detail::operand(format, a, options);
  if (format.is_nan(a)) return detail::nan_result(format, detail::signaling(format, a));
  if (format.is_infinite(a)) return detail::infinite_result(format, false, options);
  if (format.is_zero(a)) return detail::infinite_result(format, true, options, divide_by_zero);
  return from_integer(format, detail::real_of<std::uint64_t>(format, a).exponent, options, random);
}

}  // namespace ulpscope::emu
