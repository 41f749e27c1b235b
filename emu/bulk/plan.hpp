// SPDX-License-Identifier: Apache-2.0
// A format and its rounding options as the few 32-bit words that a vector kernel needs. Nothing here knows of SIMD.
#pragma once

#include <cstdint>
#include <optional>

#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu::detail {

/// How a kernel rounds a float. The first five align the least kept bit with that of a sum |x| + 2^k, which the processor then
/// rounds; the next four add to the bits of x, which formats with float's own least exponent allow.
enum class Way : std::uint8_t {
  sum_nearest,     ///< the processor rounds to nearest
  sum,             ///< the processor's direction is the one asked for
  sum_away,        ///< half a unit is added first, then truncated
  sum_odd,         ///< truncated, and the last bit set if that lost anything
  sum_stochastic,  ///< truncated, and one unit added if the random bits say so
  bits_even,
  bits_offset,  ///< a constant for each sign, then truncated
  bits_odd,
  bits_stochastic,
  half,      ///< the processor's own conversion to float16, where it has one; else as sum
  exponent,  ///< the result is an exponent
};

/// What becomes of overflow and infinity. NaN becomes the canonical one always. The later ones cost more.
enum class Special : std::uint8_t {
  natural,    ///< overflow has become infinity, or the largest number, by itself
  nan,        ///< overflow and infinity become the NaN
  fnuz,       ///< the same, and zero has no sign
  same,       ///< overflow and infinity become the same, of their sign
  truncated,  ///< overflow becomes the largest number of its sign, infinity stays
  directed,   ///< what overflow becomes depends on its sign
  any,        ///< all may differ; zeros without sign; no signs beside zero; the switches
};

enum class Direction : std::uint8_t { nearest, down, up, zero };
/// That of a mode that processors have.
Direction direction_of(Rounding rounding);

/// Words are results: float bits where values are wanted, codes where codes are.
struct BulkPlan {
  Way way;
  Special special;
  Direction direction;  ///< what the processor's rounding direction must be

  std::uint32_t dropped;          ///< fraction bits of float that the format does not have, 1..23
  std::uint32_t least_exponent;   ///< the exponent field of the least normal number, in place
  std::uint32_t most_exponent;    ///< one beyond which everything overflows; not needed to nearest
  std::uint32_t offset_positive;  ///< bits_offset, exponent: what is added before truncating
  std::uint32_t offset_negative;
  std::uint32_t raise_from;  ///< exponent: magnitudes below give code 0
  int random_bits;

  std::uint32_t code_bias;   ///< least normal exponent field, in units of a code
  std::uint32_t sign_shift;  ///< right shift that takes the sign bit of float to that of the result; 0 for values
  std::uint32_t sign_bit;    ///< of the result

  std::uint32_t largest;           ///< finite magnitude
  std::uint32_t largest_negative;  ///< that of negative numbers: in formats without sign, of what becomes zero
  std::uint32_t overflow_positive, overflow_negative;
  std::uint32_t infinity_positive, infinity_negative;
  std::uint32_t nan;
  std::uint32_t zero_input_below;  ///< magnitudes of float below this count as zero
  std::uint32_t zero_below;        ///< magnitudes of the result below this become zero
  std::uint32_t zero_sign;         ///< the sign bit if zeros keep theirs
};

/// The plan for float inputs; none where the vector kernels cannot serve, and the scalar functions must.
/// `values`: float results, for which fits_float(format); otherwise codes.
std::optional<BulkPlan> plan_rounding(Format format, const RoundingOptions& options, bool values);

/// What the codes to decode are.
enum class Codes : std::uint8_t {
  upper,     ///< the upper bits of a float
  half,      ///< float16, which processors convert
  plain,     ///< of a format without infinities
  infinite,  ///< of one that has them
  any,       ///< without -0, or where subnormals count as zero
  exponent,  ///< e8m0
};

/// The same for decoding to float. Magnitudes are codes without sign, shifted to where float has its fraction.
struct DecodePlan {
  Codes codes;
  std::uint32_t top_shift;       ///< left: brings the sign, or the zero in its place, to the top
  std::uint32_t exponent_shift;  ///< right, by which an exponent of float is longer
  std::uint32_t word_mask;       ///< what belongs to the code after both, sign included
  std::uint32_t rebias;          ///< added to the magnitude of a normal number
  std::uint32_t least_exponent;  ///< as above; subnormals are (magnitude | this) - 2^least as floats
  std::uint32_t least_normal;    ///< magnitude; 0 where float's own subnormals serve
  std::uint32_t infinity;        ///< magnitude; all ones where there is none
  std::uint32_t nan_above;       ///< larger magnitudes are NaN
  bool negative_zero_is_nan;
  std::uint32_t zero_below;  ///< smaller magnitudes count as zero
  std::uint32_t zero_sign;   ///< the sign bit if those zeros keep theirs
};
std::optional<DecodePlan> plan_decoding(Format format, bool subnormals_are_zero);

}  // namespace ulpscope::emu::detail
