// SPDX-License-Identifier: Apache-2.0
// The sum of a step in one float32. Beside a number of 24 bits whose last one is the unit, a fused multiply-add toward zero
// cuts its product to units and adds it, all in one:
//
//   X   1.1000000 00000000 0000SSSS   binade of 2^23 units; S: the sum so far
//   + a * b          TTTTTTTTTTTTTT|RRRRR   R: beyond the last unit, dropped as the sum is rounded
//
// Dropped bits make a sum smaller in magnitude, a product is to become smaller in magnitude: so X has the sign of the product.
// A sum changes sides by its complement, sign and all 23 fraction bits: a positive X is C + (S + 0.5) units, where
// C = 1.5 * 2^23 - 0.5 is half of what a fraction and its complement add up to, and its mirror image is -(C - (S + 0.5)).
#pragma once

#include <cstdint>

#include "gpu/cuda/aligned_step.hpp"

namespace ulpscope::gpu::cuda {

/// How many units a chain may come to, on either side.
inline constexpr int chain_bits = 22;
/// Flips the side of a chain.
inline constexpr std::uint32_t other_side = 0x807fffff;

/// A chain without terms, on the positive side.
ULPSCOPE_INLINE std::uint32_t empty_chain(const AlignedRule& rule, std::uint32_t alignment) noexcept {
  return alignment + detail::binades(23 - rule.fraction_bits) + 0x400000;
}
/// The chain of c alone, cut to units.
ULPSCOPE_INLINE float chain_of(std::uint32_t empty, float c) noexcept {
  const float with_sign = detail::float_of(empty | (detail::bits_of(c) & 0x80000000));
  return detail::float_of(empty) + (detail::add_toward_zero(with_sign, c) - with_sign);
}
/// A product joins. The sides are other_side where the operand's sign is not that of the one before, of the first where it is
/// negative; if not, 0.
ULPSCOPE_INLINE float chained(float chain, float a, float b, std::uint32_t a_side, std::uint32_t b_side) noexcept {
  return detail::fma_toward_zero(a, b, detail::float_of(detail::bits_of(chain) ^ a_side ^ b_side));
}
/// The result of a step. The sides are those of the last operands: other_side where they are negative.
template <AlignedKind kind>
ULPSCOPE_INLINE float rounded_chain(const AlignedRule& rule, std::uint32_t empty, float chain, std::uint32_t a_side,
                                    std::uint32_t b_side) noexcept {
  const float sum = detail::float_of(detail::bits_of(chain) ^ a_side ^ b_side) - detail::float_of(empty);
  if constexpr (kind.half) return detail::nearest_half(sum);
  return detail::float_of(detail::bits_of(sum) & rule.result_mask);
}

/// The side of an operand.
ULPSCOPE_INLINE std::uint32_t side_of(float operand) noexcept {
  return (detail::bits_of(operand) & 0x80000000) != 0 ? other_side : 0;
}

}  // namespace ulpscope::gpu::cuda
