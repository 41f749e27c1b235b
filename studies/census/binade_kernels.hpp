// SPDX-License-Identifier: Apache-2.0
// The loops that form binade sums, on every SIMD path (emu/simd.hpp). All that they add is an integer or a quotient on a fixed
// grid, and a quotient is formed by the same roundings everywhere: the paths give the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "studies/census/binade.hpp"
#include "studies/census/binade_sums.hpp"

namespace ulpscope::studies {

/// The significands of numbers of one binade: whole vectors of every width, and fewer than the narrowest ones can sum in 32
/// bits when all of them are rounded up to Variant::end.
struct Significands {
  /// Numbers, and lanes of the narrowest and widest vectors.
  static constexpr std::size_t capacity = 1008, fewest_lanes = 4, most_lanes = 16;
  static_assert(capacity % most_lanes == 0 && std::uint64_t{capacity} / fewest_lanes * Variant::end < std::uint64_t{1} << 32);

  /// Significands as integers from 2^23.
  alignas(64) std::array<std::uint32_t, capacity> integers;
  /// The same as floats.
  alignas(64) std::array<float, capacity> floats;
  alignas(64) std::array<float, capacity> reciprocals;  ///< nearest floats
  std::size_t count = 0;                                ///< how many there are, at most `capacity`
};

/// Takes the significands from float32 codes of one sign and exponent field, and adds them up.
/// Precondition: what follows the codes up to `capacity` may be read.
void take_significands(const std::uint32_t* codes, std::size_t count, Significands& out, SignificandSums& sums);

/// Adds the reciprocals of all of them.
void add_reciprocals(const Significands& of, SignificandSums& sums);

/// What is to be counted; the rest may be.
struct Counted {
  bool inexact = false, carried = false;  ///< numbers that are not exact; numbers rounded up to Variant::end
};

/// Adds what `variant` makes of them.
void add_variant(const Significands& of, const Variant& variant, Counted counted, VariantSums& sums);

/// Magnitudes of float32 numbers as integers: codes without sign.
struct MagnitudeRange {
  std::uint32_t most = 0;            ///< finite
  std::uint32_t least = 0xffffffff;  ///< not zero; not finite if there is no finite one

  /// Joins the magnitudes of others.
  void include(const MagnitudeRange& other) noexcept {
    most = std::max(most, other.most);
    least = std::min(least, other.least);
  }
};
/// Those of `values`; NaNs and infinities are not finite.
MagnitudeRange magnitude_range(std::span<const float> values);

}  // namespace ulpscope::studies
