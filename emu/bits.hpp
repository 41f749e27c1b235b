// SPDX-License-Identifier: Apache-2.0
// The binary interchange encodings of float and double (IEEE 754-2019, 3.4), seen as integers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "emu/config.hpp"

namespace ulpscope::emu {
namespace detail {

/// Reinterprets the bits of `from`. (std::bit_cast is not callable from device code.)
template <class To, class From>
ULPSCOPE_INLINE constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

/// Layout of a host floating-point type.
template <class Float>
struct Interchange;

template <>
struct Interchange<float> {
  using Word = std::uint32_t;
  static constexpr int fraction_bits = 23;
  static constexpr int bias = 127;
};

template <>
struct Interchange<double> {
  using Word = std::uint64_t;
  static constexpr int fraction_bits = 52;
  static constexpr int bias = 1023;
};

}  // namespace detail

/// 2^exponent as a double, -1074 <= exponent <= 1023, subnormal results included.
ULPSCOPE_INLINE constexpr double power_of_two(int exponent) noexcept {
  const bool normal = exponent >= -1022;
  const auto word =
      normal ? static_cast<std::uint64_t>(exponent + 1023) << 52 : std::uint64_t{1} << (normal ? 0 : exponent + 1074);
  return detail::bit_cast<double>(word);
}

namespace detail {

__extension__ using Word128 = unsigned __int128;

/// The wider of two integer types.
template <class A, class B>
using Larger = std::conditional_t<(sizeof(A) > sizeof(B)), A, B>;

/// Zero bits above the leading one; the width of Word if there is none.
template <class Word>
ULPSCOPE_INLINE constexpr int leading_zeros(Word word) noexcept {
  if constexpr (sizeof(Word) > 8) {
    const auto high = static_cast<std::uint64_t>(word >> 64), low = static_cast<std::uint64_t>(word);
    return high != 0 ? __builtin_clzll(high) : (low != 0 ? 64 + __builtin_clzll(low) : 128);
  } else {
    return word != 0 ? __builtin_clzll(word) - static_cast<int>(64 - 8 * sizeof(Word)) : static_cast<int>(8 * sizeof(Word));
  }
}

}  // namespace detail

/// What device code and other rooms use as well.
///@{
using detail::bit_cast;
using detail::Interchange;
using detail::leading_zeros;
///@}

}  // namespace ulpscope::emu
