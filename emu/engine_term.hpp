// SPDX-License-Identifier: Apache-2.0
// Numbers as a matrix engine sees them: not normalised, judged by an exponent of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "emu/bits.hpp"
#include "emu/config.hpp"
#include "emu/format.hpp"
#include "emu/real.hpp"

namespace ulpscope::emu::detail {

/// An operand, a product or a sum: |x| = significand * 2^last, and the exponent by which an alignment judges it. That is the
/// sum of the operands' exponents for a product, whose significand may reach 4, and the greatest one for a sum, which may be
/// anything.
struct EngineTerm {
  enum Kind : std::uint8_t { number, infinite, nan };
  static constexpr int exponent_of_zero = -(1 << 20);

  Kind kind = number;
  bool negative = false;
  bool signaling = false;  ///< of a NaN, as it came in
  bool of_second = false;  ///< of a NaN product: the second factor's
  Word128 significand = 0;
  int last = 0;
  int exponent = exponent_of_zero;
  std::uint64_t payload = 0;  ///< of a NaN: its fraction, quieted, the first bit on top; 0 where no operand was a NaN

  ULPSCOPE_HD bool is_zero() const noexcept { return kind == number && significand == 0; }
};

ULPSCOPE_HD inline EngineTerm term_of(Format format, Code code) {
  EngineTerm term;
  term.negative = format.is_negative(code);
  if (format.is_nan(code)) {
    constexpr std::uint64_t quiet = std::uint64_t{1} << 63;
    term.kind = EngineTerm::nan;
    term.signaling = (code << 1 & (format.fraction_mask() + 1)) == 0;
    term.payload = quiet | static_cast<std::uint64_t>((Word128{code & format.fraction_mask()} << 64) >> format.fraction_bits);
  } else if (format.is_infinite(code)) {
    term.kind = EngineTerm::infinite;
  } else if (!format.is_zero(code)) {
    const Code magnitude = code & format.magnitude_mask();
    const bool subnormal = magnitude < format.implicit_bit_code();
    const Code implicit = Code{1} << format.fraction_bits;
    term.significand = (magnitude & format.fraction_mask()) | (subnormal ? 0 : implicit);
    term.exponent = subnormal ? format.min_exponent() : static_cast<int>(magnitude >> format.fraction_bits) - format.bias;
    term.last = term.exponent - format.fraction_bits;
  }
  return term;
}

ULPSCOPE_HD inline EngineTerm multiply(const EngineTerm& x, const EngineTerm& y) {
  EngineTerm product;
  product.negative = x.negative != y.negative;
  const bool zero = x.is_zero() || y.is_zero();
  if (x.kind == EngineTerm::nan || y.kind == EngineTerm::nan) return x.kind == EngineTerm::nan ? x : y;
  if (zero && (x.kind == EngineTerm::infinite || y.kind == EngineTerm::infinite)) {
    product.kind = EngineTerm::nan;
  } else if (x.kind == EngineTerm::infinite || y.kind == EngineTerm::infinite) {
    product.kind = EngineTerm::infinite;
  } else if (!zero) {
    product.significand = x.significand * y.significand;
    product.last = x.last + y.last;
    product.exponent = x.exponent + y.exponent;
  }
  return product;
}

/// The sum of terms where some are infinite or NaN; nothing where all are finite. Of several NaN operands the last.
ULPSCOPE_HD inline std::optional<EngineTerm> special_sum(std::span<const EngineTerm> terms) {
  std::optional<EngineTerm> special;
  for (const EngineTerm& term : terms) {
    if (term.kind == EngineTerm::number) continue;
    const bool was_nan = special && special->kind == EngineTerm::nan;
    if (term.kind == EngineTerm::nan) {
      if (!was_nan || term.payload != 0) special = term;
    } else if (!was_nan) {
      const bool opposed = special && special->negative != term.negative;
      special = opposed ? EngineTerm{EngineTerm::nan} : term;
    }
  }
  return special;
}

/// A real number as the emulator's rounding takes it.
ULPSCOPE_HD inline Real<Word128> real_of(const EngineTerm& term) {
  using Real = Real<Word128>;
  return term.significand == 0 ? Real{0, Real::exponent_of_zero, term.negative}
                               : Real::normalised(term.significand, term.last + Real::leading_bit, term.negative);
}

/// significand * 2^count, cut to an integer.
ULPSCOPE_HD inline Word128 shifted(Word128 significand, int count, bool away) {
  if (significand == 0) return 0;  // count may be anything then
  if (count >= 0) return significand << count;
  if (count <= -128) return away ? 1 : 0;
  const Word128 kept = significand >> -count;
  return kept + (away && (kept << -count) != significand ? 1 : 0);
}

}  // namespace ulpscope::emu::detail
