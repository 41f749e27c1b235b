// SPDX-License-Identifier: Apache-2.0
// Numbers between operands and result: a normalised significand, an exponent without limits, and a last bit that is set when
// anything below it is not zero ("sticky", "jammed"; J. R. Hauser, Berkeley SoftFloat; rounding to odd, S. Boldo and
// G. Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Trans. Comput. 57 (2008)). An operation on numbers with
// few enough bits is exact apart from that bit, so that rounding its result once is rounding the exact result once.
#pragma once

#include <cstdint>

#include "emu/bits.hpp"
#include "emu/config.hpp"
#include "emu/format.hpp"

namespace ulpscope::emu::detail {

/// word / 2^count, the last bit set if a bit was lost. count >= 0.
template <class Word>
ULPSCOPE_INLINE constexpr Word shift_right_sticky(Word word, int count) noexcept {
  constexpr int most = static_cast<int>(8 * sizeof(Word)) - 1;
  if (count > most) return word != 0 ? Word{1} : Word{0};
  const Word shifted = word >> count;
  return shifted | ((shifted << count) != word ? Word{1} : Word{0});
}

/// A real number: |x| = significand * 2^(exponent - leading_bit), the significand's leading bit at leading_bit; or zero.
template <class W>
struct Real {
  using Word = W;
  static constexpr int width = static_cast<int>(8 * sizeof(Word));
  static constexpr int leading_bit = width - 3;  ///< one bit above for the carry of a sum, one for round_significand's
  static constexpr bool normal = true;
  static constexpr int exponent_of_zero = -(1 << 20);  ///< below that of any number

  Word significand = 0;
  int exponent = exponent_of_zero;
  bool negative = false;

  ULPSCOPE_HD static constexpr bool is_nan() noexcept { return false; }
  ULPSCOPE_HD static constexpr bool is_signaling_nan() noexcept { return false; }
  ULPSCOPE_HD static constexpr bool is_infinite() noexcept { return false; }
  ULPSCOPE_HD constexpr bool is_zero() const noexcept { return significand == 0; }

