// SPDX-License-Identifier: Apache-2.0
// One step of a truncating block FMA in float32 and integer arithmetic, host and device code: the fast path of emulated matrix
// products. What it cannot do it says, and the interpreter of emu/engine_interpreter.hpp does it again.
//
// An operand is kept as a float in (-2, 2), its significand times 2^(exponent - base), base the greatest exponent of the block
// of its row or column, and the exponent apart. A product of two such floats is exact (at most 24 significand bits), and so is
// its product with a power of two as long as the result matters: one that is cut to zero may round or underflow before.
#pragma once

#include <cstdint>

#include "emu/bits.hpp"
#include "emu/config.hpp"
#include "emu/engine.hpp"
#include "emu/format.hpp"

namespace ulpscope::gpu::cuda {

/// The constants of an engine's step.
struct AlignedRule {
  int fraction_bits = 0;          ///< kept below the greatest exponent
  int least_exponent = 0;         ///< of the alignment, `no_exponent` where there is none
  int addend_least_exponent = 0;  ///< exponents of subnormal addends
  std::uint32_t result_mask = 0;  ///< bits of a float32 that a result toward zero may have
  std::uint32_t addend_mask = 0;  ///< and those that an addend keeps that is aligned to itself
  bool half = false;              ///< results are float16, to nearest even; if not, float32 toward zero
};

/// The exponent of a zero; sums of two of these fit 16 bits, and no product of numbers has an exponent below half of it.
inline constexpr int no_exponent = -8192;
inline constexpr int least_real_exponent = no_exponent / 2;
/// Products may be so many binades below those of the greatest exponents of their row's and column's blocks.
inline constexpr int most_below_base = 60;

namespace detail {

ULPSCOPE_INLINE float float_of(std::uint32_t bits) noexcept { return emu::detail::bit_cast<float>(bits); }
ULPSCOPE_INLINE std::uint32_t bits_of(float x) noexcept { return emu::detail::bit_cast<std::uint32_t>(x); }
ULPSCOPE_INLINE int larger(int x, int y) noexcept { return x > y ? x : y; }
ULPSCOPE_INLINE int smaller(int x, int y) noexcept { return x < y ? x : y; }

/// x cut to an integer; |x| < 2^31.
ULPSCOPE_INLINE int cut(float x) noexcept {
#if defined(__CUDA_ARCH__)
  return __float2int_rz(x);
#else
  return static_cast<int>(x);
#endif
}

/// An integer as a float, toward zero; with `to_odd` its last bit set where something was lost.
ULPSCOPE_INLINE float cut_float(std::int64_t x, bool to_odd) noexcept {
#if defined(__CUDA_ARCH__)
  const float nearest = __ll2float_rz(x);
  const bool lost = to_odd && __float2ll_rz(nearest) != x;
  return float_of(bits_of(nearest) | (lost ? 1u : 0u));
#else
  const std::uint64_t magnitude = x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  const int beyond = 64 - emu::detail::leading_zeros(magnitude) - 24;
  const std::uint64_t kept = beyond > 0 ? magnitude >> beyond << beyond : magnitude;
  const float cut = x < 0 ? -static_cast<float>(kept) : static_cast<float>(kept);
  return float_of(bits_of(cut) | (to_odd && kept != magnitude ? 1u : 0u));
#endif
}

}  // namespace detail

/// The greater of `greatest` and x + y, for both signed 16-bit halves of the words.
ULPSCOPE_INLINE std::uint32_t add_and_max(std::uint32_t x, std::uint32_t y, std::uint32_t greatest) noexcept {
#if defined(__CUDA_ARCH__)
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
  const auto low = static_cast<std::int16_t>(word & 0xffff), high = static_cast<std::int16_t>(word >> 16);
  return low > high ? low : high;
}
inline constexpr std::uint32_t two_no_exponents = (static_cast<std::uint32_t>(2 * no_exponent) & 0xffff) * 0x10001u;

/// What a step of one output aligns to.
struct Alignment {
  int greatest = 0;  ///< exponent
  float scale = 0;   ///< takes products to units of 2^(greatest - fraction_bits)
};

/// `of_products`: the greatest exponent among the products; `base`: the sum of the bases of row and column.
ULPSCOPE_INLINE Alignment alignment(const AlignedRule& rule, int of_products, int base, float c) noexcept {
  const std::uint32_t magnitude = detail::bits_of(c) & 0x7fffffff;
  const int of_c = detail::larger(static_cast<int>(magnitude >> 23) - 127, rule.addend_least_exponent);
  const int with_c = detail::larger(of_products, magnitude == 0 ? no_exponent : of_c);
  const int greatest = detail::larger(with_c, rule.least_exponent);
  // Far above all products: they are cut to zero. Far below the base: finished() refuses.
  const int field = detail::smaller(detail::larger(rule.fraction_bits + base - greatest + 127, 0), 254);
  return {greatest, detail::float_of(static_cast<std::uint32_t>(field) << 23)};
}

/// A product in units of the alignment, cut toward zero.
ULPSCOPE_INLINE int aligned_term(float a, float b, float scale) noexcept { return detail::cut(a * b * scale); }

/// The next value of an accumulator. `usual` is false where it is not to be trusted.
struct StepResult {
  float value;
  bool usual;
};

namespace detail {

/// Rounded to float16, ties to even; x has 24 significand bits, rounded to odd, and is normal.
ULPSCOPE_INLINE float nearest_half(float x) noexcept {
  const std::uint32_t word = bits_of(x), sign = word & 0x80000000, magnitude = word & 0x7fffffff;
  constexpr int dropped = emu::float32.fraction_bits - emu::float16.fraction_bits;
  const std::uint32_t last = magnitude >> dropped & 1;
  const std::uint32_t normal = (magnitude + ((1u << (dropped - 1)) - 1) + last) >> dropped << dropped;
  // Subnormal float16s are multiples of 2^-24, the spacing of float32s around 0.75.
  const float grid = 0.75F;
  const std::uint32_t subnormal = bits_of((float_of(magnitude) + grid) - grid);
  const std::uint32_t least_normal = 113u << 23;  // 2^-14
  return float_of(sign | (magnitude < least_normal ? subnormal : normal));
}

inline constexpr float greatest_half = 65504;

}  // namespace detail

/// The sum of the cut products joins c and is rounded.
ULPSCOPE_INLINE StepResult finished(const AlignedRule& rule, const Alignment& to, int of_products, int base, std::int64_t sum,
                                    float c) noexcept {
  const bool has_products = of_products > least_real_exponent;
  const int field = rule.fraction_bits - to.greatest + 127;
  if (field > 253) {
    // Nothing but a tiny c, which is aligned to itself; or tiny products.
    const std::uint32_t kept = detail::bits_of(c) & rule.addend_mask;
    const bool zero = (kept & 0x7fffffff) == 0;
    const bool own = zero || to.greatest > rule.least_exponent;
    return {zero ? 0.0F : detail::float_of(kept), !has_products && own};
  }
  bool usual = !(has_products && base - to.greatest > most_below_base) && to.greatest <= 126;
  const float scale = detail::float_of(static_cast<std::uint32_t>(field & 0xff) << 23);
  const float unit = detail::float_of(static_cast<std::uint32_t>((254 - field) & 0xff) << 23);
  const std::int64_t total = sum + detail::cut(usual ? c * scale : 0.0F);
  if (rule.half) {
    const float value = detail::nearest_half(detail::cut_float(total, true) * unit);
    usual = usual && value <= detail::greatest_half && value >= -detail::greatest_half;
    return {total == 0 ? 0.0F : value, usual};
  }
  const float cut = detail::float_of(detail::bits_of(detail::cut_float(total, false)) & rule.result_mask);
  const float value = cut * unit;
  return {value, usual && (detail::bits_of(value) & 0x7fffffff) < 0x7f800000};
}

/// What stands in for a code: see above.
struct AlignedOperand {
  float significand;  ///< with its sign; 0 for zeros, infinities and NaNs
  int exponent;       ///< nominal: subnormals have the least one; no_exponent for zeros, infinities and NaNs
  bool special;       ///< infinity or NaN
};
ULPSCOPE_INLINE AlignedOperand aligned_operand(emu::Format format, emu::Code code) noexcept {
  if (format.is_zero(code)) return {0, no_exponent, false};
  if (format.is_nan(code) || format.is_infinite(code)) return {0, no_exponent, true};
  const emu::Code magnitude = code & format.magnitude_mask();
  const bool subnormal = format.is_subnormal(code);
  const auto integer = static_cast<std::uint32_t>((magnitude & format.fraction_mask()) |
                                                  (subnormal ? emu::Code{0} : emu::Code{1} << format.fraction_bits));
  const int exponent = subnormal ? format.min_exponent() : static_cast<int>(magnitude >> format.fraction_bits) - format.bias;
  const float unit = detail::float_of(static_cast<std::uint32_t>(127 - format.fraction_bits) << 23);
  const float significand = static_cast<float>(static_cast<std::int32_t>(integer)) * unit;
  return {format.is_negative(code) ? -significand : significand, exponent, false};
}
/// The operand relative to the base of its block. What is far below cannot matter: finished() refuses where it might.
ULPSCOPE_INLINE float relative(const AlignedOperand& operand, int base) noexcept {
  const int below = operand.exponent - base;
  return below < -100 ? 0.0F : operand.significand * detail::float_of(static_cast<std::uint32_t>(below + 127) << 23);
}

}  // namespace ulpscope::gpu::cuda
