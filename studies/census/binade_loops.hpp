// SPDX-License-Identifier: Apache-2.0
// What binade_kernels.cpp does with vectors, in plain C++: for processors without them, and easy to read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "studies/census/binade_kernels.hpp"

namespace ulpscope::studies::loops {

/// Adds x^2, x below 2^32.
inline void add_square(std::uint64_t x, SquareLanes& sums) {
  const std::uint64_t square = x * x;
  sums.low.lanes[0] += square & 0xffffffffU;
  sums.high.lanes[0] += square >> 32;
}

/// a b + c rounded once. Precondition: |a b| < |c|, no underflow.
inline float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b), addend = static_cast<double>(c);  // exact
  const double sum = product + addend, lost = product - (sum - addend);                                     // exact, too
  // The sum rounded to odd can be rounded once more (S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums",
  // IEEE Transactions on Computers 57 (2008), theorem 1).
  auto word = std::bit_cast<std::uint64_t>(sum);
  if (lost != 0) word = (word - ((lost < 0) == (sum > 0) ? 1 : 0)) | 1;
  return static_cast<float>(std::bit_cast<double>(word));
}

/// Adds a numerator / denominator that does not exceed 2^exponent.
inline void add_quotient(float numerator, float denominator, float reciprocal, int exponent, QuotientLanes& sums) {
  const auto word = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  const float high_zero = QuotientLanes::high_zero(exponent), low_zero = QuotientLanes::low_zero(exponent);
  const float high = fused(numerator, reciprocal, high_zero);
  // The product of two floats is a double, and what a quotient this near leaves is a float.
  const auto rest = static_cast<float>(static_cast<double>(numerator) -
                                       static_cast<double>(high - high_zero) * static_cast<double>(denominator));
  const float low = fused(rest, reciprocal, low_zero);
  sums.high.lanes[0] += word(high) - word(high_zero);
  sums.low.lanes[0] += word(low) - word(low_zero) + QuotientLanes::bias;
}

/// The leading bit of a significand.
constexpr std::uint32_t implicit = Variant::end / 2;

/// The loop of studies/census/binade_kernels.hpp, one number at a time.
inline void take_significands(const std::uint32_t* codes, std::size_t count, Significands& out, SignificandSums& sums) {
  out.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t m = (codes[i] & (implicit - 1)) | implicit;
    out.integers[i] = m;
    out.floats[i] = static_cast<float>(m);
    out.reciprocals[i] = 1.0F / static_cast<float>(m);
    sums.significands.lanes[0] += m;
    add_square(m, sums.squares);
    sums.most = std::max(sums.most, m);
    sums.least = std::min(sums.least, m);
  }
  sums.count += count;
}

/// Adds 2^23 / significand of number i.
inline void add_reciprocal(const Significands& of, std::size_t i, SignificandSums& sums) {
  add_quotient(static_cast<float>(implicit), of.floats[i], of.reciprocals[i], 0, sums.reciprocals);
  ++sums.reciprocal_count;
}
/// The loop of studies/census/binade_kernels.hpp, one number at a time.
inline void add_reciprocals(const Significands& of, SignificandSums& sums) {
  for (std::size_t i = 0; i < of.count; ++i) add_reciprocal(of, i, sums);
}

/// m rounded to a multiple of 2^dropped.
inline std::uint32_t rounded(std::uint32_t m, const Variant& variant) {
  const std::uint32_t unit = std::uint32_t{1} << variant.dropped, mask = unit - 1;
  const std::uint32_t kept = m & ~mask;
  switch (variant.direction) {
    case Direction::nearest_even: return (m + unit / 2 - 1 + ((m >> variant.dropped) & 1)) & ~mask;
    case Direction::nearest_away: return (m + unit / 2) & ~mask;
    case Direction::down: return kept;
    case Direction::up: return (m + mask) & ~mask;
    case Direction::to_odd: return kept == m ? kept : kept | unit;
  }
  return kept;
}

/// The loop of studies/census/binade_kernels.hpp, one number at a time; it counts everything.
inline void add_variant(const Significands& of, const Variant& variant, Counted, VariantSums& sums) {
  for (std::size_t i = 0; i < of.count; ++i) {
    const std::uint32_t m = of.integers[i];
    std::uint32_t r = rounded(m, variant);
    const bool carries = r >= Variant::end;
    if (variant.flushes && !carries) r = 0;
    if (m > variant.most) {
      ++sums.over.count;
      sums.over.significands.lanes[0] += m;
      add_square(m, sums.over.squares);
      add_reciprocal(of, i, sums.over);
      r = m;
    }
    const std::uint32_t size = r > m ? r - m : m - r;
    sums.rounded.lanes[0] += r;
    sums.sizes.lanes[0] += size;
    sums.inexact.lanes[0] += size != 0 ? 1 : 0;
    sums.carried.lanes[0] += carries ? 1 : 0;
    sums.largest[0] = std::max(sums.largest[0], size);
    add_square(size, sums.squares);
    add_quotient(static_cast<float>(size), of.floats[i], of.reciprocals[i], variant.quotient_exponent(), sums.quotients);
    sums.largest_quotient = std::max(sums.largest_quotient, static_cast<double>(size) / static_cast<double>(m));
  }
  sums.quotient_count += of.count;
}

/// The loop of studies/census/binade_kernels.hpp, one number at a time.
inline MagnitudeRange magnitude_range(std::span<const float> values) {
  MagnitudeRange range;
  for (const float x : values) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7fffffffU;
    range.most = std::max(range.most, magnitude < 0x7f800000U ? magnitude : 0);
    range.least = std::min(range.least, magnitude != 0 ? magnitude : range.least);
  }
  return range;
}

}  // namespace ulpscope::studies::loops
