// SPDX-License-Identifier: Apache-2.0
// Sums of numbers and of products without any rounding, in a fixed-point accumulator as long as the range of doubles and their
// products (U. Kulisch, "Computer Arithmetic and Validity", 2nd ed., chapter 8); rounded once at the end, to any format.
// Zero signs, infinities and NaNs: docs/numerics.md, "Sums and products of many terms".
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>

#include "emu/arithmetic.hpp"
#include "emu/bits.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/format.hpp"
#include "emu/real.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// The exact sum of everything added so far. Neither order nor grouping matters: accumulators of parts may be added up.
///
///   digit 132 |  131  | ... |   1   |   0        each an int64 in units of 2^(32 i - 2148); 2^-2148 is the least product
///    carries  | 32 bits                 32 bits   of two doubles, and 2^2048 lies above the greatest
///
/// A term adds less than 2^32 to a digit, so that carries can wait for 2^30 terms. Digit 132 is never carried out of: it holds
/// the sums of 2^90 of the greatest products.
class ExactSum {
 public:
  static constexpr int least_exponent = 2 * float64.min_spacing_exponent();  ///< of a product's last bit: -2148
  static constexpr int beyond_exponent = 2 * (float64.max_exponent() + 1);   ///< products are below 2^2048
  static constexpr int beyond_scale = beyond_exponent - 4;                   ///< of integers that are added

  /// Adds x, exactly.
  constexpr void add(double x) noexcept { add_value(x, false); }
  /// Subtracts x, exactly.
  constexpr void subtract(double x) noexcept { add_value(x, true); }
  constexpr void add(float x) noexcept { add_value(detail::widen(x), false); }
  constexpr void subtract(float x) noexcept { add_value(detail::widen(x), true); }
  /// Adds the number with this code.
  constexpr void add(Format format, Code code) noexcept { add_value(double_of(format, code), false); }
  /// Subtracts the number with this code.
  constexpr void subtract(Format format, Code code) noexcept { add_value(double_of(format, code), true); }

  /// Adds a * b, exactly.
  constexpr void add_product(double a, double b) noexcept { add_value_product(a, b, false); }
  /// Subtracts a * b, exactly.
  constexpr void subtract_product(double a, double b) noexcept { add_value_product(a, b, true); }
  constexpr void add_product(float a, float b) noexcept { add_value_product(detail::widen(a), detail::widen(b), false); }
  constexpr void subtract_product(float a, float b) noexcept { add_value_product(detail::widen(a), detail::widen(b), true); }
  /// Adds the product of the numbers with these codes.
  constexpr void add_product(Format a_format, Code a, Format b_format, Code b) noexcept {
    add_value_product(double_of(a_format, a), double_of(b_format, b), false);
  }
  /// Subtracts the product of the numbers with these codes.
  constexpr void subtract_product(Format a_format, Code a, Format b_format, Code b) noexcept {
    add_value_product(double_of(a_format, a), double_of(b_format, b), true);
  }

  /// integer * 2^exponent, integer not zero, least_exponent <= exponent < beyond_scale.
  constexpr void add_scaled(std::int64_t integer, int exponent) noexcept {
    const bool negative = integer < 0;
    const auto word = static_cast<std::uint64_t>(integer);
    seen_ |= nonzero;
    add_bits<3>(negative ? 0 - word : word, exponent, negative);
  }

  /// What `other` has summed.
  constexpr void add(const ExactSum& other) noexcept { merge(other, false); }
  /// Subtracts what `other` has summed.
  constexpr void subtract(const ExactSum& other) noexcept { merge(other, true); }

