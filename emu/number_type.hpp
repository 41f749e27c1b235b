// SPDX-License-Identifier: Apache-2.0
// A number of any format as a value with operators. Format, rounding direction and overflow policy are part of its type, so
// that an expression means the same wherever it stands. Include emu/number.hpp, which adds the functions and
// std::numeric_limits.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "emu/arithmetic.hpp"
#include "emu/catalogue.hpp"
#include "emu/comparison.hpp"
#include "emu/config.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/format.hpp"
#include "emu/integral.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

namespace detail {

/// The built-in types that convert to a Number and back; long double has constructors of its own.
template <class T>
concept Integral = std::is_integral_v<T> && sizeof(T) <= 8;
template <class T>
concept Arithmetic = Integral<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// The smallest unsigned integer of at least `bits` bits.
template <int bits>
using Storage = std::conditional_t<
    bits <= 8, std::uint8_t,
    std::conditional_t<bits <= 16, std::uint16_t, std::conditional_t<bits <= 32, std::uint32_t, std::uint64_t>>>;

/// Every number of `inner` is one of `outer`.
ULPSCOPE_HD constexpr bool holds(Format outer, Format inner) noexcept {
  return inner.precision() <= outer.precision() && inner.max_exponent() <= outer.max_exponent() &&
         inner.min_spacing_exponent() >= outer.min_spacing_exponent();
}

/// x rounded once. A long double is the exact sum of doubles (x87: two, binary128: three) and a power of two.
constexpr Code encode_long_double(Format format, long double x, const RoundingOptions& options) noexcept {
  constexpr long double infinity = std::numeric_limits<long double>::infinity();
  constexpr long double least_normal = std::numeric_limits<long double>::min();
  if (options.subnormals_are_zero && x < least_normal && x > -least_normal) x *= 0;
  if (x != x || x == infinity || x == -infinity || x == 0) return encode(format, static_cast<double>(x), options);
  int exponent = 0;
  for (; x >= 0x1p512L || x <= -0x1p512L; exponent += 512) x *= 0x1p-512L;
  for (; x < 0x1p-256L && x > -0x1p-256L; exponent -= 512) x *= 0x1p512L;
  Real<Word128> sum;
  while (x != 0) {
    const auto part = static_cast<double>(x);
    sum = add(sum, real_of<Word128>(float64, bit_cast<std::uint64_t>(part)));
    x -= static_cast<long double>(part);
  }
  return round_unpacked(format, sum.scaled(exponent), options, 0).code;
}

}  // namespace detail

/// One number of `F`. Every operation rounds its exact result once, as O says; exceptions are not recorded (emu::add and the
/// others return them). The built-in operand of a mixed operation or comparison is rounded to F first: it becomes a Number.
/// Like a built-in number it is indeterminate if declared without a value, as __shared__ arrays must be; Number{} has code 0.
template <Format F, RoundingOptions O = RoundingOptions{}>
class Number {
  static_assert(
      O.rounding != Rounding::stochastic,
      "stochastic rounding needs random bits for each operation: call emu::add(format, a, b, options, random) and the "
      "others on codes instead of the operators of Number");

 public:
  /// What holds a code: the least unsigned integer that does.
  using Bits = detail::Storage<F.bits()>;
  /// The format of every value of this type.
  ULPSCOPE_HD static constexpr Format format() noexcept { return F; }
  /// How every operation rounds.
  ULPSCOPE_HD static constexpr RoundingOptions options() noexcept { return O; }

  Number() = default;

  /// The number with this code; bits above the format's are ignored.
  ULPSCOPE_HD static constexpr Number from_code(Code code) noexcept {
    Number out{};
    out.code_ = static_cast<Bits>(code & F.code_mask());
    return out;
  }
  /// Its code.
  ULPSCOPE_HD constexpr Bits code() const noexcept { return code_; }

  /// x rounded once, integers too.
  template <detail::Arithmetic T>
  ULPSCOPE_HD constexpr Number(T x) noexcept : code_(static_cast<Bits>(code_of(x))) {}
  constexpr Number(long double x) noexcept : code_(static_cast<Bits>(detail::encode_long_double(F, x, O))) {}

  /// A number of another format or with other options, rounded once.
  template <Format G, RoundingOptions P>
  ULPSCOPE_HD explicit constexpr Number(Number<G, P> x) noexcept : code_(static_cast<Bits>(convert(G, x.code(), F, O).code)) {}

