// SPDX-License-Identifier: Apache-2.0
// How the numbers of one binade are rounded. All float32 numbers of one sign and exponent share what a format does to them but
// for their significands: the bits that are dropped, the direction, and where overflow begins. Formats and scales 2^k that
// agree in these share their sums.
#pragma once

#include <cstdint>

#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::studies {

/// Numbers of one sign with floor(log2|x|) = exponent. Subnormal float32 numbers are taken as normalised.
struct Binade {
  static constexpr int least_exponent = -149, last_exponent = 127;  ///< of float32 numbers, subnormal ones included
  static constexpr int fraction_bits = 23;                          ///< of float32

  bool negative;  ///< of every number
  int exponent;   ///< floor(log2|x|)
};

/// Rounding of magnitudes.
enum class Direction : std::uint8_t { nearest_even, nearest_away, down, up, to_odd };

/// What becomes of a significand, an integer of 24 bits: it is rounded to a multiple of 2^dropped.
struct Variant {
  static constexpr std::uint32_t end = std::uint32_t{2} << Binade::fraction_bits;  ///< of the significands of a binade

  int dropped;                   ///< 0..24
  Direction direction;           ///< the direction in which they are rounded off
  bool flushes = false;          ///< what is not rounded up to `end` becomes zero
  std::uint32_t most = end - 1;  ///< larger significands overflow

  friend constexpr bool operator==(const Variant&, const Variant&) = default;

  /// Whether some significands of the binade overflow.
  constexpr bool overflows() const noexcept { return most < end - 1; }
  /// log2 of what no |error| / |x| exceeds.
  constexpr int quotient_exponent() const noexcept { return flushes ? 0 : dropped - Binade::fraction_bits; }
};

/// A format under the scale 2^log2_scale.
struct ScaledFormat {
  emu::Format format;  ///< the format
  int log2_scale;      ///< of the scale
};

/// What becomes of a binade.
enum class Fate : std::uint8_t {
  rounded,  ///< by a Variant
  exact,
  to_zero,
  to_least,  ///< to the least positive number; in a format without sign that of either sign
  overflow,
  no_sign,  ///< negative, in a format without sign
};

/// What rounding does to all numbers of a binade.
struct Treatment {
  Fate fate;                ///< in a word
  Variant variant{};        ///< where fate is `rounded`
  bool below = false;       ///< the scaled numbers lie below the format's least normal number ...
  bool next_below = false;  ///< ... in the binade next to it, so that some may be rounded up to it

  /// Whether the class of a number depends on its being rounded up to Variant::end.
  constexpr bool counts_carried() const noexcept { return next_below || variant.dropped > Binade::fraction_bits; }
};

/// `input_least`: below this exponent inputs count as zero; Binade::least_exponent where none do.
/// Precondition: a deterministic rounding mode.
Treatment treat(const ScaledFormat& to, const emu::RoundingOptions& options, int input_least, Binade binade);

/// Whether a Treatment of this fate needs the sum of the reciprocals of a whole binade.
constexpr bool needs_reciprocals(Fate fate) noexcept { return fate == Fate::to_least || fate == Fate::overflow; }

}  // namespace ulpscope::studies
