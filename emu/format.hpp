// SPDX-License-Identifier: Apache-2.0
// What a floating-point format is: four numbers, from which every other fact is computed.
// IEEE 754-2019 clause 3; OCP 8-bit Floating Point (OFP8) 1.0; OCP Microscaling Formats (MX) 1.0; the ml_dtypes README; the
// Interim Report of IEEE working group P3109, 4.0.
#pragma once

#include <cstdint>

#include "emu/bits.hpp"
#include "emu/config.hpp"

namespace ulpscope::emu {

/// A bit pattern of any format, right-aligned.
using Code = std::uint64_t;

/// Which codes are not finite numbers.
enum class Specials : std::uint8_t {
  ieee,    ///< exponent all ones: infinity (fraction zero) and NaNs. Without fraction bits: infinity only.
  fn,      ///< no infinity; the code of all ones is NaN, one per sign
  fnuz,    ///< no infinity, no -0: the code of -0 is the one NaN (P3109: signed, finite)
  finite,  ///< every code is a number
  fnu,     ///< unsigned, no zero, exponent field zero is an ordinary exponent; the code of all ones is NaN (e8m0)
  se,      ///< P3109, signed, extended: the largest magnitude is infinity; no -0: the code of -0 is the one NaN
  ue,      ///< P3109, unsigned, extended: the code of all ones is NaN, the one before it infinity
  uf,      ///< P3109, unsigned, finite: the code of all ones is NaN
};

/// A binary floating-point format. A value that may be a template argument; all members are constexpr.
struct Format {
  int exponent_bits;  ///< 1..11; 1: integers, see is_integer(), and formats of P3109
  int fraction_bits;  ///< 0..52, the implicit bit not counted
  int bias;           ///< exponent = exponent field - bias, for normal numbers
  Specials specials;  ///< which codes are NaN, infinite, or zero

  friend constexpr bool operator==(const Format&, const Format&) = default;

  /// Whether codes carry a sign bit.
  ULPSCOPE_INLINE constexpr bool is_signed() const noexcept {
    return specials != Specials::fnu && specials != Specials::ue && specials != Specials::uf;
  }
  /// Whether zero (and with it the subnormal range) exists.
  ULPSCOPE_INLINE constexpr bool has_zero() const noexcept { return specials != Specials::fnu; }
  /// Whether NaN has the code that -0 would have.
  ULPSCOPE_INLINE constexpr bool negative_zero_is_nan() const noexcept {
    return specials == Specials::fnuz || specials == Specials::se;
  }
  /// Whether -0 has a code of its own.
  ULPSCOPE_INLINE constexpr bool has_negative_zero() const noexcept { return is_signed() && !negative_zero_is_nan(); }
  /// Whether infinities have codes.
  ULPSCOPE_INLINE constexpr bool has_infinity() const noexcept {
    return specials == Specials::ieee || specials == Specials::se || specials == Specials::ue;
  }
  /// Whether some code is a NaN.
  ULPSCOPE_INLINE constexpr bool has_nan() const noexcept {
    return specials != Specials::finite && (specials != Specials::ieee || fraction_bits > 0);
  }
  /// Whether the numbers are equally spaced, as integers are: with one exponent bit the subnormal numbers and the one binade of
  /// normal numbers have the same spacing (Kuzmin et al., arXiv 2208.09225, section 2). None counts as subnormal.
  ULPSCOPE_INLINE constexpr bool is_integer() const noexcept { return exponent_bits == 1 && specials == Specials::finite; }
  /// Whether a significand is even where its code is (P3109, Interim Report 4.0, 4.7.4), which matters without fraction bits:
  /// all significands are 1 then. In the other formats none of these is even (IEEE 754-2019, 4.3.1).
  ULPSCOPE_INLINE constexpr bool has_even_codes() const noexcept {
    return fraction_bits > 0 || negative_zero_is_nan() || (has_zero() && !is_signed());
  }
  /// Width of a code.
  ULPSCOPE_INLINE constexpr int bits() const noexcept { return (is_signed() ? 1 : 0) + exponent_bits + fraction_bits; }
  /// Number of significand bits, the implicit bit included (IEEE 754's p).
  ULPSCOPE_INLINE constexpr int precision() const noexcept { return fraction_bits + 1; }

