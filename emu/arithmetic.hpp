// SPDX-License-Identifier: Apache-2.0
// Arithmetic on the codes of any format: the exact result, rounded once, with the exception flags.
// IEEE 754-2019 clauses 5.3 to 5.7, 6 and 7. Where a format has no infinity or no NaN, results that would be one follow the
// policy just as conversions do (docs/numerics.md).
#pragma once

#include <cstdint>
#include <type_traits>

#include "emu/bits.hpp"
#include "emu/config.hpp"
#include "emu/encode.hpp"
#include "emu/format.hpp"
#include "emu/real.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// The result of an operation: a code of the operands' format, and the exceptions it signaled.
struct Result {
  Code code;
  Flags flags;

  friend constexpr bool operator==(const Result&, const Result&) = default;
};

/// How two numbers compare (IEEE 754-2019, 5.11). -0 equals +0; a NaN is unordered with everything.
enum class Order : std::uint8_t { less, equal, greater, unordered };

struct Comparison {
  Order order;
  Flags flags;
};

namespace detail {

/// Calls `compute` with a word in whose Real the operations on numbers of `format` are exact but for the sticky bit: products
/// take 2 p bits, results p bits and 33 for stochastic rounding.
template <class Compute>
ULPSCOPE_INLINE constexpr auto with_word(Format format, Compute compute) noexcept {
  if (format.precision() <= 24) return compute(std::uint64_t{});
  return compute(Word128{});
}

ULPSCOPE_INLINE constexpr Result deliver(const Rounded& rounded) noexcept { return {rounded.code, rounded.flags}; }

/// The one result of an invalid operation, and of any operation on a NaN: the canonical NaN; in a format without NaN the
/// largest number, and then always invalid.
ULPSCOPE_INLINE constexpr Result nan_result(Format format, Flags flags) noexcept {
  if (format.has_nan()) return {format.nan_code(), flags};
  return {format.max_finite_code(), invalid};
}

/// An exactly infinite result, as the conversion of an infinity to `format` gives it; `raised` in place of the conversion's
/// flags if the operation signals by itself.
ULPSCOPE_INLINE constexpr Result infinite_result(Format format, bool negative, const RoundingOptions& options,
                                                 Flags raised = no_flags) noexcept {
  constexpr double infinity = __builtin_huge_val();
  const Rounded rounded = round_host(format, negative ? -infinity : infinity, options, 0);
  return {rounded.code, raised != no_flags ? raised : rounded.flags};
}

/// An operand's code with `subnormals_are_zero` obeyed.
ULPSCOPE_INLINE constexpr Code operand(Format format, Code code, const RoundingOptions& options) noexcept {
  code &= format.code_mask();
  if (!options.subnormals_are_zero || !format.is_subnormal(code)) return code;
  return format.has_negative_zero() ? code & format.sign_mask() : Code{0};
}

/// Invalid if any of the codes is a signaling NaN.
template <class... Codes>
ULPSCOPE_INLINE constexpr Flags signaling(Format format, Codes... codes) noexcept {
  return (format.is_signaling_nan(codes) || ...) ? invalid : no_flags;
}

/// Whether exact zeros of unlike operands are negative.
ULPSCOPE_INLINE constexpr bool zero_is_negative(const RoundingOptions& options) noexcept {
  return options.rounding == Rounding::downward;
}

/// a + b, or a - b.
ULPSCOPE_INLINE constexpr Result add_signed(Format format, Code a, Code b, bool subtract, const RoundingOptions& options,
                                            std::uint32_t random) noexcept {
  a = operand(format, a, options);
  b = operand(format, b, options);
  if (format.is_nan(a) || format.is_nan(b)) return nan_result(format, signaling(format, a, b));
  const bool a_negative = format.is_negative(a), b_negative = format.is_negative(b) != subtract;
  if (format.is_infinite(a) || format.is_infinite(b)) {
    if (format.is_infinite(a) && format.is_infinite(b) && a_negative != b_negative) return nan_result(format, invalid);
    return infinite_result(format, format.is_infinite(a) ? a_negative : b_negative, options);
  }
  return with_word(format, [&](auto word) ULPSCOPE_INLINE_LAMBDA {
    const auto x = real_of<decltype(word)>(format, a), y = real_of<decltype(word)>(format, b);
    return deliver(round_unpacked(format, add(x, subtract ? y.negated() : y, zero_is_negative(options)), options, random));
  });
}

/// A whole number next to x: x rounded in `rounding`'s direction; `random` as in round_to.
template <class Word>
ULPSCOPE_HD constexpr Real<Word> round_to_whole(const Real<Word>& x, const RoundingOptions& options,
                                                std::uint32_t random_word) noexcept {
  constexpr int lead = Real<Word>::leading_bit;
  if (x.is_zero() || x.exponent >= lead) return x;
  const int true_dropped = lead - x.exponent, dropped = true_dropped < lead + 2 ? true_dropped : lead + 2;
  constexpr Format whole{.exponent_bits = 11, .fraction_bits = 1, .bias = 0, .specials = Specials::finite};  // ties to even
  const std::uint32_t random = random_word & (0xffffffffu >> ((32 - options.random_bits) & 31));
  return Real<Word>::integer(round_significand<Word>(whole, x.significand, dropped, true_dropped, x.negative, options, random),
                             x.negative);
}

}  // namespace detail