  /// significand * 2^(exponent - leading_bit), any significand.
  static ULPSCOPE_INLINE constexpr Real normalised(Word significand, int exponent, bool negative) noexcept {
    if (significand == 0) return {0, exponent_of_zero, negative};
    constexpr int spare = width - 1 - leading_bit;
    const int zeros = leading_zeros(significand);
    const Word full = significand << zeros;  // its leading bit on top; |SS below what is kept
    const Word sticky = (full & ((Word{1} << spare) - 1)) != 0 ? Word{1} : Word{0};
    return {full >> spare | sticky, exponent + spare - zeros, negative};
  }
  /// An integer. Beyond leading_bit + 1 bits the last one is sticky.
  ULPSCOPE_HD static constexpr Real integer(Word magnitude, bool negative) noexcept {
    return normalised(magnitude, leading_bit, negative);
  }
  /// value * 2^count
  ULPSCOPE_HD constexpr Real scaled(int count) const noexcept {
    return is_zero() ? *this : Real{significand, exponent + count, negative};
  }
  ULPSCOPE_HD constexpr Real with_sign(bool sign) const noexcept { return {significand, exponent, sign}; }
  ULPSCOPE_HD constexpr Real negated() const noexcept { return with_sign(!negative); }
  ULPSCOPE_HD constexpr Real magnitude() const noexcept { return with_sign(false); }
};

/// The number that a finite code stands for, exactly; precision at most leading_bit + 1.
template <class Word>
ULPSCOPE_INLINE constexpr Real<Word> real_of(Format format, Code code) noexcept {
  const Code magnitude = code & format.magnitude_mask();
  if (format.is_zero(code)) return {0, Real<Word>::exponent_of_zero, format.is_negative(code)};
  const bool subnormal = magnitude < format.implicit_bit_code();
  const Word fraction = static_cast<Word>(magnitude & format.fraction_mask());
  const Word significand = subnormal ? fraction : fraction | Word{1} << format.fraction_bits;
  const int exponent = subnormal ? format.min_exponent() : static_cast<int>(magnitude >> format.fraction_bits) - format.bias;
  return Real<Word>::normalised(significand, exponent + Real<Word>::leading_bit - format.fraction_bits,
                                format.is_negative(code));
}

/// -1, 0, 1: order of the magnitudes.
template <class Word>
ULPSCOPE_INLINE constexpr int compare_magnitudes(const Real<Word>& a, const Real<Word>& b) noexcept {
  const int exponents = static_cast<int>(a.exponent > b.exponent) - static_cast<int>(a.exponent < b.exponent);
  const int significands = static_cast<int>(a.significand > b.significand) - static_cast<int>(a.significand < b.significand);
  return exponents != 0 ? exponents : significands;
}

/// a + b. An exact zero of unlike operands is negative if `zero_is_negative` (IEEE 754-2019, 6.3: when rounding downward).
///
/// The smaller operand is shifted right; bits are lost to the sticky bit only if the shift is 2 or more, and then the sum keeps
/// its leading bit or the one below, so that the sticky bit never moves up by more than one place.
template <class Word>
ULPSCOPE_INLINE constexpr Real<Word> add(Real<Word> a, Real<Word> b, bool zero_is_negative = false) noexcept {
  if (a.is_zero() && b.is_zero()) {
    a.negative = a.negative == b.negative ? a.negative : zero_is_negative;
    return a;
  }
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  const bool swap = compare_magnitudes(a, b) < 0;  // selects, not branches: either is as likely
  const Word large = swap ? b.significand : a.significand, small = swap ? a.significand : b.significand;
  const int exponent = swap ? b.exponent : a.exponent, lower = swap ? a.exponent : b.exponent;
  const Word shifted = shift_right_sticky(small, exponent - lower);
  const Word sum = a.negative == b.negative ? large + shifted : large - shifted;
  return Real<Word>::normalised(sum, exponent, sum == 0 ? zero_is_negative : (swap ? b.negative : a.negative));
}

/// The product of two words as {high, low}.
struct Product {
  Word128 high, low;
};
ULPSCOPE_INLINE constexpr Product multiply_words(Word128 a, Word128 b) noexcept {
  constexpr Word128 mask = ~std::uint64_t{0};
  const Word128 al = a & mask, ah = a >> 64, bl = b & mask, bh = b >> 64;
  const Word128 ll = al * bl, lh = al * bh, hl = ah * bl;
  const Word128 middle = (ll >> 64) + (lh & mask) + (hl & mask);
  return {ah * bh + (lh >> 64) + (hl >> 64) + (middle >> 64), (middle << 64) | (ll & mask)};
}

/// a * b
template <class Word>
ULPSCOPE_INLINE constexpr Real<Word> multiply(const Real<Word>& a, const Real<Word>& b) noexcept {
  constexpr int lead = Real<Word>::leading_bit;
  const bool negative = a.negative != b.negative;
  if (a.is_zero() || b.is_zero()) return {0, Real<Word>::exponent_of_zero, negative};
  Word product = 0;  // in units of 2^-lead: lead + 1 or lead + 2 bits
  if constexpr (sizeof(Word) > 8) {
    const Product wide = multiply_words(a.significand, b.significand);
    product = wide.high << (128 - lead) | wide.low >> lead;
    product |= (wide.low << (128 - lead)) != 0 ? Word{1} : Word{0};
  } else {
    product = static_cast<Word>(shift_right_sticky(Word128{a.significand} * b.significand, lead));
  }
  return Real<Word>::normalised(product, a.exponent + b.exponent, negative);
}

// NOLINTBEGIN(clang-analyzer-core.DivideZero): significands of numbers that are not zero are not
/// a / b, b not zero.
template <class Word>
ULPSCOPE_INLINE constexpr Real<Word> divide(const Real<Word>& a, const Real<Word>& b) noexcept {
  constexpr int lead = Real<Word>::leading_bit;
  const bool negative = a.negative != b.negative;
  if (a.is_zero()) return {0, Real<Word>::exponent_of_zero, negative};
  Word quotient = 0, rest = 0;  // in units of 2^-lead
  if constexpr (sizeof(Word) == 8) {
    const Word128 dividend = Word128{a.significand} << lead;
    quotient = static_cast<Word>(dividend / b.significand);
    rest = static_cast<Word>(dividend % b.significand);
  } else if (static_cast<std::uint64_t>(b.significand) == 0) {  // a short divisor: two digits of 64 bits
    const Word divisor = b.significand >> 64;
    constexpr int high_shift = 128 - (lead - 64);  // the dividend a * 2^(lead - 64) as three digits
    const Word first = (a.significand >> high_shift) << 64 | static_cast<std::uint64_t>(a.significand >> (high_shift - 64));
    const Word second = first % divisor << 64 | static_cast<std::uint64_t>(a.significand << (lead - 64));
    quotient = first / divisor << 64 | second / divisor;
    rest = second % divisor;
  } else {
    rest = a.significand;
    for (int digit = lead; digit >= 0; --digit) {
      const bool one = rest >= b.significand;
      quotient = quotient << 1 | (one ? Word{1} : Word{0});
      rest = (one ? rest - b.significand : rest) << 1;
    }
  }
  return Real<Word>::normalised(quotient | (rest != 0 ? Word{1} : Word{0}), a.exponent - b.exponent, negative);
}
// NOLINTEND(clang-analyzer-core.DivideZero)

/// The square root of a, a not negative; `digits` of its significand, at most leading_bit, the last one sticky.
template <class Word>
ULPSCOPE_HD constexpr Real<Word> square_root(const Real<Word>& a, int digits = Real<Word>::leading_bit) noexcept {
  if (a.is_zero()) return a;
  // Digit by digit: root^2 + rest is the radicand so far, two of whose digits come down in each step. The radicand lies in
  // [1, 4), its point after the first two digits, so that the root has its point after the first.
  const bool odd = (a.exponent & 1) != 0;
  Word radicand = a.significand << (odd ? 2 : 1), root = 0, rest = 0;
  for (int digit = 0; digit < digits; ++digit) {
    rest = rest << 2 | radicand >> (Real<Word>::width - 2);
    radicand <<= 2;
    const Word trial = root << 2 | 1;
    const bool one = rest >= trial;
    rest = one ? rest - trial : rest;
    root = root << 1 | (one ? Word{1} : Word{0});
  }
  const Word sticky = rest != 0 || radicand != 0 ? Word{1} : Word{0};
  const int exponent = (a.exponent - (odd ? 1 : 0)) / 2;
  return Real<Word>::normalised(root << 1 | sticky, exponent + Real<Word>::leading_bit - digits, false);
}

/// a - n b with n the integer nearest a / b, ties to even (IEEE 754-2019, 5.3.1); b not zero. Exact. A zero has the sign of a.
template <class Word>
ULPSCOPE_HD constexpr Real<Word> remainder(const Real<Word>& a, const Real<Word>& b) noexcept {
  if (a.is_zero() || a.exponent < b.exponent - 1) return a;
  // |a| modulo |b| by shift and subtract, in units of b's last bit, or of one below it when a is in the binade below b's.
  const int steps = a.exponent - b.exponent;
  const int finer = steps < 0 ? 1 : 0;
  const Word divisor = b.significand << finer;
  Word rest = a.significand;
  bool odd = false;  // last bit of the quotient
  for (int step = 0; step <= steps; ++step) {
    odd = rest >= divisor;
    rest = odd ? rest - divisor : rest;
    if (step < steps) rest <<= 1;
  }
  const Word twice = rest << 1;
  const bool up = twice > divisor || (twice == divisor && odd);
  return Real<Word>::normalised(up ? divisor - rest : rest, b.exponent - finer, a.negative != up);
}

}  // namespace ulpscope::emu::detail