  /// Exponent and fraction fields.
  ULPSCOPE_INLINE constexpr Code magnitude_mask() const noexcept { return (Code{1} << (exponent_bits + fraction_bits)) - 1; }
  /// The sign bit; 0 where there is none.
  ULPSCOPE_INLINE constexpr Code sign_mask() const noexcept { return is_signed() ? magnitude_mask() + 1 : 0; }
  /// The fraction field.
  ULPSCOPE_INLINE constexpr Code fraction_mask() const noexcept { return (Code{1} << fraction_bits) - 1; }
  /// Every bit that a code may have.
  ULPSCOPE_INLINE constexpr Code code_mask() const noexcept { return magnitude_mask() | sign_mask(); }

  /// Positive infinity; only where has_infinity().
  ULPSCOPE_INLINE constexpr Code infinity_code() const noexcept {
    switch (specials) {
      case Specials::se: return magnitude_mask();
      case Specials::ue: return magnitude_mask() - 1;
      default: return magnitude_mask() ^ fraction_mask();
    }
  }
  /// The canonical NaN, positive with all bits one (fnuz, se: the code of -0); only where has_nan().
  ULPSCOPE_INLINE constexpr Code nan_code() const noexcept { return negative_zero_is_nan() ? sign_mask() : magnitude_mask(); }
  /// The largest finite number.
  ULPSCOPE_INLINE constexpr Code max_finite_code() const noexcept {
    switch (specials) {
      case Specials::ieee:
      case Specials::se:
      case Specials::ue: return infinity_code() - 1;
      case Specials::fn:
      case Specials::fnu:
      case Specials::uf: return magnitude_mask() - 1;
      default: return magnitude_mask();
    }
  }
  /// The first code with an implicit bit; those below, where there are any, count multiples of the least spacing.
  ULPSCOPE_INLINE constexpr Code implicit_bit_code() const noexcept { return has_zero() ? Code{1} << fraction_bits : 0; }
  /// The smallest positive normal number.
  ULPSCOPE_INLINE constexpr Code min_normal_code() const noexcept { return is_integer() ? 1 : implicit_bit_code(); }

  /// Exponent of the smallest normal number (IEEE 754's emin).
  ULPSCOPE_INLINE constexpr int min_exponent() const noexcept { return (has_zero() ? 1 : 0) - bias; }
  /// Exponent of the largest finite number (emax).
  ULPSCOPE_INLINE constexpr int max_exponent() const noexcept {
    const int field = static_cast<int>(max_finite_code() >> fraction_bits);
    return field - bias;
  }
  /// log2 of the spacing of subnormal numbers, which is the spacing nearest zero.
  ULPSCOPE_INLINE constexpr int min_spacing_exponent() const noexcept { return min_exponent() - fraction_bits; }
  /// Whether subnormal numbers exist.
  ULPSCOPE_INLINE constexpr bool has_subnormals() const noexcept { return has_zero() && fraction_bits > 0 && !is_integer(); }

  /// Whether the code is a NaN.
  ULPSCOPE_INLINE constexpr bool is_nan(Code code) const noexcept {
    switch (specials) {
      case Specials::ieee: return (code & magnitude_mask()) > infinity_code();
      case Specials::fn:
      case Specials::fnu:
      case Specials::ue:
      case Specials::uf: return (code & magnitude_mask()) == magnitude_mask();
      case Specials::fnuz:
      case Specials::se: return code == sign_mask();
      default: return false;
    }
  }
  /// A NaN whose first fraction bit is clear (IEEE 754-2019, 6.2.1). The formats with one NaN have only a quiet one.
  ULPSCOPE_INLINE constexpr bool is_signaling_nan(Code code) const noexcept {
    return specials == Specials::ieee && is_nan(code) && ((code >> (fraction_bits - 1)) & 1) == 0;
  }
  /// Whether the code is an infinity of either sign.
  ULPSCOPE_INLINE constexpr bool is_infinite(Code code) const noexcept {
    return has_infinity() && (code & magnitude_mask()) == infinity_code();
  }
  /// Whether the code is a zero of either sign.
  ULPSCOPE_INLINE constexpr bool is_zero(Code code) const noexcept {
    return has_zero() && (code & magnitude_mask()) == 0 && !is_nan(code);
  }
  /// Whether the code is a subnormal number.
  ULPSCOPE_INLINE constexpr bool is_subnormal(Code code) const noexcept {
    return has_zero() && (code & magnitude_mask()) != 0 && (code & magnitude_mask()) < min_normal_code();
  }
  /// Whether the sign bit is set, of NaN and zero too.
  ULPSCOPE_INLINE constexpr bool is_negative(Code code) const noexcept { return (code & sign_mask()) != 0; }
};

/// Largest bias of a custom format: with it min_normal is the least normal double, so that every value is a double.
inline constexpr int max_custom_bias = detail::Interchange<double>::bias;

}  // namespace ulpscope::emu