/// a + b
ULPSCOPE_INLINE constexpr Result add(Format format, Code a, Code b, const RoundingOptions& options = {},
                                     std::uint32_t random = 0) noexcept {
  return detail::add_signed(format, a, b, false, options, random);
}

/// a - b
ULPSCOPE_INLINE constexpr Result sub(Format format, Code a, Code b, const RoundingOptions& options = {},
                                     std::uint32_t random = 0) noexcept {
  return detail::add_signed(format, a, b, true, options, random);
}

/// a * b
ULPSCOPE_INLINE constexpr Result mul(Format format, Code a, Code b, const RoundingOptions& options = {},
                                     std::uint32_t random = 0) noexcept {
  a = detail::operand(format, a, options);
  b = detail::operand(format, b, options);
  if (format.is_nan(a) || format.is_nan(b)) return detail::nan_result(format, detail::signaling(format, a, b));
  const bool negative = format.is_negative(a) != format.is_negative(b);
  if (format.is_infinite(a) || format.is_infinite(b)) {
    if (format.is_zero(a) || format.is_zero(b)) return detail::nan_result(format, invalid);
    return detail::infinite_result(format, negative, options);
  }
  return detail::with_word(format, [&](auto word) ULPSCOPE_INLINE_LAMBDA {
    using Word = decltype(word);
    const auto product = detail::multiply(detail::real_of<Word>(format, a), detail::real_of<Word>(format, b));
    return detail::deliver(detail::round_unpacked(format, product, options, random));
  });
}

/// a / b. A finite number by zero is an infinite result with divide_by_zero; 0/0 and inf/inf are invalid.
ULPSCOPE_INLINE constexpr Result div(Format format, Code a, Code b, const RoundingOptions& options = {},
                                     std::uint32_t random = 0) noexcept {
  a = detail::operand(format, a, options);
  b = detail::operand(format, b, options);
  if (format.is_nan(a) || format.is_nan(b)) return detail::nan_result(format, detail::signaling(format, a, b));
  const bool negative = format.is_negative(a) != format.is_negative(b);
  if (format.is_infinite(a)) {
    return format.is_infinite(b) ? detail::nan_result(format, invalid) : detail::infinite_result(format, negative, options);
  }
  if (format.is_zero(b)) {
    return format.is_zero(a) ? detail::nan_result(format, invalid)
                             : detail::infinite_result(format, negative, options, divide_by_zero);
  }
  return detail::with_word(format, [&](auto word) ULPSCOPE_INLINE_LAMBDA {
    using Word = decltype(word);
    const auto x = detail::real_of<Word>(format, a);
    const auto quotient = format.is_infinite(b) ? detail::Real<Word>{0, detail::Real<Word>::exponent_of_zero, negative}
                                                : detail::divide(x, detail::real_of<Word>(format, b));
    return detail::deliver(detail::round_unpacked(format, quotient, options, random));
  });
}

