// SPDX-License-Identifier: Apache-2.0
// Arithmetic on the codes of any format: the exact result, rounded once, with the exception flags.
// IEEE 754-2019 clauses 5.3 to 5.7, 6 and 7. Where a format has no infinity or no NaN, results that would be one follow the
// policy just as conversions do (docs/numerics.md).
#pragma once

#include <cstdint>

#include "emu/bits.hpp"
#include "emu/config.hpp"
#include "emu/encode.hpp"
#include "emu/format.hpp"
#include "emu/real.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// The result of an operation: a code of the operands' format, and the exceptions it signaled.
struct Result {
  Code code;    ///< of the result
  Flags flags;  ///< all exceptions that were signaled

  friend constexpr bool operator==(const Result&, const Result&) = default;
};

namespace detail {

/// Calls `compute` with a word in whose Real the operations on numbers of `format` are exact apart from the sticky bit:
/// products take 2 p bits, results p bits and 33 for stochastic rounding.
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

}  // namespace detail

/// Arithmetic on numbers taken apart, exact until it is rounded: what the operations of this header are made of, for models of
/// others' instructions.
namespace exact {
using detail::add;
using detail::infinite_result;
using detail::multiply;
using detail::operand;
using detail::Real;
using detail::real_of;
using detail::round_unpacked;
using detail::Word128;
using detail::zero_is_negative;
}  // namespace exact

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

}  // namespace ulpscope::emu
