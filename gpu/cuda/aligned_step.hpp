// SPDX-License-Identifier: Apache-2.0
// One step of a truncating block FMA in float32 and integer arithmetic, host and device code: the fast path of emulated matrix
// products. What it cannot do it says, and the interpreter of emu/engine_interpreter.hpp does it again.
//
// The terms are multiples of a unit, 2^(greatest exponent - fraction bits), once they are cut. There are two ways to add them:
// each is multiplied by a power of two and converted to an integer; or, where the sum fits 23 bits, all go into one float32
// (gpu/cuda/aligned_chain.hpp). Narrow operands need neither where tensor cores say that nothing is cut
// (gpu/cuda/aligned_levels.hpp).
#pragma once

#include <cstdint>

#include "emu/bits.hpp"
#include "emu/catalogue.hpp"
#include "emu/config.hpp"
#include "emu/engine.hpp"
#include "emu/format.hpp"
#include "gpu/cuda/device_intrinsics.hpp"

namespace ulpscope::gpu::cuda {

/// What is decided when a kernel is compiled.
struct AlignedKind {
  bool half = false;     ///< results are float16, to nearest even; if not, float32 toward zero
  bool wide = false;     ///< products may be outside of narrow_exponent, so that every step has to look at exponents
  bool chained = false;  ///< sums fit the significand of a float32
  bool summed = false;   ///< tensor cores add the products of most steps

