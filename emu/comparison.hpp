// SPDX-License-Identifier: Apache-2.0
// Comparisons, minimum and maximum of codes. IEEE 754-2019 clauses 5.11 and 9.6.
#pragma once

#include <cstdint>

#include "emu/arithmetic.hpp"
#include "emu/config.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// How two numbers compare (IEEE 754-2019, 5.11). -0 equals +0; a NaN is unordered with everything.
enum class Order : std::uint8_t { less, equal, greater, unordered };

/// What a comparison gives.
struct Comparison {
  Order order;  ///< of the first operand to the second
  Flags flags;  ///< `invalid`, where a NaN signals
};

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
/// The greater of two numbers; a NaN propagates; -0 < +0 (maximum; 9.6).
ULPSCOPE_INLINE constexpr Result maximum(Format format, Code a, Code b, const RoundingOptions& options = {}) noexcept {
  return detail::extremum(format, a, b, detail::Extremum::greatest, detail::Missing::nan_propagates, options);
}
/// The same where a NaN stands for a missing number: the other operand wins (minimumNumber, maximumNumber; 9.6).
ULPSCOPE_INLINE constexpr Result minimum_number(Format format, Code a, Code b, const RoundingOptions& options = {}) noexcept {
  return detail::extremum(format, a, b, detail::Extremum::least, detail::Missing::number_wins, options);
}
/// The greater of two numbers; of a number and a NaN the number (maximumNumber; 9.6).
ULPSCOPE_INLINE constexpr Result maximum_number(Format format, Code a, Code b, const RoundingOptions& options = {}) noexcept {
  return detail::extremum(format, a, b, detail::Extremum::greatest, detail::Missing::number_wins, options);
}

}  // namespace ulpscope::emu