  /// To double, exactly.
  ULPSCOPE_HD explicit constexpr operator double() const noexcept { return decode(F, code_); }
  explicit constexpr operator long double() const noexcept { return decode(F, code_); }
  /// To the nearest float, ties to even.
  ULPSCOPE_HD explicit constexpr operator float() const noexcept {
    return static_cast<float>(detail::holds(float32, F) ? decode(F, code_) : convert(F, code_, float32).value);
  }
  /// Toward zero; beyond the integers the nearest one, NaN to 0 (emu::to_integer). bool: whether it is not zero.
  template <detail::Integral T>
  ULPSCOPE_HD explicit constexpr operator T() const noexcept {
    if constexpr (std::is_same_v<T, bool>) {
      return !F.is_zero(detail::operand(F, code_, O));
    } else {
      return to_integer<T>(F, code_, {.rounding = Rounding::toward_zero}).value;
    }
  }

  /// x as it is.
  ULPSCOPE_HD friend constexpr Number operator+(Number x) noexcept { return x; }
  /// Flips the sign bit, of NaNs too. A zero without sign stays; what has no negative becomes NaN.
  ULPSCOPE_HD friend constexpr Number operator-(Number x) noexcept {
    const bool one_sign = F.negative_zero_is_nan() && (x.code_ & F.magnitude_mask()) == 0;
    if (!F.is_signed()) return F.is_zero(x.code_) ? x : from_code(F.nan_code());
    return one_sign ? x : from_code(x.code_ ^ F.sign_mask());
  }

  /// The exact result, rounded once.
  ///@{
  ULPSCOPE_HD friend constexpr Number operator+(Number a, Number b) noexcept {
    return from_code(add(F, a.code_, b.code_, O).code);
  }
  ULPSCOPE_HD friend constexpr Number operator-(Number a, Number b) noexcept {
    return from_code(sub(F, a.code_, b.code_, O).code);
  }
  ULPSCOPE_HD friend constexpr Number operator*(Number a, Number b) noexcept {
    return from_code(mul(F, a.code_, b.code_, O).code);
  }
  ULPSCOPE_HD friend constexpr Number operator/(Number a, Number b) noexcept {
    return from_code(div(F, a.code_, b.code_, O).code);
  }
  ULPSCOPE_HD constexpr Number& operator+=(Number b) noexcept { return *this = *this + b; }
  ULPSCOPE_HD constexpr Number& operator-=(Number b) noexcept { return *this = *this - b; }
  ULPSCOPE_HD constexpr Number& operator*=(Number b) noexcept { return *this = *this * b; }
  ULPSCOPE_HD constexpr Number& operator/=(Number b) noexcept { return *this = *this / b; }
  ///@}

  /// -0 equals +0; a NaN is unordered with everything. Four relations stand beside <=>, as std::partial_ordering has no device
  /// code.
  ///@{
  ULPSCOPE_HD friend constexpr bool operator==(Number a, Number b) noexcept { return order(a, b) == Order::equal; }
  ULPSCOPE_HD friend constexpr bool operator<(Number a, Number b) noexcept { return order(a, b) == Order::less; }
  ULPSCOPE_HD friend constexpr bool operator>(Number a, Number b) noexcept { return order(a, b) == Order::greater; }
  ULPSCOPE_HD friend constexpr bool operator<=(Number a, Number b) noexcept { return a < b || a == b; }
  ULPSCOPE_HD friend constexpr bool operator>=(Number a, Number b) noexcept { return a > b || a == b; }
  friend constexpr std::partial_ordering operator<=>(Number a, Number b) noexcept {
    switch (order(a, b)) {
      case Order::less: return std::partial_ordering::less;
      case Order::equal: return std::partial_ordering::equivalent;
      case Order::greater: return std::partial_ordering::greater;
      default: return std::partial_ordering::unordered;
    }
  }
  ///@}

 private:
  template <class T>
  ULPSCOPE_HD static constexpr Code code_of(T x) noexcept {
    if constexpr (std::is_same_v<T, bool>) {
      return from_integer(F, static_cast<int>(x), O).code;
    } else if constexpr (std::is_integral_v<T>) {
      return from_integer(F, x, O).code;
    } else {
      return encode(F, x, O);
    }
  }
  ULPSCOPE_HD static constexpr Order order(Number a, Number b) noexcept { return compare_quiet(F, a.code_, b.code_, O).order; }

  Bits code_;
};

}  // namespace ulpscope::emu

/// Equal numbers have equal hashes: both zeros, and what O takes for zero.
template <ulpscope::emu::Format F, ulpscope::emu::RoundingOptions O>
struct std::hash<ulpscope::emu::Number<F, O>> {
  constexpr std::size_t operator()(ulpscope::emu::Number<F, O> x) const noexcept {
    const ulpscope::emu::Code code = ulpscope::emu::detail::operand(F, x.code(), O);
    return static_cast<std::size_t>(F.is_zero(code) ? ulpscope::emu::Code{0} : code);
  }
};