/// The square root; of -0 it is -0, of other negative numbers invalid.
ULPSCOPE_INLINE constexpr Result sqrt(Format format, Code a, const RoundingOptions& options = {},
                                      std::uint32_t random = 0) noexcept {
  a = detail::operand(format, a, options);
  if (format.is_nan(a)) return detail::nan_result(format, detail::signaling(format, a));
  if (format.is_negative(a) && !format.is_zero(a)) return detail::nan_result(format, invalid);
  if (format.is_infinite(a)) return detail::infinite_result(format, false, options);
  return detail::with_word(format, [&](auto word) ULPSCOPE_INLINE_LAMBDA {
    const auto x = detail::real_of<decltype(word)>(format, a);
    const int digits = format.precision() + (options.rounding == Rounding::stochastic ? options.random_bits : 0) + 2;
    return detail::deliver(detail::round_unpacked(format, detail::square_root(x, digits), options, random));
  });
}

/// a * b + c with one rounding. 0 * inf + NaN signals invalid (IEEE 754-2019, 7.2 c leaves it open; Berkeley SoftFloat does,
/// AVX512-FP16 does not).
ULPSCOPE_INLINE constexpr Result fma(Format format, Code a, Code b, Code c, const RoundingOptions& options = {},
                                     std::uint32_t random = 0) noexcept {
  a = detail::operand(format, a, options);
  b = detail::operand(format, b, options);
  c = detail::operand(format, c, options);
  const bool zero_times_infinity = (format.is_infinite(a) && format.is_zero(b)) || (format.is_zero(a) && format.is_infinite(b));
  if (zero_times_infinity) return detail::nan_result(format, invalid);
  if (format.is_nan(a) || format.is_nan(b) || format.is_nan(c))
    return detail::nan_result(format, detail::signaling(format, a, b, c));
  const bool negative = format.is_negative(a) != format.is_negative(b);
  const bool infinite = format.is_infinite(a) || format.is_infinite(b);
  if (infinite || format.is_infinite(c)) {
    const bool opposed = infinite && format.is_infinite(c) && negative != format.is_negative(c);
    if (opposed) return detail::nan_result(format, invalid);
    return detail::infinite_result(format, infinite ? negative : format.is_negative(c), options);
  }
  return detail::with_word(format, [&](auto word) ULPSCOPE_INLINE_LAMBDA {
    using Word = decltype(word);
    const auto product = detail::multiply(detail::real_of<Word>(format, a), detail::real_of<Word>(format, b));
    const auto sum = detail::add(product, detail::real_of<Word>(format, c), detail::zero_is_negative(options));
    return detail::deliver(detail::round_unpacked(format, sum, options, random));
  });
}

/// a - n b, n the integer nearest a / b, ties to even; exact in every format that has zero. A zero has the sign of a.
/// Invalid if a is infinite or b zero.
ULPSCOPE_INLINE constexpr Result remainder(Format format, Code a, Code b, const RoundingOptions& options = {}) noexcept {
  a = detail::operand(format, a, options);
  b = detail::operand(format, b, options);
  if (format.is_nan(a) || format.is_nan(b)) return detail::nan_result(format, detail::signaling(format, a, b));
  if (format.is_infinite(a) || format.is_zero(b)) return detail::nan_result(format, invalid);
  return detail::with_word(format, [&](auto word) ULPSCOPE_INLINE_LAMBDA {
    using Word = decltype(word);
    const auto x = detail::real_of<Word>(format, a);
    const auto rest = format.is_infinite(b) ? x : detail::remainder(x, detail::real_of<Word>(format, b));
    return detail::deliver(detail::round_unpacked(format, rest, options, 0));
  });
}

