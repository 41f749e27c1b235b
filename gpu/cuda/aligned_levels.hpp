// SPDX-License-Identifier: Apache-2.0
// Exponents from tensor cores: the greatest exponent among the products of a step is found by a sum of products. A level is
// five binades. An operand that is `below` the greatest exponent of its format stands for its exponent with a bfloat16, the
// power of two so many levels down; a zero stands for itself:
//
//   a product, `below` levels down    one power of two, 2^(123 - 5 below)
//   16 of them, added                 |LLLLL|LLLLL|LLLLL|...  a level holds 16 of its powers: they never reach the next one
//
// So the level of the sum is that of its greatest term, whatever the order and the rounding of float32 additions. What is 50
// levels down, or more, is like zero. The lowest bit among the products is found likewise: the lower, the higher its level.
//
// Where no product has bits below the unit of a step, and the sum of the magnitudes has no more than 24 bits above the lowest
// one, float32 sums of the products in any order are the sum of the cut products.
#pragma once

#include <cmath>
#include <cstdint>

#include "emu/bits.hpp"
#include "emu/format.hpp"
#include "gpu/cuda/aligned_step.hpp"

namespace ulpscope::gpu::cuda {

inline constexpr int level_binades = 5;
/// Products whose levels may be added: as many as a level holds.
inline constexpr int level_products = 1 << (level_binades - 1);
/// How many there are in a float32 sum, the one of zero counted.
inline constexpr int levels = 50;

/// Which operand of the product.
enum class Side : std::uint8_t { rows, columns };

namespace detail {

/// The exponent of an operand's highest level. Both together make the exponent field of a sum a multiple of five, 250, and the
/// last sum below infinity 254.
ULPSCOPE_INLINE constexpr int highest_level(Side side) noexcept { return side == Side::rows ? 64 : 59; }
/// Exponents of an operand that its levels tell apart: all of them normal bfloat16s.
inline constexpr int operand_levels_most = 37;

inline constexpr std::uint32_t exponent_field = 0x7f800000;

}  // namespace detail

/// Whether bfloat16 holds the values of a format and their levels.
constexpr bool has_levels(emu::Format f) noexcept {
  const int highest = f.max_exponent(), lowest = f.min_spacing_exponent();
  return f.precision() <= 8 && highest - lowest < detail::operand_levels_most && highest < 64 && lowest > -64;
}

/// The exponent of the last bit that is not 0; x is a normal float.
ULPSCOPE_INLINE int lowest_bit(float x) noexcept {
  const std::uint32_t word = detail::bits_of(x), significand = (word & 0x7fffff) | 0x800000;
  const std::uint32_t last = significand & (0 - significand);
  return static_cast<int>(word >> 23 & 0xff) - 127 + 8 - emu::leading_zeros(last);
}

/// The bfloat16s that stand for an operand in the sums that find the greatest exponent and the lowest bit.
struct OperandLevels {
  std::uint32_t greatest, lowest;
};
ULPSCOPE_INLINE OperandLevels operand_levels(emu::Format format, Side side, const AlignedOperand& x) noexcept {
  if (x.value == 0) return {0, 0};
  const int highest = detail::highest_level(side);
  return {detail::power(highest - level_binades * (format.max_exponent() - x.exponent)) >> 16,
          detail::power(highest - level_binades * (lowest_bit(x.value) - format.min_spacing_exponent())) >> 16};
}

/// In the field of a float's exponent: the level of a sum, `levels` less how far down it is. The bits below mean nothing. The
/// sum is given by its bits, by which sums that are not negative compare.
ULPSCOPE_INLINE std::uint32_t level_of(std::uint32_t sum) noexcept {
  constexpr std::uint32_t fifth = 858993460;  // 2^32 / 5 or more: what is a multiple of five stays whole
  static_assert(std::uint64_t{fifth} * level_binades >= std::uint64_t{1} << 32);
#if ULPSCOPE_DEVICE_INTRINSICS
  return __umulhi(sum, fifth);
#else
  return static_cast<std::uint32_t>(std::uint64_t{sum} * fifth >> 32);
#endif
}

/// What an addend of the first step may be, as usual_addend() of aligned_step.hpp: its own exponent keeps the alignment above
/// the lowest level, or an alignment to that level cuts nothing of it. Sums are multiples of their units: so it is for later
/// addends.
ULPSCOPE_INLINE bool usual_addend(const AlignedRule& rule, float c) noexcept {
  const std::uint32_t magnitude = detail::bits_of(c) & 0x7fffffff;
  return usual_addend(c) &&
         (c == 0 || magnitude >= detail::power(rule.coarsest_unit + rule.fraction_bits) || lowest_bit(c) >= rule.coarsest_unit);
}

/// The bits of the power of two that a step aligns to.
template <AlignedKind kind>
ULPSCOPE_INLINE std::uint32_t alignment_of_level(const AlignedRule& rule, std::uint32_t level, float c) noexcept {
  std::uint32_t addend = detail::bits_of(c) & 0x7fffffff;
  if constexpr (kind.half)
    addend = c == 0 ? 0 : detail::larger(addend, detail::power(emu::float16.min_exponent()));  // subnormals have the least
  return detail::larger(level + rule.lowest_level, addend) & detail::exponent_field;
}

/// 2^23 units, beside which the last bit of a float32 is one.
ULPSCOPE_INLINE std::uint32_t grid_of(const AlignedRule& rule, std::uint32_t alignment) noexcept {
  return alignment + detail::binades(emu::float32.fraction_bits - rule.fraction_bits);
}
/// c without what is below the unit.
ULPSCOPE_INLINE float cut_addend(std::uint32_t grid, float c) noexcept {
  const float with_sign = detail::float_of(grid | (detail::bits_of(c) & 0x80000000));
  const float cut = detail::add_toward_zero(with_sign, c) - with_sign;
  return (detail::bits_of(c) & 0x7fffffff) < grid ? cut : c;
}

/// Whether the float32 sum of the products is that of the cut products. `lowest`: the level of the lowest bit among them;
/// `bound`: no less than the sum of the magnitudes.
ULPSCOPE_INLINE bool is_whole(const AlignedRule& rule, std::uint32_t grid, std::uint32_t lowest, float bound) noexcept {
  // In multiples of the lowest bit, 2^23 units and the bound are less than 2^24.
  const std::uint32_t reach = detail::larger(detail::bits_of(bound), grid);
  return static_cast<std::int32_t>(reach + (lowest & detail::exponent_field) - rule.out_of_reach) < 0;
}

/// The result of a step whose sum of products is whole.
ULPSCOPE_INLINE float rounded_whole(const AlignedRule& rule, std::uint32_t grid, float sum, float c) noexcept {
  const float total = detail::add_toward_zero(sum, cut_addend(grid, c));
  return detail::float_of(detail::bits_of(total) & rule.result_mask);
}

/// No less than the square root of the sum of squares, from that sum: the bound of a row and a column is the product of theirs.
ULPSCOPE_INLINE float norm_of(float squares) noexcept { return sqrtf(squares) * (1 + 0x1p-16F); }

}  // namespace ulpscope::gpu::cuda