  /// Whether tensor cores find the exponents.
  ULPSCOPE_HD constexpr bool levelled() const noexcept { return chained || summed; }
};

/// The constants of an engine's step.
struct AlignedRule {
  AlignedKind kind;
  int fraction_bits = 0;          ///< kept below the greatest exponent
  int least_exponent = 0;         ///< of the alignment; least_alignment where the engine has a lower one
  std::uint32_t result_mask = 0;  ///< bits of a float32 that a result toward zero may have
  // Of levelled kinds:
  int coarsest_unit = 0;           ///< the exponent of the unit of the lowest level, or of the least exponent
  std::uint32_t lowest_level = 0;  ///< bits of the power of two of the lowest level
  std::uint32_t out_of_reach = 0;  ///< bits of 2^24 lowest bits, above the lowest level of lowest bits
};

/// Steps whose greatest exponent is outside are left to the interpreter, except those of zeros alone: within these bounds
/// scales, units and results are normal float32s.
inline constexpr int least_alignment = -90, greatest_alignment = 100;
/// Products that are not `wide` have exponents of at most this magnitude. Results are multiples of their unit: where c is
/// within the bounds above, so is every result that becomes the next c.
inline constexpr int narrow_exponent = 56;

/// The exponent of a zero; sums of two of these fit 16 bits, and no product of numbers has an exponent below half of it.
inline constexpr int no_exponent = -8192;
inline constexpr int least_real_exponent = no_exponent / 2;

namespace detail {

ULPSCOPE_INLINE float float_of(std::uint32_t bits) noexcept { return emu::bit_cast<float>(bits); }
ULPSCOPE_INLINE std::uint32_t bits_of(float x) noexcept { return emu::bit_cast<std::uint32_t>(x); }
template <class T>
ULPSCOPE_INLINE T larger(T x, T y) noexcept {
  return x > y ? x : y;
}
template <class T>
ULPSCOPE_INLINE T smaller(T x, T y) noexcept {
  return x < y ? x : y;
}
/// What added to the bits of a float multiplies it by 2^count.
ULPSCOPE_INLINE constexpr std::uint32_t binades(int count) noexcept { return static_cast<std::uint32_t>(count) << 23; }
/// The bits of 2^exponent.
ULPSCOPE_INLINE constexpr std::uint32_t power(int exponent) noexcept { return binades(exponent) + binades(127); }

}  // namespace detail

/// The greater of `greatest` and x + y, for both signed 16-bit halves of the words.
ULPSCOPE_INLINE std::uint32_t add_and_max(std::uint32_t x, std::uint32_t y, std::uint32_t greatest) noexcept {
#if ULPSCOPE_DEVICE_INTRINSICS
  return __viaddmax_s16x2(x, y, greatest);
#else
  const auto half = [](std::uint32_t word, int shift) { return int{static_cast<std::int16_t>(word >> shift & 0xffff)}; };
  const int low = detail::larger(half(x, 0) + half(y, 0), half(greatest, 0));
  const int high = detail::larger(half(x, 16) + half(y, 16), half(greatest, 16));
  return (static_cast<std::uint32_t>(low) & 0xffff) | static_cast<std::uint32_t>(high) << 16;
#endif
}
/// The greater half.
ULPSCOPE_INLINE int greater_half(std::uint32_t word) noexcept {
  // The lower halves of both decide only between equals.
  return detail::larger(static_cast<std::int32_t>(word), static_cast<std::int32_t>(word << 16)) >> 16;
}
/// Both halves are x.
ULPSCOPE_INLINE std::uint32_t two_halves(int x) noexcept { return (static_cast<std::uint32_t>(x) & 0xffff) * 0x10001u; }
/// Where the greatest exponent of the products of a step begins: what it shall not fall below, where no step has to look.
ULPSCOPE_INLINE std::uint32_t first_exponents(AlignedKind kind, int least_exponent) noexcept {
  return two_halves(kind.wide ? 2 * no_exponent : least_exponent);
}

/// What an addend of a step may be: zero, or within the bounds of the alignment.
ULPSCOPE_INLINE bool usual_addend(float c) noexcept {
  const std::uint32_t magnitude = detail::bits_of(c) & 0x7fffffff;
  return magnitude == 0 || (magnitude >= detail::power(least_alignment) && magnitude < detail::power(greatest_alignment + 1));
}

/// The extremes of the steps of wide products: two comparisons each, and one verdict at the end.
class Extremes {
 public:
  /// of_products: the greatest exponent; zeros alone wrap around. `alignment`: the step's.
  ULPSCOPE_INLINE void see(int of_products, float c, std::uint32_t alignment) noexcept {
    least_product_ = detail::smaller(least_product_, static_cast<std::uint32_t>(of_products - least_real_exponent));
    least_addend_ = detail::smaller(least_addend_, (detail::bits_of(c) & 0x7fffffff) - 1);
    greatest_ = detail::larger(greatest_, alignment);
  }
  ULPSCOPE_INLINE bool usual() const noexcept {
    return least_product_ >= static_cast<std::uint32_t>(least_alignment - least_real_exponent) &&
           least_addend_ >= detail::power(least_alignment) - 1 && greatest_ < detail::power(greatest_alignment + 1);
  }