  /// The sum, rounded once. A zero is negative if all terms were -0, or when rounding downward if not all were +0.
  /// `options.subnormals_are_zero` concerns operands, of which a finished sum has none.
  constexpr Rounded rounded(Format format, const RoundingOptions& options = {}, std::uint32_t random = 0) const noexcept {
    constexpr double infinity = __builtin_huge_val();
    RoundingOptions result_options = options;
    result_options.subnormals_are_zero = false;
    if (is_nan()) {
      Rounded result = detail::round_host(format, __builtin_nan(""), result_options, random);
      if (is_invalid()) result.flags = invalid;
      return result;
    }
    if (is_infinite()) {
      return detail::round_host(format, (seen_ & minus_infinity) != 0 ? -infinity : infinity, result_options, random);
    }
    return detail::round_unpacked(format, real(detail::zero_is_negative(options)), result_options, random);
  }

  /// The nearest double, ties to even.
  constexpr double value() const noexcept { return rounded(float64).value; }

  /// Whether a NaN was added, or infinities of both signs.
  constexpr bool is_nan() const noexcept { return (seen_ & nan) != 0 || opposed_infinities(); }
  /// Whether infinities of one sign were added, and no NaN.
  constexpr bool is_infinite() const noexcept { return !is_nan() && (seen_ & (plus_infinity | minus_infinity)) != 0; }
  /// Whether neither a NaN nor an infinity was added.
  constexpr bool is_finite() const noexcept { return (seen_ & (nan | plus_infinity | minus_infinity)) == 0; }
  /// Finite and exactly zero.
  constexpr bool is_zero() const noexcept { return is_finite() && real(false).is_zero(); }
  /// Whether the terms signal an invalid operation: a signaling NaN, 0 * inf, or without any NaN infinities of both signs.
  constexpr bool is_invalid() const noexcept { return (seen_ & signaled) != 0 || ((seen_ & nan) == 0 && opposed_infinities()); }

 private:
  using Wide = detail::Word128;
  static constexpr int digit_bits = 32;
  static constexpr int digit_count = (beyond_exponent - least_exponent) / digit_bits + 2;
  static_assert(beyond_scale == least_exponent + (digit_count - 2) * digit_bits);  // three digits are left
  static constexpr std::int64_t digit_mask = (std::int64_t{1} << digit_bits) - 1;
  static constexpr std::uint32_t most_pending = std::uint32_t{1} << 30;

  /// What kinds of terms there were.
  enum Seen : unsigned {
    plus_zero = 1,
    minus_zero = 2,
    nonzero = 4,
    plus_infinity = 8,
    minus_infinity = 16,
    nan = 32,
    signaled = 64,
  };

  constexpr bool opposed_infinities() const noexcept { return (seen_ & plus_infinity) != 0 && (seen_ & minus_infinity) != 0; }

  /// The code's value; a signaling NaN stays one.
  static constexpr double double_of(Format format, Code code) noexcept {
    return format.is_signaling_nan(code & format.code_mask()) ? __builtin_nans("") : decode(format, code);
  }

  using Double = detail::Unpacked<double>;
  static constexpr std::uint64_t significand(const Double& x) noexcept { return x.significand >> detail::spare_bits; }
  static constexpr int last_exponent(const Double& x) noexcept {
    return x.exponent - detail::Interchange<double>::fraction_bits;
  }

  constexpr void touched(int first, int end) noexcept {
    first_ = first < first_ ? first : first_;
    end_ = end > end_ ? end : end_;
    if (++pending_ == most_pending) carry();
  }

  /// magnitude * 2^exponent, in `count` digits: 32 count >= 31 + the bits of magnitude.
  template <int count>
  ULPSCOPE_INLINE constexpr void add_bits(Wide magnitude, int exponent, bool negative) noexcept {
    const auto position = static_cast<unsigned>(exponent - least_exponent);
    const int first = static_cast<int>(position / digit_bits), shift = static_cast<int>(position % digit_bits);
    const std::int64_t sign = negative ? -1 : 0;
    for (int i = 0; i < count; ++i) {
      // The first digit takes the low 32 - shift bits, moved up; all others 32 bits each.
      const auto digit = static_cast<std::int64_t>(i == 0 ? (magnitude << shift) : magnitude) & digit_mask;
      magnitude >>= i == 0 ? digit_bits - shift : digit_bits;
      digits_[first + i] += (digit ^ sign) - sign;
    }
    touched(first, first + count);
  }

