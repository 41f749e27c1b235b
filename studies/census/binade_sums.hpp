// SPDX-License-Identifier: Apache-2.0
// Sums over the numbers of one binade, in integers: of significands, and of what a Variant makes of them. They are exact, but
// for quotients, each of which is rounded to a fixed grid first. So they depend on neither order nor the width of vectors.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "studies/census/binade.hpp"

namespace ulpscope::studies {

__extension__ using Int128 = __int128;  ///< integers of 128 bits, which GCC and Clang have

/// The parts of a sum that the lanes of a vector have gathered; what a narrower vector does not reach stays zero.
struct alignas(64) LaneSums {
  std::array<std::uint64_t, 8> lanes{};  ///< of a vector of 512 bits

  /// The sum of all lanes.
  Int128 total() const noexcept {
    Int128 sum = 0;
    for (const std::uint64_t lane : lanes) sum += lane;
    return sum;
  }
  /// Adds the lanes of another.
  void merge(const LaneSums& other) noexcept {
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] += other.lanes[i];
  }
};

/// A sum of squares, in two parts that cannot overflow.
struct SquareLanes {
  LaneSums low, high;  ///< of 32 bits, and above

  /// The sum of squares.
  Int128 total() const noexcept { return (high.total() << 32) + low.total(); }
  /// Adds the lanes of another.
  void merge(const SquareLanes& other) noexcept {
    low.merge(other.low);
    high.merge(other.high);
  }
};

/// A sum of n quotients of at most 2^exponent, each rounded to a multiple of 2^(exponent - 44), give or take a unit.
struct QuotientLanes {
  static constexpr int part_bits = 22;  ///< bits that the upper part of a quotient has, and the lower one after it
  static constexpr std::uint32_t bias = 1U << part_bits;  ///< added to each lower part, which may be negative

  /// What quotients are added to, so that they are rounded to the grid of the upper part, and the rest to that of the lower.
  static constexpr float high_zero(int exponent) noexcept { return power(exponent + 1); }
  /// The grid of the upper part.
  static constexpr double grid(int exponent) noexcept { return static_cast<double>(power(exponent - part_bits)); }
  /// The same for the lower part, which may be negative.
  static constexpr float low_zero(int exponent) noexcept { return 1.5F * power(exponent + 1 - part_bits); }

  LaneSums high, low;  ///< upper and lower parts

  /// In units of 2^(exponent - 44).
  Int128 total(std::uint64_t n) const noexcept {
    return (high.total() << part_bits) + low.total() - static_cast<Int128>(n) * bias;
  }
  /// The sum is total() * 2^unit_exponent.
  static constexpr int unit_exponent(int quotient_exponent) noexcept { return quotient_exponent - 2 * part_bits; }
  /// Adds the lanes of another.
  void merge(const QuotientLanes& other) noexcept {
    high.merge(other.high);
    low.merge(other.low);
  }

 private:
  static constexpr float power(int exponent) noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
  }
};

/// Sums over significands, integers from 2^23 to 2^24 - 1.
struct SignificandSums {
  std::uint64_t count = 0;                       ///< how many significands
  LaneSums significands;                         ///< their sum
  SquareLanes squares;                           ///< their sum of squares
  QuotientLanes reciprocals;                     ///< of 2^23 / significand, at most 1; formed where wanted
  std::uint64_t reciprocal_count = 0;            ///< how many reciprocals were added
  std::uint32_t least = Variant::end, most = 0;  ///< of all significands

  /// Adds the sums of others.
  void merge(const SignificandSums& other) noexcept {
    count += other.count;
    significands.merge(other.significands);
    squares.merge(other.squares);
    reciprocals.merge(other.reciprocals);
    reciprocal_count += other.reciprocal_count;
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
};

/// Sums over the errors that a Variant makes, in units of the significands' last bit; what overflows counts as without error.
struct VariantSums {
  LaneSums rounded;                         ///< of what became of the significands
  LaneSums sizes;                           ///< of |error|
  SquareLanes squares;                      ///< of |error|
  QuotientLanes quotients;                  ///< |error| / significand
  std::uint64_t quotient_count = 0;         ///< how many quotients were added
  LaneSums inexact;                         ///< how many; counted where wanted
  LaneSums carried;                         ///< how many were rounded up to Variant::end; counted where wanted
  SignificandSums over;                     ///< what overflows; least and most are not formed
  std::array<std::uint32_t, 16> largest{};  ///< |error|, by lanes
  double largest_quotient = 0;              ///< nearest double
  std::uint32_t at_largest_quotient = 0;    ///< a significand where it is

  /// The largest |error|, in units of the significands' last bit.
  std::uint32_t largest_size() const noexcept { return *std::max_element(largest.begin(), largest.end()); }

  /// Adds the sums of others.
  void merge(const VariantSums& other) noexcept {
    rounded.merge(other.rounded);
    sizes.merge(other.sizes);
    squares.merge(other.squares);
    quotients.merge(other.quotients);
    quotient_count += other.quotient_count;
    inexact.merge(other.inexact);
    carried.merge(other.carried);
    over.merge(other.over);
    for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], other.largest[i]);
    largest_quotient = std::max(largest_quotient, other.largest_quotient);
  }
};

}  // namespace ulpscope::studies