 private:
  std::uint32_t least_product_ = ~0u, least_addend_ = ~0u, greatest_ = 0;
};

/// The bits of the power of two that a step aligns to. `of_products` began with first_exponents().
template <AlignedKind kind>
ULPSCOPE_INLINE std::uint32_t alignment(const AlignedRule& rule, int of_products, float c) noexcept {
  const std::uint32_t products = detail::power(kind.wide ? detail::larger(of_products, rule.least_exponent) : of_products);
  std::uint32_t addend = detail::bits_of(c) & 0x7f800000;
  if constexpr (kind.half)
    addend = c == 0 ? 0 : detail::larger(addend, detail::power(emu::float16.min_exponent()));  // subnormals have the least
  return detail::larger(products, addend);
}

/// 2^(fraction bits - greatest exponent), which takes a term to units.
ULPSCOPE_INLINE float scale_of(const AlignedRule& rule, std::uint32_t alignment) noexcept {
  return detail::float_of(detail::binades(254 + rule.fraction_bits) - alignment);
}
/// A product in units, cut toward zero. a * b is exact, or so small that it is cut to zero.
ULPSCOPE_INLINE int aligned_term(float a, float b, float scale) noexcept { return detail::cut(a * b * scale); }

namespace detail {

/// Rounded to float16, ties to even; x is normal and has at most 24 significand bits, rounded to odd where it had more.
ULPSCOPE_INLINE float nearest_half(float x) noexcept {
  const std::uint32_t word = bits_of(x), sign = word & 0x80000000, magnitude = word & 0x7fffffff;
  constexpr int dropped = emu::float32.fraction_bits - emu::float16.fraction_bits;
  const std::uint32_t last = magnitude >> dropped & 1;
  const std::uint32_t normal = (magnitude + ((1u << (dropped - 1)) - 1) + last) >> dropped << dropped;
  // Subnormal float16s are multiples of 2^-24, the spacing of float32s around 0.75.
  const float grid = 0.75F;
  const std::uint32_t subnormal = bits_of((float_of(magnitude) + grid) - grid);
  const std::uint32_t least_normal = 113u << 23;                                   // 2^-14
  return float_of(sign | (magnitude < least_normal ? subnormal : normal)) + 0.0F;  // no -0
}

inline constexpr float greatest_half = 65504;

}  // namespace detail

/// The sum of the cut products, in units, joins c and is rounded. `Sum` is std::int32_t where the terms of a step fit one; the
/// sign of `beyond` becomes 1 where the sum with c does not.
template <AlignedKind kind, class Sum>
ULPSCOPE_INLINE float rounded_sum(const AlignedRule& rule, std::uint32_t alignment, Sum sum, float c,
                                  std::uint32_t& beyond) noexcept {
  const int addend = detail::cut(c * scale_of(rule, alignment));
  Sum total;
  if constexpr (sizeof(Sum) == 4) {
    const auto wrapped = static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(addend);
    beyond |= (static_cast<std::uint32_t>(sum) ^ wrapped) & (static_cast<std::uint32_t>(addend) ^ wrapped);
    total = static_cast<Sum>(wrapped);
  } else {
    total = sum + addend;
  }
  const float unit = detail::float_of(alignment - detail::binades(rule.fraction_bits));
  if constexpr (kind.half) {
    const float odd = detail::cut_float(total, true);
    return total == 0 ? 0.0F : detail::nearest_half(odd * unit);
  }
  return detail::float_of(detail::bits_of(detail::cut_float(total, false)) & rule.result_mask) * unit;
}

/// What stands in for a code: see above.
struct AlignedOperand {
  float value;   ///< 0 for zeros, infinities and NaNs
  int exponent;  ///< nominal: subnormals have the least one of their format, or of float16; no_exponent for zeros, infinities
                 ///< and NaNs
  bool special;  ///< infinity or NaN
};
/// `as_float16`: Engine::operands_become_float16.
ULPSCOPE_INLINE AlignedOperand aligned_operand(emu::Format format, emu::Code code, bool as_float16) noexcept {
  if (format.is_zero(code)) return {0, no_exponent, false};
  if (format.is_nan(code) || format.is_infinite(code)) return {0, no_exponent, true};
  const emu::Code magnitude = code & format.magnitude_mask();
  const bool subnormal = magnitude < format.implicit_bit_code();
  const auto integer = static_cast<std::uint32_t>((magnitude & format.fraction_mask()) |
                                                  (subnormal ? emu::Code{0} : emu::Code{1} << format.fraction_bits));
  const int exponent = subnormal ? format.min_exponent() : static_cast<int>(magnitude >> format.fraction_bits) - format.bias;
  const float unit = detail::float_of(detail::power(-format.fraction_bits));
  const float significand = static_cast<float>(static_cast<std::int32_t>(integer)) * unit;
  // The power of two is a normal number for all formats of at most float32's exponents.
  const float value = significand * detail::float_of(detail::power(exponent));
  const int leading = static_cast<int>(detail::bits_of(value) >> 23) - 127;
  const int nominal = as_float16 ? detail::larger(leading, emu::least_operand_exponent(format, true)) : exponent;
  return {format.is_negative(code) ? -value : value, nominal, false};
}

}  // namespace ulpscope::gpu::cuda