  constexpr void add_value(double value, bool subtracted) noexcept {
    const Double x(value, false);
    const bool negative = x.negative != subtracted;
    if (x.magnitude >= Double::infinity) {
      seen_ |= x.is_nan() ? (x.is_signaling_nan() ? nan | signaled : nan) : (negative ? minus_infinity : plus_infinity);
      return;
    }
    const bool zero = x.is_zero();
    seen_ |= zero ? (negative ? minus_zero : plus_zero) : nonzero;
    if (!zero) add_bits<3>(significand(x), last_exponent(x), negative);
  }

  constexpr void add_value_product(double a, double b, bool subtracted) noexcept {
    const Double x(a, false), y(b, false);
    const bool negative = (x.negative != y.negative) != subtracted;
    if (x.magnitude >= Double::infinity || y.magnitude >= Double::infinity) {
      if (x.is_signaling_nan() || y.is_signaling_nan() || (x.is_infinite() && y.is_zero()) || (x.is_zero() && y.is_infinite()))
        seen_ |= nan | signaled;
      else
        seen_ |= x.is_nan() || y.is_nan() ? nan : (negative ? minus_infinity : plus_infinity);
      return;
    }
    const bool zero = x.is_zero() || y.is_zero();
    seen_ |= zero ? (negative ? minus_zero : plus_zero) : nonzero;
    if (!zero) add_bits<5>(Wide{significand(x)} * significand(y), last_exponent(x) + last_exponent(y), negative);
  }

  /// Brings all digits but the uppermost in use into 0 .. 2^32 - 1; the carry out of that one opens a new one.
  constexpr void carry() noexcept {
    pending_ = 0;
    if (first_ >= end_) return;
    if (end_ < digit_count) ++end_;
    for (int i = first_; i + 1 < end_; ++i) {
      digits_[i + 1] += digits_[i] >> digit_bits;
      digits_[i] &= digit_mask;
    }
  }

  constexpr void merge(const ExactSum& other, bool subtracted) noexcept {
    ExactSum part = other;  // of its own, also when it is *this
    part.carry();
    carry();
    for (int i = part.first_; i < part.end_; ++i) digits_[i] += subtracted ? -part.digits_[i] : part.digits_[i];
    if (part.first_ < part.end_) touched(part.first_, part.end_);
    seen_ |= subtracted ? negated(part.seen_) : part.seen_;
  }

  static constexpr unsigned negated(unsigned seen) noexcept {
    const unsigned plus = plus_zero | plus_infinity, minus = minus_zero | minus_infinity;  // neighbouring bits
    return (seen & ~(plus | minus)) | (seen & plus) << 1 | (seen & minus) >> 1;
  }

  /// The finite sum: 97 or more of its leading bits, the last one sticky. That is more than a double's 53 and the 33 that
  /// stochastic rounding looks at.
  constexpr detail::Real<Wide> real(bool cancelled_is_negative) const noexcept {
    using Real = detail::Real<Wide>;
    std::int64_t digits[digit_count + 2] = {};
    std::int64_t carried = 0;
    for (int i = first_; i < end_; ++i) {
      const std::int64_t digit = digits_[i] + carried;
      digits[i] = digit & digit_mask;
      carried = digit >> digit_bits;
    }
    const bool negative = carried < 0;
    if (negative) {  // two's complement of all digits
      std::int64_t borrowed = 0;
      for (int i = first_; i < end_; ++i) {
        const std::int64_t digit = borrowed - digits[i];
        digits[i] = digit & digit_mask;
        borrowed = digit >> digit_bits;
      }
      carried = borrowed - carried;
    }
    int top = first_ < end_ ? end_ : 0;
    digits[top] = carried;  // below 2^32: a digit is below 2^63
    while (top > first_ && digits[top] == 0) --top;
    if (digits[top] == 0) {
      const bool all_minus = seen_ == minus_zero, all_plus = (seen_ & ~unsigned{plus_zero}) == 0;
      return {0, Real::exponent_of_zero, all_minus || (!all_plus && cancelled_is_negative)};
    }
    Wide word = 0;
    for (int i = top; i > top - 4; --i) word = word << digit_bits | static_cast<Wide>(i >= first_ ? digits[i] : 0);
    std::int64_t rest = 0;
    for (int i = first_; i <= top - 4; ++i) rest |= digits[i];
    const int exponent = (top - 3) * digit_bits + least_exponent;
    return Real::normalised(word | (rest != 0 ? Wide{1} : Wide{0}), exponent + Real::leading_bit, negative);
  }

