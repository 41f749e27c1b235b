// SPDX-License-Identifier: Apache-2.0
// Conversion of whole spans at the speed of memory. Each function gives for every element exactly what the scalar function of
// the same name gives, on every SIMD path (emu/simd.hpp), whatever the caller's floating-point environment is.
#pragma once

#include <cstdint>
#include <span>

#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// Where the random bits of stochastic rounding come from: element i of a span uses rounding_bits(seed, first + i).
struct RandomBits {
  std::uint64_t seed = 0;   ///< the key
  std::uint64_t first = 0;  ///< the counter of the span's first element
};

/// Whether every value of `format` is a float32.
constexpr bool fits_float(Format format) noexcept {
  return format.fraction_bits <= 23 && format.min_spacing_exponent() >= -149 && format.max_exponent() <= 127;
}

/// codes[i] = encode(format, values[i]).
/// Float: float, double. Word: std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, of no fewer bits than a code.
/// Precondition of all four functions: spans of one size, which do not overlap unless they are of one type and begin together.
template <class Float, class Word>
void encode(Format format, std::span<const Float> values, std::span<Word> codes, const RoundingOptions& options = {},
            RandomBits random = {});

/// rounded[i] = round_to(format, values[i]).value. For float: fits_float(format).
template <class Float>
void round_to(Format format, std::span<const Float> values, std::span<Float> rounded, const RoundingOptions& options = {},
              RandomBits random = {});

/// values[i] = decode(format, codes[i]). For float: fits_float(format). Bits of a code above format.bits() are ignored.
template <class Word, class Float>
void decode(Format format, std::span<const Word> codes, std::span<Float> values);

/// out[i] = convert(from, codes[i], to).code.
template <class FromWord, class ToWord>
void convert(Format from, std::span<const FromWord> codes, Format to, std::span<ToWord> out,
             const RoundingOptions& options = {}, RandomBits random = {});

}  // namespace ulpscope::emu
