// SPDX-License-Identifier: Apache-2.0
// From codes to values. Every format's numbers are doubles, so a decoded value is exact.
#pragma once

#include <cstdint>

#include "emu/bits.hpp"
#include "emu/config.hpp"
#include "emu/format.hpp"

namespace ulpscope::emu {

/// The value of `code` in `format` (IEEE 754-2019, 3.4). Bits above format.bits() are ignored. NaN payloads are not kept.
ULPSCOPE_INLINE constexpr double decode(Format format, Code code) noexcept {
  const Code magnitude = code & format.magnitude_mask();
  const Code sign = (code & format.sign_mask()) != 0 ? std::uint64_t{1} << 63 : 0;

  // A double's exponent field stands above 52 fraction bits, ours above fraction_bits: align, then change the bias.
  const int shift = detail::Interchange<double>::fraction_bits - format.fraction_bits;
  const auto rebias = static_cast<std::uint64_t>(detail::Interchange<double>::bias - format.bias)
                      << detail::Interchange<double>::fraction_bits;
  const std::uint64_t normal = (magnitude << shift) + rebias;
  // Below the smallest normal a code counts multiples of the least spacing; the product is exact.
  const std::uint64_t subnormal = detail::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(magnitude)) *
                                                                  power_of_two(format.min_spacing_exponent()));

  const std::uint64_t infinity = std::uint64_t{0x7ff} << 52;
  std::uint64_t word = magnitude < format.implicit_bit_code() ? subnormal : normal;
  word = format.is_infinite(code) ? infinity : word;
  word |= sign;
  word = format.is_nan(code & format.code_mask()) ? infinity | std::uint64_t{1} << 51 : word;
  return detail::bit_cast<double>(word);
}

/// The code of an integer format as two's complement of as many bits: -0 becomes 0.
ULPSCOPE_HD constexpr Code twos_complement(Format format, Code code) noexcept {
  const Code magnitude = code & format.magnitude_mask();
  return (format.is_negative(code) ? ~magnitude + 1 : magnitude) & format.code_mask();
}

/// The largest finite value.
ULPSCOPE_HD constexpr double max_finite(Format format) noexcept { return decode(format, format.max_finite_code()); }
/// The smallest positive normal value.
ULPSCOPE_HD constexpr double min_normal(Format format) noexcept { return decode(format, format.min_normal_code()); }
/// The smallest positive subnormal value; the smallest normal where there are no subnormals.
ULPSCOPE_HD constexpr double min_positive(Format format) noexcept { return decode(format, format.has_zero() ? 1 : 0); }
/// Distance from 1 to the next larger number of the format's precision (C's FLT_EPSILON).
ULPSCOPE_HD constexpr double epsilon(Format format) noexcept { return power_of_two(-format.fraction_bits); }

/// log2 of the format's spacing at x: that of x's binade, no lower than the subnormal spacing, unbounded above.
/// x finite; zero counts as smallest.
ULPSCOPE_INLINE constexpr int spacing_exponent(Format format, double x) noexcept {
  const auto word = detail::bit_cast<std::uint64_t>(x);
  const int exponent = static_cast<int>(word >> 52 & 0x7ff) - 1023;  // a subnormal double lies below every min_exponent
  const int clamped = exponent > format.min_exponent() ? exponent : format.min_exponent();
  return clamped - format.fraction_bits;
}

}  // namespace ulpscope::emu