  std::int64_t digits_[digit_count] = {};
  int first_ = digit_count;  ///< digits outside [first_, end_) are zero
  int end_ = 0;
  std::uint32_t pending_ = 0;  ///< terms since the last carry
  unsigned seen_ = 0;
};

namespace detail {

/// A contiguous range of codes: std::uint8_t, 16, 32 or 64.
template <class Range>
concept CodeRange = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                    std::unsigned_integral<std::ranges::range_value_t<Range>>;

/// An input as `subnormals_are_zero` leaves it.
template <class Float>
constexpr Float input(Float x, const RoundingOptions& options) noexcept {
  const Unpacked<Float> in(x, false);
  return options.subnormals_are_zero && !in.normal ? (in.negative ? -Float{0} : Float{0}) : x;
}

template <class Float>
constexpr Rounded exact_sum_of(std::span<const Float> terms, Format to, const RoundingOptions& options,
                               std::uint32_t random) noexcept {
  ExactSum sum;
  for (const Float x : terms) sum.add(input(x, options));
  return sum.rounded(to, options, random);
}

template <class Float>
constexpr Rounded exact_dot_of(std::span<const Float> a, std::span<const Float> b, Format to, const RoundingOptions& options,
                               std::uint32_t random) noexcept {
  ExactSum sum;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) sum.add_product(input(a[i], options), input(b[i], options));
  return sum.rounded(to, options, random);
}

}  // namespace detail

/// The sum of all terms, rounded once to `to`. `subnormals_are_zero` is obeyed for the terms, in their own format.
constexpr Rounded exact_sum(std::span<const double> terms, Format to, const RoundingOptions& options = {},
                            std::uint32_t random = 0) noexcept {
  return detail::exact_sum_of(terms, to, options, random);
}
constexpr Rounded exact_sum(std::span<const float> terms, Format to, const RoundingOptions& options = {},
                            std::uint32_t random = 0) noexcept {
  return detail::exact_sum_of(terms, to, options, random);
}
template <detail::CodeRange Codes>
constexpr Rounded exact_sum(Format from, const Codes& codes, Format to, const RoundingOptions& options = {},
                            std::uint32_t random = 0) noexcept {
  ExactSum sum;
  for (const Code code : codes) sum.add(from, detail::operand(from, code, options));
  return sum.rounded(to, options, random);
}

/// The sum of a[i] * b[i], rounded once to `to`; as many terms as the shorter span has.
constexpr Rounded exact_dot(std::span<const double> a, std::span<const double> b, Format to,
                            const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::exact_dot_of(a, b, to, options, random);
}
constexpr Rounded exact_dot(std::span<const float> a, std::span<const float> b, Format to, const RoundingOptions& options = {},
                            std::uint32_t random = 0) noexcept {
  return detail::exact_dot_of(a, b, to, options, random);
}
template <detail::CodeRange CodesA, detail::CodeRange CodesB>
constexpr Rounded exact_dot(Format a_format, const CodesA& a, Format b_format, const CodesB& b, Format to,
                            const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  ExactSum sum;
  const std::span<const std::ranges::range_value_t<CodesA>> left(a);
  const std::span<const std::ranges::range_value_t<CodesB>> right(b);
  for (std::size_t i = 0; i < left.size() && i < right.size(); ++i)
    sum.add_product(a_format, detail::operand(a_format, left[i], options), b_format,
                    detail::operand(b_format, right[i], options));
  return sum.rounded(to, options, random);
}

}  // namespace ulpscope::emu