/// Compares without signaling, except for signaling NaNs (compareQuiet; 5.11).
ULPSCOPE_INLINE constexpr Comparison compare_quiet(Format format, Code a, Code b,
                                                   const RoundingOptions& options = {}) noexcept {
  a = detail::operand(format, a, options);
  b = detail::operand(format, b, options);
  if (format.is_nan(a) || format.is_nan(b)) return {Order::unordered, detail::signaling(format, a, b)};
  if (format.is_zero(a) && format.is_zero(b)) return {Order::equal, no_flags};
  // Codes are sign and magnitude: the magnitudes order numbers of one sign.
  const Code x = a & format.magnitude_mask(), y = b & format.magnitude_mask();
  const bool negative = format.is_negative(a);
  if (negative != format.is_negative(b)) return {negative ? Order::less : Order::greater, no_flags};
  if (x == y) return {Order::equal, no_flags};
  return {(x < y) != negative ? Order::less : Order::greater, no_flags};
}

/// The same, but any NaN is invalid (compareSignaling).
ULPSCOPE_INLINE constexpr Comparison compare_signaling(Format format, Code a, Code b,
                                                       const RoundingOptions& options = {}) noexcept {
  const Comparison result = compare_quiet(format, a, b, options);
  return {result.order, result.order == Order::unordered ? invalid : no_flags};
}

namespace detail {

enum class Extremum : bool { least, greatest };
enum class Missing : bool { nan_propagates, number_wins };

ULPSCOPE_INLINE constexpr Result extremum(Format format, Code a, Code b, Extremum which, Missing missing,
                                          const RoundingOptions& options) noexcept {
  a = operand(format, a, options);
  b = operand(format, b, options);
  const Comparison compared = compare_quiet(format, a, b);
  if (compared.order == Order::unordered) {
    const bool both = format.is_nan(a) && format.is_nan(b);
    if (missing == Missing::nan_propagates || both) return nan_result(format, compared.flags);
    return {format.is_nan(a) ? b : a, compared.flags};
  }
  if (compared.order == Order::equal) {  // of zeros, -0 is the lesser
    return {format.is_negative(a) == (which == Extremum::least) ? a : b, no_flags};
  }
  return {(compared.order == Order::less) == (which == Extremum::least) ? a : b, no_flags};
}

}  // namespace detail

/// The lesser and the greater of two numbers; a NaN propagates; -0 < +0 (minimum and maximum; 9.6).
ULPSCOPE_INLINE constexpr Result minimum(Format format, Code a, Code b, const RoundingOptions& options = {}) noexcept {
  return detail::extremum(format, a, b, detail::Extremum::least, detail::Missing::nan_propagates, options);
}
ULPSCOPE_INLINE constexpr Result maximum(Format format, Code a, Code b, const RoundingOptions& options = {}) noexcept {
  return detail::extremum(format, a, b, detail::Extremum::greatest, detail::Missing::nan_propagates, options);
}
/// The same where a NaN stands for a missing number: the other operand wins (minimumNumber, maximumNumber; 9.6).
ULPSCOPE_INLINE constexpr Result minimum_number(Format format, Code a, Code b, const RoundingOptions& options = {}) noexcept {
  return detail::extremum(format, a, b, detail::Extremum::least, detail::Missing::number_wins, options);
}
ULPSCOPE_INLINE constexpr Result maximum_number(Format format, Code a, Code b, const RoundingOptions& options = {}) noexcept {
  return detail::extremum(format, a, b, detail::Extremum::greatest, detail::Missing::number_wins, options);
}

namespace detail {

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
  Integer value;
  Flags flags;
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
  const std::uint64_t word = static_cast<std::uint64_t>(value), magnitude = negative ? 0 - word : word;
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
  if (format.is_zero(a)) return {format.sign_mask() | 1, no_flags};
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
